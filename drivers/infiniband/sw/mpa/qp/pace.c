// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * When to send: the decisions.
 */
#include <linux/compiler.h>
#include <linux/minmax.h>

#include "qp/pace.h"

/**
 * rnic_pace_init() - initialise for a new connection
 * @pace:	state, zeroed
 * @coalesce:	messages may be held
 */
void rnic_pace_init(struct rnic_pace *pace, bool coalesce)
{
	pace->coalesce = coalesce;
	pace->threshold = RNIC_PACE_MIN;
}

/* Adapt the threshold at the end of a hold, which did or did not pay. */
static void learn_hold(struct rnic_pace *pace, bool paid)
{
	if (paid) {
		pace->threshold = max_t(u32, pace->threshold / 2, RNIC_PACE_MIN);
		return;
	}
	pace->threshold = min_t(u32, 2 * pace->threshold, RNIC_PACE_MAX);
	pace->run = 0;
	pace->reads = 0;
}

static bool is_stream(const struct rnic_pace *pace)
{
	return (pace->only_reads ? pace->reads : pace->run) > pace->threshold;
}

/**
 * rnic_pace_doorbell() - decide on the bytes of a doorbell that do not fill a segment
 * @pace:	state
 * @rest:	bytes in the last segment if that is not full; 0 if more follows at once
 * @held:	bytes that were held before this doorbell
 * @encoded:	bytes of this doorbell
 * @emss:	bytes of a full segment
 * @may_wait:	the connection allows holding
 *
 * If all of @rest is of this doorbell, a new hold begins. The bytes that were held before are then
 * part of a full segment, so holding them paid. Nothing is held if two such doorbells do not fit
 * into a segment.
 *
 * Return: the decision.
 */
enum rnic_pace_hold rnic_pace_doorbell(struct rnic_pace *pace, u32 rest, u32 held, u32 encoded,
				       u32 emss, bool may_wait)
{
	bool begins = rest <= encoded;

	if (begins && held)
		learn_hold(pace, true);
	pace->reads += rest && pace->only_reads;
	if (!rest || !encoded || 2 * encoded > emss || !may_wait || !pace->coalesce ||
	    !is_stream(pace))
		return RNIC_PACE_SEND;
	if (!begins) {
		pace->gathered++;
		return RNIC_PACE_HOLD;
	}
	pace->gathered = 1;
	return RNIC_PACE_BEGIN;
}

/**
 * rnic_pace_over() - learn from a hold that the timer ended
 * @pace:	state
 */
void rnic_pace_over(struct rnic_pace *pace)
{
	learn_hold(pace, pace->gathered >= RNIC_PACE_WORTH);
}

/**
 * rnic_pace_posts() - learn from the posts of a kernel consumer that the worker has sent
 * @pace:	state; @soft_left is read without a lock
 * @posts:	number of posts, at least 1
 */
void rnic_pace_posts(struct rnic_pace *pace, u32 posts)
{
	pace->soft_last = posts == 1 ? min_t(u32, 2 * pace->soft_last + 1, RNIC_PACE_SOFT_MAX) : 0;
	WRITE_ONCE(pace->soft_left, pace->soft_last);
}
