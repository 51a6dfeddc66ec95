// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tests of lend_probe: how a stream ends in each of its states. The peer is scripted. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lend_script.h"

#define STATES	(MPA_STREAM_CLOSED + 1)

/* ---- the program ends it ------------------------------------------------ */

static void closed(void)
{
	struct ibv_sge to;
	struct lent l;
	int state;

	for (state = 0; state < STATES; state++) {
		reach_state(&l, state);
		to = sge(&l.p.a, 0, 100);
		post_recv(&l.p.a, 1, &to, 1);
		close(l.a);
		script_ended(&l);
		close(l.b);
		if (state == MPA_STREAM_ESTABLISHED || state == MPA_STREAM_CLOSED)
			wc_expect(&l.p.a, 1, IBV_WC_WR_FLUSH_ERR);
		else
			wc_none(&l.p.a, 1);
		lent_free(&l);
	}
}

/* The program has asked TCP to wait in close(), or to reset. */
static void closed_with_linger(void)
{
	struct linger linger = { .l_onoff = 1 };
	struct lent l;
	int i, state;

	for (i = 0; i < 2 * STATES; i++) {
		state = i / 2;
		linger.l_linger = i % 2 ? 60 : 0;
		reach_state(&l, state);
		check(!setsockopt(l.a, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), "%m");
		close(l.a);
		script_ended(&l);
		close(l.b);
		lent_free(&l);
	}
}

static void destroyed_qp(void)
{
	struct lent l;
	int state;

	for (state = 0; state < STATES; state++) {
		reach_state(&l, state);
		check(!ibv_destroy_qp(l.p.a.id->qp), "destroy_qp: %m");
		l.p.a.id->qp = NULL;
		if (state == MPA_STREAM_STARTING || state == MPA_STREAM_REQUESTED)
			wait_failure(l.a, ECONNABORTED);
		else if (state == MPA_STREAM_ESTABLISHED)
			wait_for(l.a, MPA_STREAM_CLOSED);
		else
			check(status_of(l.a).state == state, "state %u", status_of(l.a).state);
		if (state == MPA_STREAM_PLAIN || state == MPA_STREAM_REJECTED)
			say(l.a, l.b, "hello");
		else
			script_ended(&l);
		script_free(&l);
	}
}

/* The queue pair is moved to ERR, as ibv_modify_qp() allows at any time. */
static void failed_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct lent l;
	int state;

	for (state = MPA_STREAM_STARTING; state <= MPA_STREAM_ESTABLISHED; state++) {
		script_open(&l);
		begin_state(&l, state);
		if (state != MPA_STREAM_STARTING) {
			play_state(&l, state);
			wait_for(l.a, state);
		}
		check(!ibv_modify_qp(l.p.a.id->qp, &attr, IBV_QP_STATE), "modify_qp: %m");
		if (state == MPA_STREAM_STARTING) {
			play_state(&l, MPA_STREAM_ESTABLISHED);
			wait_for(l.a, MPA_STREAM_FAILED);
		} else if (state == MPA_STREAM_REQUESTED) {
			check(answer(l.a, MPA_ACCEPT, ""), "accepted");
			wait_for(l.a, MPA_STREAM_REJECTED);
			check(status_of(l.a).error, "no error");
		} else {
			wait_for(l.a, MPA_STREAM_CLOSED);
		}
		script_free(&l);
	}
}

/* ---- it is killed ------------------------------------------------------- */

/*
 * Side a in a process of its own. It says when it is in the state. The kernel closes descriptors
 * in the order of their numbers. @socket_last makes the socket's the last.
 */
static pid_t start_victim(struct lent *l, enum mpa_stream_state state, bool socket_last, int *said)
{
	int pipes[2], fd;
	pid_t pid;

	check(!pipe(pipes), "pipe: %m");
	pid = fork();
	check(pid >= 0, "fork: %m");
	*said = pipes[0];
	if (pid) {
		close(pipes[1]);
		close(l->a);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(l->b);
	close(pipes[0]);
	if (socket_last) {
		fd = fcntl(l->a, F_DUPFD, 100);
		check(fd >= 0, "dup: %m");
		close(l->a);
		l->a = fd;
	}
	make_device(l, &l->p.a);
	set_ulp(l->a);
	begin_state(l, state);
	if (state >= MPA_STREAM_REQUESTED)
		wait_for(l->a, state);
	check(write(pipes[1], "", 1) == 1, "pipe: %m");
	pause();
	fail("not killed");
}

static void kill_in(enum mpa_stream_state state, bool socket_last)
{
	int said, status;
	struct lent l;
	pid_t pid;
	char c;

	tcp_connect(&l);
	pid = start_victim(&l, state, socket_last, &said);
	play_state(&l, state);
	check(read(said, &c, 1) == 1, "it does not reach state %u", state);
	close(said);
	check(!kill(pid, SIGKILL), "kill: %m");
	script_ended(&l);
	check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "status %d", status);
	close(l.b);
	lent_free(&l);
}

static void killed(void)
{
	int state;

	for (state = 0; state < STATES; state++)
		kill_in(state, false);
}

static void killed_socket_last(void)
{
	int state;

	for (state = 0; state < STATES; state++)
		kill_in(state, true);
}

/* ---- the peer ends it --------------------------------------------------- */

static void reset(int *fd)
{
	struct linger linger = { .l_onoff = 1 };

	check(!setsockopt(*fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), "SO_LINGER: %m");
	close(*fd);
	*fd = -1;
}

static void expect_peer_end(struct lent *l, enum mpa_stream_state state, bool by_reset)
{
	struct pollfd pfd = { .fd = l->a, .events = POLLIN };
	ssize_t n;
	char c;

	switch (state) {
	case MPA_STREAM_STARTING:
	case MPA_STREAM_REQUESTED:
		wait_failure(l->a, ECONNRESET);
		break;
	case MPA_STREAM_ESTABLISHED:
		wait_for(l->a, MPA_STREAM_CLOSED);
		break;
	case MPA_STREAM_PLAIN:
	case MPA_STREAM_REJECTED:
		check(poll(&pfd, 1, WAIT_MS) == 1, "no event");
		check(start_mpa(&l->p.a, l->a, MPA_INITIATOR, "") && errno == ENOTCONN,
		      "MPA_START: %m");
		n = read(l->a, &c, 1);
		check(by_reset ? n < 0 && errno == ECONNRESET : !n, "read: %zd %m", n);
		break;
	default:
		check(status_of(l->a).state == state, "state %u", status_of(l->a).state);
	}
}

static void peer_closed(void)
{
	struct lent l;
	int state;

	for (state = 0; state < STATES; state++) {
		reach_state(&l, state);
		shutdown(l.b, SHUT_WR);
		expect_peer_end(&l, state, false);
		script_free(&l);
	}
}

static atomic_bool posting, stop;

/* Post Sends all the time, so that a doorbell may be in progress at any moment. */
static void *post_ever(void *ctx)
{
	struct side *s = ctx;
	struct ibv_sge from = sge(s, 0, 1);
	struct ibv_send_wr *bad, wr = {
		.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};
	struct ibv_wc wc[16];

	while (!stop) {
		if (!ibv_post_send(s->id->qp, &wr, &bad))
			posting = true;
		check(ibv_poll_cq(s->cq, ARRAY_SIZE(wc), wc) >= 0, "poll_cq");
	}
	return NULL;
}

/* The driver returns the socket while a task that posts waits for its lock. */
static void reset_under_posts(bool close_first)
{
	pthread_t thread;
	struct lent l;

	reach_state(&l, MPA_STREAM_ESTABLISHED);
	posting = false;
	stop = false;
	check(!pthread_create(&thread, NULL, post_ever, &l.p.a), "thread");
	while (!posting)
		sched_yield();
	reset(&l.b);
	wait_for(l.a, MPA_STREAM_CLOSED);
	if (close_first)
		close(l.a);
	stop = true;
	check(!pthread_join(thread, NULL), "join");
	if (!close_first)
		close(l.a);
	lent_free(&l);
}

static void peer_reset(void)
{
	struct lent l;
	int i, state;

	for (state = 0; state < STATES; state++) {
		reach_state(&l, state);
		reset(&l.b);
		expect_peer_end(&l, state, true);
		script_free(&l);
	}
	for (i = 0; i < 40; i++)
		reset_under_posts(i % 2);
}

/* A responder that waits for the Request */
static void peer_left(void)
{
	struct lent l;
	int i;

	for (i = 0; i < 2; i++) {
		script_open(&l);
		check(!start_mpa(&l.p.a, l.a, MPA_RESPONDER, ""), "MPA_START: %m");
		if (i)
			reset(&l.b);
		else
			shutdown(l.b, SHUT_WR);
		wait_failure(l.a, ECONNRESET);
		script_free(&l);
	}
}

/* After the end, the program may use its socket for another connection. */
static void connected_again(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct lent l;

	reach_state(&l, MPA_STREAM_FAILED);
	close(l.b);
	check(!connect(l.a, &none, sizeof(none)), "disconnect: %m");
	check(listen(l.a, 1) && errno == EINVAL, "listen: %m");
	tcp_join(&l, tcp_listen(&l.p.b));
	say(l.a, l.b, "hello");
	begin_state(&l, MPA_STREAM_ESTABLISHED);
	play_state(&l, MPA_STREAM_ESTABLISHED);
	wait_for(l.a, MPA_STREAM_ESTABLISHED);
	script_free(&l);
}

static void *close_in_thread(void *ctx)
{
	close(*(int *)ctx);
	return NULL;
}

/* Has stall.ko stopped us? */
static bool is_stalled(void)
{
	FILE *f = fopen("/sys/module/stall/parameters/stalled", "r");
	int c;

	check(f, "stall.ko: %m");
	c = getc(f);
	fclose(f);
	return c == '1';
}

static enum ibv_qp_state qp_state(const struct side *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	check(!ibv_query_qp(s->id->qp, &attr, IBV_QP_STATE, &init), "query_qp: %m");
	return attr.qp_state;
}

static void make_new(const struct side *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	check(!ibv_modify_qp(s->id->qp, &attr, IBV_QP_STATE), "modify_qp RESET: %m");
	attr.qp_state = IBV_QPS_INIT;
	check(!ibv_modify_qp(s->id->qp, &attr, IBV_QP_STATE), "modify_qp INIT: %m");
}

/*
 * The scenario stops close() where the driver has unlocked the endpoint. The stream ends by itself,
 * and the queue pair has the next one before close() goes on.
 */
static void closed_late(void)
{
	pthread_t thread;
	struct lent l;
	int closing;

	reach_state(&l, MPA_STREAM_ESTABLISHED);
	closing = l.a;
	wait_until_told("established");
	check(!pthread_create(&thread, NULL, close_in_thread, &closing), "thread");
	while (!is_stalled())
		sched_yield();
	reset(&l.b);
	while (qp_state(&l.p.a) != IBV_QPS_ERR)
		sched_yield();
	make_new(&l.p.a);
	tcp_connect_next(&l);
	set_ulp(l.a);
	begin_state(&l, MPA_STREAM_ESTABLISHED);
	play_state(&l, MPA_STREAM_ESTABLISHED);
	wait_for(l.a, MPA_STREAM_ESTABLISHED);
	wait_until_told("the next one");
	check(!pthread_join(thread, NULL), "join");
	check(qp_state(&l.p.a) == IBV_QPS_RTS, "its state is %u", qp_state(&l.p.a));
	script_free(&l);
}

/*
 * The program wants close() to wait for the peer, which gets nothing any more. The driver, which
 * closes the connection in the end, must not wait.
 */
static void lingers(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 1000 };
	struct lent l;

	stream_open(&l);
	echo(&l);
	check(!setsockopt(l.a, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), "SO_LINGER: %m");
	enter(&l.p.a);
	check(!system("tc qdisc add dev va root netem loss 100%"), "tc");
	close(l.a);
	close(l.b);
	lent_free(&l);
}

const struct test lend_end_tests[] = {
	{ "closed", closed },
	{ "closed_with_linger", closed_with_linger },
	{ "lingers", lingers },
	{ "destroyed_qp", destroyed_qp },
	{ "failed_qp", failed_qp },
	{ "killed", killed },
	{ "killed_socket_last", killed_socket_last },
	{ "peer_closed", peer_closed },
	{ "peer_reset", peer_reset },
	{ "peer_left", peer_left },
	{ "connected_again", connected_again },
	{ "closed_late", closed_late },
	{ NULL, NULL },
};
