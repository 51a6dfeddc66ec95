// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The queues of RDMA Reads. The startup agrees on their sizes (RFC 6581 section 9.1): ORD limits
 * the Reads of this side (P2P-49), and IRD those of the peer. They are allocated when a queue pair
 * gets its connection, and freed when it loses it.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "core/gfp.h"
#include "qp/readq.h"

/**
 * rnic_readq_init() - allocate the queues
 * @rq:		the queues
 * @ord:	most outbound Reads at a time
 * @ird:	inbound Reads promised to the peer; the queue takes the next power of two of them
 *
 * siw rounds the number of Reads that it may have outstanding up to a power of two, so a queue of
 * exactly @ird would end connections with it.
 *
 * Context: process.
 * Return: 0; -ENOMEM, and there is nothing to free.
 */
int rnic_readq_init(struct rnic_readq *rq, u32 ord, u32 ird)
{
	memset(rq, 0, sizeof(*rq));
	rq->out_mask = roundup_pow_of_two(max(ord, 1U)) - 1;
	rq->in_mask = roundup_pow_of_two(max(ird, 1U)) - 1;
	rq->out = kcalloc(rq->out_mask + 1, sizeof(*rq->out), RNIC_GFP);
	rq->in = kcalloc(rq->in_mask + 1, sizeof(*rq->in), RNIC_GFP);
	if (!rq->out || !rq->in) {
		rnic_readq_free(rq);
		return -ENOMEM;
	}
	rq->ord = ord;
	rq->ird = ird ? rq->in_mask + 1 : 0;
	rq->out_head = RNIC_READ_FIRST;
	rq->out_tail = RNIC_READ_FIRST;
	rq->in_head = RNIC_READ_FIRST;
	rq->in_tail = RNIC_READ_FIRST;
	return 0;
}

/**
 * rnic_readq_free() - free the queues
 * @rq:	the queues; may be all zero
 */
void rnic_readq_free(struct rnic_readq *rq)
{
	kfree(rq->out);
	kfree(rq->in);
	memset(rq, 0, sizeof(*rq));
}
