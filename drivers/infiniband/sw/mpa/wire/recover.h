/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Finding FPDUs in stream pieces that arrive out of order (RFC 5044 section 6).
 *
 * A receiver that gets TCP segments before they are in order puts each piece in, and then takes
 * each valid FPDU out once, as soon as it is found:
 *
 *	used = mpa_recover_put(rc, pos, data, len);
 *	while ((v = mpa_recover_next(rc)) == MPA_RX_FPDU) {
 *		... parse rc->rx.hdr, place by mpa_recover_span() ...
 *	}
 *	... all before rc->next is delivered ...
 *
 * The sender's order is the order of rc->rx.pos (RCV-15). All before rc->next is complete and
 * valid without a gap, so it may be Delivered (RCV-16, RCV-18).
 */
#ifndef _WIRE_RECOVER_H
#define _WIRE_RECOVER_H

#include <linux/types.h>

#include "wire/mpa.h"

/**
 * struct mpa_held - a range of received bytes without a gap
 * @from:	position of the first
 * @to:		position behind the last
 */
struct mpa_held {
	u32 from;
	u32 to;
};

/**
 * struct mpa_run - a range of valid FPDUs without a gap, found before their turn
 * @from:	position of the first FPDU
 * @to:		position behind the last FPDU
 * @dead:	no valid FPDU follows
 */
struct mpa_run {
	u32 from;
	u32 to;
	bool dead;
};

/**
 * struct mpa_recover_room - memory of the caller, fixed for the connection
 * @ring:	received bytes
 * @ring_size:	bytes in @ring: a power of two, 512 to 2^30. A larger FPDU ends the
 *		connection; MPA_RECOVER_RING has room for any.
 * @held:	received ranges
 * @max_held:	entries of @held, at least 1; there can be one gap less
 * @runs:	FPDUs found early
 * @max_runs:	entries of @runs; with 0 FPDUs are found in order only
 */
struct mpa_recover_room {
	u8 *ring;
	u32 ring_size;
	struct mpa_held *held;
	u32 max_held;
	struct mpa_run *runs;
	u32 max_runs;
};

/* Smallest power of two with room for the largest FPDU */
#define MPA_RECOVER_RING	65536

/**
 * struct mpa_recover - receiving direction whose bytes arrive in any order
 * @next:	delivery point: position of the first FPDU that is not delivered
 * @rx:		the FPDU that mpa_recover_next() found: @pos, @size, @ulpdu_len, @hdr
 * @failed:	the error that ended this direction; sticky (ERR-09)
 * @checked:	bytes whose Markers and CRC were checked so far; as many as arrived, if the peer
 *		is honest
 * @n_held:	used entries of room.held, ascending, apart from each other; the
 *		first always begins at @next and may be empty
 * @n_runs:	used entries of room.runs, ascending, apart from each other
 * @room:	memory of the caller
 */
struct mpa_recover {
	u32 next;
	struct mpa_rx rx;
	enum wire_err failed;
	u64 checked;
	u32 n_held;
	u32 n_runs;
	struct mpa_recover_room room;
	/* private: of wire/recover.c */
	struct mpa_held fresh;		/* received and not yet searched for Markers */
	u32 scan;			/* position of the next Marker to look at */
	u32 tried;			/* start of the FPDU of the Marker before that */
};

/**
 * mpa_recover_init() - initialise a receiving direction
 * @rc:		receiving direction
 * @room:	the caller's memory; the struct is copied, and the arrays remain in use
 * @pos:	position of the next byte, 0 at SeqStart
 * @markers:	Markers are expected
 * @crc:	CRCs are checked
 */
void mpa_recover_init(struct mpa_recover *rc, const struct mpa_recover_room *room,
		      u32 pos, bool markers, bool crc);

/**
 * mpa_recover_put() - put in a piece of the stream
 * @rc:		receiving direction
 * @pos:	position of its first byte
 * @data:	the bytes, which are copied
 * @len:	number of bytes, below 2^30
 *
 * A byte that was received before is not changed, even if it differs (RCV-21). Bytes beyond the
 * window (@next plus the ring) are refused, and so is a piece for which room.held has no entry. A
 * piece at the delivery point needs no new entry, so a sender that repeats makes progress.
 *
 * Return: number of leading bytes that were taken; the others must arrive again.
 */
u32 mpa_recover_put(struct mpa_recover *rc, u32 pos, const u8 *data, u32 len);

/**
 * mpa_recover_next() - find one more FPDU
 * @rc:		receiving direction
 *
 * MPA_RX_FPDU: @rx has a valid FPDU that was not reported before. It was found early if its @pos
 * is not before @next. Its bytes stay until the next piece is put in.
 *
 * MPA_RX_MORE: there is none until more bytes arrive.
 *
 * MPA_RX_FAILED: the FPDU at @next is invalid, or overlaps one that Markers led to; see @failed.
 * Payload that was placed early is never delivered (ERR-18).
 *
 * Return: the verdict.
 */
enum mpa_rx_verdict mpa_recover_next(struct mpa_recover *rc);

/**
 * mpa_recover_span() - find ULPDU bytes of an FPDU in the ring
 * @rc:		receiving direction after MPA_RX_FPDU
 * @off:	offset in the ULPDU
 * @len:	set to the number of contiguous bytes there, 0 at the end of the ULPDU
 *
 * Return: address of the bytes.
 */
const u8 *mpa_recover_span(const struct mpa_recover *rc, u32 off, u32 *len);

#endif
