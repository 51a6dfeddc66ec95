/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * When to send: the decisions, and their state. The functions only compute; hold.c and bulk.c
 * carry the decisions out.
 *
 * Coalescing. A program that posts small messages one by one rings the doorbell for each, and each
 * would be a segment of its own. So in a stream of doorbells the bytes that do not fill a segment
 * are held until the segment is full, an urgent message comes, or a timer expires. A request that
 * waits for its answer is not a stream and must not be held. So a stream begins after @threshold
 * doorbells in a row without an FPDU from the peer, and ends with such an FPDU. The threshold
 * doubles if a hold did not pay, and halves if it did.
 *
 * Each Read is answered, so a row of Reads would never be a stream. But a program that posts an
 * unsignaled Read does not wait for its data. Doorbells of such Reads are counted separately.
 *
 * Posting in the kernel. The worker sends the posts of consumers. If it finds a single post, its
 * wake-up does not pay. Then a tasklet sends the next 1, 3, 7 and up to RNIC_PACE_SOFT_MAX posts
 * before the worker is tried again.
 */
#ifndef _RNIC_PACE_H
#define _RNIC_PACE_H

#include <linux/types.h>

#define RNIC_PACE_MIN		8
#define RNIC_PACE_MAX		4096
/* Doorbells that a hold must gather to pay */
#define RNIC_PACE_WORTH		3
#define RNIC_PACE_SOFT_MAX	64

/**
 * struct rnic_pace - state of the decisions of a connection
 * @coalesce:	messages may be held
 * @threshold:	doorbells in a row that are not a stream yet
 * @run:	doorbells since the last FPDU of the peer, or the last urgent message
 * @reads:	doorbells of unsignaled Reads, since a hold did not pay
 * @only_reads:	all messages of the current burst so far are such Reads
 * @gathered:	doorbells whose bytes are held now
 * @soft_left:	posts that the tasklet will send before the worker is tried again
 * @soft_last:	value of @soft_left when it was set last
 */
struct rnic_pace {
	bool coalesce;
	u32 threshold;
	u32 run;
	u32 reads;
	bool only_reads;
	u32 gathered;
	u32 soft_left;
	u32 soft_last;
};

/**
 * enum rnic_pace_hold - decision on bytes that do not fill a segment
 * @RNIC_PACE_SEND:	send them
 * @RNIC_PACE_HOLD:	add them to the held bytes
 * @RNIC_PACE_BEGIN:	hold them, and start the timer
 */
enum rnic_pace_hold {
	RNIC_PACE_SEND,
	RNIC_PACE_HOLD,
	RNIC_PACE_BEGIN
};

void rnic_pace_init(struct rnic_pace *pace, bool coalesce);
enum rnic_pace_hold rnic_pace_doorbell(struct rnic_pace *pace, u32 rest, u32 held, u32 encoded,
				       u32 emss, bool may_wait);
void rnic_pace_over(struct rnic_pace *pace);
void rnic_pace_posts(struct rnic_pace *pace, u32 posts);

/* Count a doorbell. */
static inline void rnic_pace_rung(struct rnic_pace *pace)
{
	pace->run++;
}

/* Note an FPDU of the peer. */
static inline void rnic_pace_heard(struct rnic_pace *pace)
{
	pace->run = 0;
}

/* Begin a burst; @fresh if no message has begun. */
static inline void rnic_pace_burst(struct rnic_pace *pace, bool fresh)
{
	pace->only_reads = fresh;
}

/* Begin a message of the burst; @read if it is a Read Request. */
static inline void rnic_pace_message(struct rnic_pace *pace, bool read)
{
	pace->only_reads &= read;
}

/* Note that the message is urgent, because a program may be waiting for its effect. */
static inline void rnic_pace_urgent(struct rnic_pace *pace)
{
	pace->only_reads = false;
	pace->run = 0;
}

#endif /* _RNIC_PACE_H */
