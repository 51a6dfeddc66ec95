// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who runs the data path, and when.
 *
 * The worker receives, sends, and notices the end of a connection. It is woken
 * by socket events, by kernel consumers that post (in any context), and by
 * whoever changes the state. Three things do not wait for it. A user's doorbell
 * locks the socket and sends by itself. What a kernel consumer posts one by one a
 * tasklet sends (post.c). And what arrives in small amounts is
 * handled in the softirq that brought it, as long as nobody owns the socket: a
 * message of a few octets costs no wake-up then. So are the answers to small Reads,
 * and the sends that waited for a Read to come back, up to a bound. Bulk is the
 * worker's, both ways: it copies on a CPU that the other side does not need, and
 * doorbells leave it alone meanwhile (bulk.c). Small messages of a stream are held
 * back for a moment (hold.c), and a timer's softirq sends them.
 *
 * Taking a connection down is the worker's alone:
 *
 *	socket locked:	encode the Terminate that is due, push what TCP takes,
 *			unlink connection and queue pair
 *	unlocked:	flush, report the end to iw_cm and to the consumer, give
 *			the unsent rest to the endpoint, which lingers
 *
 * After the unlinking a doorbell finds no connection, so the worker alone owns
 * the data path and flushes what is posted later.
 */
#include <linux/mm.h>
#include <linux/workqueue.h>

#include "cq.h"
#include "dev.h"
#include "ep.h"
#include "qp.h"
#include "stream.h"

struct workqueue_struct *rnic_wq;
/*
 * Startups, one at a time: calls leave and are reported in the order in which they were
 * made. perftest pairs its queue pairs by that order, and mixes them up in any other.
 * Without a high priority: iw_cm, which has the next turn, has none, and its workers take
 * over without a switch.
 */
struct workqueue_struct *rnic_startup_wq;

/* Return: 0, or -ENOMEM. */
int rnic_io_init(void)
{
	rnic_wq = alloc_workqueue("rdma_mpa", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!rnic_wq)
		return -ENOMEM;
	rnic_startup_wq = alloc_ordered_workqueue("rdma_mpa_startup", WQ_MEM_RECLAIM);
	if (rnic_startup_wq)
		return 0;
	destroy_workqueue(rnic_wq);
	return -ENOMEM;
}

/* All devices are gone. */
void rnic_io_exit(void)
{
	destroy_workqueue(rnic_startup_wq);
	destroy_workqueue(rnic_wq);
}

/* How long a graceful close may take before it is cut short. */
#define CLOSE_MS	5000
/* How long receives posted in error are looked for without a system call. */
#define REFLUSH_MAX	(8 * HZ)

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
 * Look at all that is unread: what TCP reports meanwhile is no news.
 *
 * Return: it stopped for fairness only.
 */
static bool look(struct rnic_qp *qp, struct rnic_sock *s)
{
	bool again;

	qp->looking = true;
	again = rnic_rx_run(qp, s);
	qp->looking = false;
	return again;
}

/*
 * Receive without the worker, and send what this allows to be sent.
 *
 * Return: it is needed, to go on, or to end the connection.
 */
static bool receive(struct rnic_qp *qp, struct rnic_sock *s)
{
	u32 reads = rnic_reads_out(&qp->readq);
	bool open = qp->tx.open;
	const struct rnic_read_in *asked;

	if (look(qp, s) || qp->closing || qp->rx.eof)
		return true;
	asked = rnic_read_in_head(&qp->readq);
	if (asked && asked->len > RNIC_INLINE_MAX)
		return true;
	if (!asked && open == qp->tx.open &&
	    (reads == rnic_reads_out(&qp->readq) || !rnic_tx_waiting(qp)))
		return false;
	return rnic_tx_run(qp, s, RNIC_INLINE_MAX, false) || qp->closing;
}

/* Is the connection up, with little enough unread to be handled here? */
static bool is_small(struct rnic_qp *qp, struct rnic_ep *ep)
{
	return READ_ONCE(qp->ep) == ep && rnic_qp_state(qp) == IB_QPS_RTS &&
	       !qp->closing && !qp->fin && rnic_sock_unread(&ep->s) <= RNIC_INLINE_MAX;
}

/*
 * rnic_sock_event_fn of a socket in Full Operation. sk_callback_lock is held, and
 * for data the socket lock: TCP's own, or that of an owner who works through what
 * came while it had the socket.
 */
void rnic_qp_sock_event(struct rnic_sock *s, enum rnic_sock_event event)
{
	struct rnic_ep *ep = container_of(s, struct rnic_ep, s);
	struct rnic_qp *qp = ep->qp;

	if (event == RNIC_SOCK_DATA && qp->looking) {
		qp->due = true;
		return;
	}
	if (event != RNIC_SOCK_DATA || rnic_sock_owned(s) || !is_small(qp, ep) ||
	    receive(qp, s))
		rnic_qp_kick(qp);
}

/*
 * What arrived while a doorbell had the socket: TCP left it to the owner.
 *
 * Return: the worker is needed.
 */
static bool receive_backlog(struct rnic_qp *qp, struct rnic_ep *ep)
{
	qp->due = false;
	qp->looking = true;
	rnic_sock_flush(&ep->s);
	qp->looking = false;
	return qp->due && (!is_small(qp, ep) || receive(qp, &ep->s));
}

/**
 * rnic_qp_doorbell() - user space posted sends
 * @qp:	queue pair
 *
 * Context: process.
 */
void rnic_qp_doorbell(struct rnic_qp *qp)
{
	struct rnic_ep *ep;
	bool kick = true;

	rnic_stat_inc(qp->dev, RNIC_STAT_DOORBELLS);
	if (rnic_bulk_is_on(qp))
		return;
	ep = rnic_qp_ep(qp);
	if (ep) {
		rnic_sock_lock(&ep->s);
		if (READ_ONCE(qp->ep) == ep && rnic_qp_sends(qp)) {
			qp->tx.run++;
			/* In SQD the worker waits for the last send to go. */
			kick = rnic_bulk_doorbell(qp, &ep->s) || qp->closing ||
			       rnic_qp_state(qp) != IB_QPS_RTS;
			kick |= receive_backlog(qp, ep);
		}
		rnic_sock_unlock(&ep->s);
		rnic_ep_put(ep);
	} else {
		WRITE_ONCE(qp->active, jiffies);
	}
	if (kick)
		rnic_qp_kick(qp);
}

/**
 * rnic_qp_begin() - the connection stands: the RTR, and what came or waits already
 * @qp:	queue pair, socket events go to it
 * @ep:	its endpoint, locked
 *
 * Who woke the worker before this did so in vain: what for is looked at here.
 *
 * Context: process, without I/O.
 */
void rnic_qp_begin(struct rnic_qp *qp, struct rnic_ep *ep)
{
	bool kick = true;

	rnic_sock_lock(&ep->s);
	spin_lock_bh(&qp->lock);
	qp->begun = true;
	spin_unlock_bh(&qp->lock);
	if (is_small(qp, ep))
		kick = look(qp, &ep->s) || rnic_tx_run(qp, &ep->s, RNIC_INLINE_MAX, false) ||
		       qp->closing || qp->rx.eof;
	rnic_sock_unlock(&ep->s);
	if (kick)
		rnic_qp_kick(qp);
}

/*
 * How long the close may still take, from the last octet on that the peer acknowledged:
 * one that takes nothing does not keep us. What comes counts until our FIN, with which the
 * time begins anew. What TCP has at the end it keeps (linger.c).
 */
static void await_end(struct rnic_qp *qp, struct rnic_ep *ep)
{
	u32 moved = rnic_sock_acked(&ep->s);

	if (!qp->fin)
		moved += qp->rx.mpa.pos + qp->rx.mpa.seen;
	if (qp->ending && moved == qp->moved)
		return;
	qp->ending = true;
	qp->moved = moved;
	rnic_ep_arm(ep, CLOSE_MS);
}

/*
 * Everything posted before the close was sent, or may never be, since nothing is agreed
 * on that opens the stream (NEG-30): FIN, and wait for the peer's. An RTR that is agreed
 * on is under way.
 */
static void close_gracefully(struct rnic_qp *qp, struct rnic_ep *ep)
{
	bool opens = qp->tx.open || qp->rx.rtr || qp->rx.frame_due;

	await_end(qp, ep);
	if (!qp->fin)
		qp->fin = !opens || rnic_tx_idle(qp);
}

/*
 * The peer sends no more, but still takes what was posted and what it asked for
 * (CONN-17): as long as that moves. What waits for a Read waits in vain now.
 */
static bool half_open(struct rnic_qp *qp, struct rnic_ep *ep)
{
	if (rnic_sock_dead(&ep->s) || qp->rx.mpa.seen || !qp->tx.open)
		return false;
	if (rnic_reads_out(&qp->readq) || rnic_tx_idle(qp))
		return false;
	await_end(qp, ep);
	return true;
}

/*
 * Is the connection over? A FIN inside an FPDU, a reset and a time-out lose
 * data: the consumer is told. A FIN between two FPDUs is the peer's close.
 * Not before all that arrived was looked at: @unread says that it was not.
 */
static bool is_over(struct rnic_qp *qp, struct rnic_ep *ep, bool unread)
{
	bool broken = rnic_sock_dead(&ep->s) && (rnic_sock_error(&ep->s) || qp->tx.broken);

	if (qp->closing || rnic_qp_state(qp) == IB_QPS_ERR)
		return true;
	if (unread || (!qp->rx.eof && !rnic_sock_dead(&ep->s)) || half_open(qp, ep))
		return rnic_ep_expired(ep);
	if (broken || qp->rx.mpa.seen) {
		qp->event = IB_EVENT_QP_FATAL;
		if (!qp->rx.frame_due)
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
 * Once in a life in error: no receive will be taken from the shared queue on behalf of
 * this queue pair. Who drains it waits for that, also when it was never connected.
 */
static void tell_last(struct rnic_qp *qp)
{
	if (qp->srq && !qp->told)
		raise_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	qp->told = true;
}

/* Socket locked. */
static void unlink_connection(struct rnic_qp *qp, struct rnic_ep *ep)
{
	if (qp->rx.frame_due && rnic_ep_expired(ep) && !qp->ending)
		rnic_stat_inc(qp->dev, RNIC_STAT_STARTUPS_TIMEOUT);
	else if (qp->rx.frame_due)
		rnic_stat_inc(qp->dev, RNIC_STAT_STARTUPS_FAILED);
	rnic_bulk_stop(qp);
	ep->last_words = qp->tx.term_due;
	rnic_tx_finish(qp, &ep->s);
	spin_lock_bh(&qp->lock);
	ep->graceful = qp->parted && !qp->closing && qp->tx.msg == RNIC_TX_NONE;
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	WRITE_ONCE(qp->ep, NULL);
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
static void flush(struct rnic_qp *qp)
{
	u32 get = qp->rq.get;
	unsigned long idle;

	rnic_qp_flush(qp);
	if (!qp->rq.user || READ_ONCE(qp->gone))
		return;
	if (get != qp->rq.get)
		WRITE_ONCE(qp->active, jiffies);
	idle = jiffies - READ_ONCE(qp->active);
	if (idle < REFLUSH_MAX)
		queue_delayed_work(rnic_wq, &qp->reflush, max(idle, 1UL));
}

/* Socket not locked; @ep with the queue pair's reference, which goes. */
static void take_down(struct rnic_qp *qp, struct rnic_ep *ep)
{
	struct page *tail = qp->tx.img.page;
	u32 off = qp->tx.sent, len = qp->tx.img.fill - off;

	qp->tx.img.page = NULL;
	WRITE_ONCE(qp->active, jiffies);
	flush(qp);
	rnic_readq_free(&qp->readq);
	if (qp->event >= 0)
		raise_event(qp, qp->event);
	qp->event = -1;
	tell_last(qp);
	hrtimer_cancel(&qp->hold);
	/* No connection, then look: the tasklet began, and looks at rnic_qp.ep. */
	smp_mb();
	tasklet_unlock_wait(&qp->soft);
	/* The last thing that may touch qp: it drops the endpoint's reference. */
	rnic_ep_closed(ep, tail, off, len);
	rnic_ep_put(ep);
}

/* Return: the connection is over. */
static bool run_connection(struct rnic_qp *qp, struct rnic_ep *ep)
{
	bool unread, again, over, fin = qp->fin;

	rnic_sock_lock(&ep->s);
	unread = rnic_qp_state(qp) != IB_QPS_ERR && look(qp, &ep->s);
	again = unread;
	if (rnic_qp_sends(qp))
		again |= qp->sq.user ? rnic_bulk_work(qp, &ep->s) : rnic_post_work(qp, &ep->s);
	if (rnic_qp_state(qp) == IB_QPS_SQD)
		close_gracefully(qp, ep);
	fin = !fin && qp->fin;
	over = is_over(qp, ep, unread);
	if (over)
		unlink_connection(qp, ep);
	rnic_sock_unlock(&ep->s);
	if (fin && !over)
		rnic_sock_shut(&ep->s);
	if (again && !over)
		rnic_qp_kick(qp);
	return over;
}

/* rnic_qp.work: receive, send, end. Queued by rnic_qp_kick(). */
void rnic_qp_work(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(work, struct rnic_qp, work);
	struct rnic_ep *ep = rnic_qp_ep(qp);
	bool over;

	if (!ep) {
		if (rnic_qp_must_flush(qp)) {
			flush(qp);
			tell_last(qp);
		}
		return;
	}
	over = run_connection(qp, ep);
	rnic_ep_put(ep);
	if (over)
		take_down(qp, ep);
}
