// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qp/life.c: every state of a queue pair's life with every move, against a table written by
 * hand, and what must hold on every way through it.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <qp/life.h>
#include "suites.h"

#define NONE	RNIC_LIVES

/* A row is a state, a column a move in the order of the enum. NONE: the move is refused. */
static const enum rnic_life expected[RNIC_LIVES][RNIC_MOVES] = {
	/* claim, reset, release, attach, begin, finish, fail, end, destroy */
	[RNIC_IDLE]	= { RNIC_CLAIMED, RNIC_CLAIMED, NONE, NONE, NONE, NONE, NONE, NONE,
			    RNIC_GONE },
	[RNIC_CLAIMED]	= { NONE, NONE, RNIC_IDLE, RNIC_ATTACHED, NONE, NONE, NONE, NONE, NONE },
	[RNIC_ATTACHED]	= { NONE, NONE, NONE, NONE, RNIC_RUNNING, NONE, NONE, NONE, NONE },
	[RNIC_RUNNING]	= { NONE, NONE, NONE, NONE, NONE, RNIC_FINISHED, RNIC_FAILED, RNIC_DOWN,
			    NONE },
	[RNIC_FINISHED]	= { NONE, NONE, NONE, NONE, NONE, NONE, RNIC_FAILED, RNIC_DOWN, NONE },
	[RNIC_FAILED]	= { NONE, NONE, NONE, NONE, NONE, NONE, NONE, RNIC_DOWN, NONE },
	[RNIC_DOWN]	= { NONE, RNIC_CLAIMED, NONE, NONE, NONE, NONE, NONE, NONE, RNIC_GONE },
	[RNIC_GONE]	= { NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE },
};

static void every_move(struct kunit *test)
{
	enum rnic_life next;
	u32 life, move;

	for (life = 0; life < RNIC_LIVES; life++) {
		for (move = 0; move < RNIC_MOVES; move++) {
			next = NONE;
			KUNIT_EXPECT_EQ_MSG(test, rnic_life_step(life, move, &next),
					    expected[life][move] != NONE, "%u, %u", life, move);
			/* a move that is refused changes nothing */
			KUNIT_EXPECT_EQ_MSG(test, next, expected[life][move], "%u, %u", life,
					    move);
		}
	}
}

/* Values beyond the enums mean nothing */
static void out_of_range(struct kunit *test)
{
	enum rnic_life next = NONE;
	u32 i;

	for (i = 0; i < RNIC_MOVES; i++) {
		KUNIT_EXPECT_FALSE(test, rnic_life_step(RNIC_LIVES, i, &next));
		KUNIT_EXPECT_FALSE(test, rnic_life_step(-1, i, &next));
	}
	for (i = 0; i < RNIC_LIVES; i++) {
		KUNIT_EXPECT_FALSE(test, rnic_life_step(i, RNIC_MOVES, &next));
		KUNIT_EXPECT_FALSE(test, rnic_life_step(i, -1, &next));
	}
	KUNIT_EXPECT_EQ(test, next, NONE);
}

static bool has_connection(enum rnic_life life)
{
	return life >= RNIC_ATTACHED && life <= RNIC_FAILED;
}

/* Checks every way on from @life. @seen are the states that were checked before. */
static u32 walk(struct kunit *test, enum rnic_life life, u32 seen)
{
	enum rnic_life next;
	u32 move;

	for (move = 0; move < RNIC_MOVES; move++) {
		if (!rnic_life_step(life, move, &next))
			continue;
		/* a connection comes by attaching only, and goes by its end only */
		KUNIT_EXPECT_EQ(test, !has_connection(life) && has_connection(next),
				move == RNIC_MOVE_ATTACH);
		KUNIT_EXPECT_EQ(test, has_connection(life) && !has_connection(next),
				move == RNIC_MOVE_END);
		/* after its end there is no other before a RESET */
		if (life == RNIC_DOWN)
			KUNIT_EXPECT_TRUE(test, move == RNIC_MOVE_RESET ||
					  move == RNIC_MOVE_DESTROY);
		if (!(seen & BIT(next)))
			seen = walk(test, next, seen | BIT(next));
	}
	return seen;
}

static void every_way(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, walk(test, RNIC_IDLE, BIT(RNIC_IDLE)), (u32)BIT(RNIC_LIVES) - 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(every_move),
	KUNIT_CASE(out_of_range),
	KUNIT_CASE(every_way),
	{}
};

struct kunit_suite qp_life_suite = { .name = "qp_life", .test_cases = cases };
