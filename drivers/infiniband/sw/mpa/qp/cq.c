// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues: a ring, a lock, and the upcalls.
 *
 * The upcall is made without the lock, because the handler may poll or arm. rnic_qp_tell() makes
 * it at the end of a send or receive run, or after 64 KiB of it. An earlier upcall would wake a
 * consumer on another CPU, which posts and then waits for the socket lock.
 *
 * A CQ outlives the queue pairs that complete into it. ib_core destroys it only after they are
 * gone, and the destruction of a queue pair waits for its last upcall.
 *
 * cq_late.c makes up for an arming that the driver does not see.
 */
#include "core/dev.h"
#include "qp/cq.h"

/**
 * rnic_cq_push() - complete a work request
 * @cq:		the CQ
 * @cqe:	the completion
 * @solicited:	caused by a Send with Solicited Event; an error counts as one
 * @again:	the caller can push it later, if a CQ of a kernel consumer is half full
 *
 * The caller must call rnic_cq_tell() soon. If the CQ overflows, the completion is lost, and the
 * first time IB_EVENT_CQ_ERR is raised. A flush (@again) leaves the other half of a kernel
 * consumer's CQ to queue pairs that have a connection, because an overflow ends it.
 *
 * Context: any. May call the consumer's handler for events, so the caller holds no lock that
 * posting or polling takes.
 * Return: 0; -ENOSPC if the CQ overflowed; -EAGAIN if it is half full, and @again.
 */
int rnic_cq_push(struct rnic_cq *cq, const struct rnic_cqe *cqe, bool solicited, bool again)
{
	struct ib_cq *ibcq = &cq->ibcq;
	bool fatal = false;
	unsigned long flags;
	int ret;

	solicited |= cqe->status != IB_WC_SUCCESS;
	spin_lock_irqsave(&cq->lock, flags);
	if (again && rnic_cq_ring_is_half_full(&cq->ring)) {
		/* The consumer may poll only after an upcall. */
		if (rnic_cq_take_arming(cq, solicited))
			WRITE_ONCE(cq->upcall_due, 1);
		spin_unlock_irqrestore(&cq->lock, flags);
		return -EAGAIN;
	}
	ret = rnic_cq_ring_push(&cq->ring, cqe);
	if (!ret) {
		cq->plain = solicited ? 0 : min(cq->plain + 1, cq->ring.size);
		cq->quick = min(cq->quick + 1, cq->ring.size);
		if (rnic_cq_take_arming(cq, solicited))
			WRITE_ONCE(cq->upcall_due, 1);
	} else {
		fatal = !cq->broken;
		cq->broken = true;
	}
	rnic_cq_watch_locked(cq);
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
 * rnic_cq_upcall() - make the upcall that is due, unless another CPU has made it
 * @cq:	the CQ
 *
 * Context: as for rnic_cq_tell().
 */
void rnic_cq_upcall(struct rnic_cq *cq)
{
	struct ib_cq *ibcq = &cq->ibcq;

	if (xchg(&cq->upcall_due, 0) && ibcq->comp_handler)
		ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/**
 * rnic_cq_forget() - remove the completions of a queue pair that is destroyed
 * @cq:		the CQ; a user CQ is not changed
 * @qp:		the queue pair, which does not complete into it any more
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
 * rnic_cq_create() - create a completion queue
 * @ibcq:	the CQ, zeroed by ib_core
 * @attr:	attributes
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
	cq->share = rnic_uctx_share(uctx);
	if (!rnic_dev_charge(dev, RNIC_OBJ_CQ, cq->share))
		return -ENOMEM;

	spin_lock_init(&cq->lock);
	rnic_cq_late_init(cq);
	ret = rnic_cq_ring_init(&cq->ring, attr->cqe, uctx);
	if (ret) {
		rnic_dev_uncharge(dev, RNIC_OBJ_CQ, cq->share);
		return ret;
	}
	ibcq->cqe = cq->ring.size;
	cq->plain = cq->ring.size;
	return 0;
}

/**
 * rnic_cq_destroy() - destroy a completion queue
 * @ibcq:	the CQ, which no QP uses; ib_core frees it afterwards
 * @udata:	unused
 *
 * Return: 0.
 */
int rnic_cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct rnic_cq *cq = rnic_cq(ibcq);

	rnic_cq_late_exit(cq);
	rnic_cq_ring_free(&cq->ring);
	rnic_dev_uncharge(rnic_dev(ibcq->device), RNIC_OBJ_CQ, cq->share);
	return 0;
}

/**
 * rnic_cq_poll() - take completions of a kernel consumer
 * @ibcq:	the CQ
 * @num:	room in @wc
 * @wc:		filled with completions
 *
 * Context: any.
 * Return: number of completions.
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
 * Context: any.
 * Return: 1 if IB_CQ_REPORT_MISSED_EVENTS is set and there are completions to poll, else 0.
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
