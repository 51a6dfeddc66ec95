// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/mpa.c: encoding FPDUs. */
#include <kunit/test.h>
#include <linux/crc32c.h>
#include <linux/string.h>
#include <compat/unaligned.h>
#include <wire/mpa.h>
#include "model.h"
#include "suites.h"

struct work {
	u8 *ulpdu;
	u8 *want;
	u8 *got;
};

static int setup(struct kunit *test)
{
	struct work *w = (struct work *)model_alloc(test, sizeof(*w));

	w->ulpdu = model_alloc(test, MODEL_MAX);
	w->want = model_alloc(test, MODEL_MAX);
	w->got = model_alloc(test, MODEL_MAX);
	test->priv = w;
	return 0;
}

static void start(struct mpa_tx *tx, u32 pos, bool markers)
{
	mpa_tx_init(tx, markers, true);
	tx->pos = pos;
}

/* Encode @ulpdu into @buf, which was poisoned (FRM-05). */
static u32 encode(struct mpa_tx *tx, u8 *buf, const u8 *ulpdu, u32 len)
{
	memset(buf, 0xa5, mpa_fpdu_size(tx->pos, len, tx->markers) + 4);
	mpa_tx_begin(tx, buf, len);
	mpa_tx_put(tx, ulpdu, len);
	return mpa_tx_end(tx);
}

/* CRC-01, CRC-12, CRC-13, B.3: the digests that pin the CRC */
static void crc_digests(struct kunit *test)
{
	static const u8 wire[4][4] = {
		{ 0xaa, 0x36, 0x91, 0x8a }, { 0x43, 0xab, 0xa8, 0x62 },
		{ 0x4e, 0x79, 0xdd, 0x46 }, { 0x5c, 0xdb, 0x3f, 0x11 },
	};
	u8 data[4][32];
	u32 i;

	for (i = 0; i < 32; i++) {
		data[0][i] = 0x00;
		data[1][i] = 0xff;
		data[2][i] = i;
		data[3][i] = 31 - i;
	}
	for (i = 0; i < 4; i++) {
		u32 crc = ~crc32c(~0, data[i], 32);

		KUNIT_EXPECT_EQ(test, crc, get_unaligned_le32(wire[i]));
		KUNIT_EXPECT_EQ(test, crc, model_crc(data[i], 32));
	}
	KUNIT_EXPECT_EQ(test, ~crc32c(~0, "123456789", 9), 0xe3069283u);
}

static void check_vector(struct kunit *test, const struct fpdu_vector *v)
{
	struct work *w = test->priv;
	struct mpa_tx tx;
	u32 size;

	model_fill(w->ulpdu, v->len, v->fill, v->msn);
	start(&tx, v->pos, v->markers);
	size = encode(&tx, w->got, w->ulpdu, v->len);
	KUNIT_EXPECT_EQ_MSG(test, size, v->total, "%s", v->name);
	KUNIT_EXPECT_EQ_MSG(test, tx.pos, v->pos + v->total, "%s", v->name);
	KUNIT_EXPECT_TRUE_MSG(test, !memcmp(w->got + size - 4, v->crc, 4), "%s", v->name);
	KUNIT_EXPECT_EQ_MSG(test, w->got[size], 0xa5, "%s: wrote past the end", v->name);
	if (v->bytes)
		KUNIT_EXPECT_TRUE_MSG(test, !memcmp(w->got, v->bytes, size), "%s", v->name);
	/* B.2: the register over a whole FPDU is a constant */
	KUNIT_EXPECT_EQ_MSG(test, crc32c(~0, w->got, size), 0xb798b438u, "%s", v->name);
	KUNIT_EXPECT_EQ(test, model_vector(v, w->ulpdu, w->want), size);
	KUNIT_EXPECT_TRUE_MSG(test, !memcmp(w->got, w->want, size), "%s", v->name);
}

/*
 * FRM-02 to FRM-08, MRK-04, MRK-06, MRK-09, CRC-12 to CRC-17, B.1, B.4; B7 has
 * today's FPDUPTR (HIST-04), V1 to V4 are 42 bytes (HIST-25) of both versions (HIST-09)
 */
static void vectors(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++)
		check_vector(test, &fpdu_vectors[i]);
}

/* MRK-08, MRK-12 to MRK-14, MRK-20: number of Markers and the last one */
static void vector_markers(struct kunit *test)
{
	struct work *w = test->priv;
	u32 i, at;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];
		u32 count = 0, last = 0;
		struct mpa_tx tx;

		model_fill(w->ulpdu, v->len, v->fill, v->msn);
		start(&tx, v->pos, v->markers);
		encode(&tx, w->got, w->ulpdu, v->len);
		for (at = -v->pos % 512; v->markers && at < v->total; at += 512) {
			last = get_unaligned_be32(w->got + at);
			count++;
		}
		KUNIT_EXPECT_EQ_MSG(test, count, v->nmarkers, "%s", v->name);
		KUNIT_EXPECT_EQ_MSG(test, last, v->last_ptr, "%s", v->name);
	}
}

/* The field is there, and zero, when CRCs are off (FRM-09, CRC-06) */
static void no_crc(struct kunit *test)
{
	struct work *w = test->priv;
	struct mpa_tx tx;
	u32 size;

	model_fill(w->ulpdu, 42, FILL_SEND, 1);
	mpa_tx_init(&tx, false, false);
	size = encode(&tx, w->got, w->ulpdu, 42);
	KUNIT_EXPECT_EQ(test, size, 48u);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(w->got + 44), 0u);
}

/* The tx loop of the header: pieces of any size, straight to their place */
static u32 encode_pieces(struct mpa_tx *tx, u8 *buf, const u8 *ulpdu, u32 len, u32 *rnd)
{
	memset(buf, 0xa5, mpa_fpdu_size(tx->pos, len, tx->markers));
	mpa_tx_begin(tx, buf, len);
	while (len) {
		u32 n = 1 + model_random(rnd) % 700;
		u32 room;
		u8 *at = mpa_tx_at(tx, &room);

		n = n < len ? n : len;
		n = n < room ? n : room;
		if (model_random(rnd) & 1) {
			memcpy(at, ulpdu, n);
			mpa_tx_wrote(tx, n);
		} else {
			n = len < 300 ? len : 300;	/* may cross a Marker */
			mpa_tx_put(tx, ulpdu, n);
		}
		ulpdu += n;
		len -= n;
	}
	return mpa_tx_end(tx);
}

/* MRK-10 to MRK-16, MRK-22, CRC-22: every start position, lengths around every edge */
static void every_position(struct kunit *test)
{
	static const u32 centers[] = { 16, 500, 1010, 1446 };
	struct work *w = test->priv;
	u32 p, i, len, rnd = 1, size;
	struct mpa_tx tx;

	model_fill(w->ulpdu, 2048, FILL_PATTERN, 0);
	for (p = 0; p < 512; p += P_STEP) {
		for (i = 0; i < ARRAY_SIZE(centers); i++) {
			for (len = centers[i] - 15; len < centers[i] + 15; len++) {
				size = model_fpdu(w->want, p, w->ulpdu, len, true);
				start(&tx, p, true);
				KUNIT_ASSERT_EQ(test, encode_pieces(&tx, w->got, w->ulpdu,
								    len, &rnd), size);
				KUNIT_ASSERT_EQ(test, size, mpa_fpdu_size(p, len, true));
				KUNIT_ASSERT_EQ_MSG(test, memcmp(w->got, w->want, size), 0,
						    "at %u, %u bytes", p, len);
			}
		}
	}
}

/* MRK-08, MRK-15: a chain without gaps keeps the grid, also across 2^32 */
static void chain(struct kunit *test, u32 pos, bool markers)
{
	struct work *w = test->priv;
	u32 i, len, size, rnd = 7;
	struct mpa_tx tx;

	start(&tx, pos, markers);
	for (i = 0; i < 400; i++) {
		len = 1 + model_random(&rnd) % (i % 4 ? 60 : 3000);
		model_fill(w->ulpdu, len, FILL_PATTERN, 0);
		size = model_fpdu(w->want, pos, w->ulpdu, len, markers);
		KUNIT_ASSERT_EQ(test, encode(&tx, w->got, w->ulpdu, len), size);
		KUNIT_ASSERT_EQ_MSG(test, memcmp(w->got, w->want, size), 0, "FPDU %u", i);
		pos += size;
		KUNIT_ASSERT_EQ(test, tx.pos, pos);
	}
}

static void chains(struct kunit *test)
{
	chain(test, 0, true);
	chain(test, 0, false);
	chain(test, 0xffff0000, true);
	chain(test, 0xffffff00, true);
}

/* MRK-11, MRK-16: 0xffffff04 + 0x1fc is 0x100 */
static void marker_across_wrap(struct kunit *test)
{
	struct work *w = test->priv;
	struct mpa_tx tx;

	model_fill(w->ulpdu, 1000, FILL_PATTERN, 0);
	start(&tx, 0xffffff04, true);
	encode(&tx, w->got, w->ulpdu, 1000);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(w->got + 0xfc), 0xfcu);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(w->got + 0x2fc), 0x2fcu);
}

/*
 * FRM-10, FRM-11: a ULPDU above MULPDU, up to the largest there is, is an FPDU
 * like any other. It only does not fit into the segment any more.
 */
static void beyond_mulpdu(struct kunit *test)
{
	static const u32 sizes[] = { 140, 536, 1448, 1460, 8948, 65415 };
	struct work *w = test->priv;
	u32 i, len, size, over;
	struct mpa_tx tx;

	model_fill(w->ulpdu, MODEL_MAX, FILL_PATTERN, 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		len = mpa_mulpdu(sizes[i], false);
		over = len < MPA_ULPDU_MAX ? len + 1 : len;
		size = model_fpdu(w->want, 0, w->ulpdu, over, false);
		start(&tx, 0, false);
		KUNIT_EXPECT_EQ(test, encode(&tx, w->got, w->ulpdu, over), size);
		KUNIT_EXPECT_FALSE(test, memcmp(w->got, w->want, size));
		KUNIT_EXPECT_EQ(test, size > sizes[i], over > len);
		/* mpa_ulpdu_fit() never returns more than fits */
		KUNIT_EXPECT_EQ(test, mpa_ulpdu_fit(0, size - 1, false) < over, true);
		KUNIT_EXPECT_LE(test, mpa_ulpdu_fit(0, ~0u, i & 1), (u32)MPA_ULPDU_MAX);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(crc_digests),
	KUNIT_CASE(vectors),
	KUNIT_CASE(vector_markers),
	KUNIT_CASE(no_crc),
	KUNIT_CASE(every_position),
	KUNIT_CASE(chains),
	KUNIT_CASE(marker_across_wrap),
	KUNIT_CASE(beyond_mulpdu),
	{}
};

struct kunit_suite mpa_tx_suite = { .name = "mpa_tx", .init = setup, .test_cases = cases };
