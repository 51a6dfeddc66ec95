// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two bounded queues. Their sizes are what the startup agreed on (RFC 6581
 * section 9.1), so ORD limits what we send (P2P-49) and IRD what the peer may.
 *
 * Allocated when a QP gets its connection, freed when it loses it.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "core/gfp.h"
#include "qp/readq.h"

/**
 * rnic_readq_init() - make room
 * @rq:		the queues
 * @ord:	outbound Reads at once
 * @ird:	inbound Reads at once
 *
 * Context: process.
 * Return: 0 or -ENOMEM, then there is nothing to free.
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
	rq->ird = ird;
	rq->out_head = RNIC_READ_FIRST;
	rq->out_tail = RNIC_READ_FIRST;
	rq->in_head = RNIC_READ_FIRST;
	rq->in_next = RNIC_READ_FIRST;
	rq->in_tail = RNIC_READ_FIRST;
	return 0;
}

/**
 * rnic_readq_free() - drop both queues
 * @rq:	the queues, possibly never initialised but zero
 */
void rnic_readq_free(struct rnic_readq *rq)
{
	kfree(rq->out);
	kfree(rq->in);
	memset(rq, 0, sizeof(*rq));
}
