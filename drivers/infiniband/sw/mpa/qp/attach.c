// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How a queue pair gets its connection.
 *
 * A queue pair has one connection in each life, between two RESETs. It is claimed before
 * anything is set up for it. The worker takes it down.
 */
#include "core/dev.h"
#include "qp/qp.h"

static bool may_claim_qp(const struct rnic_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	return rnic_qp_life(qp) == RNIC_IDLE && qp->state <= IB_QPS_RTR;
}

/**
 * rnic_qp_is_free() - could a connection be attached now?
 * @qp:	queue pair
 *
 * A hint: without it a connect would ask the peer in vain.
 *
 * Context: process.
 * Return: yes.
 */
bool rnic_qp_is_free(struct rnic_qp *qp)
{
	bool ret;

	spin_lock_bh(&qp->lock);
	ret = may_claim_qp(qp);
	spin_unlock_bh(&qp->lock);
	return ret;
}

/* One connection per life: claimed before anything is set up for it. */
static int claim_qp(struct rnic_qp *qp)
{
	bool claimed;

	spin_lock_bh(&qp->lock);
	claimed = may_claim_qp(qp) && rnic_qp_try_move(qp, RNIC_MOVE_CLAIM);
	spin_unlock_bh(&qp->lock);
	return claimed ? 0 : -EINVAL;
}

static void init_data_path(struct rnic_qp *qp, const struct mpa_agreed *agreed, bool open)
{
	memset(&qp->tx, 0, sizeof(qp->tx));
	memset(&qp->rx, 0, sizeof(qp->rx));
	mpa_tx_init(&qp->tx.mpa, agreed->tx_markers, agreed->crc);
	mpa_rx_init(&qp->rx.mpa, agreed->rx_markers, agreed->crc);
	ddp_rx_init(&qp->rx.ddp);
	qp->tx.msn[DDP_QN_SEND] = 1;
	qp->tx.msn[DDP_QN_READ_REQ] = 1;
	qp->tx.msn[DDP_QN_TERMINATE] = 1;
	qp->tx.open = open;
	rnic_pace_init(&qp->tx.pace, READ_ONCE(qp->dev->set.coalesce));
	qp->tx.rtr = open ? agreed->rtr : 0;
	qp->rx.rtr = open ? 0 : agreed->rtr;
	qp->rx.first = true;
	qp->parted = false;
	qp->moved = -1;
	qp->event = -1;
	qp->mem.stream = atomic64_inc_return(&qp->dev->streams);
	/*
	 * rdma_cm sets no rights at all on the connecting side (it knows no
	 * better before there is an iw_cm_id) and read and write on the other.
	 * MRs decide then. Rights set on a connected queue pair are taken
	 * literally.
	 */
	if (!qp->access)
		WRITE_ONCE(qp->access, IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE);
	WRITE_ONCE(qp->ord, agreed->ord);
	WRITE_ONCE(qp->ird, agreed->ird);
}

/**
 * rnic_qp_attach() - give a queue pair its connection
 * @qp:		queue pair; the caller holds a reference
 * @conn:	connection; a reference is taken
 * @agreed:	what the startup settled
 * @open:	FPDUs may be sent at once, else not before a valid one was received, or
 *		rnic_qp_open()
 *
 * Worker and doorbells leave the stream to the startup, and socket events still go to
 * the endpoint, until rnic_qp_begin().
 *
 * Context: process.
 * Return: 0, -EINVAL when the queue pair is not in a state for it, -ENOMEM.
 */
int rnic_qp_attach(struct rnic_qp *qp, struct rnic_conn *conn, const struct mpa_agreed *agreed,
		   bool open)
{
	int ret;

	ret = claim_qp(qp);
	if (ret)
		return ret;
	ret = rnic_readq_init(&qp->readq, agreed->ord, agreed->ird);
	if (!ret)
		init_data_path(qp, agreed, open);
	spin_lock_bh(&qp->lock);
	if (!ret && qp->state > IB_QPS_RTR)
		ret = -EINVAL;
	if (!ret) {
		rnic_qp_move(qp, RNIC_MOVE_ATTACH);
		WRITE_ONCE(qp->state, IB_QPS_RTS);
		/* The tasklet looks without the lock, and then at what was set before. */
		smp_store_release(&qp->conn, rnic_conn_get(conn));
	} else {
		rnic_readq_free(&qp->readq);
		rnic_qp_move(qp, RNIC_MOVE_RELEASE);
	}
	spin_unlock_bh(&qp->lock);
	/* The worker kept off while we were at it. */
	if (ret)
		rnic_qp_kick(qp);
	return ret;
}
