/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RDMA Reads of one connection: those we asked for and those we owe.
 *
 * Both queues belong to the data path: protected by the socket lock.
 */
#ifndef _RNIC_READQ_H
#define _RNIC_READQ_H

#include <linux/types.h>

/* rnic_read_out.slot of a Read that no work request asked for (an RTR). */
#define RNIC_NO_SLOT	U32_MAX
/* Where the places begin: they wrap soon, so that every test sees it. */
#define RNIC_READ_FIRST	(-3U)

/**
 * struct rnic_read_out - a Read we asked for
 * @slot:	its place in rnic_qp.sent, or RNIC_NO_SLOT
 * @stag:	sink STag the response must name
 * @to:		where the response's first byte goes in that region
 * @sink:	offset of that byte as the peer knows it
 * @len:	bytes asked for
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
 * struct rnic_read_in - a Read the peer asked for
 * @sink_stag:	where the peer wants it
 * @sink_to:	offset there
 * @len:	bytes
 * @src_stag:	our region
 * @src_to:	offset there
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
 * @ord:	Reads we may have outstanding
 * @ird:	Reads the peer may have outstanding
 * @out_mask:	size of @out - 1; a power of two of at least @ord, because the places run free
 * @in_mask:	likewise of @in, for @ird
 * @out_head:	oldest of @out, free running
 * @out_tail:	next free of @out, free running
 * @in_head:	oldest of @in, free running; until the last segment of its response is encoded
 * @in_next:	the Read to answer next, free running; @in_head, or the one behind it while that
 *		is being answered
 * @in_tail:	next free of @in, free running
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
	u32 in_next;
	u32 in_tail;
};

int rnic_readq_init(struct rnic_readq *rq, u32 ord, u32 ird);
void rnic_readq_free(struct rnic_readq *rq);

/* Reads outstanding. */
static inline u32 rnic_reads_out(const struct rnic_readq *rq)
{
	return rq->out_tail - rq->out_head;
}

/* Reads owed. */
static inline u32 rnic_reads_in(const struct rnic_readq *rq)
{
	return rq->in_tail - rq->in_head;
}

/* Return: false when ORD Reads are outstanding. */
static inline bool rnic_read_out_push(struct rnic_readq *rq, const struct rnic_read_out *r)
{
	if (rnic_reads_out(rq) >= rq->ord)
		return false;
	rq->out[rq->out_tail++ & rq->out_mask] = *r;
	return true;
}

/* Return: the Read whose response comes next, or NULL. */
static inline struct rnic_read_out *rnic_read_out_head(struct rnic_readq *rq)
{
	return rnic_reads_out(rq) ? &rq->out[rq->out_head & rq->out_mask] : NULL;
}

/* Return: the Read whose Request had this MSN, or NULL. The first of all had 1. */
static inline struct rnic_read_out *rnic_read_out_find(struct rnic_readq *rq, u32 msn)
{
	u32 place = RNIC_READ_FIRST + msn - 1;

	return place - rq->out_head < rnic_reads_out(rq) ? &rq->out[place & rq->out_mask] : NULL;
}

static inline void rnic_read_out_pop(struct rnic_readq *rq)
{
	rq->out_head++;
}

/* Return: false when the peer has more outstanding than it may. */
static inline bool rnic_read_in_push(struct rnic_readq *rq, const struct rnic_read_in *r)
{
	if (rnic_reads_in(rq) >= rq->ird)
		return false;
	rq->in[rq->in_tail++ & rq->in_mask] = *r;
	return true;
}

/* Return: the Read to answer next, or NULL. */
static inline struct rnic_read_in *rnic_read_in_next(struct rnic_readq *rq)
{
	return rq->in_next != rq->in_tail ? &rq->in[rq->in_next & rq->in_mask] : NULL;
}

/*
 * Begin to answer that Read. It counts against IRD until rnic_read_in_done(), see RFC 5040
 * section 6.1.
 */
static inline void rnic_read_in_begin(struct rnic_readq *rq)
{
	rq->in_next++;
}

/* Return: the Read that is being answered. Sets @msn to the MSN of its Request. */
static inline struct rnic_read_in *rnic_read_in_begun(struct rnic_readq *rq, u32 *msn)
{
	*msn = rq->in_head - RNIC_READ_FIRST + 1;
	return &rq->in[rq->in_head & rq->in_mask];
}

/* The Read was answered. */
static inline void rnic_read_in_done(struct rnic_readq *rq)
{
	rq->in_head = rq->in_next;
}

#endif
