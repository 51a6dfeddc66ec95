// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Finding FPDUs in stream pieces that arrive out of order (RFC 5044 section 6).
 *
 * The start of an FPDU is found in three ways, none of which guesses (RCV-02). The start of a
 * segment is not used, so without Markers no FPDU is found before its turn (RCV-26).
 *
 *	find_in_order()	at the delivery point, by the length of the FPDU before it (RCV-03)
 *	find_chained()	behind FPDUs found early, in the same way (RCV-05)
 *	find_marked()	a Marker beyond a gap points to the start of its FPDU (RCV-04)
 *
 * Only the first may fail the connection. An FPDU that the others find must pass mpa_rx_feed(),
 * which also checks data in order. If it does not, the first way decides when the delivery point
 * gets there. An FPDU in order that overlaps one found early is a Marker error (ERR-03, ERR-04).
 *
 * A hostile peer must not cause unbounded work. Bytes in the ring never change, so no FPDU is
 * checked twice: a run remembers that no FPDU follows it, and a Marker is followed only to an FPDU
 * in which new bytes have arrived. All Markers of an FPDU must agree before its CRC is computed,
 * so each Marker can cause the check of one FPDU only.
 */
#include <linux/types.h>
#include <linux/string.h>
#include <linux/minmax.h>

#include "wire/recover.h"

#define MARKER_MASK	(MPA_MARKER_SPACING - 1)
/* claimed_size() of a length that no FPDU has; larger than any ring */
#define NO_FPDU		0xffffffff

/* Positions in one window are less than 2^31 apart. */
static bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static u8 byte_at(const struct mpa_recover *rc, u32 pos)
{
	return rc->room.ring[pos & (rc->room.ring_size - 1)];
}

static u32 be16_at(const struct mpa_recover *rc, u32 pos)
{
	return byte_at(rc, pos) << 8 | byte_at(rc, pos + 1);
}

void mpa_recover_init(struct mpa_recover *rc, const struct mpa_recover_room *room,
		      u32 pos, bool markers, bool crc)
{
	memset(rc, 0, sizeof(*rc));
	rc->next = pos;
	rc->room = *room;
	rc->room.held[0] = (struct mpa_held){ pos, pos };
	rc->n_held = 1;
	rc->fresh = rc->room.held[0];
	rc->scan = pos;
	mpa_rx_init_at(&rc->rx, pos, markers, crc);
}

/* Putting in */

/*
 * Note that [@from, @to) is new, so that Markers are followed to FPDUs there. A repetition does not
 * get here, else a peer could cause the same check for ever.
 */
static void add_fresh(struct mpa_recover *rc, u32 from, u32 to)
{
	if (rc->fresh.from == rc->fresh.to) {
		rc->fresh = (struct mpa_held){ from, to };
		return;
	}
	if (before(from, rc->fresh.from))
		rc->fresh.from = from;
	if (before(rc->fresh.to, to))
		rc->fresh.to = to;
}

static void copy_in(struct mpa_recover *rc, u32 pos, const u8 *data, u32 len)
{
	add_fresh(rc, pos, pos + len);
	while (len) {
		u32 at = pos & (rc->room.ring_size - 1);
		u32 n = min(len, rc->room.ring_size - at);

		memcpy(rc->room.ring + at, data, n);
		pos += n;
		data += n;
		len -= n;
	}
}

/* Copy what lies in gaps; bytes that are held do not change (RCV-21). */
static void fill_gaps(struct mpa_recover *rc, u32 pos, const u8 *data, u32 end)
{
	u32 i, at = pos;

	for (i = 0; i < rc->n_held && before(at, end); i++) {
		const struct mpa_held *h = &rc->room.held[i];
		u32 stop = before(h->from, end) ? h->from : end;

		if (before(at, stop))
			copy_in(rc, at, data + (at - pos), stop - at);
		if (before(at, h->to))
			at = h->to;
	}
	if (before(at, end))
		copy_in(rc, at, data + (at - pos), end - at);
}

/* Insert an entry before entry @i. Return: false if none is free. */
static bool held_insert(struct mpa_recover *rc, u32 i, u32 from, u32 to)
{
	struct mpa_held *held = rc->room.held;

	if (rc->n_held == rc->room.max_held)
		return false;
	memmove(held + i + 1, held + i, (rc->n_held - i) * sizeof(*held));
	held[i] = (struct mpa_held){ from, to };
	rc->n_held++;
	return true;
}

/* Merge [@from, @to) and the entries @i to @j, which it touches. */
static void held_join(struct mpa_recover *rc, u32 i, u32 j, u32 from, u32 to)
{
	struct mpa_held *held = rc->room.held;

	if (before(from, held[i].from))
		held[i].from = from;
	held[i].to = before(to, held[j].to) ? held[j].to : to;
	memmove(held + i + 1, held + j + 1, (rc->n_held - j - 1) * sizeof(*held));
	rc->n_held -= j - i;
}

/* Add [@from, @to) to the entries. Return: false if none is free. */
static bool held_add(struct mpa_recover *rc, u32 from, u32 to)
{
	const struct mpa_held *held = rc->room.held;
	u32 i = 0, j;

	while (i < rc->n_held && before(held[i].to, from))
		i++;
	if (i == rc->n_held || before(to, held[i].from))
		return held_insert(rc, i, from, to);
	j = i;
	while (j + 1 < rc->n_held && !before(to, held[j + 1].from))
		j++;
	held_join(rc, i, j, from, to);
	return true;
}

/* Look at Markers from the first gap on. find_in_order() handles all before it. */
static void rewind_scan(struct mpa_recover *rc)
{
	rc->tried = rc->room.held[0].to;
	rc->scan = (rc->tried + MARKER_MASK) & ~MARKER_MASK;
}

/* Return: true if held_add() has an entry for [@from, @to). */
static bool has_entry_for(const struct mpa_recover *rc, u32 from, u32 to)
{
	u32 i;

	if (rc->n_held < rc->room.max_held)
		return true;
	for (i = 0; i < rc->n_held; i++)
		if (!before(rc->room.held[i].to, from) && !before(to, rc->room.held[i].from))
			return true;
	return false;
}

u32 mpa_recover_put(struct mpa_recover *rc, u32 pos, const u8 *data, u32 len)
{
	u32 end = rc->next + rc->room.ring_size;
	u32 known = before(pos, rc->next) ? rc->next - pos : 0;

	if (rc->failed)
		return 0;
	if (known >= len)	/* no new bytes */
		return len;
	pos += known;
	if (!before(pos, end))
		return 0;
	end = len - known < end - pos ? pos + len - known : end;
	if (!has_entry_for(rc, pos, end))
		return 0;
	fill_gaps(rc, pos, data + known, end);
	held_add(rc, pos, end);
	rewind_scan(rc);
	return known + end - pos;
}

/* Looking at the ring */

/* Return: bytes held from @pos on without a gap. */
static u32 held_from(const struct mpa_recover *rc, u32 pos)
{
	const struct mpa_held *h = rc->room.held;
	u32 i;

	for (i = 0; i < rc->n_held; i++)
		if (!before(pos, h[i].from) && before(pos, h[i].to))
			return h[i].to - pos;
	return 0;
}

/* Return: bytes of the Marker at the start of the FPDU at @pos, 0 if there is none. */
static u32 lead_size(const struct mpa_recover *rc, u32 pos)
{
	return rc->rx.markers && !(pos & MARKER_MASK) ? MPA_MARKER_SIZE : 0;
}

/* Return: size of an FPDU at @pos by its length field, 0 while that is not held. */
static u32 claimed_size(const struct mpa_recover *rc, u32 pos)
{
	u32 at = lead_size(rc, pos), len;

	if (held_from(rc, pos) < at + MPA_LEN_SIZE)
		return 0;
	len = be16_at(rc, pos + at);
	if (!len || len > MPA_ULPDU_MAX)
		return NO_FPDU;
	return mpa_fpdu_size(pos, len, rc->rx.markers);
}

/* Return: size of an FPDU at @pos that is held completely, else 0 (RCV-06). */
static u32 whole_size(const struct mpa_recover *rc, u32 pos)
{
	u32 size = claimed_size(rc, pos);

	return size <= held_from(rc, pos) ? size : 0;
}

/* Run an FPDU that is held completely through mpa_rx_feed(). Return: true if it is valid. */
static bool judge_fpdu(struct mpa_recover *rc, u32 pos, u32 size)
{
	enum mpa_rx_verdict verdict = MPA_RX_MORE;
	u32 end = pos + size;

	rc->checked += size;
	mpa_rx_init_at(&rc->rx, pos, rc->rx.markers, rc->rx.crc);
	while (pos != end && verdict == MPA_RX_MORE) {
		u32 at = pos & (rc->room.ring_size - 1);
		u32 used;

		verdict = mpa_rx_feed(&rc->rx, rc->room.ring + at,
				      min(end - pos, rc->room.ring_size - at), &used);
		pos += used;
	}
	return verdict == MPA_RX_FPDU;
}

/* Return: start of the FPDU that the Marker at @pos points to (RCV-29). */
static u32 marker_says(const struct mpa_recover *rc, u32 pos)
{
	u32 len_at = pos - (be16_at(rc, pos + 2) & ~3u);

	/* A Marker right before the length belongs to the FPDU (MRK-12). */
	return (len_at & MARKER_MASK) == MPA_MARKER_SIZE ? len_at - MPA_MARKER_SIZE : len_at;
}

/* Return: true if all Markers in the FPDU at @pos point to @pos. */
static bool markers_agree(const struct mpa_recover *rc, u32 pos, u32 size)
{
	u32 at;

	for (at = -pos & MARKER_MASK; at < size; at += MPA_MARKER_SPACING)
		if (marker_says(rc, pos + at) != pos)
			return false;
	return true;
}

/* Runs of FPDUs found early */

static void run_remove(struct mpa_recover *rc, u32 i)
{
	struct mpa_run *runs = rc->room.runs;

	rc->n_runs--;
	memmove(runs + i, runs + i + 1, (rc->n_runs - i) * sizeof(*runs));
}

/* Merge run @i with the next one if it has grown up to it. */
static void run_close(struct mpa_recover *rc, u32 i)
{
	struct mpa_run *run = &rc->room.runs[i];

	if (i + 1 == rc->n_runs || run[1].from != run->to)
		return;
	run->to = run[1].to;
	run->dead = run[1].dead;
	run_remove(rc, i + 1);
}

static void run_insert(struct mpa_recover *rc, u32 i, u32 from, u32 to)
{
	struct mpa_run *runs = rc->room.runs;

	memmove(runs + i + 1, runs + i, (rc->n_runs - i) * sizeof(*runs));
	runs[i] = (struct mpa_run){ .from = from, .to = to };
	rc->n_runs++;
	run_close(rc, i);
}

/* Return: index in room.runs for an FPDU at [@from, @to), or -1 if it overlaps a run. */
static int run_place(const struct mpa_recover *rc, u32 from, u32 to)
{
	const struct mpa_run *runs = rc->room.runs;
	u32 i = 0;

	while (i < rc->n_runs && before(runs[i].to, from))
		i++;
	/* An FPDU right behind a run is refused too, because find_chained() has looked there. */
	if (i < rc->n_runs && before(runs[i].from, to))
		return -1;
	return i;
}

/* The three ways */

static void set_failed(struct mpa_recover *rc, enum wire_err err)
{
	rc->failed = err;
}

static void deliver_to(struct mpa_recover *rc, u32 to)
{
	rc->next = to;
	rc->room.held[0].from = to;
}

/* Deliver the FPDUs found early that are at the delivery point. */
static void deliver_runs(struct mpa_recover *rc)
{
	while (rc->n_runs && rc->room.runs[0].from == rc->next) {
		deliver_to(rc, rc->room.runs[0].to);
		run_remove(rc, 0);
	}
}

/* Return: the error of a length that can never be right, before it is complete (GAP-01, GAP-02). */
static enum wire_err check_claim(const struct mpa_recover *rc, u32 size)
{
	if (size == NO_FPDU)
		return WIRE_MPA_MARKER;
	return size > rc->room.ring_size ? WIRE_MPA_LOCAL : WIRE_OK;
}

/* Find the FPDU at the delivery point (RCV-03). */
static bool find_in_order(struct mpa_recover *rc)
{
	u32 size;

	deliver_runs(rc);
	set_failed(rc, check_claim(rc, claimed_size(rc, rc->next)));
	size = whole_size(rc, rc->next);
	if (rc->failed || !size)
		return false;
	if (!judge_fpdu(rc, rc->next, size))
		set_failed(rc, rc->rx.failed);
	else if (rc->n_runs && before(rc->room.runs[0].from, rc->next + size))
		set_failed(rc, WIRE_MPA_MARKER);
	if (rc->failed)
		return false;
	deliver_to(rc, rc->next + size);
	return true;
}

/* Find an FPDU behind run @i (RCV-05). */
static bool extend_run(struct mpa_recover *rc, u32 i)
{
	struct mpa_run *run = &rc->room.runs[i];
	u32 size = whole_size(rc, run->to), end = run->to + size;

	if (!size) {
		run->dead = claimed_size(rc, run->to) == NO_FPDU;
		return false;
	}
	run->dead = (i + 1 < rc->n_runs && before(run[1].from, end)) ||
		    !markers_agree(rc, run->to, size) || !judge_fpdu(rc, run->to, size);
	if (run->dead)
		return false;
	run->to = end;
	run_close(rc, i);
	return true;
}

static bool find_chained(struct mpa_recover *rc)
{
	u32 i;

	for (i = 0; i < rc->n_runs; i++)
		if (!rc->room.runs[i].dead && extend_run(rc, i))
			return true;
	return false;
}

/* Check for an FPDU at @pos, to which a Marker points. The Marker may be wrong (RCV-04). */
static bool take_early(struct mpa_recover *rc, u32 pos)
{
	u32 size = whole_size(rc, pos), end = pos + size;
	int i;

	if (!size || rc->n_runs == rc->room.max_runs)
		return false;
	/* No new bytes in this FPDU */
	if (rc->fresh.from == rc->fresh.to || !before(rc->fresh.from, end) ||
	    !before(pos, rc->fresh.to))
		return false;
	i = run_place(rc, pos, end);
	if (i < 0 || !markers_agree(rc, pos, size) || !judge_fpdu(rc, pos, size))
		return false;
	run_insert(rc, i, pos, end);
	return true;
}

static bool find_marked(struct mpa_recover *rc)
{
	u32 end = rc->room.held[rc->n_held - 1].to;

	if (!rc->rx.markers)
		return false;
	for (; before(rc->scan, end); rc->scan += MPA_MARKER_SPACING) {
		u32 pos;

		if (held_from(rc, rc->scan) < MPA_MARKER_SIZE)
			continue;
		pos = marker_says(rc, rc->scan);
		if (pos == rc->tried)
			continue;
		rc->tried = pos;
		if (take_early(rc, pos))
			return true;
	}
	return false;
}

enum mpa_rx_verdict mpa_recover_next(struct mpa_recover *rc)
{
	if (rc->failed)
		return MPA_RX_FAILED;
	if (find_in_order(rc))
		return MPA_RX_FPDU;
	if (rc->failed)
		return MPA_RX_FAILED;
	if (find_chained(rc) || find_marked(rc))
		return MPA_RX_FPDU;
	rc->fresh.from = rc->fresh.to;
	return MPA_RX_MORE;
}

const u8 *mpa_recover_span(const struct mpa_recover *rc, u32 off, u32 *len)
{
	u32 wire, at, n = mpa_ulpdu_span(&rc->rx, off, &wire);

	at = (rc->rx.pos + wire) & (rc->room.ring_size - 1);
	*len = min(n, rc->room.ring_size - at);
	return rc->room.ring + at;
}
