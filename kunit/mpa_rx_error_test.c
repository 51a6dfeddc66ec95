// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/mpa.c: bytes that the receiver must refuse, and bytes that it must not. */
#include <kunit/test.h>
#include <linux/string.h>
#include <compat/unaligned.h>
#include <wire/mpa.h>
#include "model.h"
#include "mpa_rx.h"
#include "suites.h"

static bool sticky(struct mpa_rx *rx, enum wire_err err, const u8 *good, u32 size)
{
	u32 used;

	return rx->failed == err &&
	       mpa_rx_feed(rx, good, size, &used) == MPA_RX_FAILED && !used &&
	       rx->failed == err;
}

/*
 * One byte is wrong: a CRC error (CRC-18, ERR-02, ERR-13). If the byte is in the length there may
 * be no FPDU yet, or no valid length. Nothing is taken after it (ERR-09).
 */
static void bytes_flipped(struct kunit *test)
{
	struct rx_work *w = test->priv;
	u32 i, at, len_at, used, size;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];

		size = model_vector(v, w->ulpdu, w->wire);
		if (size > 1460)
			continue;
		len_at = v->markers && !(v->pos % 512) ? 4 : 0;
		for (at = 0; at < size; at++) {
			enum mpa_rx_verdict verdict;
			bool in_len = at == len_at || at == len_at + 1;

			rx_start(&w->rx, v->pos, v->markers, true);
			w->wire[at] ^= 1 << at % 8;
			verdict = mpa_rx_feed(&w->rx, w->wire, size, &used);
			w->wire[at] ^= 1 << at % 8;
			KUNIT_ASSERT_TRUE(test, verdict != MPA_RX_FPDU);
			if (in_len && verdict == MPA_RX_MORE)
				continue;
			KUNIT_ASSERT_TRUE_MSG(test, w->rx.failed == WIRE_MPA_CRC ||
					      (in_len && w->rx.failed == WIRE_MPA_MARKER),
					      "%s byte %u", v->name, at);
			KUNIT_ASSERT_TRUE(test, sticky(&w->rx, w->rx.failed, w->wire, size));
		}
	}
}

/* Verdict on the bytes at @w->wire, all at once and one by one. */
static enum wire_err judge(struct rx_work *w, u32 pos, bool markers, bool crc, u32 size)
{
	enum mpa_rx_verdict verdict = MPA_RX_MORE;
	enum wire_err whole;
	u32 used, at;

	rx_start(&w->rx, pos, markers, crc);
	mpa_rx_feed(&w->rx, w->wire, size, &used);
	whole = w->rx.failed;
	rx_start(&w->rx, pos, markers, crc);
	for (at = 0; at < size && verdict == MPA_RX_MORE; at++)
		verdict = mpa_rx_feed(&w->rx, w->wire + at, 1, &used);
	if (w->rx.failed != whole || (!whole && verdict != MPA_RX_FPDU))
		return WIRE_ERR_MAX;
	return whole;
}

/* GAP-01, GAP-02: no such lengths, with Markers and without, at once */
static void bad_lengths(struct kunit *test)
{
	struct rx_work *w = test->priv;
	u32 len, pos;

	for (len = MPA_ULPDU_MAX; len <= 65536; len++) {
		for (pos = 0; pos <= 4; pos += 4) {
			u32 lead = pos ? 0 : 4, used;
			bool good = len == MPA_ULPDU_MAX;

			memset(w->wire, 0, 8);
			put_unaligned_be16(len, w->wire + lead);	/* 65536 is 0 */
			rx_start(&w->rx, pos, true, true);
			KUNIT_ASSERT_EQ(test, mpa_rx_feed(&w->rx, w->wire, lead + 2, &used),
					good ? MPA_RX_MORE : MPA_RX_FAILED);
			KUNIT_ASSERT_EQ(test, w->rx.failed, good ? WIRE_OK : WIRE_MPA_MARKER);
			rx_start(&w->rx, pos, false, true);
			mpa_rx_feed(&w->rx, w->wire + lead, 2, &used);
			KUNIT_ASSERT_EQ(test, w->rx.failed, good ? WIRE_OK : WIRE_MPA_MARKER);
			/* All of its bytes are here, and no CRC is checked. */
			rx_start(&w->rx, pos, false, false);
			KUNIT_ASSERT_EQ(test, mpa_rx_feed(&w->rx, w->wire + lead, MODEL_MAX, &used),
					good ? MPA_RX_FPDU : MPA_RX_FAILED);
			KUNIT_ASSERT_EQ(test, w->rx.failed, good ? WIRE_OK : WIRE_MPA_MARKER);
		}
	}
}

/* FRM-06: PAD counts for the CRC and for nothing else */
static void pad_contents(struct kunit *test)
{
	struct rx_work *w = test->priv;
	const struct fpdu_vector *v = &fpdu_vectors[8];	/* B5, pad 3 */
	u32 size = model_vector(v, w->ulpdu, w->wire);

	KUNIT_ASSERT_STREQ(test, v->name, "B5");
	w->wire[6] = 0x77;
	KUNIT_EXPECT_EQ(test, judge(w, 0, false, true, size), WIRE_MPA_CRC);
	KUNIT_EXPECT_EQ(test, judge(w, 0, false, false, size), WIRE_OK);
	model_fix_crc(w->wire, size);
	KUNIT_EXPECT_EQ(test, judge(w, 0, false, true, size), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, rx_holds(w, v->len, size));
}

/* CRC-06, CRC-08, CRC-19: the field is not looked at */
static void crc_off(struct kunit *test)
{
	struct rx_work *w = test->priv;
	u32 i, size;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];

		size = model_vector(v, w->ulpdu, w->wire);
		put_unaligned_be32(0xdeadbeef, w->wire + size - 4);
		KUNIT_EXPECT_EQ(test, judge(w, v->pos, v->markers, false, size), WIRE_OK);
		KUNIT_EXPECT_TRUE_MSG(test, rx_holds(w, v->len, size), "%s", v->name);
	}
}

/*
 * A Marker that points elsewhere: code 3, if the CRC shows that the peer sent it so
 * (ERR-03, ERR-04) or CRCs are off (GAP-14); else code 2.
 */
static void stray_markers(struct kunit *test)
{
	struct rx_work *w = test->priv;
	u32 i, at, size;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];

		size = model_vector(v, w->ulpdu, w->wire);
		if (!v->markers || size > 1460)
			continue;
		for (at = -v->pos % 512; at < size; at += 512) {
			w->wire[at + 3] ^= 4;
			KUNIT_EXPECT_EQ(test, judge(w, v->pos, true, true, size), WIRE_MPA_CRC);
			KUNIT_EXPECT_EQ(test, judge(w, v->pos, true, false, size),
					WIRE_MPA_MARKER);
			model_fix_crc(w->wire, size);
			KUNIT_EXPECT_EQ(test, judge(w, v->pos, true, true, size),
					WIRE_MPA_MARKER);
			KUNIT_EXPECT_TRUE(test, sticky(&w->rx, WIRE_MPA_MARKER, w->wire, size));
			w->wire[at + 3] ^= 4;
			w->wire[at + 2] ^= 0x80;
			model_fix_crc(w->wire, size);
			KUNIT_EXPECT_EQ_MSG(test, judge(w, v->pos, true, true, size),
					    WIRE_MPA_MARKER, "%s Marker at %u", v->name, at);
			w->wire[at + 2] ^= 0x80;
		}
	}
}

/* MRK-05, MRK-07: Reserved and the low bits of FPDUPTR are only CRC input */
static void loose_markers(struct kunit *test)
{
	struct rx_work *w = test->priv;
	u32 i, at, size;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];

		size = model_vector(v, w->ulpdu, w->wire);
		if (!v->markers || size > 1460)
			continue;
		for (at = -v->pos % 512; at < size; at += 512) {
			put_unaligned_be16(0xffff, w->wire + at);
			w->wire[at + 3] |= 3;
		}
		KUNIT_EXPECT_EQ(test, judge(w, v->pos, true, false, size), WIRE_OK);
		model_fix_crc(w->wire, size);
		KUNIT_EXPECT_EQ(test, judge(w, v->pos, true, true, size), WIRE_OK);
		KUNIT_EXPECT_TRUE_MSG(test, rx_holds(w, v->len, size), "%s", v->name);
	}
}

/* SEC-01: random bytes: no read beyond the piece, and no FPDU, because the CRC is wrong */
static void noise(struct kunit *test)
{
	struct rx_work *w = test->priv;
	u32 rnd = 11, i, at, used, n;

	for (i = 0; i < 2000; i++) {
		rx_start(&w->rx, 4 * (model_random(&rnd) % 1000), i & 1, true);
		for (at = 0; at < 600; at++)
			w->wire[at] = model_random(&rnd) >> 7;
		w->wire[4] = w->wire[4] % 3;
		for (at = 0; at < 600 && !w->rx.failed; at += used) {
			n = 1 + model_random(&rnd) % (600 - at);
			KUNIT_ASSERT_TRUE(test, mpa_rx_feed(&w->rx, w->wire + at, n, &used) !=
					  MPA_RX_FPDU);
			KUNIT_ASSERT_TRUE(test, used <= n);
		}
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(bytes_flipped),
	KUNIT_CASE(bad_lengths),
	KUNIT_CASE(pad_contents),
	KUNIT_CASE(crc_off),
	KUNIT_CASE(stray_markers),
	KUNIT_CASE(loose_markers),
	KUNIT_CASE(noise),
	{}
};

struct kunit_suite mpa_rx_error_suite = {
	.name = "mpa_rx_error",
	.init = rx_setup,
	.test_cases = cases,
};
