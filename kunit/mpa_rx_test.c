// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/mpa.c: verifying FPDUs, whatever pieces they come in. */
#include <kunit/test.h>
#include <linux/string.h>
#include <asm/unaligned.h>
#include <wire/mpa.h>
#include "model.h"
#include "suites.h"

struct work {
	u8 *ulpdu;
	u8 *wire;
	u8 *back;
	struct mpa_rx rx;
};

static int setup(struct kunit *test)
{
	struct work *w = (struct work *)model_alloc(test, sizeof(*w));

	w->ulpdu = model_alloc(test, MODEL_MAX);
	w->wire = model_alloc(test, 2 * MODEL_MAX);
	w->back = model_alloc(test, MODEL_MAX);
	test->priv = w;
	return 0;
}

static void start(struct mpa_rx *rx, u32 pos, bool markers, bool crc)
{
	mpa_rx_init(rx, markers, crc);
	/* Step to @pos as a stream of FPDUs would. */
	rx->size = pos;
	mpa_rx_next(rx);
}

/* Copy the ULPDU out of the wire octets by its spans; its length. */
static u32 extract(const struct mpa_rx *rx, const u8 *wire, u8 *out)
{
	u32 off = 0, at, n;

	while ((n = mpa_ulpdu_span(rx, off, &at))) {
		memcpy(out + off, wire + at, n);
		off += n;
	}
	return off;
}

/* @w->rx holds a whole FPDU of @len octets of @w->ulpdu. */
static bool holds(struct work *w, u32 len, u32 size)
{
	u32 hdr = len < MPA_RX_HDR_MAX ? len : MPA_RX_HDR_MAX;

	return w->rx.size == size && w->rx.seen == size && w->rx.ulpdu_len == len &&
	       w->rx.hdr_len == hdr && !memcmp(w->rx.hdr, w->ulpdu, hdr) &&
	       extract(&w->rx, w->wire, w->back) == len &&
	       !memcmp(w->back, w->ulpdu, len);
}

/* Feed @n octets that end before the FPDU does. */
static bool more(struct mpa_rx *rx, const u8 *data, u32 n)
{
	u32 used;

	return mpa_rx_feed(rx, data, n, &used) == MPA_RX_MORE && used == n &&
	       mpa_rx_missing(rx) >= 1;
}

/* Feed @n octets of which the first @end finish the FPDU. */
static bool done(struct mpa_rx *rx, const u8 *data, u32 n, u32 end)
{
	u32 used;

	return mpa_rx_feed(rx, data, n, &used) == MPA_RX_FPDU && used == end;
}

/* FRM-13, FRM-14, RCV-03, RCV-06, MRK-24: in one piece, next FPDU behind it */
static void vectors_whole(struct kunit *test)
{
	struct work *w = test->priv;
	u32 i, size;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];

		size = model_vector(v, w->ulpdu, w->wire);
		start(&w->rx, v->pos, v->markers, true);
		KUNIT_EXPECT_TRUE_MSG(test, done(&w->rx, w->wire, size + 100, size),
				      "%s", v->name);
		KUNIT_EXPECT_TRUE_MSG(test, holds(w, v->len, size), "%s", v->name);
		mpa_rx_next(&w->rx);
		KUNIT_EXPECT_EQ(test, w->rx.pos, v->pos + size);
	}
}

/* RCV-08, RCV-10 to RCV-13, RCV-28, MRK-24: every two-piece split */
static void vectors_split(struct kunit *test)
{
	struct work *w = test->priv;
	u32 i, cut, size;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];

		size = model_vector(v, w->ulpdu, w->wire);
		for (cut = 0; cut < size; cut += size > 1460 ? size / 61 | 1 : 1) {
			start(&w->rx, v->pos, v->markers, true);
			if (more(&w->rx, w->wire, cut) &&
			    done(&w->rx, w->wire + cut, size - cut, size - cut) &&
			    holds(w, v->len, size))
				continue;
			KUNIT_FAIL(test, "%s cut at %u", v->name, cut);
			return;
		}
	}
}

/* MRK-18, RCV-06: complete with its last octet, never before */
static void vectors_by_octet(struct kunit *test)
{
	struct work *w = test->priv;
	u32 i, at, size;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];

		size = model_vector(v, w->ulpdu, w->wire);
		start(&w->rx, v->pos, v->markers, true);
		for (at = 0; at < size - 1; at++) {
			KUNIT_ASSERT_TRUE(test, more(&w->rx, w->wire + at, 1));
			KUNIT_ASSERT_TRUE(test, mpa_rx_missing(&w->rx) <= size - at - 1);
			if (w->rx.size)
				KUNIT_ASSERT_EQ(test, mpa_rx_missing(&w->rx), size - at - 1);
		}
		KUNIT_ASSERT_TRUE(test, done(&w->rx, w->wire + at, 1, 1));
		KUNIT_EXPECT_TRUE_MSG(test, holds(w, v->len, size), "%s", v->name);
		/* fed on without mpa_rx_next(), it takes nothing */
		KUNIT_EXPECT_TRUE(test, done(&w->rx, w->wire, 1, 0));
	}
}

/* Every three-piece split of a short FPDU with a Marker inside */
static void three_pieces(struct kunit *test)
{
	struct work *w = test->priv;
	const struct fpdu_vector *v = &fpdu_vectors[1];	/* V2 */
	u32 a, b, size = model_vector(v, w->ulpdu, w->wire);

	for (a = 0; a < size; a++) {
		for (b = a; b < size; b++) {
			start(&w->rx, v->pos, true, true);
			KUNIT_ASSERT_TRUE(test, more(&w->rx, w->wire, a));
			KUNIT_ASSERT_TRUE(test, more(&w->rx, w->wire + a, b - a));
			KUNIT_ASSERT_TRUE(test, done(&w->rx, w->wire + b, size, size - b));
			KUNIT_ASSERT_TRUE(test, holds(w, v->len, size));
		}
	}
}

static bool sticky(struct mpa_rx *rx, enum wire_err err, const u8 *good, u32 size)
{
	u32 used;

	return rx->failed == err &&
	       mpa_rx_feed(rx, good, size, &used) == MPA_RX_FAILED && !used &&
	       rx->failed == err;
}

/*
 * One octet wrong: a CRC error (CRC-18, ERR-02, ERR-13); where the length was
 * hit, perhaps no FPDU yet or no length at all. Nothing after it (ERR-09).
 */
static void octets_flipped(struct kunit *test)
{
	struct work *w = test->priv;
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

			start(&w->rx, v->pos, v->markers, true);
			w->wire[at] ^= 1 << at % 8;
			verdict = mpa_rx_feed(&w->rx, w->wire, size, &used);
			w->wire[at] ^= 1 << at % 8;
			KUNIT_ASSERT_TRUE(test, verdict != MPA_RX_FPDU);
			if (in_len && verdict == MPA_RX_MORE)
				continue;
			KUNIT_ASSERT_TRUE_MSG(test, w->rx.failed == WIRE_MPA_CRC ||
					      (in_len && w->rx.failed == WIRE_MPA_MARKER),
					      "%s octet %u", v->name, at);
			KUNIT_ASSERT_TRUE(test, sticky(&w->rx, w->rx.failed, w->wire, size));
		}
	}
}

/* Verdict on the octets at @w->wire, all at once and one by one. */
static enum wire_err judge(struct work *w, u32 pos, bool markers, bool crc, u32 size)
{
	enum mpa_rx_verdict verdict = MPA_RX_MORE;
	enum wire_err whole;
	u32 used, at;

	start(&w->rx, pos, markers, crc);
	mpa_rx_feed(&w->rx, w->wire, size, &used);
	whole = w->rx.failed;
	start(&w->rx, pos, markers, crc);
	for (at = 0; at < size && verdict == MPA_RX_MORE; at++)
		verdict = mpa_rx_feed(&w->rx, w->wire + at, 1, &used);
	if (w->rx.failed != whole || (!whole && verdict != MPA_RX_FPDU))
		return WIRE_ERR_MAX;
	return whole;
}

/* GAP-01, GAP-02: no such lengths, with Markers and without, at once */
static void bad_lengths(struct kunit *test)
{
	struct work *w = test->priv;
	u32 len, pos;

	for (len = MPA_ULPDU_MAX; len <= 65536; len++) {
		for (pos = 0; pos <= 4; pos += 4) {
			u32 lead = pos ? 0 : 4, used;
			bool good = len == MPA_ULPDU_MAX;

			memset(w->wire, 0, 8);
			put_unaligned_be16(len, w->wire + lead);	/* 65536 is 0 */
			start(&w->rx, pos, true, true);
			KUNIT_ASSERT_EQ(test, mpa_rx_feed(&w->rx, w->wire, lead + 2, &used),
					good ? MPA_RX_MORE : MPA_RX_FAILED);
			KUNIT_ASSERT_EQ(test, w->rx.failed, good ? WIRE_OK : WIRE_MPA_MARKER);
			start(&w->rx, pos, false, true);
			mpa_rx_feed(&w->rx, w->wire + lead, 2, &used);
			KUNIT_ASSERT_EQ(test, w->rx.failed, good ? WIRE_OK : WIRE_MPA_MARKER);
		}
	}
}

/* FRM-06: PAD counts for the CRC and for nothing else */
static void pad_contents(struct kunit *test)
{
	struct work *w = test->priv;
	const struct fpdu_vector *v = &fpdu_vectors[8];	/* B5, pad 3 */
	u32 size = model_vector(v, w->ulpdu, w->wire);

	KUNIT_ASSERT_STREQ(test, v->name, "B5");
	w->wire[6] = 0x77;
	KUNIT_EXPECT_EQ(test, judge(w, 0, false, true, size), WIRE_MPA_CRC);
	KUNIT_EXPECT_EQ(test, judge(w, 0, false, false, size), WIRE_OK);
	model_fix_crc(w->wire, size);
	KUNIT_EXPECT_EQ(test, judge(w, 0, false, true, size), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, holds(w, v->len, size));
}

/* CRC-06, CRC-08, CRC-19: the field is not looked at */
static void crc_off(struct kunit *test)
{
	struct work *w = test->priv;
	u32 i, size;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];

		size = model_vector(v, w->ulpdu, w->wire);
		put_unaligned_be32(0xdeadbeef, w->wire + size - 4);
		KUNIT_EXPECT_EQ(test, judge(w, v->pos, v->markers, false, size), WIRE_OK);
		KUNIT_EXPECT_TRUE_MSG(test, holds(w, v->len, size), "%s", v->name);
	}
}

/*
 * A Marker that points elsewhere: code 3, if the CRC shows that the peer said so
 * (ERR-03, ERR-04) or nobody asks the CRC (GAP-14); else code 2.
 */
static void stray_markers(struct kunit *test)
{
	struct work *w = test->priv;
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
	struct work *w = test->priv;
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
		KUNIT_EXPECT_TRUE_MSG(test, holds(w, v->len, size), "%s", v->name);
	}
}

/* FRM-17, RCV-06: our own sender and receiver at every start position */
static void round_trip(struct kunit *test)
{
	struct work *w = test->priv;
	struct mpa_tx tx;
	u32 p, len, size;

	model_fill(w->ulpdu, 2048, FILL_PATTERN, 0);
	for (p = 0; p < 512; p += P_STEP) {
		for (len = 1; len < 1600; len += len > 470 && len < 530 ? 1 : 13) {
			mpa_tx_init(&tx, true, true);
			tx.pos = p;
			mpa_tx_begin(&tx, w->wire, len);
			mpa_tx_put(&tx, w->ulpdu, len);
			size = mpa_tx_end(&tx);
			start(&w->rx, p, true, true);
			if (done(&w->rx, w->wire, size, size) && holds(w, len, size))
				continue;
			KUNIT_FAIL(test, "at %u, %u octets", p, len);
			return;
		}
	}
}

/* Some FPDUs in a row at @w->wire; octets in all, lengths to @lens. */
static u32 build_chain(struct work *w, u32 pos, bool markers, u32 *lens, u32 n, u32 *rnd)
{
	u32 i, at = 0;

	for (i = 0; i < n; i++) {
		lens[i] = 1 + model_random(rnd) % (i % 3 ? 80 : 1500);
		model_fill(w->ulpdu, lens[i], FILL_PATTERN, 0);
		at += model_fpdu(w->wire + at, pos + at, w->ulpdu, lens[i], markers);
	}
	return at;
}

#define CHAIN	24

/* RCV-09 to RCV-13, MRK-15, MRK-16: any chain in any pieces; positions wrap */
static void run_chain(struct kunit *test, u32 pos, bool markers, bool crc, u32 *rnd)
{
	struct work *w = test->priv;
	u32 lens[CHAIN], begin = 0, at = 0, got = 0, used, n;
	u32 total = build_chain(w, pos, markers, lens, CHAIN, rnd);

	start(&w->rx, pos, markers, crc);
	while (at < total) {
		n = 1 + model_random(rnd) % (model_random(rnd) & 1 ? 9 : 2000);
		n = n < total - at ? n : total - at;
		while (n) {
			enum mpa_rx_verdict v = mpa_rx_feed(&w->rx, w->wire + at, n, &used);

			KUNIT_ASSERT_TRUE(test, used <= n && v != MPA_RX_FAILED);
			at += used;
			n -= used;
			if (v == MPA_RX_MORE) {
				KUNIT_ASSERT_EQ(test, n, 0u);
				continue;
			}
			KUNIT_ASSERT_EQ(test, w->rx.ulpdu_len, lens[got++]);
			KUNIT_ASSERT_EQ(test, extract(&w->rx, w->wire + begin, w->back),
					w->rx.ulpdu_len);
			KUNIT_ASSERT_EQ(test, memcmp(w->back, w->ulpdu, w->rx.ulpdu_len), 0);
			begin = at;
			mpa_rx_next(&w->rx);
			KUNIT_ASSERT_EQ(test, w->rx.pos, pos + at);
		}
	}
	KUNIT_ASSERT_EQ(test, got, (u32)CHAIN);
}

static void random_chains(struct kunit *test)
{
	static const u32 from[] = { 0, 0x1ec, 0xfffff000, 0xffffff00 };
	u32 rnd = 3, i;

	for (i = 0; i < 400; i++)
		run_chain(test, from[i % 4], i & 4, i & 8, &rnd);
}

/* SEC-01: octets of a stranger: never beyond the piece, never an FPDU by CRC */
static void noise(struct kunit *test)
{
	struct work *w = test->priv;
	u32 rnd = 11, i, at, used, n;

	for (i = 0; i < 2000; i++) {
		start(&w->rx, 4 * (model_random(&rnd) % 1000), i & 1, true);
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
	KUNIT_CASE(vectors_whole),
	KUNIT_CASE(vectors_split),
	KUNIT_CASE(vectors_by_octet),
	KUNIT_CASE(three_pieces),
	KUNIT_CASE(octets_flipped),
	KUNIT_CASE(bad_lengths),
	KUNIT_CASE(pad_contents),
	KUNIT_CASE(crc_off),
	KUNIT_CASE(stray_markers),
	KUNIT_CASE(loose_markers),
	KUNIT_CASE(round_trip),
	KUNIT_CASE(random_chains),
	KUNIT_CASE(noise),
	{}
};

struct kunit_suite mpa_rx_suite = { .name = "mpa_rx", .init = setup, .test_cases = cases };
