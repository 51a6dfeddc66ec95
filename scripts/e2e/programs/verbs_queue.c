// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queues: completions, their order and events, and the answers to queries. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe.h"

/* Many rounds of unsignalled sends, one signalled at the end of each. */
static void unsignalled(void)
{
	struct ibv_sge out, in;
	struct pair p;
	int round, i;

	pair_open(&p, &defaults);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 30; i++) {
			in = sge(&p.b, i * PAGE + 1, 1000);
			post_recv(&p.b, i, &in, 1);
		}
		for (i = 0; i < 30; i++) {
			out = sge(&p.a, i * PAGE + 3, 100 + i);
			fill(p.a.mem + i * PAGE + 3, 100 + i, i + round);
			post(&p.a, i, IBV_WR_SEND, i == 29 ? IBV_SEND_SIGNALED : 0,
			     &out, 1, 0, 0);
		}
		wc_expect(&p.a, 29, IBV_WC_SUCCESS);
		for (i = 0; i < 30; i++) {
			check(wc_expect(&p.b, i, IBV_WC_SUCCESS).byte_len == 100u + i,
			      "byte_len");
			same(p.b.mem + i * PAGE + 1, 100 + i, i + round, "send");
		}
	}
	wc_none(&p.a, 50);
	pair_close(&p);
}

/* Completions come in the order of posting whatever the mix of operations. */
static void order(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ,
		IBV_WR_RDMA_READ, IBV_WR_SEND, IBV_WR_RDMA_WRITE,
	};
	struct options opt = defaults;
	struct ibv_sge in, out;
	struct pair p;
	int i, n = 56;

	opt.sig_all = true;
	pair_open(&p, &opt);
	hello(&p);
	for (i = 0; i < n; i++) {
		in = sge(&p.b, i * PAGE, PAGE);
		post_recv(&p.b, 1000 + i, &in, 1);
	}
	for (i = 0; i < n; i++) {
		out = sge(&p.a, i * PAGE, 1 + i * 70);
		post(&p.a, i, ops[i % ARRAY_SIZE(ops)], 0, &out, 1,
		     (uintptr_t)p.b.mem + (1 << 20), p.b.mr->rkey);
	}
	for (i = 0; i < n; i++)
		wc_expect(&p.a, i, IBV_WC_SUCCESS);
	for (i = 0; i < n / 7 * 2; i++)
		wc_expect(&p.b, 1000 + i, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* More work than the queue holds is refused, and the queue goes on working. */
static void full_queue(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1 };
	struct options opt = defaults;
	struct ibv_sge out;
	struct pair p;
	int i, ret = 0;

	opt.send_wr = 16;
	pair_open(&p, &opt);
	hello(&p);
	out = sge(&p.a, 0, 1 << 18);
	wr.sg_list = &out;
	wr.wr.rdma.remote_addr = (uintptr_t)p.b.mem;
	wr.wr.rdma.rkey = p.b.mr->rkey;
	for (i = 0; i < 100 && !ret; i++)
		ret = try_send(&p.a, &wr);
	check(!ret || abs(ret) == ENOMEM, "full queue: %d", ret);
	for (i = 0; i < 50; i++) {
		struct ibv_sge small = sge(&p.a, 0, 8);
		double end = now() + 8;

		wr.sg_list = &small;
		wr.wr_id = 77;
		wr.send_flags = IBV_SEND_SIGNALED;
		while (try_send(&p.a, &wr))
			check(now() < end, "the full queue never drained");
		wc_expect(&p.a, 77, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

/* Keeps long Reads of a's memory under way, as many as b's queue holds. */
static void read_on(struct pair *p, int *reads)
{
	struct ibv_sge in = sge(&p->b, 1 << 20, 1 << 20);
	struct ibv_wc wc;

	while (wc_get(&p->b, &wc, 0)) {
		check(wc.status == IBV_WC_SUCCESS, "Read: %s", ibv_wc_status_str(wc.status));
		--*reads;
	}
	for (; *reads < p->opt.send_wr; ++*reads)
		post(&p->b, 0, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &in, 1,
		     (uintptr_t)p->a.mem, p->a.mr->rkey);
}

/*
 * A program may post as many requests as the queue holds as soon as those before are complete,
 * also while the device is at work on something else, here on Read Responses.
 */
static void whole_queue(void)
{
	struct options opt = defaults;
	int i, round, reads;
	struct ibv_sge out;
	struct ibv_wc wc;
	struct pair p;

	for (opt.send_wr = 2; opt.send_wr <= 4; opt.send_wr *= 2) {
		pair_open(&p, &opt);
		hello(&p);
		out = sge(&p.a, 0, 64);
		reads = 0;
		for (round = 0; round < 100; round++) {
			read_on(&p, &reads);
			for (i = 0; i < opt.send_wr; i++)
				post(&p.a, i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &out, 1,
				     (uintptr_t)p.b.mem, p.b.mr->rkey);
			for (i = 0; i < opt.send_wr; i++) {
				while (!wc_get(&p.a, &wc, 0))
					read_on(&p, &reads);
				check(wc.status == IBV_WC_SUCCESS && wc.wr_id == (uint64_t)i,
				      "completion of %d: %s", i, ibv_wc_status_str(wc.status));
			}
		}
		pair_close(&p);
	}
}

/* A list that fills the whole empty queue: each request is carried out, and only once. */
static void whole_list(void)
{
	struct ibv_send_wr wr[64] = { 0 };
	struct options opt = defaults;
	struct ibv_sge out;
	struct pair p;
	int i, round;

	for (opt.send_wr = 1; opt.send_wr <= 64; opt.send_wr *= 2) {
		pair_open(&p, &opt);
		hello(&p);
		out = sge(&p.a, 0, 64);
		for (i = 0; i < opt.send_wr; i++)
			wr[i] = (struct ibv_send_wr){
				.wr_id = i, .opcode = IBV_WR_RDMA_WRITE,
				.send_flags = IBV_SEND_SIGNALED, .sg_list = &out, .num_sge = 1,
				.next = i + 1 < opt.send_wr ? &wr[i + 1] : NULL,
				.wr.rdma = { (uintptr_t)p.b.mem, p.b.mr->rkey },
			};
		for (round = 0; round < 5; round++) {
			check(!try_send(&p.a, wr), "a list of %d", opt.send_wr);
			for (i = 0; i < opt.send_wr; i++)
				wc_expect(&p.a, i, IBV_WC_SUCCESS);
		}
		wc_none(&p.a, 50);
		pair_close(&p);
	}
}

/* Is there a completion event on the side's channel within ms? */
static bool notified(struct side *s, int ms)
{
	struct pollfd pfd = { .fd = s->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&pfd, 1, ms) != 1)
		return false;
	check(!ibv_get_cq_event(s->channel, &cq, &context), "get_cq_event: %m");
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void receive_100(struct pair *p, int n)
{
	struct ibv_sge in = sge(&p->b, 0, 100);
	int i;

	for (i = 0; i < n; i++)
		post_recv(&p->b, i, &in, 1);
}

static void send_100(struct pair *p, uint64_t id, int flags)
{
	struct ibv_sge out = sge(&p->a, 0, 100);

	post(&p->a, id, IBV_WR_SEND, flags, &out, 1, 0, 0);
}

/* If only solicited completions are armed, a plain Send must not wake the receiver. */
static void solicited(void)
{
	struct pair p;

	pair_open(&p, &defaults);
	hello(&p);
	receive_100(&p, 6);
	check(!ibv_req_notify_cq(p.b.cq, 1), "arm");
	send_100(&p, 0, 0);
	wc_expect(&p.b, 0, IBV_WC_SUCCESS);
	check(!notified(&p.b, 100), "a plain send woke a program that waits for solicited ones");
	send_100(&p, 1, IBV_SEND_SOLICITED);
	check(notified(&p.b, WAIT_MS), "a solicited send did not wake the receiver");
	wc_expect(&p.b, 1, IBV_WC_SUCCESS);
	send_100(&p, 2, IBV_SEND_SOLICITED);
	wc_expect(&p.b, 2, IBV_WC_SUCCESS);
	check(!notified(&p.b, 100), "an event although the queue was not armed");
	check(!ibv_req_notify_cq(p.b.cq, 0), "arm");
	send_100(&p, 3, 0);
	check(notified(&p.b, WAIT_MS), "no event for a plain send");
	wc_expect(&p.b, 3, IBV_WC_SUCCESS);
	check(!ibv_req_notify_cq(p.a.cq, 0), "arm");
	send_100(&p, 4, IBV_SEND_SIGNALED);
	check(notified(&p.a, WAIT_MS), "no event for the sender's own completion");
	pair_close(&p);
}

/*
 * If a queue is armed while completions are unread there is an event at once, even if nothing
 * more arrives. If an empty queue is armed there is none.
 */
static void late_arming(void)
{
	struct ibv_sge out;
	struct pair p;
	int i;

	pair_open(&p, &defaults);
	hello(&p);
	out = sge(&p.a, 0, 100);
	receive_100(&p, 1);
	send_100(&p, 0, 0);
	post(&p.a, 0, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &out, 1, (uintptr_t)p.b.mem,
	     p.b.mr->rkey);
	wc_expect(&p.a, 0, IBV_WC_SUCCESS);
	check(!ibv_req_notify_cq(p.b.cq, 0), "arm");
	check(notified(&p.b, WAIT_MS), "no event for a completion before the first arming");
	wc_expect(&p.b, 0, IBV_WC_SUCCESS);
	receive_100(&p, 4);
	check(!ibv_req_notify_cq(p.b.cq, 0), "arm");
	for (i = 0; i < 3; i++)
		send_100(&p, i, 0);
	/* Its answer arrives after them. */
	post(&p.a, 3, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &out, 1, (uintptr_t)p.b.mem,
	     p.b.mr->rkey);
	wc_expect(&p.a, 3, IBV_WC_SUCCESS);
	check(notified(&p.b, WAIT_MS), "no event for the first");
	check(!notified(&p.b, 100), "an event although the queue was not armed");
	wc_expect(&p.b, 0, IBV_WC_SUCCESS);
	check(!ibv_req_notify_cq(p.b.cq, 0), "arm");
	check(notified(&p.b, WAIT_MS), "no event with completions unread");
	wc_expect(&p.b, 1, IBV_WC_SUCCESS);
	wc_expect(&p.b, 2, IBV_WC_SUCCESS);
	check(!ibv_req_notify_cq(p.b.cq, 0), "arm");
	check(!notified(&p.b, 300), "an event with nothing unread");
	send_100(&p, 4, 0);
	check(notified(&p.b, WAIT_MS), "no event for the next completion");
	wc_expect(&p.b, 3, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void read_100(struct pair *p)
{
	struct ibv_sge in = sge(&p->a, 0, 100);

	/* Its answer arrives after the Sends before it. */
	post(&p->a, 99, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &in, 1, (uintptr_t)p->b.mem,
	     p->b.mr->rkey);
	wc_expect(&p->a, 99, IBV_WC_SUCCESS);
}

/* If solicited completions are armed, an unread solicited one makes an event, others do not. */
static void late_solicited(void)
{
	struct pair p;

	pair_open(&p, &defaults);
	hello(&p);
	receive_100(&p, 4);
	send_100(&p, 0, IBV_SEND_SOLICITED);
	send_100(&p, 1, 0);
	read_100(&p);
	check(!ibv_req_notify_cq(p.b.cq, 1), "arm");
	check(notified(&p.b, WAIT_MS), "no event with a solicited one unread");
	wc_expect(&p.b, 0, IBV_WC_SUCCESS);
	check(!ibv_req_notify_cq(p.b.cq, 1), "arm");
	check(!notified(&p.b, 300), "an event with a plain one unread");
	wc_expect(&p.b, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

/*
 * A program that got an event for a completion arms before it polls. It must not get another
 * event for that completion in between, except now and then on a machine that stands still for a
 * moment. If the program does not poll it, the next arming makes another event.
 */
static void told_once(void)
{
	int i, again = 0;
	struct pair p;

	pair_open(&p, &defaults);
	hello(&p);
	for (i = 0; i < 20; i++) {
		receive_100(&p, 1);
		check(!ibv_req_notify_cq(p.b.cq, 0), "arm");
		send_100(&p, i, 0);
		check(notified(&p.b, WAIT_MS), "no event");
		check(!ibv_req_notify_cq(p.b.cq, 0), "arm");
		again += notified(&p.b, 10);
		wc_expect(&p.b, 0, IBV_WC_SUCCESS);
	}
	check(again < 10, "%d of 20 completions had two events", again);
	receive_100(&p, 1);
	check(!ibv_req_notify_cq(p.b.cq, 0), "arm");
	send_100(&p, i, 0);
	check(notified(&p.b, WAIT_MS), "no event");
	check(!ibv_req_notify_cq(p.b.cq, 0), "arm");
	check(notified(&p.b, WAIT_MS), "no event although it is unread, and the queue is armed");
	wc_expect(&p.b, 0, IBV_WC_SUCCESS);
	pair_close(&p);
}

#define ARMED_EVENTS	64

/*
 * A program that arms after each event, and reads no completion, gets few events for it, however
 * many completions it has read before.
 */
static void only_armed(void)
{
	struct pair p;
	time_t end;
	int n;

	pair_open(&p, &defaults);
	hello(&p);
	for (n = 0; n < 2 * ARMED_EVENTS; n++) {
		receive_100(&p, 1);
		send_100(&p, n, 0);
		wc_expect(&p.b, 0, IBV_WC_SUCCESS);
	}
	/* The driver looks at the empty queue. */
	check(!notified(&p.b, 100), "an event although the queue was not armed");
	receive_100(&p, 2);
	send_100(&p, 0, 0);
	send_100(&p, 1, 0);
	read_100(&p);
	for (n = 0; n < 2; n++) {
		check(!ibv_req_notify_cq(p.b.cq, 0), "arm");
		check(notified(&p.b, WAIT_MS), "no event with two completions unread");
	}
	end = time(NULL) + 3;
	while (n <= ARMED_EVENTS && time(NULL) < end) {
		check(!ibv_req_notify_cq(p.b.cq, 0), "arm");
		n += notified(&p.b, 100);
	}
	printf("%d events\n", n);
	check(n <= ARMED_EVENTS, "%d events for two completions", n);
	wc_expect(&p.b, 0, IBV_WC_SUCCESS);
	wc_expect(&p.b, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* A shared receive queue that runs low says so, once. */
static void srq(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 5 };
	struct options opt = defaults;
	struct pair p;
	int i, ev;

	opt.srq = true;
	pair_open(&p, &opt);
	receive_100(&p, 10);
	check(!ibv_modify_srq(p.b.srq, &attr, IBV_SRQ_LIMIT), "modify_srq: %m");
	for (i = 0; i < 9; i++) {
		send_100(&p, i, 0);
		wc_expect(&p.b, i, IBV_WC_SUCCESS);
		check(i >= 5 || async_get(&p.b, 0) < 0, "event with %d left", 9 - i);
	}
	ev = async_get(&p.b, 2000);
	check(ev == IBV_EVENT_SRQ_LIMIT_REACHED, "event %d, not SRQ_LIMIT", ev);
	check(async_get(&p.b, 100) < 0, "a second event");
	pair_close(&p);
}

/*
 * A queue pair in error takes no more from a shared queue, and reports that, once, whether it
 * was connected or not.
 */
static void srq_last(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct options opt = defaults;
	int ev, connected;
	struct pair p;

	opt.srq = true;
	for (connected = 0; connected < 2; connected++) {
		pair_prepare(&p, &opt);
		if (connected)
			pair_join(&p);
		check(!ibv_modify_qp(p.a.id->qp, &attr, IBV_QP_STATE), "modify_qp: %m");
		ev = async_get(&p.a, WAIT_MS);
		check(ev == IBV_EVENT_QP_LAST_WQE_REACHED, "event %d, not LAST_WQE", ev);
		check(async_get(&p.a, 100) < 0, "a second event");
		pair_free(&p);
	}
}

/*
 * Nobody polls, so the completion queue overflows. Its owner gets an event, and the connection
 * ends. A connection beside it, with queues of its own, goes on.
 */
static void cq_overflow(void)
{
	struct options opt = defaults;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair p, beside;
	struct ibv_sge out;
	int i, ev;

	probe_server(NULL, probe_port() + 1);
	pair_open(&beside, &defaults);
	probe_server(NULL, probe_port() - 1);
	hello(&beside);
	opt.cqe = 4;
	pair_open(&p, &opt);
	out = sge(&p.a, 0, 10);
	for (i = 0; i < p.a.cq->cqe + 8 && i < 60; i++)
		post(&p.a, i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &out, 1,
		     (uintptr_t)p.b.mem, p.b.mr->rkey);
	ev = async_get(&p.a, WAIT_MS);
	check(ev == IBV_EVENT_CQ_ERR, "event %d, not CQ_ERR (cqe %d)", ev, p.a.cq->cqe);
	ev = async_get(&p.a, WAIT_MS);
	check(ev == IBV_EVENT_QP_FATAL, "event %d, not QP_FATAL", ev);
	check(!ibv_query_qp(p.a.id->qp, &attr, IBV_QP_STATE, &init), "query_qp: %m");
	check(attr.qp_state == IBV_QPS_ERR, "state %d, not ERR", attr.qp_state);
	cm_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED);
	pair_free(&p);
	hello(&beside);
	pair_close(&beside);
}

/* After a disconnect everything posted comes back flushed, on both sides. */
static void flush(void)
{
	struct pair p;
	struct ibv_sge in;
	int i;

	pair_open(&p, &defaults);
	hello(&p);
	for (i = 0; i < 10; i++) {
		in = sge(&p.b, 0, 100);
		post_recv(&p.b, i, &in, 1);
		in = sge(&p.a, 0, 100);
		post_recv(&p.a, i, &in, 1);
	}
	check(!rdma_disconnect(p.a.id), "disconnect: %m");
	for (i = 0; i < 10; i++) {
		wc_expect(&p.a, i, IBV_WC_WR_FLUSH_ERR);
		wc_expect(&p.b, i, IBV_WC_WR_FLUSH_ERR);
	}
	cm_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED);
	for (i = 0; i < 3; i++) {
		post(&p.a, 20 + i, IBV_WR_SEND, IBV_SEND_SIGNALED, &in, 1, 0, 0);
		wc_expect(&p.a, 20 + i, IBV_WC_WR_FLUSH_ERR);
		post_recv(&p.b, 30 + i, &in, 1);
		wc_expect(&p.b, 30 + i, IBV_WC_WR_FLUSH_ERR);
	}
	pair_free(&p);
}

/*
 * Requests that are posted to a queue pair in error are flushed, also while the worker still
 * sends requests that were posted before. A program that drains a queue waits for that flush,
 * perhaps of a request that nothing else would show.
 */
static void drain(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_sge out;
	struct ibv_wc wc;
	struct pair p;
	int round, i;

	for (round = 0; round < 30; round++) {
		pair_open(&p, &defaults);
		hello(&p);
		out = sge(&p.a, 0, 64 << 10);
		for (i = 0; i <= round % 3; i++)
			post(&p.a, i, IBV_WR_RDMA_WRITE, 0, &out, 1,
			     (uintptr_t)p.b.mem, p.b.mr->rkey);
		check(!ibv_modify_qp(p.a.id->qp, &attr, IBV_QP_STATE), "modify_qp: %m");
		post(&p.a, 99, IBV_WR_RDMA_WRITE, 0, NULL, 0, 0, 0);
		do {
			check(wc_get(&p.a, &wc, WAIT_MS), "round %d: not flushed", round);
			check(wc.status == IBV_WC_WR_FLUSH_ERR, "status %d", wc.status);
		} while (wc.wr_id != 99);
		pair_free(&p);
	}
}

/* An RNIC has one state for a queue pair that nobody uses yet, which is INIT here. */
static void check_unused(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	check(!ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE, &init), "query_qp: %m");
	check(attr.qp_state == IBV_QPS_INIT && attr.cur_qp_state == IBV_QPS_INIT,
	      "state %d, not INIT", attr.qp_state);
}

/* RESET silently forgets the posted requests, so the first completion is of the next one. */
static void reset(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct pair p;
	struct ibv_sge e;
	int i;

	pair_prepare(&p, &defaults);
	for (i = 0; i < 10; i++) {
		e = sge(&p.a, i * PAGE, PAGE);
		post_recv(&p.a, 100 + i, &e, 1);
		post(&p.a, 200 + i, IBV_WR_SEND, IBV_SEND_SIGNALED, &e, 1, 0, 0);
	}
	check(!ibv_modify_qp(p.a.id->qp, &attr, IBV_QP_STATE), "modify_qp: %m");
	check_unused(p.a.id->qp);
	pair_join(&p);
	hello(&p);
	/* The same immediately after an error, which the connection does not survive. */
	attr.qp_state = IBV_QPS_ERR;
	check(!ibv_modify_qp(p.a.id->qp, &attr, IBV_QP_STATE), "to error: %m");
	attr.qp_state = IBV_QPS_RESET;
	check(!ibv_modify_qp(p.a.id->qp, &attr, IBV_QP_STATE), "from error: %m");
	cm_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED);
	pair_free(&p);
}

/* Queries must return the requested values and the real ones. */
static void query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_device_attr dev;
	struct ibv_port_attr port;
	struct ibv_qp_attr qp;
	struct ibv_qp *fresh;
	struct pair p;

	pair_open(&p, &defaults);
	check(!ibv_query_device(p.a.id->verbs, &dev), "query_device: %m");
	check(p.a.id->verbs->device->transport_type == IBV_TRANSPORT_IWARP, "transport");
	check(dev.max_qp > 0 && dev.max_cq > 0 && dev.max_mr > 0 && dev.max_pd > 0 &&
	      dev.max_qp_wr >= 64 && dev.max_cqe >= 256 && dev.max_sge == 6 &&
	      dev.max_mr_size >= 1u << 30 && dev.max_qp_rd_atom > 0 &&
	      dev.phys_port_cnt == 1, "device attributes");
	check(!ibv_query_port(p.a.id->verbs, 1, &port), "query_port: %m");
	check(port.state == IBV_PORT_ACTIVE && port.link_layer == IBV_LINK_LAYER_ETHERNET &&
	      port.active_mtu >= IBV_MTU_1024 && port.gid_tbl_len >= 1,
	      "port state %d layer %d mtu %d", port.state, port.link_layer,
	      port.active_mtu);
	check(!ibv_query_qp(p.a.id->qp, &qp, IBV_QP_STATE | IBV_QP_CAP, &init),
	      "query_qp: %m");
	check(qp.qp_state == IBV_QPS_RTS, "state %d, not RTS", qp.qp_state);
	check(qp.cap.max_send_wr >= 64 && qp.cap.max_recv_wr >= 64 &&
	      qp.cap.max_send_sge >= 6 && qp.cap.max_recv_sge >= 6 &&
	      qp.cap.max_inline_data >= 64, "capabilities");
	check(init.qp_type == IBV_QPT_RC && init.send_cq == p.a.cq && !init.sq_sig_all,
	      "initial attributes");
	check(ibv_modify_qp(p.a.id->qp, &qp, IBV_QP_CAP) == EOPNOTSUPP,
	      "modify_qp changes a queue's size");
	check(!rdma_disconnect(p.a.id), "disconnect: %m");
	cm_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED);
	check(!ibv_query_qp(p.a.id->qp, &qp, IBV_QP_STATE, &init), "query_qp: %m");
	check(qp.qp_state == IBV_QPS_ERR || qp.qp_state == IBV_QPS_SQE,
	      "state %d after disconnect", qp.qp_state);
	init.cap.max_inline_data = 0;
	fresh = ibv_create_qp(p.a.pd, &init);
	check(fresh, "create_qp: %m");
	check_unused(fresh);
	check(!ibv_destroy_qp(fresh), "destroy_qp: %m");
	pair_free(&p);
}

const struct test queue_tests[] = {
	{ "unsignalled", unsignalled },
	{ "order", order },
	{ "full_queue", full_queue },
	{ "whole_queue", whole_queue },
	{ "whole_list", whole_list },
	{ "solicited", solicited },
	{ "late_arming", late_arming },
	{ "late_solicited", late_solicited },
	{ "only_armed", only_armed },
	{ "told_once", told_once },
	{ "srq", srq },
	{ "srq_last", srq_last },
	{ "cq_overflow", cq_overflow },
	{ "flush", flush },
	{ "drain", drain },
	{ "reset", reset },
	{ "query", query },
	{ NULL, NULL },
};
