// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * wire/mpa.c against the model: every start position modulo 512 by every class of
 * ULPDU length, encoded and decoded.
 *
 * All fields stand on multiples of 4 (FRM-17), so there are 128 positions. The
 * classes are:
 *
 *	small	1 to 1500: every PAD, FPDUs without Marker, with one to three, and
 *		with a Marker before the length, in the ULPDU, behind it and behind
 *		the PAD; all FPDUs of an Ethernet of 1500
 *	jumbo	around MULPDU of an Ethernet of 9000
 *	half	around 32768, where a length gets its top bit
 *	large	up to the largest, 64768, with FPDUPTR up to 0xff00
 *
 * A kernel, which may be emulated, takes every seventh position and, of the small
 * lengths, every thirteenth.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include <wire/mpa.h>
#include "model.h"
#include "mpa_rx.h"
#include "suites.h"

#ifdef __KERNEL__
#define SMALL_STEP	13
#else
#define SMALL_STEP	1
#endif

static const struct {
	u32 first, last, step;
} classes[] = {
	{ 1, 1500, SMALL_STEP },
	{ 8866, 8885, 1 },
	{ 32764, 32770, 1 },
	{ MPA_ULPDU_MAX - 7, MPA_ULPDU_MAX, 1 },
};

/* The engine's FPDU is the model's, to the byte. */
static bool encodes(struct rx_work *w, u32 p, u32 len, bool markers, u32 size)
{
	struct mpa_tx tx;

	memset(w->back, 0xa5, size + 4);
	mpa_tx_init(&tx, markers, true);
	tx.pos = p;
	mpa_tx_begin(&tx, w->back, len);
	mpa_tx_put(&tx, w->ulpdu, len);
	return mpa_tx_end(&tx) == size && tx.pos == p + size &&
	       mpa_fpdu_size(p, len, markers) == size &&
	       !memcmp(w->back, w->wire, size) && w->back[size] == 0xa5;
}

/* The engine finds the model's ULPDU, in two pieces cut elsewhere each time. */
static bool decodes(struct rx_work *w, u32 p, u32 len, bool markers, u32 size)
{
	u32 cut = (7 * p + 13 * len) % size;

	rx_start(&w->rx, p, markers, true);
	return rx_more(&w->rx, w->wire, cut) &&
	       rx_done(&w->rx, w->wire + cut, size + 8 - cut, size - cut) &&
	       rx_holds(w, len, size);
}

static bool class_at(struct kunit *test, u32 i, u32 p, bool markers)
{
	struct rx_work *w = test->priv;
	u32 len, size;

	for (len = classes[i].first; len <= classes[i].last; len += classes[i].step) {
		size = model_fpdu(w->wire, p, w->ulpdu, len, markers);
		if (encodes(w, p, len, markers, size) && decodes(w, p, len, markers, size))
			continue;
		KUNIT_FAIL(test, "at %u, %u bytes, Markers %d", p, len, markers);
		return false;
	}
	return true;
}

/*
 * FRM-02 to FRM-08, FRM-17, MRK-04 to MRK-08, MRK-12 to MRK-14, MRK-17, MRK-19,
 * MRK-20, CRC-14 to CRC-17, CRC-22
 */
static void markers_on(struct kunit *test)
{
	struct rx_work *w = test->priv;
	u32 i, p;

	model_fill(w->ulpdu, MODEL_MAX, FILL_PATTERN, 0);
	for (i = 0; i < ARRAY_SIZE(classes); i++)
		for (p = 0; p < 512; p += P_STEP)
			if (!class_at(test, i, p, true))
				return;
}

/* Without Markers the position does not matter: FRM-02 to FRM-08, CRC-14, MRK-02 */
static void markers_off(struct kunit *test)
{
	struct rx_work *w = test->priv;
	u32 i;

	model_fill(w->ulpdu, MODEL_MAX, FILL_PATTERN, 0);
	for (i = 0; i < ARRAY_SIZE(classes); i++)
		if (!class_at(test, i, 0, false) || !class_at(test, i, 508, false))
			return;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(markers_on),
	KUNIT_CASE(markers_off),
	{}
};

struct kunit_suite mpa_every_suite = {
	.name = "mpa_every",
	.init = rx_setup,
	.test_cases = cases,
};
