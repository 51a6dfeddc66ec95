// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The data path in softirqs, without a wake-up of the worker.
 *
 * Small amounts of data are received in the softirq in which TCP reports them, unless a process
 * owns the socket. That softirq also answers small Reads, and sends work requests that waited for
 * a Read, up to RNIC_INLINE_MAX bytes. A timer sends the held messages of a stream (hold.c). A
 * tasklet sends for kernel consumers (bulk.c).
 *
 * The timer and the tasklet use rnic_qp.conn without a reference, because the worker waits for
 * both when it takes the connection down.
 */
#include <linux/interrupt.h>

#include "core/dev.h"
#include "qp/priv.h"
#include "tcp/stream.h"

/*
 * Receive, and send what this allows.
 *
 * Return: true if the worker is needed, to go on or to end the connection.
 */
static bool receive_and_answer(struct rnic_qp *qp, struct rnic_sock *s)
{
	u32 reads = rnic_reads_out(&qp->readq);
	bool open = qp->tx.open;
	const struct rnic_read_in *asked;

	if (rnic_rx_run(qp, s) || rnic_qp_is_ending(qp))
		return true;
	/* A response that has begun goes on when TCP has room, or in the worker. */
	asked = qp->tx.msg == RNIC_TX_RESPONSE ? NULL : rnic_read_in_head(&qp->readq);
	if (asked && asked->len > RNIC_INLINE_MAX)
		return true;
	if (!asked && open == qp->tx.open &&
	    (reads == rnic_reads_out(&qp->readq) || !rnic_tx_waiting(qp)))
		return false;
	return rnic_tx_run(qp, s, RNIC_INLINE_MAX, false) || rnic_qp_failed(qp);
}

/* True if the connection is up, and little enough is unread to be handled here. */
static bool is_small(struct rnic_qp *qp, struct rnic_conn *conn)
{
	return READ_ONCE(qp->conn) == conn && rnic_qp_state(qp) == IB_QPS_RTS &&
	       rnic_qp_life(qp) == RNIC_RUNNING && rnic_sock_unread(&conn->s) <= RNIC_INLINE_MAX;
}

/*
 * rnic_sock_event_fn of a socket in Full Operation. sk_callback_lock is held. With RNIC_SOCK_DATA
 * the socket lock is held too, by TCP's softirq or by a process that handles the backlog.
 */
void rnic_qp_sock_event(struct rnic_sock *s, enum rnic_sock_event event)
{
	struct rnic_conn *conn = container_of(s, struct rnic_conn, s);
	struct rnic_qp *qp = conn->qp;

	/* The startup still has the stream; rnic_qp_begin() looks. */
	if (rnic_qp_life(qp) == RNIC_ATTACHED)
		return;
	if (event == RNIC_SOCK_DATA && qp->looking) {
		qp->due = true;
		return;
	}
	if (event != RNIC_SOCK_DATA || rnic_sock_owned(s) || !is_small(qp, conn) ||
	    receive_and_answer(qp, s))
		rnic_qp_kick(qp);
}

/**
 * rnic_receive_backlog() - receive what arrived while a doorbell had the socket
 * @qp:		queue pair
 * @conn:	its connection, socket locked
 *
 * TCP puts such segments into the backlog of the socket, which its owner handles.
 *
 * Context: process.
 * Return: true if the worker is needed.
 */
bool rnic_receive_backlog(struct rnic_qp *qp, struct rnic_conn *conn)
{
	qp->due = false;
	qp->looking = true;
	rnic_sock_flush(&conn->s);
	qp->looking = false;
	return qp->due && (!is_small(qp, conn) || receive_and_answer(qp, &conn->s));
}

/**
 * rnic_qp_begin() - begin to receive and send, with the RTR if one is due
 * @qp:	queue pair that gets the socket events
 * @conn:	its connection
 *
 * Before this the worker did nothing when it was woken, so this looks for data that arrived and
 * for work requests. Softirqs are off, as in rnic_sock_send().
 *
 * Context: process, without I/O.
 */
void rnic_qp_begin(struct rnic_qp *qp, struct rnic_conn *conn)
{
	struct rnic_sock *s = &conn->s;
	bool kick = true;

	rnic_sock_lock(s);
	spin_lock_bh(&qp->lock);
	rnic_qp_move(qp, RNIC_MOVE_BEGIN);
	spin_unlock_bh(&qp->lock);
	local_bh_disable();
	if (is_small(qp, conn))
		kick = rnic_rx_run(qp, s) || rnic_tx_run(qp, s, RNIC_INLINE_MAX, false) ||
		       rnic_qp_is_ending(qp);
	local_bh_enable();
	rnic_sock_unlock(s);
	if (kick)
		rnic_qp_kick(qp);
}

static void send_held(struct rnic_sock *s, void *ctx)
{
	struct rnic_qp *qp = ctx;
	struct rnic_tx *tx = &qp->tx;

	if (!READ_ONCE(qp->conn) || !tx->held || !rnic_qp_sends(qp))
		return;
	if (ktime_before(ktime_get(), tx->held_until)) {
		rnic_hold_start(qp, tx->held_until);
		return;
	}
	rnic_pace_over(&tx->pace);
	if (rnic_tx_run(qp, s, RNIC_INLINE_MAX, false) || rnic_qp_failed(qp))
		rnic_qp_kick(qp);
}

/**
 * rnic_hold_over() - handle the timer of held messages
 * @timer:	rnic_qp.hold
 *
 * Starts the timer again if it is too early, or if a process owns the socket. It does not return
 * HRTIMER_RESTART, because that process may start the timer at the same time. A program may own a
 * connection that it lent for ever, so the worker sends instead.
 *
 * Context: softirq.
 * Return: HRTIMER_NORESTART.
 */
enum hrtimer_restart rnic_hold_over(struct hrtimer *timer)
{
	struct rnic_qp *qp = container_of(timer, struct rnic_qp, hold);
	struct rnic_conn *conn = READ_ONCE(qp->conn);

	/* The process that owns the socket may hold more. */
	if (!conn || rnic_sock_try(&conn->s, send_held, qp))
		return HRTIMER_NORESTART;
	if (rnic_sock_is_foreign(&conn->s))
		rnic_qp_kick(qp);
	else
		rnic_hold_start(qp, ktime_add_ns(ktime_get(), RNIC_HOLD_NS));
	return HRTIMER_NORESTART;
}

static void try_to_send(struct rnic_sock *s, void *ctx)
{
	struct rnic_conn *conn = container_of(s, struct rnic_conn, s);
	struct rnic_qp *qp = ctx;

	if (READ_ONCE(qp->conn) != conn || !rnic_qp_sends(qp) || rnic_post_now(qp, s))
		rnic_qp_kick(qp);
}

/**
 * rnic_post_soft() - handle the tasklet of a kernel consumer's queue pair
 * @tasklet:	rnic_qp.soft
 *
 * Context: softirq.
 */
void rnic_post_soft(struct tasklet_struct *tasklet)
{
	struct rnic_qp *qp = container_of(tasklet, struct rnic_qp, soft);
	struct rnic_conn *conn = READ_ONCE(qp->conn);

	if (!conn || !rnic_sock_try(&conn->s, try_to_send, qp))
		rnic_qp_kick(qp);
}
