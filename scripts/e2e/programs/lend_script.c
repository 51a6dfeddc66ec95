// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The scripted peer: see lend_script.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#include "lend_script.h"

void script_open(struct lent *l)
{
	tcp_connect(l);
	make_device(l, &l->p.a);
	set_ulp(l->a);
}

void script_free(struct lent *l)
{
	close(l->a);
	close(l->b);
	lent_free(l);
}

/* ---- bytes -------------------------------------------------------------- */

size_t put_frame(uint8_t *to, const char *key, int flags, int rev, const void *pd, size_t len)
{
	memcpy(to, key, 16);
	to[16] = flags;
	to[17] = rev;
	to[18] = len >> 8;
	to[19] = len;
	memcpy(to + HEAD, pd, len);
	return HEAD + len;
}

/* IRD 8 and ORD 8. A Reply takes a Write as the RTR. */
size_t put_enhanced(uint8_t *to, const char *key, int flags, const char *pd)
{
	uint8_t rtr = strcmp(key, REPLY) ? 0 : 0x80;
	uint8_t all[516] = { rtr, 8, rtr, 8 };

	memcpy(all + 4, pd, strlen(pd));
	return put_frame(to, key, flags | ENHANCED, 2, all, 4 + strlen(pd));
}

static uint32_t crc32c(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0U;
	int i;

	while (len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* An FPDU with a whole Send, without Markers */
size_t put_send(uint8_t *to, uint32_t msn, const char *text)
{
	size_t n = strlen(text), size = 2 + 18 + n;
	uint32_t crc;

	memset(to, 0, size + 3);
	to[0] = (size - 2) >> 8;
	to[1] = size - 2;
	to[2] = 0x41;	/* DDP: last, version 1 */
	to[3] = 0x43;	/* RDMAP: version 1, Send */
	msn = htonl(msn);
	memcpy(to + 12, &msn, 4);
	memcpy(to + 20, text, n);
	size = (size + 3) & ~3;
	crc = crc32c(to, size);
	to[size] = crc;
	to[size + 1] = crc >> 8;
	to[size + 2] = crc >> 16;
	to[size + 3] = crc >> 24;
	return size + 4;
}

void script_send(struct lent *l, const void *bytes, size_t n)
{
	check(send(l->b, bytes, n, MSG_NOSIGNAL) == (ssize_t)n, "send: %m");
}

void send_request(struct lent *l, const char *pd)
{
	uint8_t buf[600];

	script_send(l, buf, put_enhanced(buf, REQUEST, CRC, pd));
}

void send_reply(struct lent *l, int flags, const char *pd)
{
	uint8_t buf[600];

	script_send(l, buf, put_enhanced(buf, REPLY, CRC | flags, pd));
}

/* Return: bytes of Private Data, with the enhanced words */
size_t take_frame(struct lent *l, const char *key, uint8_t *pd)
{
	uint8_t head[HEAD];
	size_t n;

	check(recv(l->b, head, HEAD, MSG_WAITALL) == HEAD, "recv: %m");
	check(!memcmp(head, key, 16), "'%.16s', not '%s'", head, key);
	n = head[18] << 8 | head[19];
	check(!n || recv(l->b, pd, n, MSG_WAITALL) == (ssize_t)n, "recv: %m");
	return n;
}

/* Read to the end. Return: true if it was closed, false if it was reset. */
bool script_ended(struct lent *l)
{
	struct pollfd pfd = { .fd = l->b, .events = POLLIN };
	char buf[600];
	ssize_t n;

	do {
		check(poll(&pfd, 1, WAIT_MS) == 1, "the connection has not ended");
		n = read(l->b, buf, sizeof(buf));
	} while (n > 0);
	check(!n || errno == ECONNRESET, "read: %m");
	return !n;
}

/* ---- states ------------------------------------------------------------- */

/* Side a's part of the way to a state, up to the peer's */
void begin_state(struct lent *l, enum mpa_stream_state state)
{
	bool responds = state == MPA_STREAM_REQUESTED;

	if (state == MPA_STREAM_PLAIN)
		return;
	check(!start_mpa(&l->p.a, l->a, responds ? MPA_RESPONDER : MPA_INITIATOR, "who"),
	      "MPA_START: %m");
}

/* The peer's part */
void play_state(struct lent *l, enum mpa_stream_state state)
{
	uint8_t pd[512];

	if (state == MPA_STREAM_PLAIN)
		return;
	if (state == MPA_STREAM_REQUESTED) {
		check(recv(l->b, pd, 3, MSG_WAITALL) == 3, "recv: %m");
		send_request(l, "me");
		return;
	}
	take_frame(l, REQUEST, pd);
	if (state == MPA_STREAM_ESTABLISHED || state == MPA_STREAM_CLOSED)
		send_reply(l, 0, "me");
	else if (state == MPA_STREAM_REJECTED)
		send_reply(l, REJECT, "me");
	else if (state == MPA_STREAM_FAILED)
		script_send(l, "What?", 5);
	if (state == MPA_STREAM_CLOSED)
		check(!shutdown(l->b, SHUT_WR), "shutdown: %m");
}

/* Both are in one thread. */
void reach_state(struct lent *l, enum mpa_stream_state state)
{
	script_open(l);
	begin_state(l, state);
	play_state(l, state);
	if (state >= MPA_STREAM_REQUESTED)
		wait_for(l->a, state);
	else
		check(status_of(l->a).state == state, "state %u", status_of(l->a).state);
}
