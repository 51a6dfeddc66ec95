// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two programs talk over plain TCP and then turn the connection into an MPA stream, or try to.
 * Side b is the responder. One thread drives both (probe.h).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <rdma/rdma_mpa.h>
#include "probe.h"

#define READY	"ready"

/* A pair whose sides have TCP sockets and queue pairs, and no rdma_cm. */
struct lent {
	struct pair p;
	int a, b;	/* connected sockets */
	struct rdma_cm_id ids[2];
};

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **dev;
	struct ibv_context *ctx = NULL;

	check(list, "ibv_get_device_list: %m");
	for (dev = list; *dev; dev++)
		if (!strcmp(ibv_get_device_name(*dev), name))
			ctx = ibv_open_device(*dev);
	ibv_free_device_list(list);
	check(ctx, "no device %s", name);
	return ctx;
}

static void make_qp(struct lent *l, struct side *s, int n, const char *device)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 6,
			 .max_recv_sge = 6, .max_inline_data = 64 },
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT };

	s->id = &l->ids[n];
	s->id->verbs = open_device(device);
	s->pd = ibv_alloc_pd(s->id->verbs);
	check(s->pd, "alloc_pd: %m");
	s->cq = ibv_create_cq(s->id->verbs, 256, NULL, NULL, 0);
	check(s->cq, "create_cq: %m");
	s->mr = ibv_reg_mr(s->pd, s->mem, MEM_SIZE, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	check(s->mr, "reg_mr: %m");
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	s->id->qp = ibv_create_qp(s->pd, &attr);
	check(s->id->qp, "create_qp: %m");
	check(!ibv_modify_qp(s->id->qp, &init, IBV_QP_STATE), "modify_qp INIT: %m");
}

/* Connect TCP, and choose the protocol on both sides. */
static void lent_open(struct lent *l)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(probe_port()) };
	int listener, one = 1;

	memset(l, 0, sizeof(*l));
	pair_init(&l->p, &defaults);
	inet_pton(AF_INET, "10.77.0.2", &to.sin_addr);
	enter(&l->p.b);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	check(!setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), "reuse: %m");
	check(!bind(listener, (void *)&to, sizeof(to)) && !listen(listener, 5), "listen: %m");
	make_qp(l, &l->p.b, 1, "mpa1");
	enter(&l->p.a);
	l->a = socket(AF_INET, SOCK_STREAM, 0);
	check(!connect(l->a, (void *)&to, sizeof(to)), "connect: %m");
	make_qp(l, &l->p.a, 0, "mpa0");
	l->b = accept(listener, NULL, NULL);
	check(l->b >= 0, "accept: %m");
	close(listener);
	check(!setsockopt(l->a, IPPROTO_TCP, TCP_ULP, MPA_ULP, strlen(MPA_ULP)), "a: ULP: %m");
	check(!setsockopt(l->b, IPPROTO_TCP, TCP_ULP, MPA_ULP, strlen(MPA_ULP)), "b: ULP: %m");
}

static void lent_free(struct lent *l)
{
	struct side *s[] = { &l->p.a, &l->p.b };
	int i;

	for (i = 0; i < 2; i++) {
		check(!ibv_destroy_qp(s[i]->id->qp), "destroy_qp: %m");
		check(!ibv_dereg_mr(s[i]->mr) && !ibv_destroy_cq(s[i]->cq) &&
		      !ibv_dealloc_pd(s[i]->pd), "free: %m");
		ibv_close_device(s[i]->id->verbs);
		rdma_destroy_event_channel(s[i]->events);
		munmap(s[i]->mem, MEM_SIZE);
		close(s[i]->netns);
	}
}

static void say(int from, int to, const char *text)
{
	char buf[64] = "";
	size_t n = strlen(text), have = 0;
	ssize_t ret;

	check(write(from, text, n) == (ssize_t)n, "write: %m");
	while (have < n) {
		ret = read(to, buf + have, n - have);
		check(ret > 0, "read: %zd %m", ret);
		have += ret;
	}
	check(!strcmp(buf, text), "read '%s', not '%s'", buf, text);
}

static int start(struct side *s, int fd, enum mpa_role role, const char *text)
{
	struct mpa_start start = {
		.verbs_fd = s->id->verbs->cmd_fd, .qp_num = s->id->qp->qp_num, .role = role,
	};

	if (role == MPA_INITIATOR) {
		start.ird = 4;
		start.ord = 5;
		start.private_data = (uintptr_t)text;
		start.private_data_len = strlen(text);
	} else {
		start.last = (uintptr_t)text;
		start.last_len = strlen(text);
	}
	return setsockopt(fd, SOL_MPA, MPA_START, &start, sizeof(start));
}

static int answer(int fd, enum mpa_option option, const char *text)
{
	struct mpa_answer answer = {
		.private_data = (uintptr_t)text, .private_data_len = strlen(text),
	};

	if (option == MPA_ACCEPT) {
		answer.ird = 6;
		answer.ord = 7;
	}
	return setsockopt(fd, SOL_MPA, option, &answer, sizeof(answer));
}

static struct mpa_status status_of(int fd)
{
	struct mpa_status status;
	socklen_t len = sizeof(status);

	check(!getsockopt(fd, SOL_MPA, MPA_STATUS, &status, &len), "MPA_STATUS: %m");
	check(len == sizeof(status), "MPA_STATUS has %u bytes", len);
	return status;
}

static struct mpa_status wait_for(int fd, enum mpa_stream_state state)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct mpa_status status;

	check(poll(&pfd, 1, WAIT_MS) == 1, "no event, state %u not %u", status_of(fd).state, state);
	status = status_of(fd);
	check(status.state == state, "state %u (error %u), not %u", status.state, status.error, state);
	return status;
}

static void has_data(const struct mpa_status *status, const char *text)
{
	check(status->private_data_len == strlen(text) &&
	      !memcmp(status->private_data, text, strlen(text)), "private data '%.*s', not '%s'",
	      status->private_data_len, status->private_data, text);
}

static void is_refused(int fd)
{
	char c;

	check(write(fd, "x", 1) < 0 && errno == EBUSY, "write: %m");
	check(read(fd, &c, 1) < 0 && errno == EBUSY, "read: %m");
}

/* Both sides agree by text; the responder is ready when the last streaming message is there. */
static void ask_in_text(struct lent *l, const char *request)
{
	char buf[sizeof(READY)] = "";

	say(l->a, l->b, "mpa, please");
	check(!start(&l->p.b, l->b, MPA_RESPONDER, READY), "b: MPA_START: %m");
	is_refused(l->b);
	check(recv(l->a, buf, strlen(READY), MSG_WAITALL) == (ssize_t)strlen(READY), "recv: %m");
	check(!strcmp(buf, READY), "the last streaming message is '%s'", buf);
	check(!start(&l->p.a, l->a, MPA_INITIATOR, request), "a: MPA_START: %m");
	is_refused(l->a);
}

static void stream_open(struct lent *l)
{
	struct mpa_status status;

	lent_open(l);
	ask_in_text(l, "who");
	status = wait_for(l->b, MPA_STREAM_REQUESTED);
	has_data(&status, "who");
	check(!answer(l->b, MPA_ACCEPT, "me"), "MPA_ACCEPT: %m");
	wait_for(l->b, MPA_STREAM_ESTABLISHED);
	status = wait_for(l->a, MPA_STREAM_ESTABLISHED);
	has_data(&status, "me");
	check(status.revision == 2 && status.flags & MPA_STREAM_CRC, "revision %u, flags %x",
	      status.revision, status.flags);
}

static void expect_end(int fd)
{
	struct pollfd pfd = { .fd = fd };

	check(poll(&pfd, 1, WAIT_MS) == 1 && pfd.revents & POLLHUP, "no POLLHUP");
	check(status_of(fd).state == MPA_STREAM_CLOSED, "state %u", status_of(fd).state);
}

static void echo(struct lent *l)
{
	struct ibv_sge to = sge(&l->p.a, 0, 100), from = sge(&l->p.b, 4096, 100);

	hello(&l->p);
	fill(l->p.b.mem + 4096, 100, 7);
	post_recv(&l->p.a, 1, &to, 1);
	post(&l->p.b, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, &from, 1, 0, 0);
	wc_expect(&l->p.b, 2, IBV_WC_SUCCESS);
	wc_expect(&l->p.a, 1, IBV_WC_SUCCESS);
	same(l->p.a.mem, 100, 7, "echo");
}

static void accepted(void)
{
	struct lent l;

	stream_open(&l);
	echo(&l);
	is_refused(l.a);
	is_refused(l.b);
	close(l.a);
	expect_end(l.b);
	close(l.b);
	lent_free(&l);
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

/* After a reject both go on in text, and may try again. */
static void rejected(void)
{
	struct mpa_status status;
	struct lent l;

	lent_open(&l);
	ask_in_text(&l, "who");
	wait_for(l.b, MPA_STREAM_REQUESTED);
	check(!answer(l.b, MPA_REJECT, "not you"), "MPA_REJECT: %m");
	status = wait_for(l.a, MPA_STREAM_REJECTED);
	has_data(&status, "not you");
	check(status.error == ECONNREFUSED, "error %u", status.error);
	say(l.a, l.b, "never mind");
	say(l.b, l.a, "sorry");
	ask_in_text(&l, "who");
	wait_for(l.b, MPA_STREAM_REQUESTED);
	check(!answer(l.b, MPA_ACCEPT, ""), "MPA_ACCEPT: %m");
	wait_for(l.a, MPA_STREAM_ESTABLISHED);
	wait_for(l.b, MPA_STREAM_ESTABLISHED);
	echo(&l);
	close(l.a);
	expect_end(l.b);
	close(l.b);
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
	check(start(&l.p.a, l.a, MPA_INITIATOR, "") && errno == ENOTEMPTY, "MPA_START: %m");
	check(recv(l.a, buf, 5, MSG_WAITALL) == 5 && !strcmp(buf, "early"), "recv: %m");
	close(l.a);
	close(l.b);
	lent_free(&l);
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

static const struct test tests[] = {
	{ "accepted", accepted },
	{ "closed_at_once", closed_at_once },
	{ "rejected", rejected },
	{ "unread", unread },
	{ "lingers", lingers },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_tests(argc, argv, tests);
}
