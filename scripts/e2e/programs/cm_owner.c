// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cm_owner [-p PORT] TEST...: who may connect a queue pair. rdma_cm takes its number from
 * the program, and a program can name any.
 *
 * QPN names the one of the test kernel.
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

/* What the library names on behalf of an id with a queue pair: it believes this field. */
static uint32_t name_instead(struct side *s, uint32_t qpn)
{
	uint32_t own = s->id->qp->qp_num;

	s->id->qp->qp_num = qpn;
	return own;
}

/* Side a of a stranger calls with the queue pair. */
static void connect_other(struct pair *p, uint32_t qpn)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	uint32_t own = name_instead(&p->a, qpn);
	int ret;

	enter(&p->a);
	ret = rdma_connect(p->a.id, &param);
	check(ret, "connected a queue pair that is not his");
	check(errno == EPERM, "connect: %m, expected 'not permitted'");
	name_instead(&p->a, own);
}

/* He calls himself, with a queue pair of his own, and answers with the other one. */
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
	check(ret, "accepted with a queue pair that is not his");
	check(errno == EPERM, "accept: %m, expected 'not permitted'");
	name_instead(&p->b, own);
	cm_expect(&p->a, RDMA_CM_EVENT_REJECTED);
}

/*
 * A program that inherited nothing: it began before there was anything, and hears the number
 * through a pipe. It ends with us.
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
	check(read(pipes[0], &qpn, sizeof(qpn)) == sizeof(qpn), "nobody told a number");
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

/* The victim's queue pair is as good as before. */
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

/* A queue pair of a kernel consumer, whose number everybody can read. */
static void kernel(void)
{
	const char *qpn = getenv("QPN");
	struct pair p;

	check(qpn, "no QPN");
	pair_prepare(&p, &defaults);
	connect_other(&p, atoi(qpn));
	pair_free(&p);
}

/* A call of the child's, with its parent's queue pair. It says when it is through. */
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

/* A child that inherited the open device connects what its parent made. */
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

/* A thread made it, and is gone. */
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

/* Whoever knows his own number knows nobody else's. */
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
