// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting. Kernel consumers hand over work requests, in any context. User space fills its mapped
 * ring and only rings the doorbell, which arrives as a post of nothing.
 *
 * ib_post_send() must not transmit by itself: it may be called under a lock that the consumer's
 * completion handler takes too, and with interrupts off. The worker transmits, or a tasklet, as
 * soon as softirqs may run, which is mostly before the call returns (bulk.c).
 *
 * A queue pair in the error state still accepts: its worker flushes what it finds.
 */
#include <linux/interrupt.h>

#include "core/dev.h"
#include "qp/qp.h"
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
 * Have it sent. With interrupts off softirqs may not be let run here, and a tasklet left
 * to a thread is no better than the worker. Where spinlocks leave both on (PREEMPT_RT), a
 * tasklet would run here with the consumer's locks held, and call its handlers.
 */
static void have_posts_sent(struct rnic_qp *qp)
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
 * @wr:		list of work requests; empty: a user's doorbell
 * @bad_wr:	the first one not posted
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
	/* Also when one failed: those before it are posted. */
	have_posts_sent(qp);
	return ret;
}

/**
 * rnic_post_recv() - post a kernel consumer's receives
 * @ibqp:	the QP
 * @wr:		list of work requests
 * @bad_wr:	the first one not posted
 *
 * Kicks a QP in the error state, where receives are flushed.
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
	/* Posted, then look: pairs with rnic_qp_flush(). */
	smp_mb();
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		rnic_qp_kick(qp);
	return ret;
}
