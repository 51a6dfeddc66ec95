// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receives that are posted after the message has arrived. The scenario (rnr.sh) sets
 * rnr_wait_ms for each test.
 */
#include <string.h>
#include <unistd.h>

#include "probe.h"

#define LEN	100

static void send_100(struct pair *p, int i, enum ibv_wr_opcode op)
{
	struct ibv_sge e = sge(&p->a, i * PAGE, LEN);

	if (op != IBV_WR_RDMA_READ)
		fill(p->a.mem + i * PAGE, LEN, i);
	post(&p->a, i, op, IBV_SEND_SIGNALED, &e, 1, (uintptr_t)p->b.mem + i * PAGE,
	     p->b.mr->rkey);
}

static void receive_100(struct side *s, int i)
{
	struct ibv_sge e = sge(s, i * PAGE, LEN);

	memset(s->mem + i * PAGE, 0, LEN);
	post_recv(s, i, &e, 1);
}

static void expect_100(struct pair *p, int i)
{
	check(wc_expect(&p->b, i, IBV_WC_SUCCESS).byte_len == LEN, "byte_len");
	same(p->b.mem + i * PAGE, LEN, i, "send");
}

/* Everything behind the Send waits with it. The other direction goes on. */
static void rnr_late(void)
{
	struct ibv_sge e;
	struct pair p;

	pair_open(&p, &defaults);
	memset(p.b.mem + PAGE, 0, LEN);
	fill(p.b.mem + 2 * PAGE, LEN, 2);
	send_100(&p, 0, IBV_WR_SEND);
	send_100(&p, 1, IBV_WR_RDMA_WRITE);
	send_100(&p, 2, IBV_WR_RDMA_READ);
	send_100(&p, 3, IBV_WR_SEND);
	wc_expect(&p.a, 0, IBV_WC_SUCCESS);
	wc_expect(&p.a, 1, IBV_WC_SUCCESS);
	wc_none(&p.a, 300);
	check(!p.b.mem[PAGE + 1], "the Write overtook the Send");

	receive_100(&p.a, 9);
	fill(p.b.mem + 8 * PAGE, LEN, 9);
	e = sge(&p.b, 8 * PAGE, LEN);
	post(&p.b, 8, IBV_WR_SEND, IBV_SEND_SIGNALED, &e, 1, 0, 0);
	wc_expect(&p.a, 9, IBV_WC_SUCCESS);
	same(p.a.mem + 9 * PAGE, LEN, 9, "the other direction");
	wc_expect(&p.b, 8, IBV_WC_SUCCESS);

	receive_100(&p.b, 0);
	wc_expect(&p.a, 2, IBV_WC_SUCCESS);
	wc_expect(&p.a, 3, IBV_WC_SUCCESS);
	expect_100(&p, 0);
	same(p.b.mem + PAGE, LEN, 1, "write");
	same(p.a.mem + 2 * PAGE, LEN, 2, "read");
	wc_none(&p.b, 100);
	receive_100(&p.b, 3);
	expect_100(&p, 3);
	pair_close(&p);
}

/* Messages of several segments, and a receive for one at a time */
static void rnr_each(void)
{
	struct ibv_sge e;
	struct pair p;
	int i;

	pair_open(&p, &defaults);
	for (i = 0; i < 50; i++) {
		fill(p.a.mem + i * PAGE, 3 * PAGE, i);
		e = sge(&p.a, i * PAGE, 1 + i * 200);
		post(&p.a, i, IBV_WR_SEND, IBV_SEND_SIGNALED, &e, 1, 0, 0);
		wc_none(&p.b, i % 10 ? 0 : 40);
		e = sge(&p.b, i * PAGE, 3 * PAGE);
		post_recv(&p.b, i, &e, 1);
		check(wc_expect(&p.b, i, IBV_WC_SUCCESS).byte_len == 1u + i * 200, "byte_len");
		same(p.b.mem + i * PAGE, 1 + i * 200, i, "send");
		wc_expect(&p.a, i, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

/*
 * The longer a Send waits the rarer are the looks for its receive, so a doorbell makes one. The
 * scenario watches who makes it.
 */
static void rnr_doorbell(void)
{
	struct ibv_sge e;
	struct pair p;

	pair_open(&p, &defaults);
	send_100(&p, 0, IBV_WR_SEND);
	wait_until_told("waits");
	receive_100(&p.b, 0);
	e = sge(&p.b, PAGE, 0);
	post(&p.b, 1, IBV_WR_RDMA_WRITE, 0, &e, 1, (uintptr_t)p.a.mem, p.a.mr->rkey);
	expect_100(&p, 0);
	wait_until_told("received");
	wc_expect(&p.a, 0, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* Two connections whose b share the receive queue of the first */
static void open_two(struct pair *p)
{
	struct options opt = defaults;

	opt.srq = true;
	pair_open(&p[0], &opt);
	probe_server(NULL, probe_port() + 50);
	pair_prepare(&p[1], &opt);
	p[1].b.srq = p[0].b.srq;
	pair_join(&p[1]);
	probe_server(NULL, probe_port() - 50);
}

static void close_two(struct pair *p)
{
	p[1].b.srq = NULL;
	pair_close(&p[1]);
	pair_close(&p[0]);
}

/* An empty shared receive queue stops both connections and ends neither. */
static void rnr_srq(void)
{
	struct pair p[2];
	int i, of[2] = { 0 };
	struct ibv_wc wc;

	open_two(p);
	send_100(&p[0], 0, IBV_WR_SEND);
	send_100(&p[1], 0, IBV_WR_SEND);
	wc_none(&p[0].b, 200);
	wc_none(&p[1].b, 0);
	receive_100(&p[0].b, 0);
	receive_100(&p[0].b, 1);
	for (i = 0; i < 2; i++)
		check(wc_get(&p[i].b, &wc, WAIT_MS) && !wc.status, "connection %d", i);

	/* One connection takes all receives, and the other one waits for more. */
	for (i = 0; i < 5; i++)
		receive_100(&p[0].b, i);
	for (i = 1; i < 11; i++)
		send_100(&p[0], i, IBV_WR_SEND);
	for (; of[0] < 5; of[0]++)
		check(wc_get(&p[0].b, &wc, WAIT_MS) && !wc.status, "Send %d", of[0]);
	send_100(&p[1], 1, IBV_WR_SEND);
	wc_none(&p[1].b, 100);
	for (i = 0; i < 6; i++) {
		receive_100(&p[0].b, i);
		while (!wc_get(&p[0].b, &wc, 0) && !wc_get(&p[1].b, &wc, 1))
			;
		check(!wc.status, "status %d", wc.status);
		of[wc.qp_num == p[1].b.id->qp->qp_num]++;
	}
	check(of[0] == 10 && of[1] == 1, "%d and %d were received", of[0], of[1]);
	close_two(p);
}

/*
 * One connection takes receives of a shared queue for longer than the Send of the other may wait.
 * That one is slower, because it only looks from time to time.
 */
static void rnr_srq_busy(void)
{
	double start = now();
	struct ibv_wc wc;
	struct pair p[2];
	int i, got;

	open_two(p);
	send_100(&p[1], 0, IBV_WR_SEND);
	wc_none(&p[1].b, 100);
	for (i = 0; now() - start < 7; i++) {
		receive_100(&p[0].b, i);
		send_100(&p[0], i, IBV_WR_SEND);
		wc_expect(&p[0].a, i, IBV_WC_SUCCESS);
		while (!wc_get(&p[0].b, &wc, 0) && !wc_get(&p[1].b, &wc, 1))
			check(now() - start < 60, "Send %d was not received", i);
		check(!wc.status, "status %d", wc.status);
		usleep(50000);		/* the time between two messages */
	}
	receive_100(&p[0].b, i);
	got = wc_get(&p[0].b, &wc, 0) || wc_get(&p[1].b, &wc, WAIT_MS) ||
	      wc_get(&p[0].b, &wc, 0);
	check(got && !wc.status, "the Send that waited was not received");
	close_two(p);
}

/* Each end waits for a receive of the other, with Reads behind that. It ends after 1000 ms. */
static void rnr_over(void)
{
	struct ibv_sge e;
	struct pair p;
	double start;
	int ev;

	pair_open(&p, &defaults);
	hello(&p);
	start = now();
	send_100(&p, 0, IBV_WR_SEND);
	send_100(&p, 1, IBV_WR_RDMA_READ);
	e = sge(&p.b, 0, LEN);
	post(&p.b, 0, IBV_WR_SEND, IBV_SEND_SIGNALED, &e, 1, 0, 0);
	post(&p.b, 1, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &e, 1, (uintptr_t)p.a.mem,
	     p.a.mr->rkey);
	wc_expect(&p.a, 0, IBV_WC_SUCCESS);
	wc_expect(&p.b, 0, IBV_WC_SUCCESS);
	wc_expect(&p.a, 1, IBV_WC_WR_FLUSH_ERR);
	check(now() - start > 0.9, "over after %f s", now() - start);
	wc_expect(&p.b, 1, IBV_WC_WR_FLUSH_ERR);
	ev = async_get(&p.b, WAIT_MS);
	check(ev == IBV_EVENT_QP_REQ_ERR || ev == IBV_EVENT_QP_FATAL, "event %d", ev);
	cm_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED);
	pair_free(&p);
}

/* A message is not lost when its sender has closed, because its Send has completed. */
static void rnr_closed(void)
{
	struct pair p;

	pair_open(&p, &defaults);
	send_100(&p, 0, IBV_WR_SEND);
	wc_expect(&p.a, 0, IBV_WC_SUCCESS);
	check(!rdma_disconnect(p.a.id), "disconnect: %m");
	wc_none(&p.b, 300);
	receive_100(&p.b, 0);
	expect_100(&p, 0);
	cm_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED);
	pair_free(&p);
}

static void break_qp(struct pair *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	check(!ibv_modify_qp(p->b.id->qp, &attr, IBV_QP_STATE), "modify_qp: %m");
}

static void part_b(struct pair *p) { check(!rdma_disconnect(p->b.id), "disconnect: %m"); }
static void destroy_b(struct pair *p) { rdma_destroy_qp(p->b.id); }

/* Whichever way this side ends the connection, that is done at once and not after 60 s. */
static void rnr_ends(void)
{
	static void (*const ends[])(struct pair *p) = {
		part_b, destroy_b, break_qp,
	};
	struct options opt = defaults;
	struct pair p;
	size_t i;

	for (i = 0; i < 2 * ARRAY_SIZE(ends); i++) {
		opt.srq = i >= ARRAY_SIZE(ends);
		pair_open(&p, &opt);
		send_100(&p, 0, IBV_WR_SEND);
		wc_expect(&p.a, 0, IBV_WC_SUCCESS);
		wc_none(&p.b, 50);
		ends[i % ARRAY_SIZE(ends)](&p);
		cm_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED);
		cm_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED);
		pair_free(&p);
	}
}

/* Waits for two signals, so that the scenario can look at it, or delete the device. */
static void rnr_held(void)
{
	struct pair p;

	pair_open(&p, &defaults);
	hello(&p);
	wait_until_told("idle");
	send_100(&p, 0, IBV_WR_SEND);
	wc_expect(&p.a, 0, IBV_WC_SUCCESS);
	wait_until_told("held");
	pair_free(&p);
}

const struct test rnr_tests[] = {
	{ "rnr_late", rnr_late },
	{ "rnr_each", rnr_each },
	{ "rnr_doorbell", rnr_doorbell },
	{ "rnr_srq", rnr_srq },
	{ "rnr_srq_busy", rnr_srq_busy },
	{ "rnr_over", rnr_over },
	{ "rnr_closed", rnr_closed },
	{ "rnr_ends", rnr_ends },
	{ "rnr_held", rnr_held },
	{ NULL, NULL },
};
