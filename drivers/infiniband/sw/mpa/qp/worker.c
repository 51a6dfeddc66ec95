// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The worker of a queue pair: it receives, sends, and takes the connection down.
 *
 * Socket events wake it, and kernel consumers that post (in any context), and whatever changes
 * the state. Small amounts do not wait for it (softirq.c, doorbell.c). Large ones are its own,
 * both ways, because it copies on a CPU that the other side does not need; doorbells leave them
 * to it meanwhile (bulk.c).
 *
 * Only the worker takes a connection down:
 *
 *	socket locked:	encode the Terminate that is due, push what TCP takes,
 *			unlink connection and queue pair
 *	unlocked:	flush, raise the events of the queue pair, give the stream with its
 *			unsent rest back to the startup, which tells iw_cm and lingers
 *
 * After the unlinking a doorbell finds no connection, so the worker alone has the data path, and
 * flushes what is posted later.
 */
#include <linux/mm.h>
#include <linux/workqueue.h>

#include "core/dev.h"
#include "core/wq.h"
#include "qp/cq.h"
#include "qp/qp.h"
#include "qp/trace.h"
#include "tcp/stream.h"

/* How long a graceful close may take before it is cut short. */
#define CLOSE_MS	5000
/* How long receives posted in error are looked for without a system call. */
#define REFLUSH_MAX	(8 * HZ)

/**
 * rnic_qp_look() - a system call reached a user's queue pair: have it looked at
 * @qp:	queue pair
 *
 * In error the worker flushes what it finds, and goes on looking for some seconds. The
 * completion queues are looked at for a late arming. Otherwise nothing happens.
 *
 * Context: any.
 */
void rnic_qp_look(struct rnic_qp *qp)
{
	WRITE_ONCE(qp->active, jiffies);
	rnic_cq_watch(qp->scq);
	rnic_cq_watch(qp->rcq);
	if (rnic_qp_state(qp) == IB_QPS_ERR)
		rnic_qp_kick(qp);
}

/*
 * The close may take CLOSE_MS from the last byte on that the peer acknowledged, so that a peer
 * that takes nothing does not keep us. Received bytes count too until our FIN, with which the
 * time begins anew. TCP goes on with what it has at the end (linger.c).
 */
static void await_end(struct rnic_qp *qp, struct rnic_conn *conn)
{
	u32 moved = rnic_sock_acked(&conn->s);

	if (rnic_qp_life(qp) != RNIC_FINISHED)
		moved += qp->rx.mpa.pos + qp->rx.mpa.seen;
	if (moved == qp->moved)
		return;
	qp->moved = moved;
	rnic_conn_arm(conn, CLOSE_MS);
}

/*
 * Everything posted before the close was sent, or may never be, since nothing is agreed
 * on that opens the stream (NEG-30): FIN, and wait for the peer's. An RTR that is agreed
 * on is under way.
 */
static void close_gracefully(struct rnic_qp *qp, struct rnic_conn *conn)
{
	bool opens = qp->tx.open || qp->rx.rtr;

	await_end(qp, conn);
	if (opens && !rnic_tx_idle(qp))
		return;
	spin_lock_bh(&qp->lock);
	/* It may have been finished in an earlier round. */
	rnic_qp_try_move(qp, RNIC_MOVE_FINISH);
	spin_unlock_bh(&qp->lock);
}

/*
 * The peer sends no more, but still takes what was posted and what it asked for
 * (CONN-17): as long as that moves. What waits for a Read waits in vain now.
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
 * True if the connection is over. A FIN inside an FPDU, a reset and a time-out lose data, so the
 * consumer gets an event. A FIN between two FPDUs is the peer's close. It is not over before the
 * data path has looked at all that arrived: @unread says that it has not.
 */
static bool is_over(struct rnic_qp *qp, struct rnic_conn *conn, bool unread)
{
	bool broken = rnic_sock_dead(&conn->s) && (rnic_sock_error(&conn->s) || qp->tx.broken);

	if (rnic_qp_failed(qp) || rnic_qp_state(qp) == IB_QPS_ERR)
		return true;
	if (unread || (!qp->rx.eof && !rnic_sock_dead(&conn->s)) || half_open(qp, conn))
		return rnic_conn_expired(conn);
	if (broken || qp->rx.mpa.seen) {
		qp->event = IB_EVENT_QP_FATAL;
		rnic_stat_inc(qp->dev, RNIC_STAT_CONN_RESET);
	}
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
 * Once between two RESETs: no receive will be taken from the shared queue for this queue pair any
 * more. A consumer that drains it waits for the event, also if it was never connected.
 */
static void raise_last_wqe_event(struct rnic_qp *qp)
{
	if (qp->srq && !qp->told)
		raise_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	qp->told = true;
}

/* Socket locked. */
static void unlink_connection(struct rnic_qp *qp, struct rnic_conn *conn)
{
	trace_rnic_close(&qp->ibqp, rnic_qp_failed(qp), qp->event >= 0,
			 qp->parted || rnic_qp_state(qp) == IB_QPS_ERR);
	rnic_bulk_stop(qp);
	conn->last_words = qp->tx.term_due;
	rnic_tx_finish(qp, &conn->s);
	spin_lock_bh(&qp->lock);
	conn->graceful = qp->parted && !rnic_qp_failed(qp) && qp->tx.msg == RNIC_TX_NONE;
	rnic_qp_move(qp, RNIC_MOVE_END);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	WRITE_ONCE(qp->conn, NULL);
	spin_unlock_bh(&qp->lock);
}

/* delayed_work of a user's queue pair in error: look again. */
void rnic_qp_reflush(struct work_struct *work)
{
	rnic_qp_kick(container_of(work, struct rnic_qp, reflush.work));
}

/*
 * User space posts receives without a doorbell, also to a queue pair in error,
 * and waits for them to come back flushed. So look again when as much time has passed as
 * since the last one was found, or the last system call came. After some seconds of
 * nothing the next system call looks: a program that does nothing costs nothing.
 */
static void flush_queues(struct rnic_qp *qp)
{
	u32 get = qp->rq.get;
	unsigned long idle;

	rnic_qp_flush(qp);
	if (!qp->rq.user || rnic_qp_life(qp) == RNIC_GONE)
		return;
	if (get != qp->rq.get)
		WRITE_ONCE(qp->active, jiffies);
	idle = jiffies - READ_ONCE(qp->active);
	if (idle < REFLUSH_MAX)
		queue_delayed_work(rnic_wq, &qp->reflush, max(idle, 1UL));
}

/* Socket not locked; @conn with the queue pair's reference, which goes. */
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
	/* No connection, then look: the tasklet began, and looks at rnic_qp.conn. */
	smp_mb();
	tasklet_unlock_wait(&qp->soft);
	/* The last thing that may touch qp: it drops the endpoint's reference. */
	rnic_conn_end(conn, tail, off, len);
	rnic_conn_put(conn);
}

/* Return: the connection is over. */
static bool run_connection(struct rnic_qp *qp, struct rnic_conn *conn)
{
	bool finished = rnic_qp_life(qp) == RNIC_FINISHED;
	bool unread, again, over;

	rnic_sock_lock(&conn->s);
	unread = rnic_qp_state(qp) != IB_QPS_ERR && rnic_rx_run(qp, &conn->s);
	again = unread;
	if (rnic_qp_sends(qp))
		again |= qp->sq.user ? rnic_bulk_work(qp, &conn->s) : rnic_post_work(qp, &conn->s);
	if (rnic_qp_state(qp) == IB_QPS_SQD)
		close_gracefully(qp, conn);
	finished = !finished && rnic_qp_life(qp) == RNIC_FINISHED;
	over = is_over(qp, conn, unread);
	if (over)
		unlink_connection(qp, conn);
	rnic_sock_unlock(&conn->s);
	if (finished && !over)
		rnic_sock_shut(&conn->s);
	if (again && !over)
		rnic_qp_kick(qp);
	return over;
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
