// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Coalescing: let small messages of a stream share a segment. pace.c makes the decisions.
 *
 * The bytes that do not fill a segment stay in the chunk. Their work requests complete anyway,
 * because the payload was copied. A timer sends the bytes after RNIC_HOLD_NS. It takes the socket
 * lock, and starts again if a process owns the socket (softirq.c). The worker waits for the timer
 * when it takes the connection down.
 */
#include "core/dev.h"
#include "qp/priv.h"

/**
 * rnic_hold() - compute how many bytes at the end of the chunk are held
 * @qp:		queue pair, socket locked
 * @encoded:	bytes of this doorbell
 * @more:	more follows at once, so nothing is held
 *
 * Return: number of bytes.
 */
u32 rnic_hold(struct rnic_qp *qp, u32 encoded, bool more)
{
	struct rnic_tx *tx = &qp->tx;
	u32 rest = more ? 0 : min(tx->seg_used, tx->chunk.fill - tx->sent);
	bool may_wait = !tx->waits && !qp->rx.eof && !rnic_qp_failed(qp) &&
			rnic_qp_state(qp) == IB_QPS_RTS;

	switch (rnic_pace_doorbell(&tx->pace, rest, tx->held, encoded, tx->emss, may_wait)) {
	case RNIC_PACE_SEND:
		return 0;
	case RNIC_PACE_BEGIN:
		tx->held_until = ktime_add_ns(ktime_get(), RNIC_HOLD_NS);
		if (!hrtimer_is_queued(&qp->hold))
			rnic_hold_start(qp, tx->held_until);
		break;
	case RNIC_PACE_HOLD:
		break;
	}
	rnic_stat_inc(qp->dev, RNIC_STAT_TX_HELD);
	return rest;
}
