// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * libFuzzer: the receiver and the header parsers on bytes of a stranger.
 *
 * Input: two bytes (Markers, CRC, where the CRC is repaired; start position),
 * a seed for the pieces, then the stream. Rules: the verdict does not
 * depend on the pieces, nothing beyond them is read, spans stay in the FPDU, and an
 * FPDU that is taken has a right length, CRC and Markers.
 */
#include <stdlib.h>
#include <string.h>
#include <compat/unaligned.h>
#include <linux/crc32c.h>
#include <wire/ddp.h>
#include <wire/mpa.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define CHECK(c) do { if (!(c)) abort(); } while (0)

struct input {
	bool markers;
	bool crc;
	bool repair;
	u32 pos;
	u32 seed;
	u8 *stream;
	u32 len;
};

static void start(struct mpa_rx *rx, const struct input *in)
{
	mpa_rx_init_at(rx, in->pos, in->markers, in->crc);
}

/* The first bytes of a ULPDU go on to DDP and RDMAP. */
static void parse(const struct mpa_rx *rx, struct ddp_rx *order)
{
	struct ddp_seg seg;
	struct rdmap_term term;
	u8 buf[RDMAP_TERM_MAX];
	enum wire_err err = ddp_parse(&seg, rx->hdr, rx->hdr_len, rx->ulpdu_len);

	if (!err) {
		CHECK(seg.hdr_len + seg.len == rx->ulpdu_len);
		CHECK(seg.opcode < RDMAP_OPCODE_MAX && seg.qn < DDP_QN_MAX);
		err = ddp_rx_check(order, &seg);
		if (!err)
			ddp_rx_accept(order, &seg);
		if (seg.opcode == RDMAP_TERMINATE && rx->hdr_len >= seg.hdr_len)
			rdmap_term_parse(&term, rx->hdr + seg.hdr_len,
					 rx->hdr_len - seg.hdr_len);
	}
	rdmap_term_init(&term, err, rx->hdr, rx->hdr_len, rx->ulpdu_len);
	CHECK(rdmap_term_build(&term, buf) <= sizeof(buf));
}

/* Spans tile the ULPDU and leave the length, Markers and CRC alone. */
static void walk(const struct mpa_rx *rx, const u8 *fpdu)
{
	u32 off = 0, at, n, last = 0, sum = 0;

	while ((n = mpa_ulpdu_span(rx, off, &at))) {
		CHECK(at >= last && at + n <= rx->size - MPA_CRC_SIZE);
		while (n--)
			sum += fpdu[at++], off++;
		last = at;
	}
	CHECK(off == rx->ulpdu_len);
	(void)sum;
}

/* The FPDU that the receiver took has a length, a CRC and Markers that are right. */
static void proper(const struct mpa_rx *rx, const u8 *fpdu)
{
	u32 lead = rx->markers && !(rx->pos % MPA_MARKER_SPACING) ? MPA_MARKER_SIZE : 0;
	u32 at = -rx->pos % MPA_MARKER_SPACING;

	CHECK(rx->ulpdu_len && rx->ulpdu_len <= MPA_ULPDU_MAX);
	CHECK(rx->ulpdu_len == get_unaligned_be16(fpdu + lead));
	if (rx->crc)
		CHECK(get_unaligned_le32(fpdu + rx->size - MPA_CRC_SIZE) ==
		      ~crc32c(~0, fpdu, rx->size - MPA_CRC_SIZE));
	for (; rx->markers && at < rx->size; at += MPA_MARKER_SPACING)
		CHECK((get_unaligned_be16(fpdu + at + 2) & ~3) == (at ? at - lead : 0));
}

/* Make the CRC of the FPDU at @at right, so that the rest gets a chance. */
static void repair(const struct input *in, u32 pos, u32 at)
{
	u32 lead = in->markers && !(pos % MPA_MARKER_SPACING) ? MPA_MARKER_SIZE : 0;
	u32 len, size;

	if (in->len - at < lead + MPA_LEN_SIZE)
		return;
	len = get_unaligned_be16(in->stream + at + lead);
	if (!len || len > MPA_ULPDU_MAX)
		return;
	size = mpa_fpdu_size(pos, len, in->markers);
	if (size <= in->len - at)
		put_unaligned_le32(~crc32c(~0, in->stream + at, size - MPA_CRC_SIZE),
				   in->stream + at + size - MPA_CRC_SIZE);
}

/* Feeds all at once, and notes where it ended and why. */
static enum wire_err whole(const struct input *in, u32 *fpdus)
{
	struct mpa_rx rx;
	struct ddp_rx order;
	u32 at = 0, used;
	enum mpa_rx_verdict v;

	start(&rx, in);
	ddp_rx_init(&order);
	for (*fpdus = 0;; ++*fpdus) {
		if (in->repair)
			repair(in, rx.pos, at);
		v = mpa_rx_feed(&rx, in->stream + at, in->len - at, &used);
		CHECK(used <= in->len - at);
		if (v != MPA_RX_FPDU)
			break;
		CHECK(used == rx.size);
		proper(&rx, in->stream + at);
		walk(&rx, in->stream + at);
		parse(&rx, &order);
		at += used;
		mpa_rx_next(&rx);
	}
	CHECK(v == MPA_RX_FAILED ? !!rx.failed : at + used == in->len);
	return rx.failed;
}

static enum wire_err pieces(const struct input *in, u32 *fpdus)
{
	struct mpa_rx rx;
	u32 at = 0, used, rnd = in->seed;

	start(&rx, in);
	*fpdus = 0;
	while (at < in->len) {
		u32 n = 1 + (rnd >> 16) % (rnd & 0x800 ? 700 : 5);
		enum mpa_rx_verdict v;
		u8 *piece;

		rnd = rnd * 1103515245 + 12345;
		n = n < in->len - at ? n : in->len - at;
		piece = malloc(n);	/* to see a read beyond it */
		CHECK(piece);
		memcpy(piece, in->stream + at, n);
		v = mpa_rx_feed(&rx, piece, n, &used);
		free(piece);
		if (v == MPA_RX_FAILED)
			return rx.failed;
		at += used;
		if (v == MPA_RX_MORE)
			CHECK(used == n && mpa_rx_missing(&rx) >= 1);
		else
			++*fpdus, mpa_rx_next(&rx);
	}
	return WIRE_OK;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in;
	u32 a, b;

	if (size < 4)
		return 0;
	in.markers = data[0] & 1;
	in.crc = data[0] & 2;
	in.repair = data[0] & 4;
	in.pos = (data[0] & 8 ? 0xfffffe00 : 0) + 4 * data[1];
	in.seed = get_unaligned_be16(data + 2);
	in.len = size - 4;
	in.stream = malloc(in.len + 1);
	CHECK(in.stream);
	memcpy(in.stream, data + 4, in.len);
	CHECK(whole(&in, &a) == pieces(&in, &b) && a == b);
	free(in.stream);
	return 0;
}
