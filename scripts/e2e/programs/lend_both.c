// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tests of lend_probe whose ends are both ours. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "lend.h"

static void stream_close(struct lent *l)
{
	close(l->a);
	expect_end(l->b);
	close(l->b);
	lent_free(l);
}

static void accepted(void)
{
	struct lent l;

	stream_open(&l);
	echo(&l);
	is_refused(l.a);
	is_refused(l.b);
	stream_close(&l);
}

/* What was posted before the program closes its descriptor is sent. */
static void closed_at_once(void)
{
	struct ibv_sge to, from;
	struct lent l;

	stream_open(&l);
	hello(&l.p);
	to = sge(&l.p.b, 0, 1 << 20);
	from = sge(&l.p.a, 0, 1 << 20);
	fill(l.p.a.mem, 1 << 20, 3);
	post_recv(&l.p.b, 1, &to, 1);
	post(&l.p.a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, &from, 1, 0, 0);
	close(l.a);
	wc_expect(&l.p.b, 1, IBV_WC_SUCCESS);
	same(l.p.b.mem, 1 << 20, 3, "Send");
	expect_end(l.b);
	close(l.b);
	lent_free(&l);
}

static void ask_and_be_rejected(struct lent *l)
{
	struct mpa_status status;

	ask_in_text(l, "who");
	wait_for(l->b, MPA_STREAM_REQUESTED);
	check(!answer(l->b, MPA_REJECT, "not you"), "MPA_REJECT: %m");
	status = wait_for(l->b, MPA_STREAM_REJECTED);
	check(!status.error, "b: error %u", status.error);
	status = wait_for(l->a, MPA_STREAM_REJECTED);
	has_data(&status, "not you");
	check(status.revision == 2, "revision %u", status.revision);
	check(status.error == ECONNREFUSED, "error %u", status.error);
	say(l->a, l->b, "never mind");
	say(l->b, l->a, "sorry");
}

/* From the Request to the end */
static void accept_and_close(struct lent *l)
{
	wait_for(l->b, MPA_STREAM_REQUESTED);
	check(!answer(l->b, MPA_ACCEPT, ""), "MPA_ACCEPT: %m");
	wait_for(l->a, MPA_STREAM_ESTABLISHED);
	wait_for(l->b, MPA_STREAM_ESTABLISHED);
	echo(l);
	stream_close(l);
}

/* After a reject both go on in text, and may try again. */
static void rejected(void)
{
	struct lent l;
	int i;

	lent_open(&l);
	for (i = 0; i < 20; i++)
		ask_and_be_rejected(&l);
	ask_in_text(&l, "who");
	accept_and_close(&l);
}

static void rejected_and_closed(void)
{
	struct lent l;
	char c;

	lent_open(&l);
	ask_and_be_rejected(&l);
	close(l.b);
	check(!read(l.a, &c, 1), "read: %m, not the end");
	close(l.a);
	lent_free(&l);
}

/* Nothing is lost if the program has not read all bytes. */
static void unread(void)
{
	struct lent l;
	char buf[8] = "";

	lent_open(&l);
	check(write(l.b, "early", 5) == 5, "write: %m");
	check(recv(l.a, buf, 5, MSG_PEEK | MSG_WAITALL) == 5, "peek: %m");
	check(start_mpa(&l.p.a, l.a, MPA_INITIATOR, "") && errno == ENOTEMPTY, "MPA_START: %m");
	check(recv(l.a, buf, 5, MSG_WAITALL) == 5 && !strcmp(buf, "early"), "recv: %m");
	close(l.a);
	close(l.b);
	lent_free(&l);
}

/* A responder that is late finds the Request among its bytes. */
static void request_first(void)
{
	char key[17] = "";
	struct lent l;

	lent_open(&l);
	check(!start_mpa(&l.p.a, l.a, MPA_INITIATOR, "who"), "MPA_START: %m");
	check(recv(l.b, key, 16, MSG_PEEK | MSG_WAITALL) == 16, "peek: %m");
	check(start_mpa(&l.p.b, l.b, MPA_RESPONDER, READY) && errno == ENOTEMPTY, "b: %m");
	check(recv(l.b, key, 16, MSG_WAITALL) == 16 && !strcmp(key, "MPA ID Req Frame"),
	      "the bytes are '%s'", key);
	close(l.b);
	wait_failure(l.a, ECONNRESET);
	close(l.a);
	lent_free(&l);
}

/* The cable is slow (lend.sh), so that both start before the other's Request arrives. */
static void both_initiate(void)
{
	struct lent l;

	lent_open(&l);
	check(!start_mpa(&l.p.a, l.a, MPA_INITIATOR, ""), "a: MPA_START: %m");
	check(!start_mpa(&l.p.b, l.b, MPA_INITIATOR, ""), "b: MPA_START: %m");
	wait_failure(l.a, EPROTO);
	wait_failure(l.b, EPROTO);
	close(l.a);
	close(l.b);
	lent_free(&l);
}

/* Nobody sends a Request. The time-out is short (lend.sh). */
static void both_wait(void)
{
	struct lent l;

	lent_open(&l);
	check(!start_mpa(&l.p.a, l.a, MPA_RESPONDER, ""), "a: MPA_START: %m");
	check(!start_mpa(&l.p.b, l.b, MPA_RESPONDER, ""), "b: MPA_START: %m");
	wait_failure(l.a, ETIMEDOUT);
	close(l.a);
	wait_for(l.b, MPA_STREAM_FAILED);
	close(l.b);
	lent_free(&l);
}

/* The program does not answer, so the device rejects. */
static void no_answer(void)
{
	struct mpa_status status;
	struct lent l;

	lent_open(&l);
	ask_in_text(&l, "who");
	wait_for(l.b, MPA_STREAM_REQUESTED);
	status = wait_for(l.b, MPA_STREAM_REJECTED);
	check(status.error == ETIMEDOUT, "error %u", status.error);
	wait_for(l.a, MPA_STREAM_REJECTED);
	check(answer(l.b, MPA_ACCEPT, "") && errno == EINVAL, "MPA_ACCEPT: %m");
	say(l.a, l.b, "are you there?");
	say(l.b, l.a, "now I am");
	close(l.a);
	close(l.b);
	lent_free(&l);
}

/* RDMA Writes and Reads of both sides, and Sends of many sizes */
static void data(void)
{
	static const size_t sizes[] = { 1, 1000, 65536, 1000001 };
	struct side *from, *to;
	struct ibv_sge list;
	struct lent l;
	size_t i, n;

	stream_open(&l);
	hello(&l.p);
	for (i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		from = i % 2 ? &l.p.b : &l.p.a;
		to = i % 2 ? &l.p.a : &l.p.b;
		n = sizes[i / 2];
		printf("%zu bytes from %s\n", n, from->name);
		list = sge(from, 0, n);
		fill(from->mem, n, i);
		post(from, 1, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &list, 1,
		     (uintptr_t)to->mem, to->mr->rkey);
		wc_expect(from, 1, IBV_WC_SUCCESS);
		/* The Read comes after the Write. */
		list = sge(from, 1 << 20, n);
		post(from, 2, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &list, 1,
		     (uintptr_t)to->mem, to->mr->rkey);
		wc_expect(from, 2, IBV_WC_SUCCESS);
		same(to->mem, n, i, "Write");
		same(from->mem + (1 << 20), n, i, "Read");
		list = sge(to, 2 << 20, n);
		post_recv(to, 3, &list, 1);
		list = sge(from, 0, n);
		post(from, 4, IBV_WR_SEND, IBV_SEND_SIGNALED, &list, 1, 0, 0);
		wc_expect(from, 4, IBV_WC_SUCCESS);
		wc_expect(to, 3, IBV_WC_SUCCESS);
		same(to->mem + (2 << 20), n, i, "Send");
	}
	stream_close(&l);
}

/* The program has made its buffers as small as TCP allows, before it connected and afterwards. */
static void small_buffers(void)
{
	struct ibv_sge to, from;
	int fds[2], i, one = 1;
	struct lent l;

	lent_open(&l);
	fds[0] = l.a;
	fds[1] = l.b;
	for (i = 0; i < 2; i++)
		check(!setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &one, sizeof(one)) &&
		      !setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &one, sizeof(one)), "buffers: %m");
	ask_in_text(&l, "who");
	wait_for(l.b, MPA_STREAM_REQUESTED);
	check(!answer(l.b, MPA_ACCEPT, ""), "MPA_ACCEPT: %m");
	wait_for(l.a, MPA_STREAM_ESTABLISHED);
	hello(&l.p);
	to = sge(&l.p.b, 0, 1 << 20);
	from = sge(&l.p.a, 0, 1 << 20);
	fill(l.p.a.mem, 1 << 20, 3);
	post_recv(&l.p.b, 1, &to, 1);
	post(&l.p.a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, &from, 1, 0, 0);
	wc_expect(&l.p.b, 1, IBV_WC_SUCCESS);
	wc_expect(&l.p.a, 2, IBV_WC_SUCCESS);
	same(l.p.b.mem, 1 << 20, 3, "Send");
	stream_close(&l);
}

static unsigned int flags_wanted(const char *name)
{
	const char *text = getenv(name);

	check(text, "no %s", name);
	return strtoul(text, NULL, 0);
}

/* The settings differ (lend.sh), which also says what each side has to see. */
static void flags(void)
{
	struct lent l;
	unsigned int a, b;

	lent_open(&l);
	ask_in_text(&l, "");
	wait_for(l.b, MPA_STREAM_REQUESTED);
	check(!answer(l.b, MPA_ACCEPT, ""), "MPA_ACCEPT: %m");
	a = wait_for(l.a, MPA_STREAM_ESTABLISHED).flags;
	b = wait_for(l.b, MPA_STREAM_ESTABLISHED).flags;
	check(a == flags_wanted("FLAGS_A"), "a: flags %x", a);
	check(b == flags_wanted("FLAGS_B"), "b: flags %x", b);
	echo(&l);
	stream_close(&l);
}

/* Depths as both sides see them: 4 and 5 are asked for, 6 and 7 offered (lend.c). */
static void depths(void)
{
	struct mpa_status a, b;
	struct lent l;

	lent_open(&l);
	ask_in_text(&l, "");
	b = wait_for(l.b, MPA_STREAM_REQUESTED);
	check(b.ird == 4 && b.ord == 5, "offered: %u %u", b.ird, b.ord);
	check(!answer(l.b, MPA_ACCEPT, ""), "MPA_ACCEPT: %m");
	a = wait_for(l.a, MPA_STREAM_ESTABLISHED);
	b = wait_for(l.b, MPA_STREAM_ESTABLISHED);
	check(a.ird == 4 && a.ord == 5, "a: %u %u", a.ird, a.ord);
	check(b.ird == 6 && b.ord == 4, "b: %u %u", b.ird, b.ord);
	stream_close(&l);
}

/* ---- poll --------------------------------------------------------------- */

static void expect_epoll(int ep, uint32_t events)
{
	struct epoll_event got = { 0 };

	check(epoll_wait(ep, &got, 1, WAIT_MS) == 1, "no event, expected %x", events);
	check((got.events & (EPOLLIN | EPOLLHUP)) == events, "events %x, not %x", got.events,
	      events);
}

static void expect_state(int fd, enum mpa_stream_state state)
{
	check(status_of(fd).state == state, "state %u, not %u", status_of(fd).state, state);
}

/* Edge triggered, as a program that waits for many connections does */
static void epoll_edges(void)
{
	struct epoll_event all = { .events = EPOLLIN | EPOLLET };
	struct epoll_event got;
	int on_a, on_b;
	struct lent l;

	lent_open(&l);
	on_a = epoll_create1(0);
	on_b = epoll_create1(0);
	ask_in_text(&l, "");
	/* wait_for() would take the news. */
	check(!epoll_ctl(on_a, EPOLL_CTL_ADD, l.a, &all) &&
	      !epoll_ctl(on_b, EPOLL_CTL_ADD, l.b, &all), "epoll_ctl: %m");
	expect_epoll(on_b, EPOLLIN);
	expect_state(l.b, MPA_STREAM_REQUESTED);
	check(!epoll_wait(on_a, &got, 1, 0), "a: events %x", got.events);
	check(!answer(l.b, MPA_ACCEPT, ""), "MPA_ACCEPT: %m");
	expect_epoll(on_a, EPOLLIN);
	expect_state(l.a, MPA_STREAM_ESTABLISHED);
	expect_epoll(on_b, EPOLLIN);
	expect_state(l.b, MPA_STREAM_ESTABLISHED);
	echo(&l);
	check(!epoll_wait(on_a, &got, 1, 0) && !epoll_wait(on_b, &got, 1, 0),
	      "data makes events %x", got.events);
	close(l.a);
	expect_epoll(on_b, EPOLLIN | EPOLLHUP);
	expect_state(l.b, MPA_STREAM_CLOSED);
	close(l.b);
	close(on_a);
	close(on_b);
	lent_free(&l);
}

/* A program that sees REJECTED has TCP at that moment. */
static void rejected_at_once(void)
{
	struct lent l;
	char c;
	int i;

	lent_open(&l);
	for (i = 0; i < 50; i++) {
		ask_in_text(&l, "");
		wait_for(l.b, MPA_STREAM_REQUESTED);
		check(!answer(l.b, MPA_REJECT, ""), "MPA_REJECT: %m");
		check(write(l.b, "!", 1) == 1, "b: write: %m");
		while (status_of(l.a).state != MPA_STREAM_REJECTED)
			;
		check(write(l.a, "?", 1) == 1, "a: write: %m");
		check(read(l.a, &c, 1) == 1 && c == '!', "a: read: %m");
		check(read(l.b, &c, 1) == 1 && c == '?', "b: read: %m");
	}
	close(l.a);
	close(l.b);
	lent_free(&l);
}

/* ---- threads ------------------------------------------------------------ */

static void *read_blocked(void *fd)
{
	static char buf[64];

	return (void *)(intptr_t)read(*(int *)fd, buf, sizeof(buf));
}

/*
 * A thread that reads when another starts MPA keeps waiting in TCP. It may take bytes of the
 * stream, which fails then. It ends with the stream at the latest.
 */
static void blocked_reader(void)
{
	pthread_t thread;
	struct lent l;
	void *ret;

	lent_open(&l);
	check(!pthread_create(&thread, NULL, read_blocked, &l.a), "thread: %m");
	usleep(50000);	/* Nothing tells that it waits in TCP. The test passes if it does not. */
	check(!start_mpa(&l.p.b, l.b, MPA_RESPONDER, ""), "b: MPA_START: %m");
	check(!start_mpa(&l.p.a, l.a, MPA_INITIATOR, "who"), "a: MPA_START: %m");
	if (wait_for(l.b, MPA_STREAM_REQUESTED).state == MPA_STREAM_REQUESTED)
		check(!answer(l.b, MPA_ACCEPT, "me"), "MPA_ACCEPT: %m");
	close(l.b);
	check(!pthread_join(thread, &ret), "join: %m");
	printf("read() returned %zd\n", (ssize_t)ret);
	close(l.a);
	lent_free(&l);
}

/* ---- held, while something outside is done ------------------------------ */

/* An established stream, of which the device or TCP is taken away */
static void held(void)
{
	struct lent l;

	stream_open(&l);
	echo(&l);
	wait_until_told("established");
	expect_end(l.a);
	expect_end(l.b);
	close(l.a);
	close(l.b);
}

/* The same while the startup waits for the peer */
static void held_starting(void)
{
	struct lent l;

	lent_open(&l);
	check(!start_mpa(&l.p.b, l.b, MPA_RESPONDER, ""), "b: MPA_START: %m");
	wait_until_told("starting");
	wait_failure(l.b, ECONNABORTED);
	close(l.a);
	close(l.b);
}

/* The same while the program has to answer, and its peer waits */
static void held_requested(void)
{
	struct lent l;

	lent_open(&l);
	ask_in_text(&l, "");
	wait_for(l.b, MPA_STREAM_REQUESTED);
	wait_until_told("requested");
	wait_failure(l.b, ECONNABORTED);
	check(answer(l.b, MPA_ACCEPT, "") && errno == EINVAL, "MPA_ACCEPT: %m");
	wait_for(l.a, MPA_STREAM_FAILED);
	close(l.a);
	close(l.b);
}

/* An established stream works as before, whatever was tried outside. */
static void kept(void)
{
	struct lent l;

	stream_open(&l);
	echo(&l);
	wait_until_told("established");
	echo(&l);
	stream_close(&l);
}

static void ask_for_errors(int fd)
{
	int on = 1;

	check(!setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on)), "IP_RECVERR: %m");
}

/* A router's error for the Request */
static void router_error_early(void)
{
	struct lent l;

	lent_open(&l);
	ask_for_errors(l.a);
	check(!start_mpa(&l.p.b, l.b, MPA_RESPONDER, ""), "b: MPA_START: %m");
	wait_until_told("established");
	check(!start_mpa(&l.p.a, l.a, MPA_INITIATOR, ""), "a: MPA_START: %m");
	wait_until_told("sent");
	accept_and_close(&l);
}

/*
 * The program asked TCP for errors of routers. One comes, the next call of TCP returns it, and the
 * connection goes on.
 */
static void router_error(void)
{
	struct ibv_sge to, from;
	struct lent l;

	stream_open(&l);
	ask_for_errors(l.a);
	echo(&l);
	to = sge(&l.p.b, 0, 100);
	from = sge(&l.p.a, 4096, 100);
	post_recv(&l.p.b, 1, &to, 1);
	wait_until_told("established");
	post(&l.p.a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, &from, 1, 0, 0);
	wait_until_told("sent");
	wc_expect(&l.p.a, 2, IBV_WC_SUCCESS);
	wc_expect(&l.p.b, 1, IBV_WC_SUCCESS);
	hello(&l.p);
	stream_close(&l);
}

const struct test lend_both_tests[] = {
	{ "accepted", accepted },
	{ "closed_at_once", closed_at_once },
	{ "rejected", rejected },
	{ "rejected_and_closed", rejected_and_closed },
	{ "rejected_at_once", rejected_at_once },
	{ "unread", unread },
	{ "request_first", request_first },
	{ "both_initiate", both_initiate },
	{ "both_wait", both_wait },
	{ "no_answer", no_answer },
	{ "data", data },
	{ "small_buffers", small_buffers },
	{ "flags", flags },
	{ "depths", depths },
	{ "epoll_edges", epoll_edges },
	{ "blocked_reader", blocked_reader },
	{ "held", held },
	{ "held_starting", held_starting },
	{ "held_requested", held_requested },
	{ "kept", kept },
	{ "router_error", router_error },
	{ "router_error_early", router_error_early },
	{ NULL, NULL },
};
