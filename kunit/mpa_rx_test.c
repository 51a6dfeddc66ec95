// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/mpa.c: receiving FPDUs, whatever pieces they come in. */
#include <kunit/test.h>
#include <linux/string.h>
#include <wire/mpa.h>
#include "model.h"
#include "mpa_rx.h"
#include "suites.h"

/* FRM-13, FRM-14, RCV-03, RCV-06, MRK-24: in one piece, next FPDU behind it */
static void vectors_whole(struct kunit *test)
{
	struct rx_work *w = test->priv;
	u32 i, size;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];

		size = model_vector(v, w->ulpdu, w->wire);
		rx_start(&w->rx, v->pos, v->markers, true);
		KUNIT_EXPECT_TRUE_MSG(test, rx_done(&w->rx, w->wire, size + 100, size),
				      "%s", v->name);
		KUNIT_EXPECT_TRUE_MSG(test, rx_holds(w, v->len, size), "%s", v->name);
		mpa_rx_next(&w->rx);
		KUNIT_EXPECT_EQ(test, w->rx.pos, v->pos + size);
	}
}

/* RCV-08, RCV-10 to RCV-13, RCV-28, MRK-24: every two-piece split */
static void vectors_split(struct kunit *test)
{
	struct rx_work *w = test->priv;
	u32 i, cut, size;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];

		size = model_vector(v, w->ulpdu, w->wire);
		for (cut = 0; cut < size; cut += size > 1460 ? size / 61 | 1 : 1) {
			rx_start(&w->rx, v->pos, v->markers, true);
			if (rx_more(&w->rx, w->wire, cut) &&
			    rx_done(&w->rx, w->wire + cut, size - cut, size - cut) &&
			    rx_holds(w, v->len, size))
				continue;
			KUNIT_FAIL(test, "%s cut at %u", v->name, cut);
			return;
		}
	}
}

/* MRK-18, RCV-06: complete with its last byte, never before */
static void vectors_by_byte(struct kunit *test)
{
	struct rx_work *w = test->priv;
	u32 i, at, size;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];

		size = model_vector(v, w->ulpdu, w->wire);
		rx_start(&w->rx, v->pos, v->markers, true);
		for (at = 0; at < size - 1; at++) {
			KUNIT_ASSERT_TRUE(test, rx_more(&w->rx, w->wire + at, 1));
			KUNIT_ASSERT_TRUE(test, mpa_rx_missing(&w->rx) <= size - at - 1);
			if (w->rx.size)
				KUNIT_ASSERT_EQ(test, mpa_rx_missing(&w->rx), size - at - 1);
		}
		KUNIT_ASSERT_TRUE(test, rx_done(&w->rx, w->wire + at, 1, 1));
		KUNIT_EXPECT_TRUE_MSG(test, rx_holds(w, v->len, size), "%s", v->name);
		/* fed on without mpa_rx_next(), it takes nothing */
		KUNIT_EXPECT_TRUE(test, rx_done(&w->rx, w->wire, 1, 0));
	}
}

/* Every three-piece split of a short FPDU with a Marker inside */
static void three_pieces(struct kunit *test)
{
	struct rx_work *w = test->priv;
	const struct fpdu_vector *v = &fpdu_vectors[1];	/* V2 */
	u32 a, b, size = model_vector(v, w->ulpdu, w->wire);

	for (a = 0; a < size; a++) {
		for (b = a; b < size; b++) {
			rx_start(&w->rx, v->pos, true, true);
			KUNIT_ASSERT_TRUE(test, rx_more(&w->rx, w->wire, a));
			KUNIT_ASSERT_TRUE(test, rx_more(&w->rx, w->wire + a, b - a));
			KUNIT_ASSERT_TRUE(test, rx_done(&w->rx, w->wire + b, size, size - b));
			KUNIT_ASSERT_TRUE(test, rx_holds(w, v->len, size));
		}
	}
}

/* FRM-17, RCV-06: our own sender and receiver at every start position */
static void round_trip(struct kunit *test)
{
	struct rx_work *w = test->priv;
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
			rx_start(&w->rx, p, true, true);
			if (rx_done(&w->rx, w->wire, size, size) && rx_holds(w, len, size))
				continue;
			KUNIT_FAIL(test, "at %u, %u bytes", p, len);
			return;
		}
	}
}

/* Some FPDUs in a row at @w->wire; bytes in all, lengths to @lens. */
static u32 build_chain(struct rx_work *w, u32 pos, bool markers, u32 *lens, u32 n, u32 *rnd)
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
	struct rx_work *w = test->priv;
	u32 lens[CHAIN], begin = 0, at = 0, got = 0, used, n;
	u32 total = build_chain(w, pos, markers, lens, CHAIN, rnd);

	rx_start(&w->rx, pos, markers, crc);
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
			KUNIT_ASSERT_EQ(test, rx_extract(&w->rx, w->wire + begin, w->back),
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

static struct kunit_case cases[] = {
	KUNIT_CASE(vectors_whole),
	KUNIT_CASE(vectors_split),
	KUNIT_CASE(vectors_by_byte),
	KUNIT_CASE(three_pieces),
	KUNIT_CASE(round_trip),
	KUNIT_CASE(random_chains),
	{}
};

struct kunit_suite mpa_rx_suite = {
	.name = "mpa_rx",
	.init = rx_setup,
	.test_cases = cases,
};
