// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Attaching a connection to a queue pair.
 *
 * A queue pair has one connection between two RESETs. The startup claims it before it sets
 * anything up. The worker takes the connection down.
 */
#include <linux/random.h>

#include "core/dev.h"
#include "qp/priv.h"

static bool may_claim_qp(const struct rnic_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	return rnic_qp_life(qp) == RNIC_IDLE && qp->state <= IB_QPS_RTR;
}

/**
 * rnic_qp_is_free() - test whether a connection could be attached now
 * @qp:	queue pair
 *
 * The result may change at once. A connect that could not attach need not ask the peer.
 *
 * Context: process.
 * Return: true if it could.
 */
bool rnic_qp_is_free(struct rnic_qp *qp)
{
	bool ret;

	spin_lock_bh(&qp->lock);
	ret = may_claim_qp(qp);
	spin_unlock_bh(&qp->lock);
	return ret;
}

/* Claim the data path for the startup. */
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
	/* Not 0, because to some peers that is the STag of all memory. */
	qp->tx.token = get_random_u32() ?: 1;
	qp->rx.rtr = open ? 0 : agreed->rtr;
	qp->rx.first = true;
	qp->rx.rnr_wait = msecs_to_jiffies(READ_ONCE(qp->dev->set.rnr_wait_ms));
	qp->closed = false;
	qp->moved = -1;
	qp->event = -1;
	WRITE_ONCE(qp->term_rx, 0);
	WRITE_ONCE(qp->term_tx, 0);
	qp->mem.stream = atomic64_inc_return(&qp->dev->streams);
	WRITE_ONCE(qp->ord, agreed->ord);
	WRITE_ONCE(qp->ird, agreed->ird);
}

/**
 * rnic_qp_attach() - give a queue pair its connection
 * @qp:		queue pair; the caller holds a reference
 * @conn:	connection; a reference is taken
 * @agreed:	what the startup settled
 * @open:	FPDUs may be sent at once; else not before a valid one was received, or
 *		rnic_qp_open() was called
 *
 * Until rnic_qp_begin(), the worker and doorbells do not use the stream, and socket events go to
 * the endpoint.
 *
 * Context: process.
 * Return: 0, -EINVAL if the queue pair has a connection or is in the wrong state, or -ENOMEM.
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
		/*
		 * rdma_cm sets no rights on the connecting side, because it has no iw_cm_id yet,
		 * and read and write on the other side. So no rights means both here, and the MRs
		 * decide. Rights that are set on a connected queue pair are taken literally.
		 */
		if (!qp->access)
			WRITE_ONCE(qp->access, IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE);
		rnic_qp_move(qp, RNIC_MOVE_ATTACH);
		WRITE_ONCE(qp->state, IB_QPS_RTS);
		/* The tasklet reads @conn without the lock, so store all else before it. */
		smp_store_release(&qp->conn, rnic_conn_get(conn));
	} else {
		rnic_readq_free(&qp->readq);
		rnic_qp_move(qp, RNIC_MOVE_RELEASE);
	}
	spin_unlock_bh(&qp->lock);
	/* The worker did nothing while the queue pair was claimed. */
	if (ret)
		rnic_qp_kick(qp);
	return ret;
}
