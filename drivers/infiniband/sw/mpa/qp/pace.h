/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * When to send: the decisions, and what they have learnt of a consumer. Pure, with numbers in and
 * decisions out; hold.c and bulk.c carry them out.
 *
 * Coalescing. A program that posts one small message after the other rings the doorbell for each,
 * and each would be a segment of its own. So in a stream of doorbells the bytes that do not fill a
 * segment are held, until the segment is full, something urgent follows, the peer is heard, or a
 * moment is over. A request and its answer are no stream, and must not wait. So a stream begins
 * with the threshold-th doorbell in a row since the peer was heard last. The threshold doubles when
 * a hold was in vain, and halves when it paid.
 *
 * A Read is answered each time, so a row of them would never be a stream. But a program that did
 * not ask for its completion cannot wait for the data. Doorbells of such Reads are counted apart.
 *
 * Posting in the kernel. The worker sends what consumers post. When it finds one post only its
 * wake-up does not pay, and a tasklet sends the next ones in its place, 1, 3, 7 and up to
 * RNIC_PACE_SOFT_MAX of them, before the worker is tried again.
 */
#ifndef _RNIC_PACE_H
#define _RNIC_PACE_H

#include <linux/types.h>

#define RNIC_PACE_MIN		8
#define RNIC_PACE_MAX		4096
/* Doorbells that a hold has to gather to have paid. */
#define RNIC_PACE_WORTH		3
#define RNIC_PACE_SOFT_MAX	64

/**
 * struct rnic_pace - what was learnt of a consumer
 * @coalesce:	messages may be held at all
 * @threshold:	doorbells in a row that are no stream yet
 * @run:	doorbells since the peer was heard, or something was urgent
 * @reads:	doorbells of Reads without a completion, since a hold was in vain
 * @only_reads:	the doorbell being sent has nothing but such Reads so far
 * @gathered:	doorbells whose bytes are held now
 * @soft_left:	posts that the tasklet sends before the worker is tried again
 * @soft_last:	how many they were when it was tried last
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
 * enum rnic_pace_hold - what to do with bytes that do not fill a segment
 * @RNIC_PACE_SEND:	send them
 * @RNIC_PACE_HOLD:	hold them, together with those that are held already
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

/* A doorbell was rung. */
static inline void rnic_pace_rung(struct rnic_pace *pace)
{
	pace->run++;
}

/* The peer was heard. */
static inline void rnic_pace_heard(struct rnic_pace *pace)
{
	pace->run = 0;
}

/* A burst begins; @fresh if no message is under way. */
static inline void rnic_pace_burst(struct rnic_pace *pace, bool fresh)
{
	pace->only_reads = fresh;
}

/* A message of the burst begins. */
static inline void rnic_pace_message(struct rnic_pace *pace, bool read)
{
	pace->only_reads &= read;
}

/* The message that begins is urgent: a program may be waiting for what it causes. */
static inline void rnic_pace_urgent(struct rnic_pace *pace)
{
	pace->only_reads = false;
	pace->run = 0;
}

#endif /* _RNIC_PACE_H */
