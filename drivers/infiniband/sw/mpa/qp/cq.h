/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Completion queues.
 */
#ifndef _RNIC_CQ_H
#define _RNIC_CQ_H

#include <linux/spinlock.h>
#include <linux/timer.h>
#include <rdma/ib_verbs.h>

#include "ring/ring.h"

/**
 * struct rnic_cq - a completion queue
 * @ibcq:	what ib_core sees; allocated and freed by it
 * @lock:	protects @ring, @broken, @plain, @spare, @pause and the setting of @late;
 *		taken with interrupts off; innermost
 * @ring:	completions
 * @upcall_due:	an upcall is, 1 or 0; no lock
 * @broken:	a completion was lost, and the consumer told
 * @plain:	how many came after the newest solicited one
 * @spare:	late looks yet that leave the newest completion alone: it had its event, and
 *		was the only one unread
 * @late:	looks for a late arming, user CQs only
 * @pause:	jiffies until it looks again, when it was set last
 */
struct rnic_cq {
	struct ib_cq ibcq;
	spinlock_t lock; /* see above */
	struct rnic_cq_ring ring;
	int upcall_due;
	bool broken;
	u8 spare;
	u32 plain;
	struct timer_list late;
	unsigned long pause;
};

/**
 * rnic_cq() - the completion queue around an ib_cq of ours
 * @ibcq:	the ib_cq
 *
 * Return: the completion queue.
 */
static inline struct rnic_cq *rnic_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct rnic_cq, ibcq);
}

int rnic_cq_push(struct rnic_cq *cq, const struct rnic_cqe *cqe,
		 bool solicited);
void rnic_cq_upcall(struct rnic_cq *cq);
void rnic_cq_watch(struct rnic_cq *cq);
void rnic_cq_forget(struct rnic_cq *cq, const struct ib_qp *qp);

/**
 * rnic_cq_tell() - make the upcall for what was pushed, if one is due
 * @cq:	the CQ
 *
 * Any context. Calls the consumer's handler, so the caller holds no lock that posting or
 * polling takes.
 */
static inline void rnic_cq_tell(struct rnic_cq *cq)
{
	if (READ_ONCE(cq->upcall_due))
		rnic_cq_upcall(cq);
}

/* ib_device_ops */
int rnic_cq_create(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct ib_ucontext *uctx);
int rnic_cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata);
int rnic_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int rnic_cq_req_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

#endif /* _RNIC_CQ_H */
