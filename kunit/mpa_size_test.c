// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/mpa.c: MULPDU, FPDU size, the ULPDU that fits. */
#include <kunit/test.h>
#include <wire/mpa.h>
#include "model.h"
#include "suites.h"

/* Ledger D.1 */
static const struct {
	u32 emss, with, without, min_size, max_size, plain_size;
} mulpdus[] = {
	{ 128, 128, 128, 136, 140, 136 },
	{ 135, 128, 128, 136, 140, 136 },
	{ 136, 128, 130, 136, 140, 136 },
	{ 139, 128, 130, 136, 140, 136 },
	{ 140, 130, 134, 136, 140, 140 },
	{ 512, 502, 506, 508, 512, 512 },
	{ 513, 498, 506, 504, 508, 512 },
	{ 536, 522, 530, 532, 536, 536 },
	{ 1428, 1410, 1422, 1424, 1428, 1428 },
	{ 1440, 1422, 1434, 1436, 1440, 1440 },
	{ 1448, 1430, 1442, 1444, 1448, 1448 },
	{ 1460, 1442, 1454, 1456, 1460, 1460 },
	{ 8948, 8870, 8942, 8944, 8948, 8948 },
	{ 8960, 8882, 8954, 8956, 8960, 8960 },
	{ 65415, 64768, 64768, 65284, 65288, 64776 },
	{ 65483, 64768, 64768, 65284, 65288, 64776 },
	{ 65495, 64768, 64768, 65284, 65288, 64776 },
};

/* SEG-01 to SEG-04, RCV-24, FRM-12, D.1; 140 and 136 are the floor (HIST-26) */
static void mulpdu_worked_values(struct kunit *test)
{
	u32 i, p, lo, hi, size;

	for (i = 0; i < ARRAY_SIZE(mulpdus); i++) {
		u32 emss = mulpdus[i].emss;

		KUNIT_EXPECT_EQ(test, mpa_mulpdu(emss, true), mulpdus[i].with);
		KUNIT_EXPECT_EQ(test, mpa_mulpdu(emss, false), mulpdus[i].without);
		for (p = 0, lo = ~0u, hi = 0; p < 512; p += 4) {
			size = mpa_fpdu_size(p, mulpdus[i].with, true);
			lo = size < lo ? size : lo;
			hi = size > hi ? size : hi;
			KUNIT_EXPECT_EQ(test, mpa_fpdu_size(p, mulpdus[i].without, false),
					mulpdus[i].plain_size);
		}
		KUNIT_EXPECT_EQ_MSG(test, lo, mulpdus[i].min_size, "EMSS %u", emss);
		KUNIT_EXPECT_EQ_MSG(test, hi, mulpdus[i].max_size, "EMSS %u", emss);
	}
}

static u32 formula(s32 emss, bool markers)
{
	s32 v = emss - (6 + (markers ? 4 * ((emss + 511) / 512) : 0) + emss % 4);

	return v < 128 ? 128 : v > 64768 ? 64768 : v;
}

/* SEG-01 to SEG-04, every EMSS a TCP can have */
static void mulpdu_every_emss(struct kunit *test)
{
	u32 emss;

	for (emss = 0; emss <= 65535; emss++) {
		if (mpa_mulpdu(emss, true) == formula(emss, true) &&
		    mpa_mulpdu(emss, false) == formula(emss, false))
			continue;
		KUNIT_FAIL(test, "EMSS %u: %u, %u", emss, mpa_mulpdu(emss, true),
			   mpa_mulpdu(emss, false));
		return;
	}
}

/* Large EMSS: all in user space. */
#ifdef __KERNEL__
#define EMSS_STEP	37
#else
#define EMSS_STEP	1
#endif

/* SEG-26: with MULPDU no FPDU is larger than EMSS, wherever it starts */
static void mulpdu_never_overfills(struct kunit *test)
{
	u32 emss, p;

	for (emss = 140; emss <= 65535; emss += emss < 9216 ? 1 : EMSS_STEP) {
		for (p = 0; p < 512; p += P_STEP) {
			if (mpa_fpdu_size(p, mpa_mulpdu(emss, true), true) <= emss)
				continue;
			KUNIT_FAIL(test, "EMSS %u at %u", emss, p);
			return;
		}
	}
}

/* Wire size of content bytes at @p, grown a word at a time. */
struct walk {
	u32 p;
	u32 content;
	u32 wire;
};

static void walk_word(struct walk *w)
{
	if (!((w->p + w->wire) % 512))
		w->wire += 4;
	w->wire += 4;
	w->content += 4;
}

/* FRM-07, FRM-10, MRK-19, D.2: every start position, every length */
static void size_counted(struct kunit *test)
{
	u32 p, len;

	for (p = 0; p < 512; p += P_STEP) {
		struct walk w = { .p = p };

		for (len = 1; len <= MPA_ULPDU_MAX; len++) {
			while (w.content < 2 + len + 4)
				walk_word(&w);
			if (mpa_fpdu_size(p, len, true) == w.wire &&
			    mpa_fpdu_size(p, len, false) == w.content)
				continue;
			KUNIT_FAIL(test, "at %u, %u bytes", p, len);
			return;
		}
	}
}

static bool fit_is_best(u32 p, u32 room, bool markers)
{
	u32 len = mpa_ulpdu_fit(p, room, markers);

	if (len > MPA_ULPDU_MAX || (len && mpa_fpdu_size(p, len, markers) > room))
		return false;
	return len == MPA_ULPDU_MAX || mpa_fpdu_size(p, len + 1, markers) > room;
}

/* SEG-05, SEG-06, D.3: every start position, every room */
static void fit_every_room(struct kunit *test)
{
	u32 p, room;

	for (p = 0; p < 512; p += P_STEP) {
		for (room = 0; room < MPA_FPDU_MAX + 16; room++) {
			if (fit_is_best(p, room, true) && fit_is_best(p, room, false))
				continue;
			KUNIT_FAIL(test, "at %u, room %u: %u, %u", p, room,
				   mpa_ulpdu_fit(p, room, true),
				   mpa_ulpdu_fit(p, room, false));
			return;
		}
	}
}

/*
 * TCP can cut large buffers between FPDUs because the fit fills a segment to the last byte. Only
 * where that would end the FPDU behind a Marker it leaves 4 bytes. It is never below MULPDU
 * (SEG-06, SEG-26).
 */
static void fit_fills_segments(struct kunit *test)
{
	u32 emss, p;

	for (emss = 140; emss <= 9000; emss += 4) {
		for (p = 0; p < 512; p += 4) {
			u32 len = mpa_ulpdu_fit(p, emss, true);
			u32 left = emss - mpa_fpdu_size(p, len, true);

			if (len >= mpa_mulpdu(emss, true) &&
			    left == ((p + emss) % 512 == 4 ? 4 : 0))
				continue;
			KUNIT_FAIL(test, "EMSS %u at %u: ULPDU %u leaves %u", emss, p, len, left);
			return;
		}
	}
}

/* MRK-11: positions count modulo 2^32 */
static void positions_wrap(struct kunit *test)
{
	u32 len;

	for (len = 1; len < 4096; len += 7) {
		KUNIT_EXPECT_EQ(test, mpa_fpdu_size(0xffffff00, len, true),
				mpa_fpdu_size(0x100, len, true));
		KUNIT_EXPECT_EQ(test, mpa_ulpdu_fit(0xfffffffc, len, true),
				mpa_ulpdu_fit(0x1fc, len, true));
	}
	KUNIT_EXPECT_EQ(test, mpa_ulpdu_fit(0, ~0u, true), (u32)MPA_ULPDU_MAX);
	KUNIT_EXPECT_EQ(test, mpa_ulpdu_fit(0, ~0u, false), (u32)MPA_ULPDU_MAX);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(mulpdu_worked_values),
	KUNIT_CASE(mulpdu_every_emss),
	KUNIT_CASE(mulpdu_never_overfills),
	KUNIT_CASE(size_counted),
	KUNIT_CASE(fit_every_room),
	KUNIT_CASE(fit_fills_segments),
	KUNIT_CASE(positions_wrap),
	{}
};

struct kunit_suite mpa_size_suite = { .name = "mpa_size", .test_cases = cases };
