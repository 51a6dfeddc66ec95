// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The state of a queue pair as the rest of the driver sees and changes it: references, error,
 * its connection, its worker. Everybody calls this file, and it calls nobody in the room.
 */
#include <linux/workqueue.h>

#include "core/dev.h"
#include "core/wq.h"
#include "qp/qp.h"
#include "qp/trace.h"

/**
 * rnic_qp_find() - ib_device_ops.iw_get_qp
 * @ibdev:	the device
 * @qpn:	number of a queue pair, which any process may name
 *
 * Context: any.
 * Return: the queue pair with a reference, or NULL.
 */
struct ib_qp *rnic_qp_find(struct ib_device *ibdev, int qpn)
{
	struct rnic_dev *dev = rnic_dev(ibdev);
	unsigned long flags;
	struct rnic_qp *qp;

	/* Against rnic_destroy_qp(), which takes it out of reach with this lock. */
	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, qpn);
	if (qp)
		refcount_inc(&qp->refs);
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp ? &qp->ibqp : NULL;
}

/*
 * ib_device_ops.iw_add_ref: nothing to do. iw_cm calls it right after iw_get_qp, and nowhere
 * else, so the reference that it is for is that of rnic_qp_find().
 */
void rnic_qp_add_ref(struct ib_qp *ibqp)
{
}

/* ib_device_ops.iw_rem_ref. Any context. rnic_destroy_qp() waits for the last. */
void rnic_qp_rem_ref(struct ib_qp *ibqp)
{
	struct rnic_qp *qp = rnic_qp(ibqp);

	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->idle);
}

/**
 * rnic_qp_kick() - wake the worker
 * @qp:	queue pair
 *
 * Context: any.
 */
void rnic_qp_kick(struct rnic_qp *qp)
{
	queue_work(rnic_wq, &qp->work);
}

/**
 * rnic_qp_try_move() - change the life of a queue pair, if it may be moved so
 * @qp:		queue pair, @lock held, and its socket from RNIC_ATTACHED on
 * @move:	who moves it
 *
 * Return: false when it may not be moved so from where it stands; nothing has changed then.
 */
bool rnic_qp_try_move(struct rnic_qp *qp, enum rnic_move move)
{
	enum rnic_life next;

	lockdep_assert_held(&qp->lock);
	if (!rnic_life_step(qp->life, move, &next))
		return false;
	WRITE_ONCE(qp->life, next);
	return true;
}

/**
 * rnic_qp_move() - change the life of a queue pair, which stands where it may be moved so
 * @qp:		as rnic_qp_try_move()
 * @move:	who moves it
 */
void rnic_qp_move(struct rnic_qp *qp, enum rnic_move move)
{
	WARN_ON_ONCE(!rnic_qp_try_move(qp, move));
}

/**
 * rnic_qp_error() - to the error state; the worker does the rest
 * @qp:	queue pair
 *
 * Context: any but hard interrupt.
 */
void rnic_qp_error(struct rnic_qp *qp)
{
	spin_lock_bh(&qp->lock);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	spin_unlock_bh(&qp->lock);
	rnic_qp_kick(qp);
}

/**
 * rnic_qp_lost() - the connection cannot go on: to the error state
 * @qp:	queue pair
 * @conn:	its connection, if it has not been taken down since
 *
 * Context: process.
 */
void rnic_qp_lost(struct rnic_qp *qp, const struct rnic_conn *conn)
{
	spin_lock_bh(&qp->lock);
	if (qp->conn == conn)
		WRITE_ONCE(qp->state, IB_QPS_ERR);
	spin_unlock_bh(&qp->lock);
	rnic_qp_kick(qp);
}

/**
 * rnic_qp_must_flush() - has the worker the queues to itself, and must it flush them?
 * @qp:	queue pair
 *
 * Context: any but hard interrupt.
 * Return: true in error without a connection.
 */
bool rnic_qp_must_flush(struct rnic_qp *qp)
{
	bool ret;

	spin_lock_bh(&qp->lock);
	ret = qp->state == IB_QPS_ERR && !qp->conn && qp->life != RNIC_CLAIMED;
	spin_unlock_bh(&qp->lock);
	return ret;
}

/**
 * rnic_qp_conn() - the connection, if its stream is the queue pair's
 * @qp:	queue pair
 *
 * Context: any but hard interrupt.
 * Return: it, with a reference; NULL without one, or while its startup has the stream.
 */
struct rnic_conn *rnic_qp_conn(struct rnic_qp *qp)
{
	struct rnic_conn *conn;

	spin_lock_bh(&qp->lock);
	conn = qp->conn && qp->life != RNIC_ATTACHED ? rnic_conn_get(qp->conn) : NULL;
	spin_unlock_bh(&qp->lock);
	return conn;
}

/**
 * rnic_qp_wake_startup() - have the startup look, which has the stream
 * @qp:	queue pair
 *
 * Context: any but hard interrupt.
 */
void rnic_qp_wake_startup(struct rnic_qp *qp)
{
	spin_lock_bh(&qp->lock);
	if (qp->life == RNIC_ATTACHED)
		rnic_conn_kick(qp->conn);
	spin_unlock_bh(&qp->lock);
}

/**
 * rnic_qp_stop() - end the connection: the data path goes no further
 * @qp:	queue pair, socket locked
 *
 * The worker takes it down.
 *
 * Context: any but hard interrupt.
 */
void rnic_qp_stop(struct rnic_qp *qp)
{
	spin_lock_bh(&qp->lock);
	rnic_qp_move(qp, RNIC_MOVE_FAIL);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	spin_unlock_bh(&qp->lock);
	rnic_qp_kick(qp);
}

/*
 * What becomes of an error here, by its class in the table of wire/err.c: the counter, if an
 * FPDU of the peer's caused it, and the async event.
 */
static const struct {
	enum rnic_stat stat;
	enum ib_event_type event;
} reports[WIRE_CLASSES] = {
	[WIRE_CLASS_CRC]	= { RNIC_STAT_RX_CRC_ERRORS,	 IB_EVENT_QP_FATAL },
	[WIRE_CLASS_FRAMING]	= { RNIC_STAT_RX_FRAMING_ERRORS, IB_EVENT_QP_FATAL },
	[WIRE_CLASS_ACCESS]	= { RNIC_STAT_RX_ACCESS_ERRORS,	 IB_EVENT_QP_ACCESS_ERR },
	[WIRE_CLASS_REQUEST]	= { RNIC_STAT_RX_HEADER_ERRORS,	 IB_EVENT_QP_REQ_ERR },
	[WIRE_CLASS_BROKEN]	= { RNIC_STAT_RX_HEADER_ERRORS,	 IB_EVENT_QP_FATAL },
};

/**
 * rnic_qp_fail() - end the connection for an error of the data path
 * @qp:		queue pair, socket locked
 * @err:	what happened
 * @theirs:	in the FPDU just received: it is counted, and its header goes into the
 *		Terminate
 *
 * Nothing is received or sent any more but the Terminate. It is not sent where
 * no FPDU may be sent yet (NEG-30).
 */
void rnic_qp_fail(struct rnic_qp *qp, enum wire_err err, bool theirs)
{
	enum wire_class class = wire_err_row(err)->class;
	const struct mpa_rx *mpa = &qp->rx.mpa;

	if (rnic_qp_failed(qp))
		return;
	if (theirs)
		rnic_stat_inc(qp->dev, reports[class].stat);
	/* Before any work request is seen to fail. */
	rnic_qp_stop(qp);
	qp->event = reports[class].event;
	qp->tx.term_due = qp->tx.open;
	rdmap_term_init(&qp->tx.term, err, theirs ? mpa->hdr : NULL, theirs ? mpa->hdr_len : 0,
			theirs ? mpa->ulpdu_len : 0);
	trace_rnic_error(&qp->ibqp, &qp->tx.term, true);
}
