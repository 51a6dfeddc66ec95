// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Bulk is the worker's.
 *
 * A doorbell sends by itself, which saves a wake-up. But the task that rings it has
 * the socket while it waits for its share of the processor, beside programs that poll,
 * and could post the next message while another CPU encodes this one. So it sends
 * RNIC_INLINE_MAX octets and leaves the rest to the worker. While that is at work
 * doorbells have nothing to do: it looks at the send queue again before it stops.
 *
 * A program with one large message at a time gains nothing, and pays the wake-up. It
 * looks the same but for this: the worker finds no other work request before it stops.
 * Then the next large doorbells send all there is, twice as many each time. (A list that
 * is posted in one go counts as several.) But the worker may also have kept the program
 * from its processor. So with messages large enough this ends when one is posted while
 * the completion of another lies unread, or was not asked for.
 */
#include "core/dev.h"
#include "qp/cq.h"
#include "qp/qp.h"
#include "tcp/stream.h"

/* Octets whose encoding takes ten times as long as to wake the worker. */
#define WORTH_IT	(64 * 1024)

/*
 * Did the program post this before it had all back, or had asked for it? Not asked of
 * messages for which waking the worker would be no small part of the cost.
 */
static bool posts_ahead(const struct rnic_qp *qp)
{
	const struct rnic_wqe *last = &qp->tx.wqe;

	return last->len >= WORTH_IT &&
	       (!(last->flags & RNIC_WQE_SIGNALED) || rnic_cq_unread(qp->scq));
}

/**
 * rnic_bulk_doorbell() - send what is not the worker's
 * @qp:	queue pair that may send
 * @s:	its socket, locked
 *
 * Return: the worker is needed.
 */
bool rnic_bulk_doorbell(struct rnic_qp *qp, struct rnic_sock *s)
{
	struct rnic_tx *tx = &qp->tx;
	u32 start = tx->mpa.pos;

	if (tx->alone && posts_ahead(qp))
		rnic_tx_learn(tx, false);
	if (rnic_tx_run(qp, s, tx->alone ? RNIC_WORK_MAX : RNIC_INLINE_MAX, true)) {
		tx->bulk_from = qp->sent_tail;
		WRITE_ONCE(qp->bulk, true);
		return true;
	}
	if (tx->alone && tx->mpa.pos - start > RNIC_INLINE_MAX)
		tx->alone--;
	return false;
}

/* The worker has sent all it found. Doorbells are on their own again. */
static void end_bulk(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	rnic_tx_learn(tx, qp->sent_tail == tx->bulk_from);
	WRITE_ONCE(qp->bulk, false);
	/* Say so, then look once more: pairs with rnic_bulk_is_on(). */
	smp_mb();
}

/**
 * rnic_bulk_work() - the worker sends what user space posted
 * @qp:	queue pair that may send
 * @s:	its socket, locked
 *
 * Return: it stopped for fairness only.
 */
bool rnic_bulk_work(struct rnic_qp *qp, struct rnic_sock *s)
{
	bool again = rnic_tx_run(qp, s, RNIC_WORK_MAX, false);

	/* With TCP full there will be RNIC_SOCK_SPACE. */
	if (!qp->bulk || again || !rnic_sock_room(s))
		return again;
	end_bulk(qp);
	return rnic_tx_run(qp, s, RNIC_WORK_MAX, false);
}

/**
 * rnic_bulk_stop() - the connection ends, and the worker sends no more
 * @qp:	queue pair, socket locked
 *
 * What is posted from now on is looked for by rnic_qp_flush().
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
 * Return: it stopped for fairness only.
 */
bool rnic_post_work(struct rnic_qp *qp, struct rnic_sock *s)
{
	bool again = rnic_tx_run(qp, s, RNIC_WORK_MAX, false);
	u32 posts = take_posts(qp);

	if (posts)
		rnic_tx_learn(&qp->tx, posts == 1);
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
	struct rnic_tx *tx = &qp->tx;

	rnic_stat_inc(qp->dev, RNIC_STAT_DOORBELLS);
	if (tx->alone)
		WRITE_ONCE(tx->alone, tx->alone - 1);
	take_posts(qp);
	/* In SQD the worker waits for the last send to go. */
	return rnic_tx_run(qp, s, RNIC_INLINE_MAX, false) || rnic_qp_failed(qp) ||
	       rnic_qp_state(qp) != IB_QPS_RTS;
}
