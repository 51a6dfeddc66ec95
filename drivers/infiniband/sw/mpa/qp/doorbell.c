// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A user's doorbell: the task that rings it locks the socket and sends by itself, unless the
 * worker is at it.
 */
#include "core/dev.h"
#include "qp/qp.h"
#include "tcp/stream.h"

/**
 * rnic_qp_doorbell() - user space posted sends
 * @qp:	queue pair
 *
 * Context: process.
 */
void rnic_qp_doorbell(struct rnic_qp *qp)
{
	struct rnic_conn *conn;
	bool kick = true;

	rnic_stat_inc(qp->dev, RNIC_STAT_DOORBELLS);
	if (rnic_bulk_is_on(qp))
		return;
	conn = rnic_qp_conn(qp);
	if (conn) {
		rnic_sock_lock(&conn->s);
		if (READ_ONCE(qp->conn) == conn && rnic_qp_sends(qp)) {
			rnic_pace_rung(&qp->tx.pace);
			/* In SQD the worker waits for the last send to go. */
			kick = rnic_bulk_doorbell(qp, &conn->s) || rnic_qp_failed(qp) ||
			       rnic_qp_state(qp) != IB_QPS_RTS;
			kick |= rnic_receive_backlog(qp, conn);
		}
		rnic_sock_unlock(&conn->s);
		rnic_conn_put(conn);
	} else {
		WRITE_ONCE(qp->active, jiffies);
	}
	if (kick)
		rnic_qp_kick(qp);
}
