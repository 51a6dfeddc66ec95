// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The state of a queue pair: references, errors, its connection, waking its worker. All files of
 * this folder may call this one, and it calls none of them but life.c.
 */
#include <linux/workqueue.h>

#include "core/dev.h"
#include "core/wq.h"
#include "qp/priv.h"
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

	/* rnic_destroy_qp() removes it from the xarray under this lock. */
	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, qpn);
	if (qp)
		refcount_inc(&qp->refs);
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp ? &qp->ibqp : NULL;
}

/*
 * ib_device_ops.iw_add_ref. Does nothing, because iw_cm calls it only right after iw_get_qp, and
 * rnic_qp_find() has taken the reference.
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
 * rnic_qp_try_move() - move a queue pair to the next stage of its life, if that is allowed
 * @qp:		queue pair, @lock held, and from RNIC_ATTACHED on its socket locked
 * @move:	cause of the move
 *
 * Return: false if the move is not allowed at this stage; then nothing has changed.
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
 * rnic_qp_move() - move a queue pair to the next stage of its life; warn if that is not allowed
 * @qp:		as for rnic_qp_try_move()
 * @move:	cause of the move
 */
void rnic_qp_move(struct rnic_qp *qp, enum rnic_move move)
{
	WARN_ON_ONCE(!rnic_qp_try_move(qp, move));
}

/**
 * rnic_qp_error() - move a queue pair to the error state and end its connection, if it has one
 * @qp:	queue pair
 *
 * Wakes the worker, which takes the connection down.
 *
 * Context: any but hard interrupt.
 */
void rnic_qp_error(struct rnic_qp *qp)
{
	bool connected;

	spin_lock_bh(&qp->lock);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	connected = qp->conn;
	spin_unlock_bh(&qp->lock);
	if (connected)
		rnic_qp_kick(qp);
}

/**
 * rnic_qp_lost() - move a queue pair to the error state, because its connection is lost
 * @qp:	queue pair
 * @conn:	the connection; the state does not change if the queue pair has it no longer
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
 * rnic_qp_must_flush() - test whether the worker must flush the queues
 * @qp:	queue pair
 *
 * Context: any but hard interrupt.
 * Return: true if the queue pair is in error and has no connection, so only the worker uses the
 * queues.
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
 * rnic_qp_conn() - get the connection of a queue pair that has the stream
 * @qp:	queue pair
 *
 * Context: any but hard interrupt.
 * Return: the connection with a reference; NULL if there is none, or the startup has the stream.
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
 * rnic_qp_wake_startup() - wake the startup, if it has the stream
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
 * rnic_qp_stop() - stop the data path and wake the worker, which takes the connection down
 * @qp:	queue pair, socket locked
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
 * By the class of an error in wire/err.c: the counter, if an FPDU of the peer caused the error, and
 * the async event.
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

static void end_for_error(struct rnic_qp *qp, enum wire_err err, const u8 *ulpdu, u32 have,
			  u32 len)
{
	/* TCP sends nothing behind our FIN. */
	qp->tx.term_due = qp->tx.open && rnic_qp_life(qp) == RNIC_RUNNING;
	/* Set the error state before a consumer sees a work request fail. */
	rnic_qp_stop(qp);
	qp->event = reports[wire_err_row(err)->class].event;
	rdmap_term_init(&qp->tx.term, err, ulpdu, have, len);
	trace_rnic_error(&qp->ibqp, &qp->tx.term, true);
}

/**
 * rnic_qp_fail() - end the connection because of an error of this side
 * @qp:		queue pair, socket locked
 * @err:	the error
 *
 * The data path receives and sends no more, except for the Terminate. That is not sent if no FPDU
 * may be sent yet (NEG-30), or none any more.
 */
void rnic_qp_fail(struct rnic_qp *qp, enum wire_err err)
{
	if (!rnic_qp_failed(qp))
		end_for_error(qp, err, NULL, 0, 0);
}

/**
 * rnic_qp_fail_peer() - end the connection because of an error in a ULPDU of the peer
 * @qp:		queue pair, socket locked
 * @err:	the error, which is counted
 * @ulpdu:	the first bytes of the ULPDU, for the Terminate
 * @have:	number of these bytes
 * @len:	length of the ULPDU
 *
 * Otherwise as rnic_qp_fail().
 */
void rnic_qp_fail_peer(struct rnic_qp *qp, enum wire_err err, const u8 *ulpdu, u32 have, u32 len)
{
	if (rnic_qp_failed(qp))
		return;
	rnic_stat_inc(qp->dev, reports[wire_err_row(err)->class].stat);
	end_for_error(qp, err, ulpdu, have, len);
}

/* The errors that the peer is told for a fault: of its tagged segment, of its Read Request */
static const struct {
	enum wire_err tagged;
	enum wire_err read;
} faults[] = {
	[RNIC_MR_STAG]	 = { WIRE_DDP_T_STAG,	WIRE_RDMAP_STAG },
	[RNIC_MR_ASSOC]	 = { WIRE_DDP_T_ASSOC,	WIRE_RDMAP_ASSOC },
	[RNIC_MR_ACCESS] = { WIRE_RDMAP_ACCESS,	WIRE_RDMAP_ACCESS },
	[RNIC_MR_BOUNDS] = { WIRE_DDP_T_BOUNDS,	WIRE_RDMAP_BOUNDS },
	[RNIC_MR_WRAP]	 = { WIRE_DDP_T_WRAP,	WIRE_RDMAP_WRAP },
};

/**
 * rnic_tagged_error() - get the error of a tagged segment whose memory may not be written
 * @fault:	why
 *
 * Return: the error.
 */
enum wire_err rnic_tagged_error(enum rnic_mr_fault fault)
{
	return faults[fault].tagged;
}

/**
 * rnic_read_error() - get the error of a Read Request whose source may not be read
 * @fault:	why
 *
 * Return: the error.
 */
enum wire_err rnic_read_error(enum rnic_mr_fault fault)
{
	return faults[fault].read;
}
