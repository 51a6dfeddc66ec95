// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shared receive queues.
 *
 * An SRQ outlives the queue pairs that use it, because ib_core destroys it after them. Its lock
 * serialises the producers (kernel consumers that post) and the consumers (queue pairs that pop).
 *
 * A queue pair that finds the SRQ empty becomes a waiter. A post wakes the first waiter, and one
 * that takes a receive wakes the next if there are more. User space posts without a system call, so
 * each waiter also looks again by its own timer (rnr.c).
 */
#include "core/dev.h"
#include "qp/qp.h"
#include "qp/srq.h"

/* Caller holds the lock. The event is raised once per arming. */
static bool take_limit(struct rnic_srq *srq)
{
	lockdep_assert_held(&srq->lock);
	if (!srq->limit || rnic_rq_has(&srq->rq, srq->limit))
		return false;
	srq->limit = 0;
	return true;
}

static void raise_limit_event(struct ib_srq *ibsrq)
{
	struct ib_event event = {
		.device = ibsrq->device,
		.element.srq = ibsrq,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (ibsrq->event_handler)
		ibsrq->event_handler(&event, ibsrq->srq_context);
}

/* Caller holds the lock. */
static void wake_waiter(struct rnic_srq *srq)
{
	struct rnic_qp *qp = list_first_entry_or_null(&srq->waiters, struct rnic_qp, waiter);

	lockdep_assert_held(&srq->lock);
	if (!qp || !rnic_rq_has(&srq->rq, 1))
		return;
	list_del_init(&qp->waiter);
	rnic_qp_kick(qp);
}

/**
 * rnic_srq_pop() - take the next receive of an SRQ
 * @qp:		queue pair that takes it; becomes a waiter if there is none
 * @rwqe:	set to a private copy
 *
 * Another queue pair may be faster than a waiter that was woken, which is then the first waiter.
 *
 * May raise IB_EVENT_SRQ_LIMIT_REACHED.
 *
 * Context: any.
 * Return: as rnic_rq_pop().
 */
int rnic_srq_pop(struct rnic_qp *qp, struct rnic_rwqe *rwqe)
{
	struct rnic_srq *srq = qp->srq;
	unsigned long flags;
	bool low;
	int ret;

	spin_lock_irqsave(&srq->lock, flags);
	ret = rnic_rq_pop(&srq->rq, rwqe);
	low = ret && take_limit(srq);
	if (ret) {
		WRITE_ONCE(srq->taken, jiffies);
		list_del_init(&qp->waiter);
	} else if (list_empty(&qp->waiter)) {
		if (qp->rx.rnr)
			list_add(&qp->waiter, &srq->waiters);
		else
			list_add_tail(&qp->waiter, &srq->waiters);
	}
	wake_waiter(srq);
	spin_unlock_irqrestore(&srq->lock, flags);
	if (low)
		raise_limit_event(&srq->ibsrq);
	return ret;
}

/**
 * rnic_srq_leave() - end a queue pair's wait for a receive
 * @qp:	queue pair that takes no more receives
 *
 * Context: any.
 */
void rnic_srq_leave(struct rnic_qp *qp)
{
	struct rnic_srq *srq = qp->srq;
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	list_del_init(&qp->waiter);
	wake_waiter(srq);
	spin_unlock_irqrestore(&srq->lock, flags);
}

/**
 * rnic_srq_create() - create a shared receive queue
 * @ibsrq:	the SRQ, zeroed by ib_core
 * @init:	requested attributes; set to the granted ones
 * @uctx:	the user's context, NULL for kernel consumers
 *
 * Return: 0 or a negative errno.
 */
int rnic_srq_create(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_ucontext *uctx)
{
	struct rnic_dev *dev = rnic_dev(ibsrq->device);
	struct rnic_srq *srq = rnic_srq(ibsrq);
	struct ib_srq_attr *attr = &init->attr;
	int ret;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	/* The limit has no meaning here and may be garbage. */
	if (!attr->max_wr || attr->max_wr > RNIC_MAX_QP_WR || attr->max_sge > RNIC_MAX_SGE)
		return -EINVAL;
	if (!rnic_dev_charge(dev, RNIC_OBJ_SRQ, rnic_pd_share(ibsrq->pd)))
		return -ENOMEM;

	spin_lock_init(&srq->lock);
	INIT_LIST_HEAD(&srq->waiters);
	srq->taken = jiffies;
	ret = rnic_rq_init(&srq->rq, attr->max_wr, uctx);
	if (ret) {
		rnic_dev_uncharge(dev, RNIC_OBJ_SRQ, rnic_pd_share(ibsrq->pd));
		return ret;
	}
	attr->max_wr = srq->rq.size;
	attr->max_sge = RNIC_MAX_SGE;
	return 0;
}

/**
 * rnic_srq_modify() - arm the limit of an SRQ
 * @ibsrq:	the SRQ
 * @attr:	new limit, 0 for none
 * @mask:	attributes to change; the size cannot change
 * @udata:	unused
 *
 * Raises the event at once if fewer receives are posted.
 *
 * Return: 0 or a negative errno.
 */
int rnic_srq_modify(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct rnic_srq *srq = rnic_srq(ibsrq);
	unsigned long flags;
	bool low;

	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->rq.size)
		return -EINVAL;
	spin_lock_irqsave(&srq->lock, flags);
	srq->limit = attr->srq_limit;
	low = take_limit(srq);
	spin_unlock_irqrestore(&srq->lock, flags);
	if (low)
		raise_limit_event(ibsrq);
	return 0;
}

/**
 * rnic_srq_query() - query the attributes of an SRQ
 * @ibsrq:	the SRQ
 * @attr:	filled in
 *
 * Return: 0.
 */
int rnic_srq_query(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct rnic_srq *srq = rnic_srq(ibsrq);
	unsigned long flags;

	attr->max_wr = srq->rq.size;
	attr->max_sge = RNIC_MAX_SGE;
	spin_lock_irqsave(&srq->lock, flags);
	attr->srq_limit = srq->limit;
	spin_unlock_irqrestore(&srq->lock, flags);
	return 0;
}

/**
 * rnic_srq_destroy() - destroy a shared receive queue
 * @ibsrq:	the SRQ, which no QP uses; ib_core frees it afterwards
 * @udata:	unused
 *
 * Return: 0.
 */
int rnic_srq_destroy(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	rnic_rq_free(&rnic_srq(ibsrq)->rq);
	rnic_dev_uncharge(rnic_dev(ibsrq->device), RNIC_OBJ_SRQ, rnic_pd_share(ibsrq->pd));
	return 0;
}

/**
 * rnic_srq_post_recv() - post a kernel consumer's receives
 * @ibsrq:	the SRQ
 * @wr:		list of work requests
 * @bad_wr:	set to the first one that was not posted
 *
 * Context: any.
 * Return: 0 or a negative errno.
 */
int rnic_srq_post_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	struct rnic_srq *srq = rnic_srq(ibsrq);
	unsigned long flags;
	int ret = 0;

	if (srq->rq.user) {
		*bad_wr = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&srq->lock, flags);
	for (; wr; wr = wr->next) {
		ret = rnic_rq_push(&srq->rq, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	wake_waiter(srq);
	spin_unlock_irqrestore(&srq->lock, flags);
	return ret;
}
