// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A kernel consumer posts receives after the message has arrived, and that wakes the driver at
 * once. The timer, with which it looks for receives of user space, is slow by then.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "memprobe.h"

/*
 * The timer looks every 750 ms by then. It would find a receive soon enough by chance, so
 * there are several connections, which began at different times. All wait for less than the five
 * seconds of rnr_wait_ms.
 */
#define LATE_MS		3000
#define AT_ONCE_MS	(300 * slow)
#define APART_MS	100
#define CONNECTIONS	6

static struct ib_pd *pd;

static int send_empty(struct pair *p)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	int ret = end_do(&p->a, &wr);

	return ret > 0 ? complain("Send ended with status %d", ret) : ret;
}

static int expect_soon(struct end *b, ktime_t since)
{
	struct ib_wc wc;
	int ret = end_wait(b, &wc);

	if (ret)
		return ret;
	if (wc.status)
		return complain("receive ended with status %d", wc.status);
	if (ktime_ms_delta(ktime_get(), since) > AT_ONCE_MS)
		return complain("received %lld ms late", ktime_ms_delta(ktime_get(), since));
	return 0;
}

static int expect_nothing(struct end *b)
{
	struct ib_wc wc;

	return ib_poll_cq(b->cq, 1, &wc) ? complain("status %d without a receive", wc.status) : 0;
}

/* @n connections, which share a receive queue if it is not NULL */
static int receive_late(struct pair *p, int n, struct ib_srq *srq)
{
	int i, ret = 0;
	ktime_t start;

	for (i = 0; i < n && !ret; i++)
		ret = pair_open(&p[i], pd, pd, srq);
	for (i = 0; i < n && !ret; i++) {
		ret = send_empty(&p[i]);
		msleep(APART_MS);
	}
	msleep(LATE_MS);
	for (i = 0; i < n && !ret; i++)
		ret = expect_nothing(&p[i].b);
	start = ktime_get();
	for (i = 0; i < n && !ret; i++)
		ret = end_post_recv(&p[i].b, 0, 0, 0);
	for (i = 0; i < n && !ret; i++)
		ret = expect_soon(&p[i].b, start);
	return ret;
}

/* Closes the connections while another message waits on each. */
static int close_waiting(struct pair *p, int n)
{
	ktime_t start;
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = send_empty(&p[i]);
	msleep(50);
	start = ktime_get();
	for (i = 0; i < n; i++)
		pair_close(&p[i]);
	if (!ret && ktime_ms_delta(ktime_get(), start) > 3000 * n)
		ret = complain("closed after %lld ms", ktime_ms_delta(ktime_get(), start));
	return ret;
}

static int one_queue(int n, struct ib_srq *srq)
{
	struct pair *p;
	int i, ret;

	p = kcalloc(n, sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	ret = receive_late(p, n, srq);
	if (!ret)
		ret = close_waiting(p, n);
	else
		for (i = 0; i < n; i++)
			pair_close(&p[i]);
	kfree(p);
	return ret;
}

int probe_late(void)
{
	struct ib_srq_init_attr attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *srq;
	int ret;

	pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	srq = ib_create_srq(pd, &attr);
	ret = PTR_ERR_OR_ZERO(srq);
	if (!ret) {
		ret = one_queue(CONNECTIONS, NULL) ?: one_queue(3, srq);
		ib_destroy_srq(srq);
	}
	ib_dealloc_pd(pd);
	return ret;
}
