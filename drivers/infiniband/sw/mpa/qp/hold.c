// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Small messages of a stream wait for company.
 *
 * A program that posts one small message after the other rings the doorbell for
 * each, and each would be a segment of its own, with all that TCP, IP and both
 * devices do for one. So when nothing was heard from the peer for a while, the
 * octets that do not fill a segment stay in the image until
 *
 *	- the segment is full,
 *	- a message wants attention (a Solicited Event), or the peer said something and
 *	  the next doorbell is rung,
 *	- or RNIC_HOLD_NS are over, in a timer's softirq.
 *
 * The work requests are complete all the same: their payload is copied.
 *
 * Who waits for an answer shall not be made to wait. So a few requests and the answer
 * are no stream, and how many doorbells in a row make one is learnt: twice as many when
 * nobody came while it waited, and half as many when there was company or the segment
 * was filled.
 *
 * A Read is all answer, and a row of them would be no stream. What counts there is
 * whether the program asked to see the completion: while it does not it cannot wait for
 * the data either, and the Read whose completion it will see takes the others along. (Who
 * looks at the memory instead waits in vain now and then, which is learnt.)
 * Requests that share a segment are answered in one, too.
 *
 * The timer runs with the socket lock, if no process owns the socket, else it comes
 * again (softirq.c). The worker waits for it before it lets the connection go.
 */
#include "core/dev.h"
#include "qp/qp.h"

#define PATIENCE_MIN	8
#define PATIENCE_MAX	4096

/**
 * rnic_hold_init() - a new connection
 * @qp:	queue pair whose data path is the caller's
 */
void rnic_hold_init(struct rnic_qp *qp)
{
	qp->tx.patience = PATIENCE_MIN;
}

/**
 * rnic_hold_learn() - the wait is over: was it worth it?
 * @tx:	sending side, socket locked
 * @worth:	it was
 */
void rnic_hold_learn(struct rnic_tx *tx, bool worth)
{
	if (worth) {
		tx->patience = max_t(u32, tx->patience / 2, PATIENCE_MIN);
		return;
	}
	tx->patience = min_t(u32, 2 * tx->patience, PATIENCE_MAX);
	tx->run = 0;
	tx->reads = 0;
}

/* Are the @encoded octets of this doorbell part of a stream, and would two such fit? */
static bool is_stream(const struct rnic_qp *qp, u32 encoded)
{
	const struct rnic_tx *tx = &qp->tx;
	u32 run = tx->unseen ? tx->reads : tx->run;

	return run > tx->patience && encoded && 2 * encoded <= tx->emss && !tx->waits &&
	       !qp->rx.eof && !rnic_qp_failed(qp) && rnic_qp_state(qp) == IB_QPS_RTS;
}

/**
 * rnic_hold() - how much of the image shall wait?
 * @qp:		queue pair, socket locked
 * @encoded:	octets of this doorbell
 * @more:	there will be more behind this image, so nothing has to wait
 *
 * Return: octets at its end.
 */
u32 rnic_hold(struct rnic_qp *qp, u32 encoded, bool more)
{
	struct rnic_tx *tx = &qp->tx;
	u32 held = more ? 0 : min(tx->seg_used, tx->img.fill - tx->sent);
	bool anew = held <= encoded;

	/* What was held before is part of a full segment. */
	if (anew && tx->held)
		rnic_hold_learn(tx, true);
	tx->reads += held && tx->unseen;
	if (!held || !is_stream(qp, encoded))
		return 0;
	if (anew) {
		tx->company = 0;
		tx->held_until = ktime_add_ns(ktime_get(), RNIC_HOLD_NS);
		if (!hrtimer_is_queued(&qp->hold))
			rnic_hold_start(qp, tx->held_until);
	}
	tx->company++;
	rnic_stat_inc(qp->dev, RNIC_STAT_TX_HELD);
	return held;
}
