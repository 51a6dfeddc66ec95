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

struct rnic_share;

/**
 * struct rnic_cq - a completion queue
 * @ibcq:	what ib_core sees; allocated and freed by it
 * @lock:	protects @ring, @broken, @plain, @spare, @quick, @pause and the start of @late;
 *		taken with interrupts off; innermost
 * @ring:	completions
 * @upcall_due:	1 if an upcall is due, else 0; no lock
 * @broken:	a completion was lost, and IB_EVENT_CQ_ERR was raised
 * @plain:	number of completions after the newest solicited one
 * @spare:	number of looks of @late that will not raise an event for the newest completion,
 *		because it had one and was the only unread one
 * @quick:	number of late events that the next look may follow at once: one for each
 *		completion since a look found all of them read
 * @late:	timer that looks for a late arming; user CQs only
 * @pause:	jiffies of its last start
 * @share:	share of its user, or NULL
 */
struct rnic_cq {
	struct ib_cq ibcq;
	spinlock_t lock; /* see above */
	struct rnic_cq_ring ring;
	int upcall_due;
	bool broken;
	u8 spare;
	u32 plain;
	u32 quick;
	struct timer_list late;
	unsigned long pause;
	struct rnic_share *share;
};

/**
 * rnic_cq() - get the completion queue of an ib_cq
 * @ibcq:	an ib_cq of this driver
 *
 * Return: the completion queue.
 */
static inline struct rnic_cq *rnic_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct rnic_cq, ibcq);
}

int rnic_cq_push(struct rnic_cq *cq, const struct rnic_cqe *cqe, bool solicited, bool again);
void rnic_cq_upcall(struct rnic_cq *cq);
void rnic_cq_forget(struct rnic_cq *cq, const struct ib_qp *qp);

/**
 * rnic_cq_tell() - make the upcall, if one is due
 * @cq:	the CQ
 *
 * Context: any. Calls the consumer's handler, so the caller holds no lock that posting or polling
 * takes.
 */
static inline void rnic_cq_tell(struct rnic_cq *cq)
{
	if (READ_ONCE(cq->upcall_due))
		rnic_cq_upcall(cq);
}

/* cq_late.c */
void rnic_cq_late_init(struct rnic_cq *cq);
void rnic_cq_late_exit(struct rnic_cq *cq);
void rnic_cq_watch(struct rnic_cq *cq);
void rnic_cq_watch_locked(struct rnic_cq *cq);
bool rnic_cq_take_arming(struct rnic_cq *cq, bool solicited);

/* ib_device_ops */
int rnic_cq_create(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct ib_ucontext *uctx);
int rnic_cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata);
int rnic_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int rnic_cq_req_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

#endif /* _RNIC_CQ_H */
