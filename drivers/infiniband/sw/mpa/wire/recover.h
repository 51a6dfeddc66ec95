/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Finding FPDUs in stream pieces that arrive out of order (RFC 5044 section 6).
 *
 * For a receiver that sees TCP segments as they come, before they are in order.
 * Every piece is put in; then each valid FPDU is taken out once, as soon as it
 * is found, and may be placed:
 *
 *	used = mpa_recover_put(rc, pos, data, len);
 *	while ((v = mpa_recover_next(rc)) == MPA_RX_FPDU) {
 *		... parse rc->rx.hdr, place by mpa_recover_span() ...
 *	}
 *	... all before rc->next is delivered ...
 *
 * The sender's order is the order of rc->rx.pos (RCV-15). Whatever lies before
 * rc->next is complete and valid without a gap: it is Delivered (RCV-16, RCV-18).
 */
#ifndef _WIRE_RECOVER_H
#define _WIRE_RECOVER_H

#include <linux/types.h>

#include "wire/mpa.h"

/**
 * struct mpa_held - stream bytes without a gap
 * @from:	position of the first
 * @to:		position behind the last
 */
struct mpa_held {
	u32 from;
	u32 to;
};

/**
 * struct mpa_run - valid FPDUs without a gap, found before their turn
 * @from:	position of the first one's first byte
 * @to:		position behind the last one
 * @dead:	what follows was looked at and is no valid FPDU
 */
struct mpa_run {
	u32 from;
	u32 to;
	bool dead;
};

/**
 * struct mpa_recover_room - memory the caller gives, fixed for the connection
 * @ring:	for bytes; what is not held here cannot be validated
 * @ring_size:	bytes in @ring: a power of two, 512 to 2^30. An FPDU larger than
 *		that ends the connection; MPA_RECOVER_RING holds any.
 * @held:	for gaps in what was received
 * @max_held:	entries of @held, at least 1: one gap less can be held
 * @runs:	for FPDUs found early
 * @max_runs:	entries of @runs, 0 or more; 0 finds FPDUs in order only
 */
struct mpa_recover_room {
	u8 *ring;
	u32 ring_size;
	struct mpa_held *held;
	u32 max_held;
	struct mpa_run *runs;
	u32 max_runs;
};

/* Smallest power of two that holds the largest FPDU. */
#define MPA_RECOVER_RING	65536

/**
 * struct mpa_recover - receiving direction whose bytes come in any order
 * @next:	delivery point: position of the first FPDU that is not delivered
 * @rx:		the FPDU mpa_recover_next() found: @pos, @size, @ulpdu_len, @hdr
 * @failed:	the error that ended this direction; sticky (ERR-09)
 * @checked:	bytes run through Markers and CRC so far; for an honest peer, those
 *		that arrived
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
	struct mpa_held fresh;		/* put in and not yet searched for Markers */
	u32 scan;			/* the Marker to look at next */
	u32 tried;			/* start the Marker before it led to */
};

/**
 * mpa_recover_init() - nothing received yet
 * @rc:		receiving direction
 * @room:	the caller's memory, copied; its arrays stay the caller's
 * @pos:	position of the first byte to come, 0 at SeqStart
 * @markers:	Markers are expected
 * @crc:	CRCs are checked
 */
void mpa_recover_init(struct mpa_recover *rc, const struct mpa_recover_room *room,
		      u32 pos, bool markers, bool crc);

/**
 * mpa_recover_put() - a piece of the stream has arrived
 * @rc:		receiving direction
 * @pos:	position of its first byte
 * @data:	bytes; copied, so they may go away
 * @len:	how many, below 2^30
 *
 * Bytes known already stay as they came first: a repetition with other
 * contents changes nothing (RCV-21). Bytes beyond the window (@next plus the
 * ring) and a piece that would need one more entry of room.held are refused. A
 * piece that continues what is complete always finds its entry, so the stream
 * goes on when the sender repeats.
 *
 * Return: leading bytes that are done with; the others must come again.
 */
u32 mpa_recover_put(struct mpa_recover *rc, u32 pos, const u8 *data, u32 len);

/**
 * mpa_recover_next() - find one more FPDU
 * @rc:		receiving direction
 *
 * MPA_RX_FPDU: @rx has a valid FPDU not reported before. It was found early when
 * its @pos is not before @next. Its bytes stay until the next piece is put in.
 *
 * MPA_RX_MORE: nothing to find until more arrives.
 *
 * MPA_RX_FAILED: the FPDU at @next is wrong, or contradicts what Markers told;
 * see @failed. What was placed early beyond @next is never delivered (ERR-18).
 *
 * Return: the verdict.
 */
enum mpa_rx_verdict mpa_recover_next(struct mpa_recover *rc);

/**
 * mpa_recover_span() - where ULPDU bytes of the FPDU found lie
 * @rc:		receiving direction after MPA_RX_FPDU
 * @off:	offset in the ULPDU
 * @len:	set to how many bytes follow there in one piece, 0 at the end
 *
 * Return: the bytes.
 */
const u8 *mpa_recover_span(const struct mpa_recover *rc, u32 off, u32 *len);

#endif
