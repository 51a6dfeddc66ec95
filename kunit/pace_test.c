// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qp/pace.c: which messages it holds, what it learns, and when a tasklet sends for the worker.
 */
#include <kunit/test.h>
#include <qp/pace.h>
#include "suites.h"

#define EMSS	1448u
#define BYTES	96u	/* of a doorbell with one small message */

static struct rnic_pace new_pace(bool coalesce)
{
	struct rnic_pace pace = {};

	rnic_pace_init(&pace, coalesce);
	return pace;
}

/* A doorbell with one small message, behind @held bytes */
static enum rnic_pace_hold ring(struct rnic_pace *pace, u32 held, bool read)
{
	rnic_pace_rung(pace);
	rnic_pace_burst(pace, true);
	rnic_pace_message(pace, read);
	return rnic_pace_doorbell(pace, held + BYTES, held, BYTES, EMSS, true);
}

/* How many doorbells in a row are sent before one is held; 10000 if none is */
static u32 count_sent(struct rnic_pace *pace, bool read)
{
	u32 n;

	for (n = 0; n < 10000; n++)
		if (ring(pace, 0, read) != RNIC_PACE_SEND)
			break;
	return n;
}

static void a_stream_is_held(struct kunit *test)
{
	struct rnic_pace pace = new_pace(true);

	KUNIT_EXPECT_EQ(test, count_sent(&pace, false), RNIC_PACE_MIN);
	KUNIT_EXPECT_EQ(test, pace.gathered, 1u);
	/* those that follow join it, and the timer runs already */
	KUNIT_EXPECT_EQ(test, ring(&pace, BYTES, false), RNIC_PACE_HOLD);
	KUNIT_EXPECT_EQ(test, ring(&pace, 2 * BYTES, false), RNIC_PACE_HOLD);
	KUNIT_EXPECT_EQ(test, pace.gathered, 3u);
}

static void a_dialogue_is_not(struct kunit *test)
{
	struct rnic_pace pace = new_pace(true);
	u32 i;

	for (i = 0; i < 1000; i++) {
		KUNIT_EXPECT_EQ(test, ring(&pace, 0, false), RNIC_PACE_SEND);
		if (i % RNIC_PACE_MIN == 0)
			rnic_pace_heard(&pace);
	}
}

/* A message that somebody may wait for is sent, and begins the count anew */
static void urgent(struct kunit *test)
{
	struct rnic_pace pace = new_pace(true);

	count_sent(&pace, false);
	rnic_pace_rung(&pace);
	rnic_pace_burst(&pace, true);
	rnic_pace_message(&pace, false);
	rnic_pace_urgent(&pace);
	KUNIT_EXPECT_EQ(test, rnic_pace_doorbell(&pace, 2 * BYTES, BYTES, BYTES, EMSS, true),
			RNIC_PACE_SEND);
	KUNIT_EXPECT_EQ(test, count_sent(&pace, false), RNIC_PACE_MIN);
}

/* Messages that are never held, however long the stream is */
static void not_held(struct kunit *test)
{
	struct rnic_pace pace = new_pace(true);

	count_sent(&pace, false);
	/* a full segment */
	KUNIT_EXPECT_EQ(test, rnic_pace_doorbell(&pace, 0, 0, BYTES, EMSS, true), RNIC_PACE_SEND);
	/* nothing new */
	KUNIT_EXPECT_EQ(test, rnic_pace_doorbell(&pace, BYTES, BYTES, 0, EMSS, true),
			RNIC_PACE_SEND);
	/* two of them do not fit */
	KUNIT_EXPECT_EQ(test, rnic_pace_doorbell(&pace, EMSS / 2 + 1, 0, EMSS / 2 + 1, EMSS, true),
			RNIC_PACE_SEND);
	KUNIT_EXPECT_EQ(test, rnic_pace_doorbell(&pace, EMSS / 2, 0, EMSS / 2, EMSS, true),
			RNIC_PACE_BEGIN);
	/* the connection ends, or a request waits for a Read */
	KUNIT_EXPECT_EQ(test, rnic_pace_doorbell(&pace, BYTES, 0, BYTES, EMSS, false),
			RNIC_PACE_SEND);
}

static void switched_off(struct kunit *test)
{
	struct rnic_pace pace = new_pace(false);

	KUNIT_EXPECT_EQ(test, count_sent(&pace, false), 10000u);
	KUNIT_EXPECT_EQ(test, count_sent(&pace, true), 10000u);
}

/* If holding was in vain the next stream has to be twice as long, up to a bound */
static void learns_in_vain(struct kunit *test)
{
	struct rnic_pace pace = new_pace(true);
	u32 wanted;

	for (wanted = RNIC_PACE_MIN; wanted < RNIC_PACE_MAX; wanted *= 2) {
		KUNIT_EXPECT_EQ(test, count_sent(&pace, false), wanted);
		rnic_pace_over(&pace);
	}
	for (wanted = 0; wanted < 3; wanted++) {
		KUNIT_EXPECT_EQ(test, count_sent(&pace, false), RNIC_PACE_MAX);
		rnic_pace_over(&pace);
	}
}

/* Holding paid if it filled a segment, or if enough doorbells came before the timer */
static void learns_what_paid(struct kunit *test)
{
	struct rnic_pace pace = new_pace(true);
	u32 i;

	for (i = 0; i < 3; i++) {
		count_sent(&pace, false);
		rnic_pace_over(&pace);
	}
	KUNIT_EXPECT_EQ(test, pace.threshold, 8u * RNIC_PACE_MIN);
	count_sent(&pace, false);
	ring(&pace, BYTES, false);
	ring(&pace, 2 * BYTES, false);
	rnic_pace_over(&pace);
	KUNIT_EXPECT_EQ(test, pace.threshold, 4u * RNIC_PACE_MIN);
	/* the rest of this doorbell begins a segment, because those before filled theirs */
	KUNIT_EXPECT_EQ(test, rnic_pace_doorbell(&pace, BYTES / 2, EMSS - BYTES / 2, BYTES, EMSS,
						 true), RNIC_PACE_BEGIN);
	KUNIT_EXPECT_EQ(test, pace.threshold, 2u * RNIC_PACE_MIN);
	for (i = 0; i < 5; i++)
		rnic_pace_doorbell(&pace, BYTES / 2, BYTES, BYTES, EMSS, true);
	KUNIT_EXPECT_EQ(test, pace.threshold, (u32)RNIC_PACE_MIN);
}

/* Reads without a completion are a stream although the peer answers each */
static void reads(struct kunit *test)
{
	struct rnic_pace pace = new_pace(true);
	u32 i;

	for (i = 0; i <= RNIC_PACE_MIN; i++) {
		rnic_pace_heard(&pace);
		KUNIT_EXPECT_EQ(test, ring(&pace, 0, true),
				i < RNIC_PACE_MIN ? RNIC_PACE_SEND : RNIC_PACE_BEGIN);
	}
	/* Sends do not count for them */
	pace = new_pace(true);
	for (i = 0; i < 4 * RNIC_PACE_MIN; i++) {
		rnic_pace_heard(&pace);
		ring(&pace, 0, false);
	}
	rnic_pace_heard(&pace);
	KUNIT_EXPECT_EQ(test, ring(&pace, 0, true), RNIC_PACE_SEND);
	KUNIT_EXPECT_EQ(test, pace.reads, 1u);
	/* with a Send among them the doorbell is not of Reads only */
	rnic_pace_heard(&pace);
	rnic_pace_rung(&pace);
	rnic_pace_burst(&pace, true);
	rnic_pace_message(&pace, true);
	rnic_pace_message(&pace, false);
	KUNIT_EXPECT_EQ(test, rnic_pace_doorbell(&pace, 2 * BYTES, 0, 2 * BYTES, EMSS, true),
			RNIC_PACE_SEND);
	/* nor with a message that was under way */
	rnic_pace_burst(&pace, false);
	rnic_pace_message(&pace, true);
	KUNIT_EXPECT_FALSE(test, pace.only_reads);
}

static void posts(struct kunit *test)
{
	static const u32 left[] = { 1, 3, 7, 15, 31, 63, 64, 64 };
	struct rnic_pace pace = new_pace(true);
	u32 i;

	KUNIT_EXPECT_EQ(test, pace.soft_left, 0u);
	for (i = 0; i < ARRAY_SIZE(left); i++) {
		rnic_pace_posts(&pace, 1);
		KUNIT_EXPECT_EQ(test, pace.soft_left, left[i]);
	}
	rnic_pace_posts(&pace, 2);
	KUNIT_EXPECT_EQ(test, pace.soft_left, 0u);
	rnic_pace_posts(&pace, 1);
	KUNIT_EXPECT_EQ(test, pace.soft_left, 1u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_stream_is_held),
	KUNIT_CASE(a_dialogue_is_not),
	KUNIT_CASE(urgent),
	KUNIT_CASE(not_held),
	KUNIT_CASE(switched_off),
	KUNIT_CASE(learns_in_vain),
	KUNIT_CASE(learns_what_paid),
	KUNIT_CASE(reads),
	KUNIT_CASE(posts),
	{}
};

struct kunit_suite qp_pace_suite = { .name = "qp_pace", .test_cases = cases };
