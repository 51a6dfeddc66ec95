// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The worker of a queue pair: it receives, sends, and takes the connection down.
 *
 * Socket events, posts of kernel consumers and changes of the state wake it. It receives and sends
 * large amounts of data, because it can copy on another CPU than the consumer's. Softirqs and
 * doorbells handle small ones (softirq.c, doorbell.c).
 *
 * Only the worker takes a connection down:
 *
 *	socket locked:	encode a Terminate if one is due, pass to TCP what it takes, unlink
 *			connection and queue pair
 *	unlocked:	flush, raise the events of the queue pair, give the stream with its
 *			unsent bytes back to the startup, which reports to iw_cm and lingers
 *
 * After that a doorbell finds no connection, so only the worker uses the data path. It flushes
 * work requests that are posted later.
 */
#include <linux/mm.h>
#include <linux/workqueue.h>

#include "core/dev.h"
#include "qp/cq.h"
#include "qp/priv.h"
#include "qp/srq.h"
#include "qp/trace.h"
#include "tcp/stream.h"

/* Longest time of a graceful close without progress; the setting close_timeout_ms bounds it all */
#define CLOSE_MS	5000
/* Longest time of looking for receives posted in error without a system call */
#define REFLUSH_MAX	(8 * HZ)
/* Time, in jiffies, after which a flush looks again for room in a kernel consumer's CQ */
#define CQ_ROOM_WAIT	msecs_to_jiffies(10)

/*
 * Set the deadline of a close to CLOSE_MS after the last byte that the peer acknowledged, so that a
 * peer that takes nothing does not delay it forever. Until our FIN received bytes count too, and
 * the FIN begins the time anew. All of it ends close_timeout_ms after the first call, because a
 * peer could go on for ever. After the deadline TCP still sends what it has (linger.c).
 */
static void await_end(struct rnic_qp *qp, struct rnic_conn *conn)
{
	u32 moved = rnic_sock_acked(&conn->s);

	if (rnic_qp_life(qp) != RNIC_FINISHED)
		moved += qp->rx.mpa.pos + qp->rx.mpa.seen;
	if (moved == qp->moved)
		return;
	if (qp->moved < 0)
		qp->until = jiffies + msecs_to_jiffies(READ_ONCE(qp->dev->set.close_timeout_ms));
	qp->moved = moved;
	rnic_conn_extend(conn, CLOSE_MS, qp->until);
}

/*
 * Return: true if the deadline of a close has passed. A close that had not come to our FIN is
 * counted, because what was posted or requested before it is cut.
 */
static bool is_close_over(struct rnic_qp *qp, struct rnic_conn *conn)
{
	if (!rnic_conn_expired(conn))
		return false;
	if (rnic_qp_life(qp) != RNIC_FINISHED)
		rnic_stat_inc(qp->dev, RNIC_STAT_CONN_RESET);
	return true;
}

/*
 * Send FIN after all that was posted before the close was sent. Do not wait if it can never be
 * sent, because no FPDU of the peer will open the stream (NEG-30). An agreed RTR opens it.
 *
 * If there are @unread FPDUs, handle first those that had arrived before the close, because after
 * FIN no Read of theirs is answered and no error gets a Terminate.
 */
static void close_gracefully(struct rnic_qp *qp, struct rnic_conn *conn, bool unread)
{
	bool finished, opens = qp->tx.open || qp->rx.rtr;

	await_end(qp, conn);
	if (unread && (s32)(qp->rx.mpa.pos - qp->rx.part_at) < 0)
		return;
	/* Keep up, because the peer may send more than 2 GiB before all is sent. */
	qp->rx.part_at = qp->rx.mpa.pos;
	if (opens && !rnic_tx_idle(qp))
		return;
	spin_lock_bh(&qp->lock);
	/* Fails if it was done before. */
	finished = rnic_qp_try_move(qp, RNIC_MOVE_FINISH);
	spin_unlock_bh(&qp->lock);
	if (!finished)
		return;
	rnic_sock_shut(&conn->s);
	/* The FIN begins the time anew. */
	await_end(qp, conn);
}

/**
 * rnic_qp_close_sends() - send no work request that is posted from now on, and FIN after the others
 * @qp:	queue pair in SQD
 *
 * Those posted later are flushed when the connection has ended (RFC 5041 section 6.2.1), so they do
 * not delay it. If nothing is left to receive or send, this sends FIN itself, because the worker
 * would cost a wake-up. The worker also sends it if the startup still has the stream.
 *
 * Context: process.
 */
void rnic_qp_close_sends(struct rnic_qp *qp)
{
	struct rnic_conn *conn;
	u32 unread;

	spin_lock_bh(&qp->lock);
	/* In RTS it is another connection, which nobody closes. */
	conn = qp->conn && qp->state != IB_QPS_RTS ? rnic_conn_get(qp->conn) : NULL;
	spin_unlock_bh(&qp->lock);
	/* A queue pair in error stays there. */
	if (!conn)
		return;
	rnic_sock_lock(&conn->s);
	if (READ_ONCE(qp->conn) == conn) {
		rnic_sq_close(&qp->sq);
		unread = rnic_sock_unread(&conn->s);
		qp->rx.part_at = qp->rx.mpa.pos + unread;
		if (rnic_qp_sends(qp) && !unread)
			close_gracefully(qp, conn, false);
	}
	rnic_sock_unlock(&conn->s);
	rnic_conn_put(conn);
	if (rnic_qp_life(qp) != RNIC_FINISHED)
		rnic_qp_kick(qp);
}

/*
 * Return: true if the peer, which has sent FIN, may still take posted messages and Read Responses
 * (CONN-17). There is a deadline for that. False if Reads are outstanding, because the peer cannot
 * answer them any more.
 */
static bool half_open(struct rnic_qp *qp, struct rnic_conn *conn)
{
	if (rnic_sock_dead(&conn->s) || qp->rx.mpa.seen || !qp->tx.open)
		return false;
	if (rnic_reads_out(&qp->readq) || rnic_tx_idle(qp))
		return false;
	await_end(qp, conn);
	return true;
}

/*
 * True if the connection is over, which it is not while the data path has @unread data. A FIN
 * inside an FPDU, a reset and a time-out lose data, so the consumer gets an event. After such a FIN
 * TCP can still send, so the peer gets a Terminate (RFC 5040 section 6.2.1). A FIN between two
 * FPDUs is the peer's close.
 */
static bool is_over(struct rnic_qp *qp, struct rnic_conn *conn, bool unread)
{
	bool broken = rnic_sock_dead(&conn->s) && (rnic_sock_error(&conn->s) || qp->tx.broken);

	if (rnic_qp_failed(qp) || rnic_qp_state(qp) == IB_QPS_ERR)
		return true;
	if (unread || (!qp->rx.eof && !rnic_sock_dead(&conn->s)) || half_open(qp, conn))
		return is_close_over(qp, conn);
	if (!broken && !qp->rx.mpa.seen)
		return true;
	rnic_stat_inc(qp->dev, RNIC_STAT_CONN_RESET);
	if (rnic_sock_dead(&conn->s))
		qp->event = IB_EVENT_QP_FATAL;
	else
		rnic_qp_fail(qp, WIRE_MPA_CLOSED);
	return true;
}

static void raise_event(struct rnic_qp *qp, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
}

/*
 * Raise an event once between two RESETs, because this queue pair takes no more receives from the
 * shared queue. A consumer that drains it waits for the event, even if it was never connected. The
 * flush of the last receive comes first, and may wait for room in the CQ.
 */
static void raise_last_wqe_event(struct rnic_qp *qp)
{
	if (qp->rx.have_rwqe)
		return;
	if (qp->srq && !qp->last_wqe)
		raise_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	qp->last_wqe = true;
}

/* Socket locked. */
static void unlink_connection(struct rnic_qp *qp, struct rnic_conn *conn)
{
	trace_rnic_close(&qp->ibqp, rnic_qp_failed(qp), qp->event >= 0,
			 qp->closed || rnic_qp_state(qp) == IB_QPS_ERR);
	rnic_bulk_stop(qp);
	if (qp->srq)
		rnic_srq_leave(qp);
	conn->last_words = qp->tx.term_due;
	rnic_tx_finish(qp, &conn->s);
	spin_lock_bh(&qp->lock);
	conn->graceful = qp->closed && !rnic_qp_failed(qp) && qp->tx.msg == RNIC_TX_NONE;
	rnic_qp_move(qp, RNIC_MOVE_END);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	WRITE_ONCE(qp->conn, NULL);
	spin_unlock_bh(&qp->lock);
}

/*
 * User space posts receives without a doorbell, also to a queue pair in error, and waits for their
 * completions. So look again after the time that has passed since the last receive or system call.
 * After REFLUSH_MAX wait for the next system call, because an idle program must not cost CPU time.
 */
static void look_later(struct rnic_qp *qp)
{
	unsigned long idle = jiffies - READ_ONCE(qp->active);

	/* Not later than another caller, which may have seen a later @active. */
	if (idle < REFLUSH_MAX)
		timer_reduce(&qp->again, jiffies + max(idle, 1UL));
}

/*
 * Wake the worker to look for receives, or for room in a CQ. A user's queue pair in error needs it
 * only if there is a receive, which this sees without a wake-up.
 */
static void look_now(struct rnic_qp *qp)
{
	if (qp->rq.user && rnic_qp_must_flush(qp) && !rnic_rq_has(&qp->rq, 1))
		look_later(qp);
	else
		rnic_qp_kick(qp);
}

/* The function of rnic_qp.again. */
void rnic_qp_again(struct timer_list *timer)
{
	look_now(container_of(timer, struct rnic_qp, again));
}

/**
 * rnic_qp_look() - look at the queues of a user's queue pair after a system call
 * @qp:	queue pair
 *
 * Wakes the worker of a queue pair in error, which flushes receives and looks for more for some
 * seconds. Looks for a late arming of the completion queues.
 *
 * Context: any.
 */
void rnic_qp_look(struct rnic_qp *qp)
{
	WRITE_ONCE(qp->active, jiffies);
	rnic_cq_watch(qp->scq);
	rnic_cq_watch(qp->rcq);
	if (rnic_qp_state(qp) == IB_QPS_ERR)
		look_now(qp);
}

/* Flush the queues. A kernel consumer polls its CQ some time, so look for room in it. */
static void flush_queues(struct rnic_qp *qp)
{
	u32 get = qp->rq.get;
	bool full = rnic_qp_flush(qp);

	if (rnic_qp_life(qp) == RNIC_GONE)
		return;
	if (full)
		mod_timer(&qp->again, jiffies + CQ_ROOM_WAIT);
	if (!qp->rq.user)
		return;
	if (get != qp->rq.get)
		WRITE_ONCE(qp->active, jiffies);
	look_later(qp);
}

/* Socket not locked. Drops the queue pair's reference to @conn. */
static void take_down(struct rnic_qp *qp, struct rnic_conn *conn)
{
	struct page *tail = qp->tx.chunk.page;
	u32 off = qp->tx.sent, len = qp->tx.chunk.fill - off;

	qp->tx.chunk.page = NULL;
	WRITE_ONCE(qp->active, jiffies);
	flush_queues(qp);
	rnic_readq_free(&qp->readq);
	if (qp->event >= 0)
		raise_event(qp, qp->event);
	qp->event = -1;
	raise_last_wqe_event(qp);
	hrtimer_cancel(&qp->hold);
	/* Clear rnic_qp.conn before looking whether the tasklet runs, which reads it. */
	smp_mb();
	tasklet_unlock_wait(&qp->soft);
	/* Do not use qp after this, because it drops the endpoint's reference. */
	rnic_conn_end(conn, tail, off, len);
	rnic_conn_put(conn);
}

/* Return: true if the connection is over. */
static bool run_connection(struct rnic_qp *qp, struct rnic_conn *conn)
{
	bool unread, again, over, closing;

	if (!rnic_sock_lock_or_await(&conn->s, &qp->unlocked))
		return false;
	/*
	 * If the program closes behind this look, the next turn sends FIN, because a Send that
	 * waits for a receive ends with a Terminate then, and none can follow a FIN.
	 */
	closing = rnic_qp_state(qp) == IB_QPS_SQD;
	unread = rnic_qp_state(qp) != IB_QPS_ERR && rnic_rx_run(qp, &conn->s);
	again = unread;
	if (rnic_qp_sends(qp))
		again |= qp->sq.user ? rnic_bulk_work(qp, &conn->s) : rnic_post_work(qp, &conn->s);
	if (closing && rnic_qp_state(qp) == IB_QPS_SQD)
		close_gracefully(qp, conn, unread);
	over = is_over(qp, conn, unread);
	if (over)
		unlink_connection(qp, conn);
	rnic_sock_unlock(&conn->s);
	if (again && !over)
		rnic_qp_kick(qp);
	return over;
}

/**
 * rnic_qp_unlocked() - wake the worker, because the lock of its socket was released
 * @entry:	rnic_qp.unlocked
 * @mode:	unused
 * @flags:	unused
 * @key:	unused
 *
 * Context: any, interrupts off.
 * Return: 0, because no task was woken.
 */
int rnic_qp_unlocked(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	rnic_qp_kick(container_of(entry, struct rnic_qp, unlocked));
	/* Do not use the queue pair after this: finish_wait() no longer waits for us. */
	list_del_init_careful(&entry->entry);
	return 0;
}

/**
 * rnic_qp_await_worker() - wait until the worker has taken the connection down
 * @qp:	queue pair in error, whose startup does not have the stream
 *
 * The worker does not wait for the socket lock, but the program's own task may.
 * Another task may reset the queue pair first, and give it another connection.
 *
 * Context: process.
 */
void rnic_qp_await_worker(struct rnic_qp *qp)
{
	struct rnic_conn *conn = rnic_qp_conn(qp);

	flush_work(&qp->work);
	if (!conn)
		return;
	while (READ_ONCE(qp->conn) == conn && rnic_qp_state(qp) == IB_QPS_ERR) {
		rnic_sock_lock(&conn->s);
		rnic_sock_unlock(&conn->s);
		/* The task that has set the state may not have done this yet. */
		rnic_qp_kick(qp);
		flush_work(&qp->work);
	}
	rnic_conn_put(conn);
}

/* rnic_qp.work: receive, send, end. Queued by rnic_qp_kick(). */
void rnic_qp_work(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(work, struct rnic_qp, work);
	struct rnic_conn *conn = rnic_qp_conn(qp);
	bool over;

	if (!conn) {
		rnic_qp_wake_startup(qp);
		if (rnic_qp_must_flush(qp)) {
			flush_queues(qp);
			raise_last_wqe_event(qp);
		}
		return;
	}
	over = run_connection(qp, conn);
	rnic_conn_put(conn);
	if (over)
		take_down(qp, conn);
}
