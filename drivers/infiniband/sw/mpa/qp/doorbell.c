// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Doorbells of user space. The task that rings the doorbell locks the socket and sends, unless the
 * worker is sending.
 */
#include "core/dev.h"
#include "qp/priv.h"
#include "tcp/stream.h"

/**
 * rnic_qp_doorbell() - send what user space posted
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
			kick = rnic_bulk_doorbell(qp, &conn->s) || rnic_qp_is_ending(qp) ||
			       qp->rx.rnr;
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
