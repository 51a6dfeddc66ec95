// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two queue pairs of a kernel consumer share a completion queue that is smaller than their flushes
 * together. None of the completions is lost, because the last one is that for which ib_drain_qp()
 * waits.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "memprobe.h"

#define QPS	2
#define DEPTH	40
#define CQE	16
#define LATE_MS	100	/* the queue is full long before */
#define WAIT	(20 * HZ)

static struct ib_cq *cq;

/* wr_id: queue pair, send or receive, and number */
static u64 make_id(int qp, bool send, int i)
{
	return (qp * 2 + send) * DEPTH + i;
}

static int post_all(struct ib_qp *qp, int number)
{
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct ib_recv_wr recv = {};
	int i, ret = 0;

	for (i = 0; i < DEPTH && !ret; i++) {
		recv.wr_id = make_id(number, false, i);
		send.wr_id = make_id(number, true, i);
		ret = ib_post_recv(qp, &recv, NULL) ?: ib_post_send(qp, &send, NULL);
	}
	return ret ? complain("post %d: %d", i, ret) : 0;
}

static struct ib_qp *make_broken_qp(struct ib_pd *pd)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_qp *qp = ib_create_qp(pd, &init);
	int ret;

	if (IS_ERR(qp))
		return qp;
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE);
	if (!ret)
		return qp;
	ib_destroy_qp(qp);
	return ERR_PTR(ret);
}

/* Each queue's completions come in its order. */
static int take_all(void)
{
	unsigned long end = jiffies + WAIT;
	int next[2 * QPS] = {}, num = 0;
	struct ib_wc wc;

	while (num < 2 * QPS * DEPTH) {
		if (time_after(jiffies, end))
			return complain("%d of %d completions", num, 2 * QPS * DEPTH);
		if (!ib_poll_cq(cq, 1, &wc)) {
			msleep(20);
			continue;
		}
		if (wc.status != IB_WC_WR_FLUSH_ERR || wc.wr_id >= 2 * QPS * DEPTH ||
		    wc.wr_id % DEPTH != next[wc.wr_id / DEPTH]++)
			return complain("%d: status %d of %llu", num, wc.status, wc.wr_id);
		num++;
	}
	return ib_poll_cq(cq, 1, &wc) ? complain("one more") : 0;
}

static int flush_all(struct ib_qp **qps)
{
	int i, ret = 0;

	for (i = 0; i < QPS && !ret; i++)
		ret = post_all(qps[i], i);
	msleep(LATE_MS);
	return ret ?: take_all();
}

/* A full queue stops no destruction. */
static int leave_full(struct ib_qp **qps)
{
	int i, ret = 0;

	for (i = 0; i < QPS && !ret; i++)
		ret = post_all(qps[i], i);
	msleep(LATE_MS);
	return ret;
}

static int run(struct ib_pd *pd)
{
	struct ib_qp *qps[QPS] = {};
	int i, ret = 0;

	for (i = 0; i < QPS && !ret; i++) {
		qps[i] = make_broken_qp(pd);
		ret = PTR_ERR_OR_ZERO(qps[i]);
	}
	if (ret)
		qps[i - 1] = NULL;
	ret = ret ?: flush_all(qps) ?: leave_full(qps);
	for (i = 0; i < QPS; i++)
		if (qps[i])
			ib_destroy_qp(qps[i]);
	return ret;
}

int probe_full(void)
{
	struct ib_pd *pd = ib_alloc_pd(dev, 0);
	int ret;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	cq = ib_alloc_cq(dev, NULL, CQE, 0, IB_POLL_DIRECT);
	ret = PTR_ERR_OR_ZERO(cq);
	if (!ret) {
		ret = run(pd);
		ib_free_cq(cq);
	}
	ib_dealloc_pd(pd);
	return ret;
}
