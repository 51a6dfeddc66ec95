/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Endpoints on connections that programs lend.
 */
#ifndef _RNIC_LENT_H
#define _RNIC_LENT_H

#include <linux/types.h>

struct ib_qp;
struct rnic_dev;
struct rnic_ep;
struct rnic_ep_ops;
struct rnic_ulp;

/**
 * struct rnic_lent_start - what a program asks for
 * @ibqp:	the queue pair, with a reference that rnic_lent_start() takes over
 * @initiator:	it sends the Request
 * @ird:	initiator: inbound RDMA Reads
 * @ord:	initiator: outbound RDMA Reads
 * @pd:		initiator: Private Data
 * @pd_len:	bytes of it
 * @last:	responder: the last streaming message, or NULL
 * @last_len:	bytes of it
 * @ops:	consumer of the endpoint
 * @owner:	for @ops
 */
struct rnic_lent_start {
	struct ib_qp *ibqp;
	bool initiator;
	u16 ird;
	u16 ord;
	const void *pd;
	u16 pd_len;
	const void *last;
	u32 last_len;
	const struct rnic_ep_ops *ops;
	void *owner;
};

struct rnic_ep *rnic_lent_start(struct rnic_dev *dev, struct rnic_ulp *u,
				const struct rnic_lent_start *start);
int rnic_lent_accept(struct rnic_ep *ep, u16 ird, u16 ord, const void *pd, u16 pd_len);
int rnic_lent_reject(struct rnic_ep *ep, const void *pd, u16 pd_len);
bool rnic_lent_close(struct rnic_ep *ep, struct ib_qp **ibqp);

#endif
