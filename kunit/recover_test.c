// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/recover.c: segments of an honest sender, in any order. */
#include <kunit/test.h>
#include <linux/string.h>
#include <compat/unaligned.h>
#include "recover_stream.h"
#include "suites.h"

/* Pieces of every order; in a (maybe emulated) kernel two less. */
#ifdef __KERNEL__
#define PIECES	5
#define STREAMS	40
#else
#define PIECES	7
#define STREAMS	400
#endif

/* The @k-th order of @n things. */
static void order(u32 *out, u32 n, u32 k)
{
	u32 i, j;

	for (i = 0; i < n; i++) {
		u32 at = i - k % (i + 1);

		k /= i + 1;
		for (j = i; j > at; j--)
			out[j] = out[j - 1];
		out[at] = i;
	}
}

static u32 orders(u32 n)
{
	return n < 2 ? 1 : n * orders(n - 1);
}

/* Every order of the pieces between @cut[0], @cut[1], ... @cut[PIECES]. */
static void all_orders(struct kunit *test, const u32 *cut)
{
	struct stream *s = test->priv;
	u32 k, i, seq[PIECES];

	for (k = 0; k < orders(PIECES); k++) {
		order(seq, PIECES, k);
		stream_restart(s);
		for (i = 0; i < PIECES; i++) {
			u32 len = cut[seq[i] + 1] - cut[seq[i]];

			if (stream_put(s, cut[seq[i]], len) == len)
				continue;
			KUNIT_FAIL(test, "order %u, piece %u from %u", k, i, s->pos);
			return;
		}
		KUNIT_ASSERT_TRUE(test, stream_complete(s));
	}
}

/* @n cuts of [0, @total), ascending, anywhere. */
static void random_cuts(u32 *cut, u32 n, u32 total, u32 *rnd)
{
	u32 i, j, t;

	for (i = 1; i < n; i++) {
		cut[i] = 1 + model_random(rnd) % (total - 1);
		for (j = i; j > 1 && cut[j] < cut[j - 1]; j--) {
			t = cut[j];
			cut[j] = cut[j - 1];
			cut[j - 1] = t;
		}
	}
	cut[0] = 0;
	cut[n] = total;
}

/* FPDUs of which some have no Marker, some one, one several. */
static void add_some(struct stream *s)
{
	static const u32 lens[] = { 42, 490, 18, 700, 7, 200, 1 };
	u32 i;

	for (i = 0; i < PIECES; i++)
		stream_add(s, lens[i]);
}

static const u32 bases[] = { 0, 492, 0xfffffe00, 0xfffffffc };

/* RCV-03 to RCV-06, RCV-09 to RCV-16, RCV-18: a segment for each FPDU, every order */
static void orders_aligned(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 i;

	for (i = 0; i < 4 * ARRAY_SIZE(bases); i++) {
		stream_begin(s, bases[i / 4], i & 1, i & 2);
		add_some(s);
		all_orders(test, s->at);
	}
}

/* RCV-08, RCV-12, RCV-13, MRK-24: the same, cut anywhere */
static void orders_cut_anywhere(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 cut[PIECES + 1], i, rnd = 21;

	for (i = 0; i < 32; i++) {
		stream_begin(s, bases[i % 4], i & 4, i & 8);
		add_some(s);
		random_cuts(cut, PIECES, s->total, &rnd);
		all_orders(test, cut);
	}
}

/* Small and large FPDUs, many in a row. */
static void add_many(struct stream *s, u32 *rnd)
{
	u32 i;

	for (i = 0; i < 48; i++)
		stream_add(s, 1 + model_random(rnd) % (i % 3 ? 120 : 3000));
}

/* Pieces of random places and sizes until all is here; many come twice. */
static bool arrive_at_random(struct stream *s, u32 *rnd)
{
	u32 left = 20000;

	stream_restart(s);
	while (!stream_complete(s) && left--) {
		u32 off = model_random(rnd) % s->total;
		u32 len = 1 + model_random(rnd) % (model_random(rnd) & 1 ? 60 : 3000);
		const u8 *gap = memchr(s->have, 0, s->total);

		if (gap && model_random(rnd) % 4 == 0)
			off = gap - s->have;
		len = len < s->total - off ? len : s->total - off;
		if (stream_put(s, off, len) < 0)
			return false;
	}
	return stream_complete(s);
}

/* RCV-08, RCV-13 to RCV-16: random pieces, with repetitions and overlaps */
static void streams_at_random(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 i, rnd = 5;

	for (i = 0; i < STREAMS; i++) {
		stream_begin(s, i & 1 ? 0xffff8000 + 4 * i : 4 * i, i % 8 > 1, i & 4);
		add_many(s, &rnd);
		KUNIT_ASSERT_TRUE_MSG(test, arrive_at_random(s, &rnd), "stream %u", i);
	}
}

/* Little room: less is found early, but all in the end, each once (RCV-18) */
static void little_room(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 i, rnd = 6;

	for (i = 0; i < STREAMS; i++) {
		stream_begin(s, 0xffff8000 + 4 * i, i % 8 > 1, i & 4);
		s->judged = false;
		s->room.ring_size = 4096 << i % 3;
		s->room.max_held = 1 + i % 4;
		s->room.max_runs = i % 3;
		add_many(s, &rnd);
		KUNIT_ASSERT_TRUE_MSG(test, arrive_at_random(s, &rnd), "stream %u", i);
	}
}

/* RCV-04: the first segment is lost, the second has a Marker (B23, V2) */
static void first_lost(struct kunit *test)
{
	struct stream *s = test->priv;

	stream_begin(s, 0, true, true);
	stream_add(s, 482);
	stream_add(s, 42);
	KUNIT_ASSERT_EQ(test, s->at[1], 492u);
	stream_restart(s);
	KUNIT_EXPECT_EQ(test, stream_put(s, 492, 52), 52);
	KUNIT_EXPECT_TRUE(test, s->seen[1]);
	KUNIT_EXPECT_EQ(test, s->rc.rx.pos, 492u);
	KUNIT_EXPECT_EQ(test, s->rc.next, 0u);
	KUNIT_EXPECT_EQ(test, stream_put(s, 0, 492), 492);
	KUNIT_EXPECT_TRUE(test, stream_complete(s));
}

/* RCV-06: not before its last byte is here; MRK-18: nor waiting for more */
static void last_byte(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 end;

	stream_begin(s, 0, true, true);
	stream_add(s, 100);
	stream_add(s, 902);
	end = s->at[2];
	KUNIT_ASSERT_EQ(test, end, 1024u);
	stream_restart(s);
	KUNIT_EXPECT_TRUE(test, stream_put(s, s->at[1], end - s->at[1] - 1) > 0);
	KUNIT_EXPECT_FALSE(test, s->seen[1]);
	KUNIT_EXPECT_EQ(test, stream_put(s, end - 1, 1), 1);
	KUNIT_EXPECT_TRUE(test, s->seen[1]);
}

/*
 * RCV-29, MRK-06, MRK-12, MRK-16: a Marker at s leads to s + 4 or s - FPDUPTR,
 * also across 2^32; when that is not here, only the next Marker helps
 */
static void where_markers_lead(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 mid;

	stream_begin(s, 0xffffff04, true, true);
	stream_add(s, 1000);
	stream_add(s, 496);
	stream_add(s, 600);
	KUNIT_ASSERT_EQ(test, get_unaligned_be32(s->wire + 0xfc), 0xfcu);
	stream_restart(s);
	/* without the first bytes the Markers of the first lead nowhere */
	KUNIT_EXPECT_TRUE(test, stream_put(s, 8, s->at[1] - 8) > 0);
	KUNIT_EXPECT_FALSE(test, s->seen[0]);
	mid = s->at[1] + 8;
	KUNIT_EXPECT_TRUE(test, stream_put(s, mid, s->total - mid) > 0);
	KUNIT_EXPECT_FALSE(test, s->seen[1]);
	KUNIT_EXPECT_TRUE(test, s->seen[2]);
	KUNIT_EXPECT_EQ(test, stream_put(s, s->at[1], 8), 8);
	KUNIT_EXPECT_TRUE(test, s->seen[1] && !s->seen[0]);
	KUNIT_EXPECT_EQ(test, stream_put(s, 0, 8), 8);
	KUNIT_EXPECT_TRUE(test, stream_complete(s));
}

/* RCV-05: no Marker in it, but it follows one that has; RCV-14: at once */
static void followers(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 i;

	stream_begin(s, 0, true, true);
	stream_add(s, 100);
	stream_add(s, 440);
	for (i = 0; i < 6; i++)
		stream_add(s, 30);
	stream_restart(s);
	for (i = s->n - 1; i > 1; i--) {
		KUNIT_EXPECT_TRUE(test, stream_put(s, s->at[i], s->at[i + 1] - s->at[i]) > 0);
		KUNIT_EXPECT_FALSE(test, s->seen[i]);
	}
	KUNIT_EXPECT_TRUE(test, stream_put(s, s->at[1], s->at[2] - s->at[1]) > 0);
	for (i = 1; i < s->n; i++)
		KUNIT_EXPECT_TRUE(test, s->seen[i]);
	KUNIT_EXPECT_EQ(test, s->rc.next, 0u);
}

/* RCV-02, RCV-26: without Markers an aligned segment still waits for its turn */
static void no_guessing(struct kunit *test)
{
	struct stream *s = test->priv;

	stream_begin(s, 0, false, true);
	add_some(s);
	stream_restart(s);
	KUNIT_EXPECT_TRUE(test, stream_put(s, s->at[1], s->total - s->at[1]) > 0);
	KUNIT_EXPECT_TRUE(test, !memchr(s->seen, true, s->n));
	KUNIT_EXPECT_TRUE(test, stream_put(s, 0, s->at[1]) > 0);
	KUNIT_EXPECT_TRUE(test, stream_complete(s));
}

/* MRK-20: the largest FPDU, before what it follows, with the largest FPDUPTR */
static void largest_fpdu(struct kunit *test)
{
	struct stream *s = test->priv;

	stream_begin(s, 0, true, true);
	stream_add(s, 246);
	stream_add(s, MPA_ULPDU_MAX);
	KUNIT_ASSERT_EQ(test, s->at[1], 256u);
	KUNIT_ASSERT_EQ(test, get_unaligned_be32(s->wire + 65536), 0xff00u);
	stream_restart(s);
	KUNIT_EXPECT_EQ(test, stream_put(s, 256, MPA_FPDU_MAX), MPA_FPDU_MAX);
	KUNIT_EXPECT_TRUE(test, s->seen[1]);
	KUNIT_EXPECT_EQ(test, stream_put(s, 0, 256), 256);
	KUNIT_EXPECT_TRUE(test, stream_complete(s));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(orders_aligned),
	KUNIT_CASE(orders_cut_anywhere),
	KUNIT_CASE(streams_at_random),
	KUNIT_CASE(little_room),
	KUNIT_CASE(first_lost),
	KUNIT_CASE(last_byte),
	KUNIT_CASE(where_markers_lead),
	KUNIT_CASE(followers),
	KUNIT_CASE(no_guessing),
	KUNIT_CASE(largest_fpdu),
	{}
};

struct kunit_suite mpa_recover_suite = {
	.name = "mpa_recover",
	.init = stream_setup,
	.test_cases = cases,
};
