// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cm_owner [-p PORT] TEST...: which programs may connect a queue pair. rdma_cm takes its number
 * from the program, and a program can name any number.
 *
 * QPN is the number for the test "kernel".
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

/* The library believes this field when it names the queue pair of an id. */
static uint32_t name_instead(struct side *s, uint32_t qpn)
{
	uint32_t own = s->id->qp->qp_num;

	s->id->qp->qp_num = qpn;
	return own;
}

/* Side a of a stranger connects, and names the queue pair of another program. */
static void connect_other(struct pair *p, uint32_t qpn)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	uint32_t own = name_instead(&p->a, qpn);
	int ret;

	enter(&p->a);
	ret = rdma_connect(p->a.id, &param);
	check(ret, "connected another program's queue pair");
	check(errno == EPERM, "connect: %m, expected 'not permitted'");
	name_instead(&p->a, own);
}

/* A stranger connects to itself with its own queue pair, and accepts with another program's. */
static void accept_other(struct pair *p, uint32_t qpn)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	uint32_t own;
	int ret;

	side_connect(p, &p->a, NULL, 0);
	p->b.id = cm_expect(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	side_make_qp(p, &p->b);
	own = name_instead(&p->b, qpn);
	enter(&p->b);
	ret = rdma_accept(p->b.id, &param);
	check(ret, "accepted with another program's queue pair");
	check(errno == EPERM, "accept: %m, expected 'not permitted'");
	name_instead(&p->b, own);
	cm_expect(&p->a, RDMA_CM_EVENT_REJECTED);
}

/*
 * A program that inherits nothing, because it begins before there is anything. It reads the
 * number from a pipe, and ends with its parent.
 */
static pid_t start_stranger(void (*act)(struct pair *p, uint32_t qpn), int *tell)
{
	uint32_t qpn;
	struct pair p;
	int pipes[2];
	pid_t pid;

	check(!pipe(pipes), "pipe: %m");
	pid = fork();
	check(pid >= 0, "fork: %m");
	*tell = pipes[1];
	if (pid) {
		close(pipes[0]);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	check(read(pipes[0], &qpn, sizeof(qpn)) == sizeof(qpn), "no number came through the pipe");
	pair_prepare(&p, &defaults);
	act(&p, qpn);
	pair_free(&p);
	exit(0);
}

static void let_act(pid_t pid, int tell, uint32_t qpn)
{
	int status;

	check(write(tell, &qpn, sizeof(qpn)) == sizeof(qpn), "pipe: %m");
	close(tell);
	check(waitpid(pid, &status, 0) == pid && !status, "the stranger: status %d", status);
}

/* The victim's queue pair works as before. */
static void spare_owner(void (*act)(struct pair *p, uint32_t qpn), bool caller)
{
	int port = probe_port();
	struct pair p;
	pid_t pid;
	int tell;

	probe_server(NULL, port + 50);
	pid = start_stranger(act, &tell);
	probe_server(NULL, port);
	pair_prepare(&p, &defaults);
	if (caller) {
		let_act(pid, tell, p.a.id->qp->qp_num);
		pair_join(&p);
	} else {
		side_connect(&p, &p.a, NULL, 0);
		p.b.id = cm_expect(&p.b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
		side_make_qp(&p, &p.b);
		let_act(pid, tell, p.b.id->qp->qp_num);
		side_accept(&p, &p.b, NULL, 0);
		cm_expect(&p.a, RDMA_CM_EVENT_ESTABLISHED);
		cm_expect(&p.b, RDMA_CM_EVENT_ESTABLISHED);
	}
	hello(&p);
	pair_close(&p);
}

static void stranger_connects(void)
{
	spare_owner(connect_other, true);
}

static void stranger_accepts(void)
{
	spare_owner(accept_other, false);
}

/* The queue pair is a kernel consumer's, and everybody can read its number. */
static void kernel(void)
{
	const char *qpn = getenv("QPN");
	struct pair p;

	check(qpn, "no QPN");
	pair_prepare(&p, &defaults);
	connect_other(&p, atoi(qpn));
	pair_free(&p);
}

/* The child connects its parent's queue pair, and writes a byte when it is done. */
static void call_for_parent(struct pair *p, int said)
{
	struct rdma_conn_param param = { .retry_count = 7, .qp_num = p->a.id->qp->qp_num };
	struct side s = p->a;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* rdma_ucm takes no command through a file that another process opened. */
	s.events = rdma_create_event_channel();
	check(s.events, "event channel: %m");
	side_resolve(p, &s, probe_port());
	check(!rdma_connect(s.id, &param), "connect: %m");
	cm_expect(&s, RDMA_CM_EVENT_ESTABLISHED);
	check(write(said, "", 1) == 1, "pipe: %m");
	cm_expect(&s, RDMA_CM_EVENT_DISCONNECTED);
	check(!rdma_destroy_id(s.id), "destroy_id: %m");
	exit(0);
}

/* A child that inherits the open device may connect a queue pair of its parent. */
static void child(void)
{
	int pipes[2], status;
	struct pair p;
	char said;
	pid_t pid;

	pair_prepare(&p, &defaults);
	check(!pipe(pipes), "pipe: %m");
	pid = fork();
	check(pid >= 0, "fork: %m");
	if (!pid)
		call_for_parent(&p, pipes[1]);
	close(pipes[1]);
	p.b.id = cm_expect(&p.b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	side_make_qp(&p, &p.b);
	side_accept(&p, &p.b, NULL, 0);
	cm_expect(&p.b, RDMA_CM_EVENT_ESTABLISHED);
	check(read(pipes[0], &said, 1) == 1, "the child did not connect");
	hello(&p);
	check(!rdma_disconnect(p.b.id), "disconnect: %m");
	cm_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED);
	check(waitpid(pid, &status, 0) == pid && !status, "the child: status %d", status);
	pair_free(&p);
}

static void *prepare_pair(void *p)
{
	pair_prepare(p, &defaults);
	return NULL;
}

/* The thread that made the queue pair has ended. */
static void threads(void)
{
	pthread_t thread;
	struct pair p;

	check(!pthread_create(&thread, NULL, prepare_pair, &p), "thread: %m");
	check(!pthread_join(thread, NULL), "join: %m");
	pair_join(&p);
	hello(&p);
	pair_close(&p);
}

#define QPS	64

/* Nobody can tell the numbers of others from the own number. */
static void numbers(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qps[QPS];
	int i, next = 0;
	struct pair p;

	pair_prepare(&p, &defaults);
	attr.send_cq = p.a.cq;
	attr.recv_cq = p.a.cq;
	for (i = 0; i < QPS; i++) {
		qps[i] = ibv_create_qp(p.a.pd, &attr);
		check(qps[i], "create_qp: %m");
		check(qps[i]->qp_num > 1 && qps[i]->qp_num <= 0xffffff, "number %#x",
		      qps[i]->qp_num);
		next += i && qps[i]->qp_num - qps[i - 1]->qp_num < 1000;
	}
	check(next < QPS / 8, "%d of %d numbers come after the one before", next, QPS - 1);
	for (i = 0; i < QPS; i++)
		check(!ibv_destroy_qp(qps[i]), "destroy_qp: %m");
	pair_free(&p);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "stranger_connects", stranger_connects },
		{ "stranger_accepts", stranger_accepts },
		{ "kernel", kernel },
		{ "child", child },
		{ "threads", threads },
		{ "numbers", numbers },
		{ NULL, NULL },
	};

	return run_tests(argc, argv, tests);
}
