// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qp/readq.c: how many Reads may be outstanding, their order, and the search by MSN, with
 * places that wrap.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <qp/readq.h>
#include "suites.h"

#define ROUNDS	40u	/* of the largest queue but one, so that places wrap in it, too */

/* Depths at and beside powers of two, as a queue has a power of two of places. */
static const u32 depths[] = { 1, 2, 3, 4, 5, 7, 8, 9, 128 };

static struct rnic_readq new_readq(struct kunit *test, u32 ord, u32 ird)
{
	struct rnic_readq rq;

	KUNIT_ASSERT_EQ(test, rnic_readq_init(&rq, ord, ird), 0);
	return rq;
}

static bool push_out(struct rnic_readq *rq, u32 msn)
{
	struct rnic_read_out read = { .slot = msn, .stag = ~msn, .to = (u64)msn << 32, .len = 1 };

	return rnic_read_out_push(rq, &read);
}

static bool push_in(struct rnic_readq *rq, u32 msn)
{
	struct rnic_read_in read = { .sink_stag = msn, .src_stag = ~msn, .src_to = 1ULL << 40 };

	return rnic_read_in_push(rq, &read);
}

/* Never more than ORD are outstanding (P2P-49), and their responses come in their order. */
static void outbound(struct kunit *test)
{
	u32 i, sent, answered;

	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		struct rnic_readq rq = new_readq(test, depths[i], 1);

		for (sent = 0, answered = 0; answered < ROUNDS; answered++) {
			while (sent - answered < depths[i])
				KUNIT_ASSERT_TRUE(test, push_out(&rq, ++sent));
			KUNIT_EXPECT_FALSE(test, push_out(&rq, 0));
			KUNIT_EXPECT_EQ(test, rnic_reads_out(&rq), depths[i]);
			KUNIT_EXPECT_EQ(test, rnic_read_out_head(&rq)->slot, answered + 1);
			KUNIT_EXPECT_EQ(test, rnic_read_out_head(&rq)->stag, ~(answered + 1));
			rnic_read_out_pop(&rq);
		}
		KUNIT_EXPECT_EQ(test, rnic_reads_in(&rq), 0u);
		rnic_readq_free(&rq);
	}
}

/*
 * The peer may have IRD Reads outstanding, rounded up to a power of two as siw does it, and no more
 * (P2P-50, RFC 5040 section 6.1). They are answered in their order.
 */
static void inbound(struct kunit *test)
{
	u32 i, most, asked, answered;

	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		struct rnic_readq rq = new_readq(test, 1, depths[i]);

		most = roundup_pow_of_two(depths[i]);
		for (asked = 0, answered = 0; answered < ROUNDS; answered++) {
			while (asked - answered < most)
				KUNIT_ASSERT_TRUE(test, push_in(&rq, ++asked));
			KUNIT_EXPECT_FALSE(test, push_in(&rq, 0));
			KUNIT_EXPECT_EQ(test, rnic_reads_in(&rq), most);
			KUNIT_EXPECT_EQ(test, rnic_read_in_head(&rq)->sink_stag, answered + 1);
			KUNIT_EXPECT_EQ(test, rnic_read_in_head(&rq)->src_stag, ~(answered + 1));
			KUNIT_EXPECT_EQ(test, rnic_read_in_msn(&rq), answered + 1);
			rnic_read_in_pop(&rq);
		}
		KUNIT_EXPECT_EQ(test, rnic_reads_out(&rq), 0u);
		rnic_readq_free(&rq);
	}
}

/* Exactly the outstanding MSNs are found: none beside them, and none that has the same place. */
static void expect_window(struct kunit *test, struct rnic_readq *rq, u32 first, u32 num)
{
	u32 beside = 2 * rq->out_mask + 2;
	s32 at;

	for (at = -(s32)beside; at < (s32)(num + beside); at++) {
		struct rnic_read_out *read = rnic_read_out_find(rq, first + at);
		bool there = at >= 0 && at < (s32)num;

		KUNIT_EXPECT_EQ_MSG(test, !!read, there, "%u of %u+%u", first + at, first,
				    num);
		if (read)
			KUNIT_EXPECT_EQ(test, read->slot, first + at);
	}
}

/* The queue slides over all places, filled to each level, from the MSN @first on. */
static void slide(struct kunit *test, struct rnic_readq *rq, u32 first)
{
	u32 oldest = first, next = first, level, i;

	for (i = 0; i < ROUNDS; i++) {
		for (level = 0; level < rq->ord; level++) {
			expect_window(test, rq, oldest, level);
			KUNIT_ASSERT_TRUE(test, push_out(rq, next++));
		}
		expect_window(test, rq, oldest, level);
		for (; level; level--, oldest++)
			rnic_read_out_pop(rq);
		/* one stays ahead, so that the next round begins at another place */
		KUNIT_ASSERT_TRUE(test, push_out(rq, next++));
		rnic_read_out_pop(rq);
		oldest++;
	}
}

static void by_msn(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(depths) - 1; i++) {
		struct rnic_readq rq = new_readq(test, depths[i], 0);

		slide(test, &rq, 1);
		rnic_readq_free(&rq);
		/* after 2^32 - 6 Reads, so that the MSN wraps */
		rq = new_readq(test, depths[i], 0);
		rq.out_head -= 6;
		rq.out_tail -= 6;
		slide(test, &rq, -5U);
		rnic_readq_free(&rq);
	}
}

/* Nothing was agreed: no Read either way, and nothing is found. */
static void none(struct kunit *test)
{
	struct rnic_readq rq = new_readq(test, 0, 0);

	KUNIT_EXPECT_FALSE(test, push_out(&rq, 1));
	KUNIT_EXPECT_FALSE(test, push_in(&rq, 1));
	KUNIT_EXPECT_PTR_EQ(test, rnic_read_out_head(&rq), NULL);
	KUNIT_EXPECT_PTR_EQ(test, rnic_read_in_head(&rq), NULL);
	expect_window(test, &rq, 1, 0);
	rnic_readq_free(&rq);
}

/* A freed queue is empty, and may be freed again. */
static void freed(struct kunit *test)
{
	struct rnic_readq rq = new_readq(test, 3, 2);

	KUNIT_EXPECT_TRUE(test, push_out(&rq, 1));
	KUNIT_EXPECT_TRUE(test, push_in(&rq, 1));
	rnic_readq_free(&rq);
	KUNIT_EXPECT_FALSE(test, push_out(&rq, 2));
	KUNIT_EXPECT_FALSE(test, push_in(&rq, 2));
	KUNIT_EXPECT_PTR_EQ(test, rnic_read_out_head(&rq), NULL);
	KUNIT_EXPECT_PTR_EQ(test, rnic_read_in_head(&rq), NULL);
	KUNIT_EXPECT_PTR_EQ(test, rnic_read_out_find(&rq, 1), NULL);
	rnic_readq_free(&rq);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(outbound),
	KUNIT_CASE(inbound),
	KUNIT_CASE(by_msn),
	KUNIT_CASE(none),
	KUNIT_CASE(freed),
	{}
};

struct kunit_suite qp_readq_suite = { .name = "qp_readq", .test_cases = cases };
