/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RDMA Reads of one connection: outbound ones, which this side requests, and inbound ones, which
 * the peer requests. The socket lock protects both queues.
 */
#ifndef _RNIC_READQ_H
#define _RNIC_READQ_H

#include <linux/types.h>

/* rnic_read_out.slot of an RTR, which belongs to no work request */
#define RNIC_NO_SLOT	U32_MAX
/* First place in a queue. Places wrap after three Reads, so every test runs the wrap-around. */
#define RNIC_READ_FIRST	(-3U)

/**
 * struct rnic_read_out - an outbound Read
 * @slot:	slot of its work request in rnic_qp.sent, or RNIC_NO_SLOT
 * @stag:	STag of the region where its data goes
 * @to:		offset of the first byte in that region
 * @sink:	offset of that byte in the Request and the response
 * @len:	bytes requested
 * @got:	bytes placed so far
 */
struct rnic_read_out {
	u32 slot;
	u32 stag;
	u64 to;
	u64 sink;
	u32 len;
	u32 got;
};

/**
 * struct rnic_read_in - an inbound Read
 * @sink_stag:	STag of the peer's region
 * @sink_to:	offset in it
 * @len:	bytes requested
 * @src_stag:	STag of the region to read
 * @src_to:	offset in it
 */
struct rnic_read_in {
	u32 sink_stag;
	u64 sink_to;
	u32 len;
	u32 src_stag;
	u64 src_to;
};

/**
 * struct rnic_readq - both queues, first in first out
 * @out:	outbound Reads
 * @in:		inbound Reads
 * @ord:	most outbound Reads at a time
 * @ird:	most inbound Reads at a time, at least those promised
 * @out_mask:	size of @out less 1; the size is a power of two, because places are free running
 * @in_mask:	size of @in less 1
 * @out_head:	place of the oldest Read in @out
 * @out_tail:	place of the next Read in @out
 * @in_head:	place of the oldest Read in @in, which stays until its response is encoded
 * @in_tail:	place of the next Read in @in
 */
struct rnic_readq {
	struct rnic_read_out *out;
	struct rnic_read_in *in;
	u32 ord;
	u32 ird;
	u32 out_mask;
	u32 in_mask;
	u32 out_head;
	u32 out_tail;
	u32 in_head;
	u32 in_tail;
};

int rnic_readq_init(struct rnic_readq *rq, u32 ord, u32 ird);
void rnic_readq_free(struct rnic_readq *rq);

/* Return: the number of outbound Reads that are outstanding. */
static inline u32 rnic_reads_out(const struct rnic_readq *rq)
{
	return rq->out_tail - rq->out_head;
}

/* Return: the number of inbound Reads that are not answered completely. */
static inline u32 rnic_reads_in(const struct rnic_readq *rq)
{
	return rq->in_tail - rq->in_head;
}

/* Return: false if ORD Reads are outstanding. */
static inline bool rnic_read_out_push(struct rnic_readq *rq, const struct rnic_read_out *r)
{
	if (rnic_reads_out(rq) >= rq->ord)
		return false;
	rq->out[rq->out_tail++ & rq->out_mask] = *r;
	return true;
}

/* Return: the oldest outbound Read, which the next response answers, or NULL. */
static inline struct rnic_read_out *rnic_read_out_head(struct rnic_readq *rq)
{
	return rnic_reads_out(rq) ? &rq->out[rq->out_head & rq->out_mask] : NULL;
}

/* Return: the outbound Read whose Request had this MSN, or NULL. The first MSN is 1. */
static inline struct rnic_read_out *rnic_read_out_find(struct rnic_readq *rq, u32 msn)
{
	u32 place = RNIC_READ_FIRST + msn - 1;

	return place - rq->out_head < rnic_reads_out(rq) ? &rq->out[place & rq->out_mask] : NULL;
}

static inline void rnic_read_out_pop(struct rnic_readq *rq)
{
	rq->out_head++;
}

/* Return: false if no more inbound Reads may be outstanding. */
static inline bool rnic_read_in_push(struct rnic_readq *rq, const struct rnic_read_in *r)
{
	if (rnic_reads_in(rq) >= rq->ird)
		return false;
	rq->in[rq->in_tail++ & rq->in_mask] = *r;
	return true;
}

/* Return: the oldest inbound Read, which is being answered or is the next to answer, or NULL. */
static inline struct rnic_read_in *rnic_read_in_head(struct rnic_readq *rq)
{
	return rnic_reads_in(rq) ? &rq->in[rq->in_head & rq->in_mask] : NULL;
}

/* Return: the MSN of the Request of that Read. */
static inline u32 rnic_read_in_msn(const struct rnic_readq *rq)
{
	return rq->in_head - RNIC_READ_FIRST + 1;
}

/* Remove that Read, which counts against IRD until it is answered (RFC 5040 section 6.1). */
static inline void rnic_read_in_pop(struct rnic_readq *rq)
{
	rq->in_head++;
}

#endif
