// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What the tests of lend_probe share: see lend.h. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "lend.h"

/* ---- from TCP to an established stream ---------------------------------- */

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

/* A queue pair in INIT, of mpa0 for side a and of mpa1 for side b */
void make_device(struct lent *l, struct side *s)
{
	bool is_b = s == &l->p.b;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 6,
			 .max_recv_sge = 6, .max_inline_data = 64 },
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT };

	enter(s);
	s->id = &l->ids[is_b];
	s->id->verbs = open_device(is_b ? "mpa1" : "mpa0");
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

int tcp_listen(const struct side *server)
{
	struct sockaddr_storage at;
	int fd, one = 1;

	probe_address(&at);
	enter(server);
	fd = socket(at.ss_family, SOCK_STREAM, 0);
	check(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), "reuse: %m");
	check(!bind(fd, (void *)&at, sizeof(at)) && !listen(fd, 5), "listen: %m");
	return fd;
}

/* Connect side a's socket, and close the listener. */
void tcp_join(struct lent *l, int listener)
{
	struct sockaddr_storage to;

	probe_address(&to);
	enter(&l->p.a);
	check(!connect(l->a, (void *)&to, sizeof(to)), "connect: %m");
	l->b = accept(listener, NULL, NULL);
	check(l->b >= 0, "accept: %m");
	close(listener);
}

/* Connect new sockets. */
void tcp_connect_next(struct lent *l)
{
	struct sockaddr_storage to;
	int listener;

	probe_address(&to);
	listener = tcp_listen(&l->p.b);
	enter(&l->p.a);
	l->a = socket(to.ss_family, SOCK_STREAM, 0);
	tcp_join(l, listener);
}

void tcp_connect(struct lent *l)
{
	memset(l, 0, sizeof(*l));
	pair_init(&l->p, &defaults);
	tcp_connect_next(l);
}

int try_ulp(int fd, const char *name)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_ULP, name, strlen(name));
}

void set_ulp(int fd)
{
	check(!try_ulp(fd, MPA_ULP), "TCP_ULP: %m");
}

/* Connect TCP, and choose the protocol on both sides. */
void lent_open(struct lent *l)
{
	tcp_connect(l);
	make_device(l, &l->p.a);
	make_device(l, &l->p.b);
	set_ulp(l->a);
	set_ulp(l->b);
}

/* Both sides agree by text; the responder is ready when the last streaming message is there. */
void ask_in_text(struct lent *l, const char *request)
{
	char buf[sizeof(READY)] = "";

	say(l->a, l->b, "mpa, please");
	check(!start_mpa(&l->p.b, l->b, MPA_RESPONDER, READY), "b: MPA_START: %m");
	is_refused(l->b);
	check(recv(l->a, buf, strlen(READY), MSG_WAITALL) == (ssize_t)strlen(READY), "recv: %m");
	check(!strcmp(buf, READY), "the last streaming message is '%s'", buf);
	check(!start_mpa(&l->p.a, l->a, MPA_INITIATOR, request), "a: MPA_START: %m");
	is_refused(l->a);
}

void stream_open(struct lent *l)
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
	check(status.revision == 2, "revision %u", status.revision);
}

static void free_side(struct side *s)
{
	if (s->id) {
		check(!s->id->qp || !ibv_destroy_qp(s->id->qp), "destroy_qp: %m");
		check(!ibv_dereg_mr(s->mr) && !ibv_destroy_cq(s->cq) && !ibv_dealloc_pd(s->pd),
		      "free: %m");
		ibv_close_device(s->id->verbs);
	}
	rdma_destroy_event_channel(s->events);
	munmap(s->mem, MEM_SIZE);
	close(s->netns);
}

/* The sockets are closed. */
void lent_free(struct lent *l)
{
	free_side(&l->p.a);
	free_side(&l->p.b);
}

/* ---- the calls of one program ------------------------------------------- */

void say(int from, int to, const char *text)
{
	char buf[64] = "";
	ssize_t n = strlen(text);

	check(write(from, text, n) == n, "write: %m");
	check(recv(to, buf, n, MSG_WAITALL) == n, "recv: %m");
	check(!strcmp(buf, text), "read '%s', not '%s'", buf, text);
}

struct mpa_start start_args(struct side *s, enum mpa_role role)
{
	struct mpa_start start = {
		.verbs_fd = s->id->verbs->cmd_fd, .qp_num = s->id->qp->qp_num, .role = role,
	};

	if (role == MPA_INITIATOR) {
		start.ird = 4;
		start.ord = 5;
	}
	return start;
}

int set_start(int fd, const struct mpa_start *start)
{
	return setsockopt(fd, SOL_MPA, MPA_START, start, sizeof(*start));
}

/* The text is the Private Data of an initiator, or the last streaming message of a responder. */
int start_mpa(struct side *s, int fd, enum mpa_role role, const char *text)
{
	struct mpa_start start = start_args(s, role);

	if (role == MPA_INITIATOR) {
		start.private_data = (uintptr_t)text;
		start.private_data_len = strlen(text);
	} else {
		start.last = (uintptr_t)text;
		start.last_len = strlen(text);
	}
	return set_start(fd, &start);
}

int answer(int fd, enum mpa_option option, const char *text)
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

struct mpa_status status_of(int fd)
{
	struct mpa_status status;
	socklen_t len = sizeof(status);

	check(!getsockopt(fd, SOL_MPA, MPA_STATUS, &status, &len), "MPA_STATUS: %m");
	check(len == sizeof(status), "MPA_STATUS has %u bytes", len);
	return status;
}

struct mpa_status wait_for(int fd, enum mpa_stream_state state)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct mpa_status status;

	do {
		check(poll(&pfd, 1, WAIT_MS) == 1, "no event, state %u not %u",
		      status_of(fd).state, state);
		status = status_of(fd);
	} while (status.state < state);
	check(status.state == state, "state %u (error %u), not %u", status.state, status.error,
	      state);
	return status;
}

void wait_failure(int fd, int error)
{
	struct mpa_status status = wait_for(fd, MPA_STREAM_FAILED);

	check(status.error == error, "failed with '%s', not '%s'", strerror(status.error),
	      strerror(error));
}

void has_data(const struct mpa_status *status, const char *text)
{
	check(status->private_data_len == strlen(text) &&
	      !memcmp(status->private_data, text, strlen(text)), "private data '%.*s', not '%s'",
	      status->private_data_len, status->private_data, text);
}

void is_refused(int fd)
{
	char c;

	check(write(fd, "x", 1) < 0 && errno == EBUSY, "write: %m");
	check(read(fd, &c, 1) < 0 && errno == EBUSY, "read: %m");
}

void expect_end(int fd)
{
	struct pollfd pfd = { .fd = fd };

	check(poll(&pfd, 1, WAIT_MS) == 1 && pfd.revents & POLLHUP, "no POLLHUP");
	check(status_of(fd).state == MPA_STREAM_CLOSED, "state %u", status_of(fd).state);
}

void echo(struct lent *l)
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
