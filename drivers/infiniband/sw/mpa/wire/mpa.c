// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA framing (RFC 5044 sections 4 to 6).
 *
 * An FPDU consists of ULPDU_Length, ULPDU, PAD and CRC. With Markers, each stream position that is
 * a multiple of 512 has 4 more bytes. The length and the CRC begin at multiples of 4 from
 * SeqStart. So a Marker may precede the length, interrupt the ULPDU or lie between PAD and CRC,
 * but it never splits the length or the CRC (FRM-17). A Marker before the length belongs to the
 * FPDU behind it (MRK-12).
 *
 * Sending: the caller writes the ULPDU into the buffer of the FPDU, and mpa_tx_at() inserts the
 * Markers. mpa_tx_end() computes the CRC over the whole buffer.
 *
 * Receiving: mpa_rx_feed() makes two passes over the bytes. The first updates the CRC, which
 * covers the Markers too. The second goes from Marker to Marker, checks them and keeps the first
 * bytes of the ULPDU. @seen alone determines its position in the FPDU.
 */
#include <linux/types.h>
#include <linux/string.h>
#include <linux/minmax.h>
#include <linux/crc32c.h>
#include <compat/unaligned.h>

#include "wire/mpa.h"

#define MARKER_MASK	(MPA_MARKER_SPACING - 1)
/* Bytes between two Markers */
#define MARKER_GAP	(MPA_MARKER_SPACING - MPA_MARKER_SIZE)
#define CRC_SEED	0xffffffff
/* The low bits of FPDUPTR do not count (MRK-07). */
#define FPDUPTR_MASK	0xfffc

/* Return: bytes from @pos to the next position of a Marker, 0 if @pos is one. */
static u32 to_marker(u32 pos)
{
	return -pos & MARKER_MASK;
}

/* MRK-19, RFC 5044 appendix D.2 */
u32 mpa_markers_in(u32 pos, u32 size)
{
	u32 first = to_marker(pos);

	return size <= first ? 0 : MPA_MARKER_SIZE * ((size - first + MARKER_GAP - 1) / MARKER_GAP);
}

u32 mpa_mulpdu(u32 emss, bool markers)
{
	u32 overhead = MPA_LEN_SIZE + MPA_CRC_SIZE + emss % 4;

	if (markers)
		overhead += MPA_MARKER_SIZE *
			((emss + MPA_MARKER_SPACING - 1) / MPA_MARKER_SPACING);
	if (emss < overhead + MPA_MULPDU_MIN)
		return MPA_MULPDU_MIN;
	return min_t(u32, emss - overhead, MPA_ULPDU_MAX);
}

/* Each 512 bytes behind @first, and the rest of them, begin with a Marker. */
u32 mpa_room_without_markers(u32 pos, u32 room)
{
	u32 first = to_marker(pos);

	if (room <= first)
		return room;
	return room - MPA_MARKER_SIZE * ((room - first - 1) / MPA_MARKER_SPACING + 1);
}

/* Sender */

static bool tx_marker_due(const struct mpa_tx *tx)
{
	return tx->markers && !to_marker(tx->pos + tx->fill);
}

/* Write 16 bits of zero and the distance to ULPDU_Length (MRK-04 to MRK-06). */
static void tx_marker(struct mpa_tx *tx, u32 fpduptr)
{
	put_unaligned_be32(fpduptr, tx->buf + tx->fill);
	tx->fill += MPA_MARKER_SIZE;
}

static void tx_marker_if_due(struct mpa_tx *tx)
{
	if (tx_marker_due(tx))
		tx_marker(tx, tx->fill - tx->start);
}

void mpa_tx_init(struct mpa_tx *tx, bool markers, bool crc)
{
	memset(tx, 0, sizeof(*tx));
	tx->markers = markers;
	tx->crc = crc;
}

void mpa_tx_begin(struct mpa_tx *tx, u8 *buf, u32 ulpdu_len)
{
	tx->buf = buf;
	tx->fill = 0;
	tx->left = ulpdu_len;
	/* A Marker between two FPDUs is part of the second (MRK-12). */
	if (tx_marker_due(tx))
		tx_marker(tx, 0);
	tx->start = tx->fill;
	put_unaligned_be16(ulpdu_len, buf + tx->fill);
	tx->fill += MPA_LEN_SIZE;
}

void mpa_tx_put(struct mpa_tx *tx, const void *data, u32 len)
{
	while (len) {
		u32 room, n;
		u8 *at = mpa_tx_at(tx, &room);

		n = min(len, room);
		if (!n)
			break;
		memcpy(at, data, n);
		mpa_tx_wrote(tx, n);
		data += n;
		len -= n;
	}
}

u32 mpa_tx_step(struct mpa_tx *tx)
{
	tx_marker_if_due(tx);
	return min(tx->left, to_marker(tx->pos + tx->fill));
}

u32 mpa_tx_end(struct mpa_tx *tx)
{
	u32 pad = -tx->fill & 3;
	u32 crc = 0;

	memset(tx->buf + tx->fill, 0, pad);	/* FRM-05 */
	tx->fill += pad;
	tx_marker_if_due(tx);			/* MRK-17 */
	if (tx->crc)
		crc = ~crc32c(CRC_SEED, tx->buf, tx->fill);
	/* Least significant byte first (CRC-13). */
	put_unaligned_le32(crc, tx->buf + tx->fill);
	tx->fill += MPA_CRC_SIZE;
	tx->pos += tx->fill;
	return tx->fill;
}

/* Receiver */

static void rx_fail(struct mpa_rx *rx, enum wire_err err)
{
	if (!rx->failed)
		rx->failed = err;
}

/* Expect an FPDU at @rx->pos. */
static void rx_arm(struct mpa_rx *rx)
{
	rx->seen = 0;
	rx->size = 0;
	rx->ulpdu_len = 0;
	rx->hdr_len = 0;
	rx->run = CRC_SEED;
	rx->start = rx->markers && !to_marker(rx->pos) ? MPA_MARKER_SIZE : 0;
}

void mpa_rx_init_at(struct mpa_rx *rx, u32 pos, bool markers, bool crc)
{
	memset(rx, 0, sizeof(*rx));
	rx->pos = pos;
	rx->markers = markers;
	rx->crc = crc;
	rx_arm(rx);
}

void mpa_rx_init(struct mpa_rx *rx, bool markers, bool crc)
{
	mpa_rx_init_at(rx, 0, markers, crc);
}

void mpa_rx_next(struct mpa_rx *rx)
{
	rx->pos += rx->size;
	rx_arm(rx);
}

static bool rx_complete(const struct mpa_rx *rx)
{
	return rx->size && rx->seen == rx->size;
}

/* Return: offset of the end of the current stage: ULPDU_Length, all before the CRC, or the CRC. */
static u32 rx_stage_end(const struct mpa_rx *rx)
{
	u32 crc_at = rx->size - MPA_CRC_SIZE;

	if (!rx->size)
		return rx->start + MPA_LEN_SIZE;
	return rx->seen < crc_at ? crc_at : rx->size;
}

/*
 * Check a Marker that is complete in @field. A wrong FPDUPTR is only noted here, because the CRC
 * decides whether the peer sent it (ERR-03). The reserved bits are ignored (MRK-05).
 */
static void rx_marker(struct mpa_rx *rx, u32 at)
{
	u32 fpduptr = get_unaligned_be16(rx->field + 2) & FPDUPTR_MASK;

	if (fpduptr != (at ? at - rx->start : 0))
		rx->astray = true;
}

/* Take bytes of the length field, of the ULPDU, or of PAD. */
static void rx_content(struct mpa_rx *rx, const u8 *data, u32 len)
{
	u32 keep = min_t(u32, rx->ulpdu_len, MPA_RX_HDR_MAX) - rx->hdr_len;

	if (!rx->size) {
		memcpy(rx->field + (rx->seen - rx->start), data, len);
		return;
	}
	len = min(len, keep);
	memcpy(rx->hdr + rx->hdr_len, data, len);
	rx->hdr_len += len;
}

/* Take bytes up to the next border between a Marker and content. Return: number of bytes taken. */
static u32 rx_run(struct mpa_rx *rx, const u8 *data, u32 len)
{
	u32 grid = (rx->pos + rx->seen) & MARKER_MASK;

	if (!rx->markers) {
		rx_content(rx, data, len);
	} else if (grid >= MPA_MARKER_SIZE) {
		len = min(len, MPA_MARKER_SPACING - grid);
		rx_content(rx, data, len);
	} else {
		len = min(len, MPA_MARKER_SIZE - grid);
		memcpy(rx->field + grid, data, len);
		if (grid + len == MPA_MARKER_SIZE)
			rx_marker(rx, rx->seen - grid);
	}
	rx->seen += len;
	return len;
}

/* Take bytes that the CRC covers: all before its field (CRC-14 to CRC-17). */
static void rx_covered(struct mpa_rx *rx, const u8 *data, u32 len)
{
	u32 n;

	if (rx->crc)
		rx->run = crc32c(rx->run, data, len);
	for (; len; data += n, len -= n)
		n = rx_run(rx, data, len);
}

/* ULPDU_Length is complete: check it, and compute the end of the FPDU (GAP-01, GAP-02). */
static void rx_length(struct mpa_rx *rx)
{
	u32 len = get_unaligned_be16(rx->field);

	if (!len || len > MPA_ULPDU_MAX) {
		rx_fail(rx, WIRE_MPA_MARKER);
		return;
	}
	rx->ulpdu_len = len;
	rx->size = mpa_fpdu_size(rx->pos, len, rx->markers);
}

static void rx_crc(struct mpa_rx *rx, const u8 *data, u32 len)
{
	memcpy(rx->field + MPA_CRC_SIZE - (rx->size - rx->seen), data, len);
	rx->seen += len;
}

/* The FPDU is complete: report a bad CRC rather than a bad Marker (ERR-03, GAP-14). */
static void rx_judge(struct mpa_rx *rx)
{
	if (rx->crc && get_unaligned_le32(rx->field) != ~rx->run)
		rx_fail(rx, WIRE_MPA_CRC);
	else if (rx->astray)
		rx_fail(rx, WIRE_MPA_MARKER);
}

static void rx_stage(struct mpa_rx *rx, const u8 *data, u32 len, u32 end)
{
	if (end != rx->size)
		rx_covered(rx, data, len);
	else
		rx_crc(rx, data, len);
	if (rx->seen < end)
		return;
	if (!rx->size)
		rx_length(rx);
	else if (end == rx->size)
		rx_judge(rx);
}

/*
 * Fast path: verify an FPDU that has no Markers and is complete in @data.
 *
 * Return: false if it is not such an FPDU; then nothing was done.
 */
static bool rx_at_once(struct mpa_rx *rx, const u8 *data, u32 len)
{
	u32 ulpdu_len, size;

	if (rx->markers || rx->seen || len < MPA_FPDU_MIN)
		return false;
	ulpdu_len = get_unaligned_be16(data);
	size = mpa_fpdu_size(rx->pos, ulpdu_len, false);
	if (!ulpdu_len || ulpdu_len > MPA_ULPDU_MAX || size > len)
		return false;
	rx->ulpdu_len = ulpdu_len;
	rx->hdr_len = min_t(u32, ulpdu_len, MPA_RX_HDR_MAX);
	memcpy(rx->hdr, data + MPA_LEN_SIZE, rx->hdr_len);
	rx->size = size;
	rx->seen = size;
	memcpy(rx->field, data + size - MPA_CRC_SIZE, MPA_CRC_SIZE);
	if (rx->crc)
		rx->run = crc32c(rx->run, data, size - MPA_CRC_SIZE);
	rx_judge(rx);
	return true;
}

enum mpa_rx_verdict mpa_rx_feed(struct mpa_rx *rx, const u8 *data, u32 len, u32 *used)
{
	u32 done = rx_at_once(rx, data, len) ? rx->size : 0;

	while (done < len && !rx->failed && !rx_complete(rx)) {
		u32 end = rx_stage_end(rx);
		u32 n = min(len - done, end - rx->seen);

		rx_stage(rx, data + done, n, end);
		done += n;
	}
	*used = done;
	if (rx->failed)
		return MPA_RX_FAILED;
	return rx_complete(rx) ? MPA_RX_FPDU : MPA_RX_MORE;
}

u32 mpa_rx_step(const struct mpa_rx *rx, u32 *wire_off, u32 left)
{
	u32 content = *wire_off - rx->start;
	u32 first = to_marker(rx->pos + rx->start);
	u32 behind;

	if (content < first)
		return min(left, first - content);
	behind = content - first;
	*wire_off += MPA_MARKER_SIZE * (behind / MARKER_GAP + 1);
	return min(left, MARKER_GAP - behind % MARKER_GAP);
}
