// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which messages the worker sends, and which a doorbell or a tasklet sends in its place.
 *
 * User space. A doorbell sends by itself, which saves a wake-up. But the task that rings it has the
 * socket while it waits for its share of the processor, beside programs that poll, and could post
 * the next message while another CPU encodes this one. So it sends RNIC_INLINE_MAX bytes and leaves
 * the rest to the worker. While the worker is at it (rnic_qp.bulk) doorbells have nothing to do,
 * because it looks at the send queue again before it stops.
 *
 * Kernel consumers. The worker can always send what they post, and goes on beside the consumer,
 * which posts more meanwhile. Where its wake-up does not pay a tasklet sends (pace.h).
 */
#include "core/dev.h"
#include "qp/qp.h"
#include "tcp/stream.h"

/**
 * rnic_bulk_doorbell() - send what is not the worker's
 * @qp:	queue pair that may send
 * @s:	its socket, locked
 *
 * Return: true when the worker is needed.
 */
bool rnic_bulk_doorbell(struct rnic_qp *qp, struct rnic_sock *s)
{
	if (!rnic_tx_run(qp, s, RNIC_INLINE_MAX, true))
		return false;
	WRITE_ONCE(qp->bulk, true);
	return true;
}

/**
 * rnic_bulk_work() - the worker sends what user space posted
 * @qp:	queue pair that may send
 * @s:	its socket, locked
 *
 * Return: true when it stopped for fairness only.
 */
bool rnic_bulk_work(struct rnic_qp *qp, struct rnic_sock *s)
{
	bool again = rnic_tx_run(qp, s, RNIC_WORK_MAX, false);

	/* With TCP full there will be RNIC_SOCK_SPACE. */
	if (!qp->bulk || again || !rnic_sock_room(s))
		return again;
	/* All is sent, and doorbells send again. */
	WRITE_ONCE(qp->bulk, false);
	/* Say so, then look once more: pairs with rnic_bulk_is_on(). */
	smp_mb();
	return rnic_tx_run(qp, s, RNIC_WORK_MAX, false);
}

/**
 * rnic_bulk_stop() - the connection ends, and the worker sends no more
 * @qp:	queue pair, socket locked
 *
 * rnic_qp_flush() looks for what is posted from now on.
 */
void rnic_bulk_stop(struct rnic_qp *qp)
{
	WRITE_ONCE(qp->bulk, false);
}

/* Return: calls by which kernel consumers posted since the last time. */
static u32 take_posts(struct rnic_qp *qp)
{
	u32 posts = READ_ONCE(qp->posts) - qp->tx.posts;

	qp->tx.posts += posts;
	return posts;
}

/**
 * rnic_post_work() - the worker sends what kernel consumers posted
 * @qp:	queue pair that may send
 * @s:	its socket, locked
 *
 * Return: true when it stopped for fairness only.
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
 * rnic_post_now() - send what a kernel consumer posted, without the worker
 * @qp:	queue pair that may send
 * @s:	its socket, locked
 *
 * Context: softirq.
 * Return: true when the worker is needed.
 */
bool rnic_post_now(struct rnic_qp *qp, struct rnic_sock *s)
{
	struct rnic_pace *pace = &qp->tx.pace;

	rnic_stat_inc(qp->dev, RNIC_STAT_DOORBELLS);
	if (pace->soft_left)
		WRITE_ONCE(pace->soft_left, pace->soft_left - 1);
	take_posts(qp);
	/* In SQD the worker waits for the last send to go. */
	return rnic_tx_run(qp, s, RNIC_INLINE_MAX, false) || rnic_qp_failed(qp) ||
	       rnic_qp_state(qp) != IB_QPS_RTS;
}
