// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mem/sgl.c: lists of pieces in several regions, taken in steps of any size.
 */
#include <mem/sgl.h>
#include "regions.h"
#include "suites.h"

#define ONE	0x100u
#define TWO	0x200u

/* Two regions of 64 bytes in blocks, from address 5 on and from 0 on. */
struct pair {
	struct rnic_mem mem;
	struct rnic_mr *one;
	struct rnic_mr *two;
};

static struct pair new_pair(struct kunit *test)
{
	struct regions *r = test->priv;
	struct pair pair = {
		.mem = new_mem(test, &r->pd),
		.one = new_region(test, RNIC_MR_USER, ONE, 5, 64),
		.two = new_region(test, RNIC_MR_USER, TWO, 0, 64),
	};

	return pair;
}

/* Pieces of no bytes anywhere, also of an STag that does not exist, and pieces across blocks. */
static const struct rnic_sge list[] = {
	{ .addr = 0, .len = 0, .lkey = 0xbad00 },
	{ .addr = 5 + 3, .len = 30, .lkey = ONE },
	{ .addr = 63, .len = 1, .lkey = TWO },
	{ .addr = 1, .len = 0, .lkey = 0xbad00 },
	{ .addr = 0, .len = 40, .lkey = TWO },
	{ .addr = 5 + 60, .len = 4, .lkey = ONE },
};

#define ALL	75u

/* Byte number @at of the list. */
static u8 listed(u32 at)
{
	if (at < 30)
		return byte_at(3 + at);
	if (at < 31)
		return byte_at(63);
	return byte_at(at < 71 ? at - 31 : 60 + at - 71);
}

static struct rnic_sgl whole_list(void)
{
	struct rnic_sgl sgl;

	rnic_sgl_init(&sgl, list, ARRAY_SIZE(list), ALL);
	return sgl;
}

/* In steps of each size, with the rest at the end, and after a first step of each size. */
static void steps(struct kunit *test)
{
	struct pair pair = new_pair(test);
	u32 first, step, at, n, i;
	u8 got[ALL + 1];

	for (first = 0; first <= ALL; first++) {
		for (step = 1; step <= ALL; step++) {
			struct rnic_sgl sgl = whole_list();

			at = 0;
			n = first;
			do {
				memset(got, 0, sizeof(got));
				KUNIT_ASSERT_EQ(test, rnic_sgl_copy_from(&pair.mem, &sgl, got, n),
						0);
				for (i = 0; i < n; i++)
					KUNIT_EXPECT_EQ(test, got[i], listed(at + i));
				KUNIT_EXPECT_EQ(test, got[n], 0);
				at += n;
				KUNIT_EXPECT_EQ(test, sgl.left, ALL - at);
				n = min(step, ALL - at);
			} while (n);
		}
	}
	rnic_mr_put(&pair.mem);
	KUNIT_EXPECT_EQ(test, (int)refcount_read(&pair.one->refs), 1);
	KUNIT_EXPECT_EQ(test, (int)refcount_read(&pair.two->refs), 1);
}

/* Where each piece lies: it ends with its SGE, and needs the right that was asked for. */
static void pieces(struct kunit *test)
{
	struct pair pair = new_pair(test);
	u32 want, at, n, whole;
	u64 addr;

	for (want = 1; want <= ALL; want++) {
		struct rnic_sgl sgl = whole_list();

		for (at = 0; at < ALL; at += n) {
			/* SGEs end after 30, 31, 71 and 75 bytes */
			u32 end = at < 30 ? 30 : at < 31 ? 31 : at < 71 ? 71 : ALL;
			bool in_two = at >= 30 && at < 71;

			(in_two ? pair.two : pair.one)->access = IB_ACCESS_REMOTE_WRITE;
			KUNIT_ASSERT_EQ(test, rnic_sgl_next(&pair.mem, &sgl, IB_ACCESS_LOCAL_WRITE,
							    &addr, min(want, sgl.left)), 0u);
			KUNIT_EXPECT_EQ(test, sgl.left, ALL - at);
			(in_two ? pair.two : pair.one)->access = IB_ACCESS_LOCAL_WRITE;
			n = rnic_sgl_next(&pair.mem, &sgl, IB_ACCESS_LOCAL_WRITE, &addr,
					  min(want, sgl.left));
			whole = end - at;
			KUNIT_ASSERT_EQ(test, n, min(want, whole));
			KUNIT_EXPECT_EQ(test, sgl.left, ALL - at - n);
			KUNIT_EXPECT_PTR_EQ(test, pair.mem.mr, in_two ? pair.two : pair.one);
			KUNIT_EXPECT_EQ(test, *(u8 *)rnic_mr_at(pair.mem.mr, addr, &whole),
					listed(at));
		}
	}
	rnic_mr_put(&pair.mem);
}

/* Beyond the end nothing is copied, and the position stays. */
static void end_of_list(struct kunit *test)
{
	struct pair pair = new_pair(test);
	struct rnic_sgl sgl;
	u8 got[ALL + 1];
	u32 at;

	for (at = 0; at <= ALL; at++) {
		sgl = whole_list();
		KUNIT_EXPECT_EQ(test, rnic_sgl_copy_from(&pair.mem, &sgl, got, at), 0);
		memset(got, 0, sizeof(got));
		KUNIT_EXPECT_EQ(test, rnic_sgl_copy_from(&pair.mem, &sgl, got, ALL - at + 1),
				-EMSGSIZE);
		KUNIT_EXPECT_EQ(test, got[0], 0);
		KUNIT_EXPECT_EQ(test, sgl.left, ALL - at);
		KUNIT_EXPECT_EQ(test, rnic_sgl_copy_from(&pair.mem, &sgl, got, ALL - at), 0);
		KUNIT_EXPECT_TRUE(test, at == ALL || got[0] == listed(at));
	}
	rnic_mr_put(&pair.mem);
	/* a list without pieces has no byte */
	rnic_sgl_init(&sgl, NULL, 0, 0);
	KUNIT_EXPECT_EQ(test, rnic_sgl_copy_from(&pair.mem, &sgl, got, 0), 0);
	KUNIT_EXPECT_EQ(test, rnic_sgl_copy_from(&pair.mem, &sgl, got, 1), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, rnic_sgl_check(&pair.mem, &sgl, 0), RNIC_MR_OK);
}

/* A region goes in the middle of a message: the bytes before it are copied, and no more. */
static void region_goes(struct kunit *test)
{
	struct pair pair = new_pair(test);
	struct rnic_sgl sgl = whole_list();
	u8 got[ALL] = {};

	KUNIT_EXPECT_EQ(test, rnic_sgl_copy_from(&pair.mem, &sgl, got, 35), 0);
	pair.two->valid = false;
	KUNIT_EXPECT_EQ(test, rnic_sgl_copy_from(&pair.mem, &sgl, got, 1), -EACCES);
	KUNIT_EXPECT_EQ(test, sgl.left, ALL - 35);
	KUNIT_EXPECT_PTR_EQ(test, pair.mem.mr, NULL);
	pair.two->valid = true;
	pair.one->valid = false;
	memset(got, 0, sizeof(got));
	KUNIT_EXPECT_EQ(test, rnic_sgl_copy_from(&pair.mem, &sgl, got, ALL - 35), -EACCES);
	KUNIT_EXPECT_EQ(test, got[35], listed(70));
	KUNIT_EXPECT_EQ(test, got[36], 0);
	KUNIT_EXPECT_EQ(test, sgl.left, 4u);
}

/* Each piece with bytes is checked, for the rights asked for, from any position. */
static void checks(struct kunit *test)
{
	struct pair pair = new_pair(test);
	struct rnic_sgl sgl = whole_list();
	struct rnic_sge beyond = list[4];
	u32 i;

	sgl.cur = 4;
	sgl.off = 40;
	sgl.left = 4;
	for (i = 0; i < 2; i++) {
		struct rnic_mr *mr = i ? pair.two : pair.one;

		KUNIT_EXPECT_EQ(test, rnic_sgl_check(&pair.mem, &sgl, IB_ACCESS_LOCAL_WRITE),
				RNIC_MR_OK);
		mr->access = 0;
		KUNIT_EXPECT_EQ(test, rnic_sgl_check(&pair.mem, &sgl, IB_ACCESS_LOCAL_WRITE),
				RNIC_MR_ACCESS);
		/* reading needs no right */
		KUNIT_EXPECT_EQ(test, rnic_sgl_check(&pair.mem, &sgl, 0), RNIC_MR_OK);
		mr->access = IB_ACCESS_LOCAL_WRITE;
		mr->valid = false;
		KUNIT_EXPECT_EQ(test, rnic_sgl_check(&pair.mem, &sgl, 0), RNIC_MR_STAG);
		mr->valid = true;
	}
	/* the last byte of a piece counts */
	rnic_sgl_init(&sgl, &beyond, 1, 64);
	beyond.len = 64;
	KUNIT_EXPECT_EQ(test, rnic_sgl_check(&pair.mem, &sgl, 0), RNIC_MR_OK);
	beyond.addr = 1;
	KUNIT_EXPECT_EQ(test, rnic_sgl_check(&pair.mem, &sgl, 0), RNIC_MR_BOUNDS);
	beyond.addr = -1ULL;
	KUNIT_EXPECT_EQ(test, rnic_sgl_check(&pair.mem, &sgl, 0), RNIC_MR_WRAP);
	rnic_mr_put(&pair.mem);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(steps),
	KUNIT_CASE(pieces),
	KUNIT_CASE(end_of_list),
	KUNIT_CASE(region_goes),
	KUNIT_CASE(checks),
	{}
};

struct kunit_suite mem_sgl_suite = {
	.name = "mem_sgl",
	.init = regions_init,
	.exit = regions_exit,
	.test_cases = cases
};
