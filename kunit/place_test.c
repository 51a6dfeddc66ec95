// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Placement, as a program sees it that reads the memory meanwhile. The test writes down each store
 * in order, because it has no processor that reorders them.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include <linux/types.h>
#include "suites.h"

#define ROOM		160

static struct {
	u8 mem[ROOM] __aligned(16);
	u32 when[ROOM];	/* number of the store that wrote the byte, 0 for none */
	u32 stores;
	u32 ordered;	/* stores before the last barrier */
	bool twice;
	bool skew;
} seen;

static void note_store(const u8 *to, u32 size)
{
	u32 at = to - seen.mem, i;

	seen.stores++;
	seen.skew |= at % size;
	for (i = at; i < at + size; i++) {
		if (seen.when[i])
			seen.twice = true;
		seen.when[i] = seen.stores;
	}
}

#define ddp_place_store(to, value) do {				\
	typeof(to) to_ = (to);					\
								\
	*to_ = (value);						\
	note_store((const u8 *)to_, sizeof(*to_));		\
} while (0)
#define ddp_place_order()	(seen.ordered = seen.stores)

#include <wire/place.h>

static u8 payload_byte(u32 i)
{
	return 37 * i + 11;
}

/* @len bytes to @at, in parts that end at @first and at @second */
static void place(u32 at, u32 len, u32 first, u32 second)
{
	u32 ends[] = { first, second, len }, done = 0, i;
	struct ddp_place p;
	u8 payload[ROOM];

	memset(&seen, 0, sizeof(seen));
	for (i = 0; i < len; i++)
		payload[i] = payload_byte(i);
	ddp_place_begin(&p, seen.mem + at);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		ddp_place_add(&p, payload + done, ends[i] - done);
		done = ends[i];
	}
	ddp_place_end(&p);
}

/* One store for each aligned word that lies between @at and @end? */
static bool words_are_whole(u32 at, u32 end, u32 size)
{
	u32 word, i;

	for (word = (at + size - 1) & -size; word + size <= end; word += size)
		for (i = 1; i < size; i++)
			if (seen.when[word + i] != seen.when[word])
				return false;
	return true;
}

static bool bytes_are_right(u32 at, u32 len)
{
	u32 i;

	for (i = 0; i < ROOM; i++) {
		bool inside = i >= at && i < at + len;

		if (inside != !!seen.when[i])
			return false;
		if (inside && seen.mem[i] != payload_byte(i - at))
			return false;
	}
	return true;
}

/* Says what is wrong with the stores, NULL if nothing is. */
static const char *complaint(u32 at, u32 len)
{
	u32 end = at + len;

	if (!bytes_are_right(at, len))
		return "not the payload";
	if (seen.twice)
		return "a byte was stored twice";
	if (seen.skew)
		return "a store was not aligned";
	if (!words_are_whole(at, end, 2) || !words_are_whole(at, end, 4) ||
	    !words_are_whole(at, end, 8))
		return "an aligned word was torn";
	if (seen.when[end - 1] != seen.stores)
		return "the last byte was not the last";
	if (seen.ordered != seen.stores - 1)
		return "no barrier before the last byte";
	return NULL;
}

static void check(struct kunit *test, u32 at, u32 len, u32 first, u32 second)
{
	const char *what;

	place(at, len, first, second);
	what = complaint(at, len);
	if (what)
		KUNIT_FAIL(test, "%u bytes at %u, in parts to %u and %u: %s", len, at, first,
			   second, what);
}

/* RFC 5041 section 5.3: the peer chooses where memory begins and ends. */
static void every_place(struct kunit *test)
{
	u32 at, len;

	for (at = 0; at < 16; at++)
		for (len = 1; len <= ROOM - 16; len++)
			check(test, at, len, len, len);
}

/* A Marker, or the edge of one of TCP's buffers, is anywhere. */
static void every_part(struct kunit *test)
{
	u32 at, len, first, second;

	for (at = 0; at < 8; at++)
		for (len = 1; len <= 28; len++)
			for (first = 0; first <= len; first++)
				for (second = first; second <= len; second++)
					check(test, at, len, first, second);
}

static void long_parts(struct kunit *test)
{
	u32 at, first, second;

	for (at = 0; at < 8; at++)
		for (first = 0; first <= 140; first++)
			for (second = first; second <= 140; second += 1 + first % 3)
				check(test, at, 140, first, second);
}

/* A second piece begins where the first one ends, as with the next entry of a list. */
static void piece_after_piece(struct kunit *test)
{
	struct ddp_place p;
	u8 payload[12];
	u32 i;

	memset(&seen, 0, sizeof(seen));
	for (i = 0; i < sizeof(payload); i++)
		payload[i] = payload_byte(i);
	ddp_place_begin(&p, seen.mem + 3);
	ddp_place_add(&p, payload, 5);
	ddp_place_end(&p);
	KUNIT_EXPECT_EQ(test, seen.ordered, seen.stores - 1);
	ddp_place_begin(&p, seen.mem + 16);
	ddp_place_add(&p, payload + 5, 7);
	ddp_place_end(&p);
	KUNIT_EXPECT_EQ(test, memcmp(seen.mem + 3, payload, 5), 0);
	KUNIT_EXPECT_EQ(test, memcmp(seen.mem + 16, payload + 5, 7), 0);
	KUNIT_EXPECT_EQ(test, seen.when[22], seen.stores);
	KUNIT_EXPECT_EQ(test, seen.ordered, seen.stores - 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(every_place),
	KUNIT_CASE(every_part),
	KUNIT_CASE(long_parts),
	KUNIT_CASE(piece_after_piece),
	{}
};

struct kunit_suite ddp_place_suite = {
	.name = "ddp_place",
	.test_cases = cases,
};
