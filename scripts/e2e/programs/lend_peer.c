// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tests of lend_probe with a scripted peer: what it sends, and when. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lend_script.h"

static void respond(struct lent *l)
{
	char buf[sizeof(READY)] = "";

	script_open(l);
	check(!start_mpa(&l->p.a, l->a, MPA_RESPONDER, READY), "MPA_START: %m");
	check(recv(l->b, buf, strlen(READY), MSG_WAITALL) == (ssize_t)strlen(READY), "recv: %m");
}

static void initiate(struct lent *l)
{
	uint8_t pd[512];

	script_open(l);
	check(!start_mpa(&l->p.a, l->a, MPA_INITIATOR, "who"), "MPA_START: %m");
	check(take_frame(l, REQUEST, pd) == 7 && !memcmp(pd + 4, "who", 3), "private data");
}

/* The startup fails, the program knows why, and TCP is gone. */
static void fails(struct lent *l, int error)
{
	struct pollfd pfd = { .fd = l->a };
	ssize_t n;
	char c;

	wait_failure(l->a, error);
	check(poll(&pfd, 1, WAIT_MS) == 1 && pfd.revents & POLLHUP, "no POLLHUP");
	script_ended(l);
	do {
		n = read(l->a, &c, 1);
	} while (n > 0);
	check(!n || errno != EBUSY, "read: %m");
	check(send(l->a, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE, "send: %m");
	check(start_mpa(&l->p.a, l->a, MPA_RESPONDER, "") && errno == ENOTCONN, "again: %m");
	script_free(l);
}

/* The peer must not send before the Reply (DUAL-07). */
static void early_fpdu(void)
{
	uint8_t buf[600];
	struct lent l;
	size_t n;

	respond(&l);
	n = put_enhanced(buf, REQUEST, CRC, "who");
	script_send(&l, buf, n + put_send(buf + n, 1, "early"));
	fails(&l, EPROTO);
}

/* They come when the program knows the Request. */
static void early_bytes(void)
{
	struct lent l;

	respond(&l);
	send_request(&l, "who");
	wait_for(l.a, MPA_STREAM_REQUESTED);
	script_send(&l, "x", 1);
	fails(&l, EPROTO);
}

/* Nothing but a Request may come. */
static void text_not_request(void)
{
	struct lent l;

	respond(&l);
	script_send(&l, "hello", 5);
	fails(&l, EPROTO);
}

static void text_not_reply(void)
{
	struct lent l;

	initiate(&l);
	script_send(&l, "hello", 5);
	fails(&l, EPROTO);
}

static void request_not_reply(void)
{
	struct lent l;

	initiate(&l);
	send_request(&l, "who");
	fails(&l, EPROTO);
}

static void bad_reply(void)
{
	uint8_t buf[600];
	struct lent l;
	int i;

	for (i = 0; i < 3; i++) {
		initiate(&l);
		put_frame(buf, REPLY, CRC, i == 0 ? 0 : 1, "", 0);
		if (i == 1)
			buf[18] = 3;	/* too much Private Data */
		else if (i == 2)
			buf[3] = 'x';
		script_send(&l, buf, HEAD);
		fails(&l, EPROTO);
	}
}

/* A frame that comes byte by byte */
static void slow_frames(void)
{
	uint8_t buf[600];
	struct lent l;
	size_t i, n;

	respond(&l);
	n = put_enhanced(buf, REQUEST, CRC, "who");
	for (i = 0; i < n; i++) {
		check(status_of(l.a).state == MPA_STREAM_STARTING, "state after %zu bytes", i);
		script_send(&l, buf + i, 1);
	}
	wait_for(l.a, MPA_STREAM_REQUESTED);
	script_free(&l);
}

/* The Reply and an FPDU come in one segment. */
static void answer_and_send(struct lent *l)
{
	struct ibv_sge to;
	uint8_t buf[600];
	size_t n;

	initiate(l);
	to = sge(&l->p.a, 0, 100);
	post_recv(&l->p.a, 1, &to, 1);
	n = put_enhanced(buf, REPLY, CRC, "me");
	script_send(l, buf, n + put_send(buf + n, 1, "at once"));
}

/* Nothing is lost behind a Reply (DUAL-08). */
static void reply_and_fpdu(void)
{
	struct lent l;

	answer_and_send(&l);
	wc_expect(&l.p.a, 1, IBV_WC_SUCCESS);
	check(!memcmp(l.p.a.mem, "at once", 7), "'%.7s'", l.p.a.mem);
	wait_for(l.a, MPA_STREAM_ESTABLISHED);
	script_free(&l);
}

/* The same, and the end of the stream */
static void reply_fpdu_and_end(void)
{
	struct lent l;

	answer_and_send(&l);
	shutdown(l.b, SHUT_WR);
	wc_expect(&l.p.a, 1, IBV_WC_SUCCESS);
	expect_end(l.a);
	script_free(&l);
}

/* Text behind a reject is the program's. */
static void reject_and_text(void)
{
	struct mpa_status status;
	char text[16] = "";
	uint8_t buf[600];
	struct lent l;
	size_t n;

	initiate(&l);
	n = put_enhanced(buf, REPLY, CRC | REJECT, "no");
	memcpy(buf + n, "but hello", 9);
	script_send(&l, buf, n + 9);
	status = wait_for(l.a, MPA_STREAM_REJECTED);
	has_data(&status, "no");
	check(recv(l.a, text, 9, MSG_WAITALL) == 9 && !strcmp(text, "but hello"), "'%s'", text);
	say(l.a, l.b, "hello");
	script_free(&l);
}

/* The peer sends a reject and closes. */
static void reject_and_end(void)
{
	struct lent l;
	char text[3];

	initiate(&l);
	send_reply(&l, REJECT, "no");
	shutdown(l.b, SHUT_WR);
	wait_for(l.a, MPA_STREAM_REJECTED);
	check(!read(l.a, text, 1), "read: %m, not the end");
	check(write(l.a, "bye", 3) == 3, "write: %m");
	check(recv(l.b, text, 3, MSG_WAITALL) == 3, "recv: %m");
	script_free(&l);
}

/* Revision 1 has room for 512 bytes, which is more than rdma_cm takes. */
static void long_private_data(void)
{
	struct mpa_status status;
	uint8_t buf[600];
	char text[513];
	struct lent l;

	memset(text, 'x', 512);
	text[512] = 0;
	respond(&l);
	script_send(&l, buf, put_frame(buf, REQUEST, CRC, 1, text, 512));
	status = wait_for(l.a, MPA_STREAM_REQUESTED);
	check(status.revision == 1, "revision %u", status.revision);
	has_data(&status, text);
	check(!answer(l.a, MPA_ACCEPT, text), "MPA_ACCEPT: %m");
	check(take_frame(&l, REPLY, buf) == 512 && !memcmp(buf, text, 512), "the Reply's data");
	wait_for(l.a, MPA_STREAM_ESTABLISHED);
	script_free(&l);
}

/* The peer never replies. The time-outs are short (lend.sh). */
static void no_reply(void)
{
	struct lent l;

	initiate(&l);
	fails(&l, ETIMEDOUT);
}

static void no_request(void)
{
	struct lent l;

	respond(&l);
	fails(&l, ETIMEDOUT);
}

/* Half a frame is no frame. */
static void half_request(void)
{
	struct lent l;

	respond(&l);
	script_send(&l, REQUEST, 16);
	fails(&l, ETIMEDOUT);
}

/* The peer does not read, so text waits in TCP when MPA starts. It arrives before the Request. */
static void text_waits(void)
{
	static char text[1 << 20], got[1 << 20];
	int size = sizeof(text), flags = MSG_DONTWAIT | MSG_NOSIGNAL, ret;
	size_t sent = 0, have = 0;
	uint8_t pd[512];
	struct lent l;
	ssize_t n;

	script_open(&l);
	memset(text, 't', sizeof(text));
	check(!setsockopt(l.a, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), "SO_SNDBUF: %m");
	while ((n = send(l.a, text, sizeof(text) / 16, flags)) > 0)
		sent += n;
	ret = start_mpa(&l.p.a, l.a, MPA_INITIATOR, "who");
	check(ret && errno == EAGAIN, "MPA_START: %m");
	check(status_of(l.a).state == MPA_STREAM_PLAIN, "state");
	/* MPA starts as soon as there is room. */
	while (ret) {
		n = read(l.b, got, 4096);
		check(n > 0, "read: %m");
		have += n;
		ret = start_mpa(&l.p.a, l.a, MPA_INITIATOR, "who");
		check(!ret || errno == EAGAIN, "MPA_START: %m");
	}
	for (; have < sent; have += n) {
		n = read(l.b, got, sent - have < sizeof(got) ? sent - have : sizeof(got));
		check(n > 0, "read: %m");
		check(got[0] == 't' && got[n - 1] == 't', "not the text");
	}
	take_frame(&l, REQUEST, pd);
	send_reply(&l, 0, "");
	wait_for(l.a, MPA_STREAM_ESTABLISHED);
	script_free(&l);
}

/* The longest last streaming message, and a peer that does not read it yet */
static void long_last(void)
{
	static uint8_t text[64 << 10], got[64 << 10];
	struct mpa_start start;
	int one = 1, all = 256 << 10;
	struct lent l;

	script_open(&l);
	check(!setsockopt(l.a, SOL_SOCKET, SO_SNDBUF, &one, sizeof(one)), "SO_SNDBUF: %m");
	check(!setsockopt(l.b, SOL_SOCKET, SO_RCVBUF, &one, sizeof(one)), "SO_RCVBUF: %m");
	fill(text, sizeof(text), 5);
	start = start_args(&l.p.a, MPA_RESPONDER);
	start.last = (uintptr_t)text;
	start.last_len = sizeof(text) + 1;
	check(set_start(l.a, &start) && errno == EINVAL, "MPA_START: %m");
	start.last_len = sizeof(text);
	check(!set_start(l.a, &start), "MPA_START: %m");
	/* With the small buffer it might take longer than the Request may. */
	check(!setsockopt(l.b, SOL_SOCKET, SO_RCVBUF, &all, sizeof(all)), "SO_RCVBUF: %m");
	check(recv(l.b, got, sizeof(got), MSG_WAITALL) == sizeof(got), "recv: %m");
	same(got, sizeof(got), 5, "the last streaming message");
	send_request(&l, "who");
	wait_for(l.a, MPA_STREAM_REQUESTED);
	script_free(&l);
}

/* The peer has not read the text before it either. */
static void last_behind_text(void)
{
	static uint8_t text[16 << 10], last[64 << 10], got[64 << 10];
	int size = 4 << 20, waits = 0, sent = 0;
	struct mpa_start start;
	struct lent l;

	script_open(&l);
	check(!setsockopt(l.a, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)), "sndbuf: %m");
	/* Just below the bytes that the driver lets wait in TCP, which are 256 KiB */
	for (; waits < 230 << 10; sent++) {
		check(write(l.a, text, sizeof(text)) == sizeof(text), "write: %m");
		check(!ioctl(l.a, SIOCOUTQNSD, &waits), "SIOCOUTQNSD: %m");
	}
	fill(last, sizeof(last), 5);
	start = start_args(&l.p.a, MPA_RESPONDER);
	start.last = (uintptr_t)last;
	start.last_len = sizeof(last);
	check(!set_start(l.a, &start), "MPA_START: %m");
	while (sent--) {
		check(recv(l.b, got, sizeof(text), MSG_WAITALL) == sizeof(text), "recv: %m");
		check(!memcmp(got, text, sizeof(text)), "not the text");
	}
	check(recv(l.b, got, sizeof(got), MSG_WAITALL) == sizeof(got), "recv: %m");
	same(got, sizeof(got), 5, "the last streaming message");
	send_request(&l, "who");
	wait_for(l.a, MPA_STREAM_REQUESTED);
	script_free(&l);
}

const struct test lend_peer_tests[] = {
	{ "early_fpdu", early_fpdu },
	{ "early_bytes", early_bytes },
	{ "text_not_request", text_not_request },
	{ "text_not_reply", text_not_reply },
	{ "request_not_reply", request_not_reply },
	{ "bad_reply", bad_reply },
	{ "slow_frames", slow_frames },
	{ "reply_and_fpdu", reply_and_fpdu },
	{ "reply_fpdu_and_end", reply_fpdu_and_end },
	{ "reject_and_text", reject_and_text },
	{ "reject_and_end", reject_and_end },
	{ "long_private_data", long_private_data },
	{ "no_reply", no_reply },
	{ "no_request", no_request },
	{ "half_request", half_request },
	{ "text_waits", text_waits },
	{ "long_last", long_last },
	{ "last_behind_text", last_behind_text },
	{ NULL, NULL },
};
