/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Shared receive queues.
 */
#ifndef _RNIC_SRQ_H
#define _RNIC_SRQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "ring/ring.h"

struct rnic_qp;

/**
 * struct rnic_srq - a shared receive queue
 * @ibsrq:	what ib_core sees; allocated and freed by it
 * @lock:	protects the rest, consumer and kernel producer sides; taken with
 *		interrupts off
 * @rq:		receive work requests
 * @limit:	number of receives below which the limit event is raised; 0 if not armed
 * @waiters:	queue pairs with a Send that waits for a receive, by rnic_qp.waiter
 * @taken:	time in jiffies when a receive was last taken, or of the creation
 */
struct rnic_srq {
	struct ib_srq ibsrq;
	spinlock_t lock; /* see above */
	struct rnic_rq rq;
	u32 limit;
	struct list_head waiters;
	unsigned long taken;
};

/**
 * rnic_srq() - get the shared receive queue of an ib_srq
 * @ibsrq:	an ib_srq of this driver
 *
 * Return: the shared receive queue.
 */
static inline struct rnic_srq *rnic_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct rnic_srq, ibsrq);
}

int rnic_srq_pop(struct rnic_qp *qp, struct rnic_rwqe *rwqe);
void rnic_srq_leave(struct rnic_qp *qp);

/* ib_device_ops */
int rnic_srq_create(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_ucontext *uctx);
int rnic_srq_modify(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int rnic_srq_query(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int rnic_srq_destroy(struct ib_srq *ibsrq, struct ib_udata *udata);
int rnic_srq_post_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

#endif /* _RNIC_SRQ_H */
