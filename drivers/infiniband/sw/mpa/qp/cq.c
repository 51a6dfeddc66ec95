// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues: a ring, a lock, and who is told about a completion.
 *
 * Upcalls are made after the lock is dropped, since they may poll or arm, and not
 * before the queue pair is through with what it was at, or with 64 KiB of it
 * (rnic_qp_tell()): who is woken goes on at once on another processor, and posts, which
 * wants the socket's lock. A CQ outlives the QPs that complete into it: ib_core destroys
 * it only when none is left, and a QP's destruction waits for the last upcall it is making.
 *
 * Late arming. A user's arming is a plain store into mapped memory: nobody sees
 * it until the next completion. NICs raise the event at once when completions
 * lie unread at that moment, and programs rely on it (perftest -e polls once
 * after each event). So a CQ that has a channel for events is looked at again while
 * something lies unread in it, each time after twice the pause. The looks end some seconds
 * after the last completion or event, because a program that does nothing costs nothing.
 * The next completion starts them again, and so does a system call that asks about or
 * changes a queue pair of the CQ. A single completion that
 * had its event gets another one late: a program that was told of it arms first, as it
 * should, and polls then. An event in between would be one too many.
 */
#include "core/dev.h"
#include "qp/cq.h"

/* Longest pause between two looks for a late arming: about half of the time they go on. */
#define LATE_MAX	(4 * HZ)
/* Looks that a single completion that had its event is left alone for. */
#define TOLD_LOOKS	3

/*
 * By a timer, not by work: each look of a worker would take a processor from the programs,
 * and the scheduler moves them about then. The lock is held.
 */
static void watch_ring(struct rnic_cq *cq, unsigned long pause)
{
	lockdep_assert_held(&cq->lock);
	cq->pause = pause;
	mod_timer(&cq->late, jiffies + pause);
}

/* What is new is looked at soon. A user's context is the channel, if there is one. */
static void watch_ring_soon(struct rnic_cq *cq)
{
	if (cq->ring.user && cq->ibcq.cq_context &&
	    (!timer_pending(&cq->late) || cq->pause > 1))
		watch_ring(cq, 1);
}

/*
 * Is an upcall due? The lock is held. Who is told of the only completion there is will arm,
 * and poll it: see look_for_late_arming().
 */
static bool take_arming(struct rnic_cq *cq, bool solicited)
{
	bool call = rnic_cq_ring_disarm(&cq->ring, solicited);

	cq->spare = call && cq->ring.user && !rnic_cq_ring_unread(&cq->ring, 1) ?
		    TOLD_LOOKS : 0;
	return call;
}

/* May it be that the program, told of the only completion there is, is about to poll it? */
static bool is_left_alone(struct rnic_cq *cq)
{
	return cq->spare && cq->spare--;
}

static void look_for_late_arming(struct timer_list *timer)
{
	struct rnic_cq *cq = container_of(timer, struct rnic_cq, late);
	bool unread, call = false;

	spin_lock_irq(&cq->lock);
	unread = rnic_cq_ring_unread(&cq->ring, 0);
	if (unread && !is_left_alone(cq))
		call = take_arming(cq, rnic_cq_ring_unread(&cq->ring, cq->plain));
	if (call)
		watch_ring(cq, 1);
	else if (unread && !timer_pending(timer) && 2 * cq->pause <= LATE_MAX)
		watch_ring(cq, 2 * cq->pause);
	spin_unlock_irq(&cq->lock);
	if (call && cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

/**
 * rnic_cq_watch() - look for a late arming soon
 * @cq:	the CQ; nothing happens unless it has a channel for events
 *
 * Context: any.
 */
void rnic_cq_watch(struct rnic_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	watch_ring_soon(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * rnic_cq_push() - complete a work request
 * @cq:		the CQ
 * @cqe:	the completion
 * @solicited:	caused by a Send with Solicited Event; an error counts as one
 *
 * Any context. The caller calls rnic_cq_tell() soon. May call the consumer's handler for
 * events, so the caller holds no lock that posting or polling takes.
 *
 * Return: 0, or -ENOSPC when the CQ overflowed: the completion is lost, and the
 * first time IB_EVENT_CQ_ERR is raised.
 */
int rnic_cq_push(struct rnic_cq *cq, const struct rnic_cqe *cqe, bool solicited)
{
	struct ib_cq *ibcq = &cq->ibcq;
	bool fatal = false;
	unsigned long flags;
	int ret;

	solicited |= cqe->status != IB_WC_SUCCESS;
	spin_lock_irqsave(&cq->lock, flags);
	ret = rnic_cq_ring_push(&cq->ring, cqe);
	if (!ret) {
		cq->plain = solicited ? 0 : min(cq->plain + 1, cq->ring.size);
		if (take_arming(cq, solicited))
			WRITE_ONCE(cq->upcall_due, 1);
	} else {
		fatal = !cq->broken;
		cq->broken = true;
	}
	watch_ring_soon(cq);
	spin_unlock_irqrestore(&cq->lock, flags);

	if (ret)
		rnic_stat_inc(rnic_dev(ibcq->device), RNIC_STAT_CQ_OVERFLOW);
	if (fatal && ibcq->event_handler) {
		struct ib_event event = {
			.device = ibcq->device,
			.element.cq = ibcq,
			.event = IB_EVENT_CQ_ERR,
		};

		ibcq->event_handler(&event, ibcq->cq_context);
	}
	return ret;
}

/**
 * rnic_cq_upcall() - make the upcall that is due, unless somebody else does
 * @cq:	the CQ
 *
 * Context: as rnic_cq_tell().
 */
void rnic_cq_upcall(struct rnic_cq *cq)
{
	struct ib_cq *ibcq = &cq->ibcq;

	if (xchg(&cq->upcall_due, 0) && ibcq->comp_handler)
		ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/**
 * rnic_cq_forget() - take out what a queue pair completed, because it goes
 * @cq:		the CQ; nothing happens to a user's
 * @qp:		the queue pair, which completes no more
 *
 * Context: any.
 */
void rnic_cq_forget(struct rnic_cq *cq, const struct ib_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	rnic_cq_ring_forget(&cq->ring, qp);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * rnic_cq_create() - make a completion queue
 * @ibcq:	the CQ, zeroed by ib_core
 * @attr:	what is wanted
 * @uctx:	the user's context, NULL for kernel consumers
 *
 * Return: 0 or a negative errno.
 */
int rnic_cq_create(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct ib_ucontext *uctx)
{
	struct rnic_dev *dev = rnic_dev(ibcq->device);
	struct rnic_cq *cq = rnic_cq(ibcq);
	int ret;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > RNIC_MAX_CQE)
		return -EINVAL;
	if (!rnic_dev_charge(dev, RNIC_OBJ_CQ))
		return -ENOMEM;

	spin_lock_init(&cq->lock);
	timer_setup(&cq->late, look_for_late_arming, 0);
	ret = rnic_cq_ring_init(&cq->ring, attr->cqe, uctx);
	if (ret) {
		rnic_dev_uncharge(dev, RNIC_OBJ_CQ);
		return ret;
	}
	ibcq->cqe = cq->ring.size;
	cq->plain = cq->ring.size;
	return 0;
}

/**
 * rnic_cq_destroy() - take a completion queue down
 * @ibcq:	the CQ; no QP uses it; ib_core frees it afterwards
 * @udata:	unused
 *
 * Return: 0.
 */
int rnic_cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct rnic_cq *cq = rnic_cq(ibcq);

	timer_delete_sync(&cq->late);
	rnic_cq_ring_free(&cq->ring);
	rnic_dev_uncharge(rnic_dev(ibcq->device), RNIC_OBJ_CQ);
	return 0;
}

/**
 * rnic_cq_poll() - take completions of a kernel consumer
 * @ibcq:	the CQ
 * @num:	how many at most
 * @wc:		where they go
 *
 * Any context.
 *
 * Return: how many there were.
 */
int rnic_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct rnic_cq *cq = rnic_cq(ibcq);
	unsigned long flags;
	int i;

	spin_lock_irqsave(&cq->lock, flags);
	for (i = 0; i < num; i++)
		if (!rnic_cq_ring_poll(&cq->ring, &wc[i]))
			break;
	spin_unlock_irqrestore(&cq->lock, flags);
	return i;
}

/**
 * rnic_cq_req_notify() - arm a kernel consumer's CQ
 * @ibcq:	the CQ
 * @flags:	which completions to report, and IB_CQ_REPORT_MISSED_EVENTS
 *
 * Any context.
 *
 * Return: 1 when missed events are asked for and there are completions to poll,
 * else 0.
 */
int rnic_cq_req_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct rnic_cq *cq = rnic_cq(ibcq);
	unsigned long irq;
	bool missed;

	spin_lock_irqsave(&cq->lock, irq);
	rnic_cq_ring_arm(&cq->ring, flags);
	missed = !rnic_cq_ring_empty(&cq->ring);
	spin_unlock_irqrestore(&cq->lock, irq);
	return flags & IB_CQ_REPORT_MISSED_EVENTS && missed;
}
