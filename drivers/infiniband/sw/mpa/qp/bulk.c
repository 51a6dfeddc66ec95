// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sending in the worker, or in a doorbell or a tasklet in its place.
 *
 * User space. A doorbell sends in its task, which saves a wake-up of the worker. But the task can
 * be preempted while it owns the socket, and it could post the next message while another CPU
 * encodes this one. So a doorbell sends RNIC_INLINE_MAX bytes and leaves the rest to the worker.
 * While the worker sends (rnic_qp.bulk), doorbells return at once, because the worker looks at the
 * send queue again before it stops.
 *
 * Kernel consumers. The worker sends their posts, in parallel to the consumer, which may post more.
 * If its wake-up does not pay, a tasklet sends (pace.h).
 */
#include "core/dev.h"
#include "qp/priv.h"
#include "tcp/stream.h"

/**
 * rnic_bulk_doorbell() - send in a doorbell
 * @qp:	queue pair that may send
 * @s:	its socket, locked
 *
 * Return: true if the worker must send the rest.
 */
bool rnic_bulk_doorbell(struct rnic_qp *qp, struct rnic_sock *s)
{
	if (!rnic_tx_run(qp, s, RNIC_INLINE_MAX, true))
		return false;
	WRITE_ONCE(qp->bulk, true);
	return true;
}

/**
 * rnic_bulk_work() - send the work requests of user space in the worker
 * @qp:	queue pair that may send
 * @s:	its socket, locked
 *
 * Return: true if the worker must run again.
 */
bool rnic_bulk_work(struct rnic_qp *qp, struct rnic_sock *s)
{
	bool again = rnic_tx_run(qp, s, RNIC_WORK_MAX, false);

	/* If TCP is full, RNIC_SOCK_SPACE will wake the worker. */
	if (!qp->bulk || again || !rnic_sock_room(s))
		return again;
	/* All is sent, so doorbells send again. */
	WRITE_ONCE(qp->bulk, false);
	/* Clear @bulk before looking once more. Pairs with rnic_bulk_is_on(). */
	smp_mb();
	return rnic_tx_run(qp, s, RNIC_WORK_MAX, false);
}

/**
 * rnic_bulk_stop() - stop sending in the worker, because the connection ends
 * @qp:	queue pair, socket locked
 *
 * rnic_qp_flush() handles work requests that are posted from now on.
 */
void rnic_bulk_stop(struct rnic_qp *qp)
{
	WRITE_ONCE(qp->bulk, false);
}

/* Return: number of calls by which kernel consumers posted since the last time. */
static u32 take_posts(struct rnic_qp *qp)
{
	u32 posts = READ_ONCE(qp->posts) - qp->tx.posts;

	qp->tx.posts += posts;
	return posts;
}

/**
 * rnic_post_work() - send the work requests of kernel consumers in the worker
 * @qp:	queue pair that may send
 * @s:	its socket, locked
 *
 * Return: true if the worker must run again.
 */
bool rnic_post_work(struct rnic_qp *qp, struct rnic_sock *s)
{
	bool again = rnic_tx_run(qp, s, RNIC_WORK_MAX, false);
	u32 posts = take_posts(qp);

	if (posts)
		rnic_pace_posts(&qp->tx.pace, posts);
	return again;
}

/**
 * rnic_post_now() - send the work requests of kernel consumers in the tasklet
 * @qp:	queue pair that may send
 * @s:	its socket, locked
 *
 * Context: softirq.
 * Return: true if the worker is needed.
 */
bool rnic_post_now(struct rnic_qp *qp, struct rnic_sock *s)
{
	struct rnic_pace *pace = &qp->tx.pace;

	rnic_stat_inc(qp->dev, RNIC_STAT_DOORBELLS);
	if (pace->soft_left)
		WRITE_ONCE(pace->soft_left, pace->soft_left - 1);
	take_posts(qp);
	return rnic_tx_run(qp, s, RNIC_INLINE_MAX, false) || rnic_qp_is_ending(qp);
}
