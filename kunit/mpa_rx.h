/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Shared by the two suites of the receiver. */
#ifndef _KUNIT_MPA_RX_H
#define _KUNIT_MPA_RX_H

#include <kunit/test.h>
#include <linux/string.h>
#include <wire/mpa.h>
#include "model.h"

struct rx_work {
	u8 *ulpdu;
	u8 *wire;
	u8 *back;
	struct mpa_rx rx;
};

static inline int rx_setup(struct kunit *test)
{
	struct rx_work *w = (struct rx_work *)model_alloc(test, sizeof(*w));

	w->ulpdu = model_alloc(test, MODEL_MAX);
	w->wire = model_alloc(test, 2 * MODEL_MAX);
	w->back = model_alloc(test, MODEL_MAX);
	test->priv = w;
	return 0;
}

static inline void rx_start(struct mpa_rx *rx, u32 pos, bool markers, bool crc)
{
	mpa_rx_init_at(rx, pos, markers, crc);
}

/* Copy the ULPDU out of the wire bytes by its spans; its length. */
static inline u32 rx_extract(const struct mpa_rx *rx, const u8 *wire, u8 *out)
{
	u32 off = 0, at, n;

	while ((n = mpa_ulpdu_span(rx, off, &at))) {
		memcpy(out + off, wire + at, n);
		off += n;
	}
	return off;
}

/* @w->rx holds a whole FPDU of @len bytes of @w->ulpdu. */
static inline bool rx_holds(struct rx_work *w, u32 len, u32 size)
{
	u32 hdr = len < MPA_RX_HDR_MAX ? len : MPA_RX_HDR_MAX;

	return w->rx.size == size && w->rx.seen == size && w->rx.ulpdu_len == len &&
	       w->rx.hdr_len == hdr && !memcmp(w->rx.hdr, w->ulpdu, hdr) &&
	       rx_extract(&w->rx, w->wire, w->back) == len &&
	       !memcmp(w->back, w->ulpdu, len);
}

/* Feed @n bytes that end before the FPDU does. */
static inline bool rx_more(struct mpa_rx *rx, const u8 *data, u32 n)
{
	u32 used;

	return mpa_rx_feed(rx, data, n, &used) == MPA_RX_MORE && used == n &&
	       mpa_rx_missing(rx) >= 1;
}

/* Feed @n bytes of which the first @end finish the FPDU. */
static inline bool rx_done(struct mpa_rx *rx, const u8 *data, u32 n, u32 end)
{
	u32 used;

	return mpa_rx_feed(rx, data, n, &used) == MPA_RX_FPDU && used == end;
}

#endif
