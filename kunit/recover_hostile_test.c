// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/recover.c: segments that lie, repeat, contradict, or are too many. */
#include <kunit/test.h>
#include <linux/string.h>
#include <compat/unaligned.h>
#include "recover_stream.h"
#include "suites.h"

/* Six FPDUs of which each but the first can be found by a Marker. */
static void six(struct stream *s, bool crc)
{
	u32 i;

	stream_begin(s, 0xfffff600, true, crc);
	for (i = 0; i < 6; i++)
		stream_add(s, 600 + 4 * i);
	s->judged = false;
	stream_restart(s);
}

static bool put_fpdus(struct stream *s, u32 first, u32 last)
{
	return stream_put(s, s->at[first], s->at[last + 1] - s->at[first]) >= 0;
}

static bool put_raw(struct stream *s, u32 from, u32 to)
{
	return mpa_recover_put(&s->rc, s->pos + from, s->wire + from, to - from) == to - from;
}

static bool is_seen(const struct stream *s, const char *want)
{
	u32 i;

	for (i = 0; i < s->n; i++)
		if (s->seen[i] != (want[i] == 'x'))
			return false;
	return true;
}

/* The direction has ended at FPDU @i: nothing more is taken or found (ERR-09). */
static bool ended_at(struct stream *s, u32 i, enum wire_err err)
{
	return s->rc.failed == err && s->rc.next == s->pos + s->at[i] &&
	       mpa_recover_next(&s->rc) == MPA_RX_FAILED &&
	       !mpa_recover_put(&s->rc, s->pos, s->wire, s->total) &&
	       mpa_recover_next(&s->rc) == MPA_RX_FAILED && s->rc.failed == err;
}

/*
 * ERR-13, ERR-18, CRC-18, RCV-04: one byte of the third FPDU is wrong. Markers find the FPDUs
 * behind it, its length does not. The error comes in its turn, and FPDUs that were placed early
 * are not delivered.
 */
static void crc_errors(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 at;

	six(s, true);
	for (at = s->at[2]; at < s->at[3]; at++) {
		bool in_len = at < s->at[2] + 2;

		stream_restart(s);
		s->wire[at] ^= 1 << at % 8;
		KUNIT_ASSERT_TRUE(test, put_fpdus(s, 1, 5));
		KUNIT_ASSERT_TRUE_MSG(test, is_seen(s, "-x-xxx"), "byte %u", at);
		KUNIT_ASSERT_TRUE(test, put_fpdus(s, 0, 0));
		s->wire[at] ^= 1 << at % 8;
		/* with another length it ends elsewhere, perhaps not at all yet */
		if (in_len && !s->rc.failed)
			continue;
		KUNIT_ASSERT_TRUE(test, is_seen(s, "xx-xxx"));
		KUNIT_ASSERT_TRUE_MSG(test, ended_at(s, 2, WIRE_MPA_CRC) ||
				      (in_len && ended_at(s, 2, WIRE_MPA_MARKER)),
				      "byte %u", at);
	}
}

/* The Markers in FPDU @i, by @flip: its CRC made right again. */
static void bend_markers(struct stream *s, u32 i, u32 flip)
{
	u32 at = s->at[i] + (-(s->pos + s->at[i]) & 511);

	for (; at < s->at[i + 1]; at += 512)
		put_unaligned_be32(get_unaligned_be32(s->wire + at) ^ flip, s->wire + at);
	stream_fix(s, i);
}

/*
 * ERR-03, ERR-04: every other value of FPDUPTR is a lie. It finds nothing, and is
 * code 3 in its turn, because the CRC shows that the peer sent it so.
 */
static void lying_markers(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 flip;

	six(s, true);
	for (flip = 4; flip < 0x10000; flip += flip < 0x1000 ? 4 : 0x3fc) {
		stream_restart(s);
		bend_markers(s, 2, flip);
		KUNIT_ASSERT_TRUE(test, put_fpdus(s, 3, 5) && put_fpdus(s, 1, 2));
		KUNIT_ASSERT_TRUE_MSG(test, is_seen(s, "-x-xxx"), "flip %#x", flip);
		KUNIT_ASSERT_TRUE(test, put_fpdus(s, 0, 0));
		KUNIT_ASSERT_TRUE(test, is_seen(s, "xx-xxx"));
		KUNIT_ASSERT_TRUE(test, ended_at(s, 2, WIRE_MPA_MARKER));
		bend_markers(s, 2, flip);
	}
}

/*
 * GAP-14: with the CRC off nothing refutes a Marker that leads to bytes with a
 * fitting length, until the chain of lengths does in its turn.
 */
static void lying_markers_without_crc(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 flip;

	six(s, false);
	for (flip = 4; flip < 0x10000; flip += flip < 0x1000 ? 4 : 0x3fc) {
		stream_restart(s);
		bend_markers(s, 2, flip);
		KUNIT_ASSERT_TRUE(test, put_raw(s, s->at[1], s->total));
		while (mpa_recover_next(&s->rc) == MPA_RX_FPDU)
			KUNIT_ASSERT_TRUE(test, s->rc.rx.pos != s->pos + s->at[2]);
		KUNIT_ASSERT_TRUE(test, put_raw(s, 0, s->at[1]));
		while (mpa_recover_next(&s->rc) == MPA_RX_FPDU)
			;
		KUNIT_ASSERT_TRUE_MSG(test, ended_at(s, 2, WIRE_MPA_MARKER), "flip %#x", flip);
		bend_markers(s, 2, flip);
	}
}

/* MRK-05, MRK-07: Reserved and the low bits say nothing */
static void loose_markers(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 i;

	six(s, true);
	for (i = 0; i < 6; i++)
		bend_markers(s, i, 0xffff0003);
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 1, 5));
	KUNIT_EXPECT_TRUE(test, is_seen(s, "-xxxxx"));
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 0, 0));
	KUNIT_EXPECT_TRUE(test, stream_complete(s));
}

/*
 * ERR-04, GAP-13: the ULPDU of an FPDU has a whole, valid FPDU in it, and a Marker that points
 * there. The inner one is found early, because nothing shows more. When the gap closes the chain
 * of lengths does, and with a right CRC that is code 3.
 */
static void fpdu_in_fpdu(struct kunit *test)
{
	struct stream *s = test->priv;
	u8 inner[64];
	u32 size, at;

	stream_begin(s, 0, true, true);
	stream_add(s, 1200);
	s->judged = false;
	/* its Marker stands at 1024 */
	memset(s->ulpdu, 0x5a, 42);
	at = 1024 - 20;
	size = model_fpdu(inner, at, s->ulpdu, 42, true);
	memcpy(s->wire + at, inner, size);
	stream_fix(s, 0);
	stream_restart(s);
	KUNIT_EXPECT_TRUE(test, put_raw(s, at, at + size));
	KUNIT_EXPECT_EQ(test, mpa_recover_next(&s->rc), MPA_RX_FPDU);
	KUNIT_EXPECT_EQ(test, s->rc.rx.pos, at);
	KUNIT_EXPECT_EQ(test, mpa_recover_next(&s->rc), MPA_RX_MORE);
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 0, 0));
	KUNIT_EXPECT_TRUE(test, is_seen(s, "-"));
	KUNIT_EXPECT_TRUE(test, ended_at(s, 0, WIRE_MPA_MARKER));
}

/*
 * The same if only the chain can tell, because the FPDU that reaches into the one found
 * has no Marker of its own there.
 */
static void chain_reaches_into_run(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 third;

	stream_begin(s, 0, true, true);
	stream_add(s, 200);
	stream_add(s, 200);
	third = stream_add(s, 200);	/* with the Marker at 512 */
	s->judged = false;
	/* the second claims 40 bytes of the third; both CRCs are right */
	put_unaligned_be16(240, s->wire + s->at[1]);
	model_fix_crc(s->wire + s->at[1], 248);
	stream_fix(s, third);
	stream_restart(s);
	KUNIT_EXPECT_TRUE(test, put_raw(s, s->at[third], s->at[third + 1]));
	KUNIT_EXPECT_EQ(test, mpa_recover_next(&s->rc), MPA_RX_FPDU);
	KUNIT_EXPECT_EQ(test, s->rc.rx.pos, s->at[third]);
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 0, 1));
	KUNIT_EXPECT_TRUE(test, is_seen(s, "x--"));
	KUNIT_EXPECT_TRUE(test, ended_at(s, 1, WIRE_MPA_MARKER));
}

/* The same if the FPDU that reaches too far follows one found early (RCV-05) */
static void follower_reaches_into_run(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 i;

	stream_begin(s, 0, true, true);
	stream_add(s, 300);
	stream_add(s, 300);	/* with the Marker at 512 */
	stream_add(s, 200);
	stream_add(s, 300);	/* with the Marker at 1024 */
	s->judged = false;
	KUNIT_ASSERT_TRUE(test, s->at[3] + 44 < 1024 && s->at[4] > 1024);
	put_unaligned_be16(240, s->wire + s->at[2]);
	model_fix_crc(s->wire + s->at[2], 248);
	stream_fix(s, 3);
	stream_restart(s);
	for (i = 3; i < 4; i -= 2) {
		KUNIT_EXPECT_TRUE(test, put_raw(s, s->at[i], s->at[i + 1]));
		KUNIT_EXPECT_EQ(test, mpa_recover_next(&s->rc), MPA_RX_FPDU);
		KUNIT_EXPECT_EQ(test, s->rc.rx.pos, s->at[i]);
		KUNIT_EXPECT_EQ(test, mpa_recover_next(&s->rc), MPA_RX_MORE);
	}
	KUNIT_EXPECT_TRUE(test, put_raw(s, s->at[2], s->at[3]));
	KUNIT_EXPECT_EQ(test, mpa_recover_next(&s->rc), MPA_RX_MORE);
	KUNIT_EXPECT_TRUE(test, put_raw(s, 0, s->at[1]));
	KUNIT_EXPECT_EQ(test, mpa_recover_next(&s->rc), MPA_RX_FPDU);
	KUNIT_EXPECT_EQ(test, mpa_recover_next(&s->rc), MPA_RX_FAILED);
	KUNIT_EXPECT_TRUE(test, ended_at(s, 2, WIRE_MPA_MARKER));
}

/* A Marker that leads to delivered bytes does not bring them back (RCV-18) */
static void marker_to_the_past(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 at;

	six(s, true);
	at = s->at[2] + (-(s->pos + s->at[2]) & 511);
	put_unaligned_be32(at - MPA_MARKER_SIZE, s->wire + at);
	/* both before the engine is asked, so that both are new to it */
	KUNIT_EXPECT_TRUE(test, put_raw(s, 0, s->at[1]) && put_raw(s, s->at[2], s->at[3]));
	KUNIT_EXPECT_EQ(test, mpa_recover_next(&s->rc), MPA_RX_FPDU);
	KUNIT_EXPECT_EQ(test, s->rc.next, s->pos + s->at[1]);
	KUNIT_EXPECT_EQ(test, mpa_recover_next(&s->rc), MPA_RX_MORE);
}

/* GAP-01, GAP-02: no such length: code 3 in its turn, at once; never early */
static void bad_lengths(struct kunit *test)
{
	static const u16 lens[] = { 0, 64769, 65023, 65535 };
	struct stream *s = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		six(s, i & 1);
		put_unaligned_be16(lens[i], s->wire + s->at[2]);
		KUNIT_EXPECT_TRUE(test, put_fpdus(s, 1, 5));
		KUNIT_EXPECT_TRUE(test, is_seen(s, "-x-xxx"));
		KUNIT_EXPECT_TRUE(test, put_fpdus(s, 0, 0));
		KUNIT_EXPECT_TRUE(test, ended_at(s, 2, WIRE_MPA_MARKER));
	}
}

/* RCV-21: a range that was checked comes again with other bytes */
static void altered_repetition(struct kunit *test)
{
	struct stream *s = test->priv;
	u8 *evil;

	six(s, true);
	evil = s->wire + s->total;
	memset(evil, 0xee, s->total);
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 1, 3));
	KUNIT_EXPECT_TRUE(test, is_seen(s, "-xxx--"));
	/* it overlaps what is known at both ends, too, and ends with it */
	KUNIT_EXPECT_EQ(test, mpa_recover_put(&s->rc, s->pos + s->at[1], evil,
					      s->at[4] - s->at[1]), s->at[4] - s->at[1]);
	KUNIT_EXPECT_EQ(test, mpa_recover_put(&s->rc, s->pos + s->at[2] + 9, evil, 77), 77u);
	KUNIT_EXPECT_TRUE(test, stream_drain(s) && is_seen(s, "-xxx--"));
	KUNIT_EXPECT_FALSE(test, memcmp(s->rc.room.ring +
					((s->pos + s->at[2]) & (STREAM_RING - 1)),
					s->wire + s->at[2], s->at[3] - s->at[2]));
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 0, 0));
	/* delivered: it is behind us */
	KUNIT_EXPECT_EQ(test, mpa_recover_put(&s->rc, s->pos, evil, 2000), 2000u);
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 4, 5));
	KUNIT_EXPECT_TRUE(test, stream_complete(s));
}

/*
 * SEC-01: bytes that were found wrong are not checked again, however often they come; and
 * Markers that contradict each other cost no CRC.
 */
static void work_is_bounded(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 i;

	six(s, true);
	s->wire[s->at[3] + 99] ^= 1;
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 3, 5));
	KUNIT_EXPECT_TRUE(test, is_seen(s, "----xx"));
	KUNIT_EXPECT_EQ(test, s->rc.checked, (u64)s->at[6] - s->at[3]);
	for (i = s->at[3]; i < s->at[5]; i += 7)
		KUNIT_ASSERT_EQ(test, stream_put(s, i, 300), 300);
	KUNIT_EXPECT_EQ(test, s->rc.checked, (u64)s->at[6] - s->at[3]);

	/* Nor if the last piece ends inside it. */
	six(s, true);
	s->wire[s->at[3] + 99] ^= 1;
	KUNIT_EXPECT_GE(test, stream_put(s, s->at[3] + 300, s->at[6] - s->at[3] - 300), 0);
	for (i = 0; i < 9; i++)
		KUNIT_ASSERT_EQ(test, stream_put(s, s->at[3], 300), 300);
	KUNIT_EXPECT_EQ(test, s->rc.checked, (u64)s->at[6] - s->at[3]);

	stream_begin(s, 0, true, true);
	stream_add(s, 200);
	stream_add(s, 2000);
	put_unaligned_be32(0, s->wire + 1024);
	put_unaligned_be32(0, s->wire + 2048);
	stream_restart(s);
	s->judged = false;
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 1, 1));
	KUNIT_EXPECT_EQ(test, s->rc.checked, 0ull);
}

/* A piece that lies across several gaps fills these and nothing else */
static void across_gaps(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 i;

	stream_begin(s, 0xfffff000, true, true);
	for (i = 0; i < 6; i++)
		stream_add(s, 700);
	for (i = 0; i < s->n; i++) {
		u32 at;

		stream_restart(s);
		for (at = s->at[i]; at + 10 < s->total; at += 97)
			KUNIT_ASSERT_EQ(test, stream_put(s, at + 3, 10), 10);
		KUNIT_ASSERT_EQ(test, stream_put(s, s->at[i], s->total - s->at[i]),
				(int)(s->total - s->at[i]));
		KUNIT_ASSERT_EQ(test, s->rc.n_held, i ? 2u : 1u);
		KUNIT_ASSERT_EQ(test, stream_put(s, 0, s->at[i]), (int)s->at[i]);
		KUNIT_ASSERT_TRUE(test, stream_complete(s));
	}
}

/* More gaps than entries: a new gap is refused and has to come again, the rest is taken */
static void more_gaps_than_room(struct kunit *test)
{
	struct stream *s = test->priv;

	six(s, true);
	s->room.max_held = 3;
	stream_restart(s);
	KUNIT_EXPECT_EQ(test, stream_put(s, 100, 10), 10);
	KUNIT_EXPECT_EQ(test, stream_put(s, 200, 10), 10);
	KUNIT_EXPECT_EQ(test, stream_put(s, 300, 10), 0);
	KUNIT_EXPECT_EQ(test, stream_put(s, 190, 10), 10);
	KUNIT_EXPECT_EQ(test, stream_put(s, 50, 10), 0);
	KUNIT_EXPECT_EQ(test, s->rc.n_held, 3u);
	KUNIT_EXPECT_EQ(test, stream_put(s, 0, 60), 60);
	KUNIT_EXPECT_EQ(test, stream_put(s, 80, 300), 300);
	KUNIT_EXPECT_EQ(test, s->rc.n_held, 2u);
	KUNIT_EXPECT_EQ(test, stream_put(s, 50, s->total - 50), (int)s->total - 50);
	KUNIT_EXPECT_TRUE(test, stream_complete(s));
}

/* No room to note an FPDU: not found early, but in its turn */
static void more_runs_than_room(struct kunit *test)
{
	struct stream *s = test->priv;

	six(s, true);
	s->room.max_runs = 1;
	stream_restart(s);
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 1, 1) && put_fpdus(s, 3, 3));
	KUNIT_EXPECT_TRUE(test, is_seen(s, "-x----"));
	/* next to one that is noted there is room */
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 2, 2));
	KUNIT_EXPECT_TRUE(test, is_seen(s, "-xxx--"));
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 5, 5));
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 0, 0));
	KUNIT_EXPECT_TRUE(test, is_seen(s, "xxxx--"));
	KUNIT_EXPECT_TRUE(test, put_fpdus(s, 4, 4));
	KUNIT_EXPECT_TRUE(test, stream_complete(s));
}

/* Bytes beyond the window are not taken; of a piece across its edge the first part is (RCV-24) */
static void window(struct kunit *test)
{
	struct stream *s = test->priv;

	six(s, true);
	s->room.ring_size = 1024;
	stream_restart(s);
	KUNIT_EXPECT_EQ(test, stream_put(s, 1024, 10), 0);
	KUNIT_EXPECT_EQ(test, stream_put(s, 1000, 100), 24);
	KUNIT_EXPECT_EQ(test, stream_put(s, 0, 1000), 1000);
	KUNIT_EXPECT_TRUE(test, is_seen(s, "x-----"));
	/* it has moved on; old bytes in front cost nothing */
	KUNIT_EXPECT_EQ(test, stream_put(s, 0, s->total), (int)s->at[1] + 1024);
	KUNIT_EXPECT_EQ(test, mpa_recover_put(&s->rc, s->pos - 5, s->wire, 5), 5u);
	KUNIT_EXPECT_EQ(test, mpa_recover_put(&s->rc, s->rc.next + 0x7fffffff, s->wire, 5), 0u);
	KUNIT_EXPECT_EQ(test, mpa_recover_put(&s->rc, s->rc.next, s->wire, 0), 0u);
}

/* An FPDU that can never be held ends the connection, and not with a wait */
static void too_large_for_the_ring(struct kunit *test)
{
	struct stream *s = test->priv;

	six(s, true);
	s->room.ring_size = 512;
	stream_restart(s);
	KUNIT_EXPECT_EQ(test, stream_put(s, 0, 5), 5);
	KUNIT_EXPECT_EQ(test, s->rc.failed, WIRE_OK);
	KUNIT_EXPECT_EQ(test, stream_put(s, 5, 1), 1);
	KUNIT_EXPECT_TRUE(test, ended_at(s, 0, WIRE_MPA_LOCAL));
}

/* SEC-01: noise never makes an FPDU, and no entry beyond the room */
static void noise(struct kunit *test)
{
	struct stream *s = test->priv;
	u32 i, k, rnd = 17, n;

	for (i = 0; i < 300; i++) {
		stream_begin(s, 4 * model_random(&rnd), true, true);
		s->room.ring_size = 2048;
		s->room.max_held = 1 + i % 5;
		s->room.max_runs = i % 3;
		stream_restart(s);
		for (k = 0; k < 2048; k++)
			s->wire[k] = model_random(&rnd) >> 9;
		s->wire[0] = 0;
		s->wire[4] = 0;
		for (k = 0; k < 40; k++) {
			u32 pos = s->pos + model_random(&rnd) % 2200 - 50;

			n = model_random(&rnd) % 400;
			n = mpa_recover_put(&s->rc, pos, s->wire + k * 40, n);
			KUNIT_ASSERT_TRUE(test, n <= 400);
			KUNIT_ASSERT_TRUE(test, mpa_recover_next(&s->rc) != MPA_RX_FPDU);
			KUNIT_ASSERT_TRUE(test, s->rc.n_held >= 1 &&
					  s->rc.n_held <= s->room.max_held);
			KUNIT_ASSERT_EQ(test, s->rc.n_runs, 0u);
			KUNIT_ASSERT_EQ(test, s->rc.next, s->pos);
		}
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(crc_errors),
	KUNIT_CASE(lying_markers),
	KUNIT_CASE(lying_markers_without_crc),
	KUNIT_CASE(loose_markers),
	KUNIT_CASE(fpdu_in_fpdu),
	KUNIT_CASE(chain_reaches_into_run),
	KUNIT_CASE(follower_reaches_into_run),
	KUNIT_CASE(marker_to_the_past),
	KUNIT_CASE(bad_lengths),
	KUNIT_CASE(altered_repetition),
	KUNIT_CASE(work_is_bounded),
	KUNIT_CASE(across_gaps),
	KUNIT_CASE(more_gaps_than_room),
	KUNIT_CASE(more_runs_than_room),
	KUNIT_CASE(window),
	KUNIT_CASE(too_large_for_the_ring),
	KUNIT_CASE(noise),
	{}
};

struct kunit_suite mpa_recover_hostile_suite = {
	.name = "mpa_recover_hostile",
	.init = stream_setup,
	.test_cases = cases,
};
