// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting. Kernel consumers post work requests in any context. User space fills its mapped ring and
 * then rings the doorbell, which is a post without work requests.
 *
 * ib_post_send() must not transmit, because its caller may hold a lock that the consumer's
 * completion handler takes too, or have interrupts off. The worker transmits, or a tasklet, which
 * mostly runs before the call returns (bulk.c).
 *
 * Posting to a queue pair in the error state succeeds, and the worker flushes the work requests.
 */
#include <linux/interrupt.h>

#include "core/dev.h"
#include "qp/priv.h"
#include "tcp/stream.h"

static int push_sends(struct rnic_qp *qp, const struct ib_send_wr *wr,
		      const struct ib_send_wr **bad_wr)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&qp->sq_lock, flags);
	for (; wr; wr = wr->next) {
		ret = rnic_sq_push(&qp->sq, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	WRITE_ONCE(qp->posts, qp->posts + 1);
	spin_unlock_irqrestore(&qp->sq_lock, flags);
	return ret;
}

/*
 * Wake the worker or run the tasklet. With interrupts off softirqs must not run here, and a
 * tasklet in ksoftirqd is no better than the worker. With PREEMPT_RT spinlocks do not disable
 * softirqs, so the tasklet would call the consumer's handlers here with its locks held.
 */
static void start_sending(struct rnic_qp *qp)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || !READ_ONCE(qp->tx.pace.soft_left) || irqs_disabled()) {
		rnic_qp_kick(qp);
		return;
	}
	local_bh_disable();
	tasklet_schedule(&qp->soft);
	local_bh_enable();
}

/**
 * rnic_post_send() - post work requests to a send queue
 * @ibqp:	the QP
 * @wr:		list of work requests; NULL for a doorbell of user space
 * @bad_wr:	set to the first one that was not posted
 *
 * Return: 0 or a negative errno.
 */
int rnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr)
{
	struct rnic_qp *qp = container_of(ibqp, struct rnic_qp, ibqp);
	int ret;

	*bad_wr = wr;
	if (qp->sq.user) {
		if (wr)
			return -EINVAL;
		rnic_qp_doorbell(qp);
		return 0;
	}
	ret = push_sends(qp, wr, bad_wr);
	/* If one failed, those before it were posted. */
	start_sending(qp);
	return ret;
}

/**
 * rnic_post_recv() - post a kernel consumer's receives
 * @ibqp:	the QP
 * @wr:		list of work requests
 * @bad_wr:	set to the first one that was not posted
 *
 * Wakes the worker of a queue pair in the error state, which flushes the receives, and of one with
 * a Send that waits for a receive.
 *
 * Return: 0 or a negative errno.
 */
int rnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	struct rnic_qp *qp = container_of(ibqp, struct rnic_qp, ibqp);
	unsigned long flags;
	int ret = 0;

	*bad_wr = wr;
	if (qp->srq || qp->rq.user)
		return -EINVAL;
	spin_lock_irqsave(&qp->rq_lock, flags);
	for (; wr; wr = wr->next) {
		ret = rnic_rq_push(&qp->rq, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&qp->rq_lock, flags);
	/* Store the receives before reading. Pairs with rnic_qp_flush() and begin_wait(). */
	smp_mb();
	if (READ_ONCE(qp->state) == IB_QPS_ERR || READ_ONCE(qp->rx.rnr))
		rnic_qp_kick(qp);
	return ret;
}
