// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Finding FPDUs in stream pieces that arrive out of order (RFC 5044 section 6).
 *
 * A start is found by one of three ways, and by no guess (RCV-02): a segment that
 * happens to begin with an FPDU is none of them, so without Markers nothing is
 * found before its turn (RCV-26).
 *
 *	in_order()	at the delivery point, from length to length (RCV-03)
 *	chained()	behind FPDUs found early, the same way (RCV-05)
 *	marked()	a Marker beyond a gap tells where its FPDU began (RCV-04)
 *
 * Only the first may fail the connection. What the others find is worth nothing
 * until the same receiver that checks ordered data, mpa_rx_feed(), says it is
 * valid; if it is not, we wait for the delivery point to get there, and for its
 * verdict. There the two views are compared: an FPDU of the chain that reaches
 * into one found early is a Marker error (ERR-03, ERR-04).
 *
 * Work is bounded against a hostile peer. Bytes held never change, so nothing
 * needs to be judged twice: a run remembers that what follows it is no FPDU, and a
 * Marker is looked at only for an FPDU in which new bytes have arrived. And
 * before bytes are run through the CRC for the word of a Marker, all Markers of
 * that FPDU must tell the same; so one Marker pays for one FPDU.
 */
#include <linux/types.h>
#include <linux/string.h>
#include <linux/minmax.h>

#include "wire/recover.h"

#define MARKER_MASK	(MPA_MARKER_SPACING - 1)
/* claimed() of a length no FPDU has: more than can ever be held. */
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
 * [@from, @to) was not held before: to be searched, with what was not yet. What is
 * only repeated is not, or a peer could have us check the same for ever.
 */
static void refresh(struct mpa_recover *rc, u32 from, u32 to)
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
	refresh(rc, pos, pos + len);
	while (len) {
		u32 at = pos & (rc->room.ring_size - 1);
		u32 n = min(len, rc->room.ring_size - at);

		memcpy(rc->room.ring + at, data, n);
		pos += n;
		data += n;
		len -= n;
	}
}

/* Copy what lies in gaps; bytes held stay as they are (RCV-21). */
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

/* Put an entry before entry @i; false if there is none left. */
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

/* Make one entry of [@from, @to) and entries @i to @j, which it touches. */
static void held_join(struct mpa_recover *rc, u32 i, u32 j, u32 from, u32 to)
{
	struct mpa_held *held = rc->room.held;

	if (before(from, held[i].from))
		held[i].from = from;
	held[i].to = before(to, held[j].to) ? held[j].to : to;
	memmove(held + i + 1, held + j + 1, (rc->n_held - j - 1) * sizeof(*held));
	rc->n_held -= j - i;
}

/* Note that [@from, @to) is held; false if that takes an entry too many. */
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

/* The chain owns what it has reached: Markers count beyond a gap only. */
static void rewind(struct mpa_recover *rc)
{
	rc->tried = rc->room.held[0].to;
	rc->scan = (rc->tried + MARKER_MASK) & ~MARKER_MASK;
}

/* Whether [@from, @to) can be noted in held_add(), before anything is copied. */
static bool has_room(const struct mpa_recover *rc, u32 from, u32 to)
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
	if (known >= len)	/* nothing new, or nothing at all */
		return len;
	pos += known;
	if (!before(pos, end))
		return 0;
	end = len - known < end - pos ? pos + len - known : end;
	if (!has_room(rc, pos, end))
		return 0;
	fill_gaps(rc, pos, data + known, end);
	held_add(rc, pos, end);
	rewind(rc);
	return known + end - pos;
}

/* Looking at what is held */

/* Bytes held from @pos on without a gap. */
static u32 held_from(const struct mpa_recover *rc, u32 pos)
{
	const struct mpa_held *h = rc->room.held;
	u32 i;

	for (i = 0; i < rc->n_held; i++)
		if (!before(pos, h[i].from) && before(pos, h[i].to))
			return h[i].to - pos;
	return 0;
}

/* Bytes of a Marker at the very start of the FPDU at @pos. */
static u32 lead(const struct mpa_recover *rc, u32 pos)
{
	return rc->rx.markers && !(pos & MARKER_MASK) ? MPA_MARKER_SIZE : 0;
}

/* Size of an FPDU at @pos by its length; 0 while that is not held. */
static u32 claimed(const struct mpa_recover *rc, u32 pos)
{
	u32 at = lead(rc, pos), len;

	if (held_from(rc, pos) < at + MPA_LEN_SIZE)
		return 0;
	len = be16_at(rc, pos + at);
	if (!len || len > MPA_ULPDU_MAX)
		return NO_FPDU;
	return mpa_fpdu_size(pos, len, rc->rx.markers);
}

/* Size of an FPDU at @pos that is held whole, else 0 (RCV-06). */
static u32 whole(const struct mpa_recover *rc, u32 pos)
{
	u32 size = claimed(rc, pos);

	return size <= held_from(rc, pos) ? size : 0;
}

/* Run the bytes of an FPDU held whole through the receiver. */
static bool judge(struct mpa_recover *rc, u32 pos, u32 size)
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

/* First byte of the FPDU the Marker at @pos belongs to, by its word (RCV-29). */
static u32 marker_says(const struct mpa_recover *rc, u32 pos)
{
	u32 len_at = pos - (be16_at(rc, pos + 2) & ~3u);

	/* A Marker right before the length comes with it (MRK-12). */
	return (len_at & MARKER_MASK) == MPA_MARKER_SIZE ? len_at - MPA_MARKER_SIZE : len_at;
}

/* Whether all Markers in the FPDU at @pos say that it begins there. */
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

/* Run @i has grown: if it reaches the next one now, they are one. */
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

/* The run an FPDU at [@from, @to) goes before; -1 if it is in another's way. */
static int run_place(const struct mpa_recover *rc, u32 from, u32 to)
{
	const struct mpa_run *runs = rc->room.runs;
	u32 i = 0;

	while (i < rc->n_runs && before(runs[i].to, from))
		i++;
	/* What begins where a run ends was looked at by chained(). */
	if (i < rc->n_runs && before(runs[i].from, to))
		return -1;
	return i;
}

/* The three ways */

static void fail(struct mpa_recover *rc, enum wire_err err)
{
	rc->failed = err;
}

static void deliver(struct mpa_recover *rc, u32 to)
{
	rc->next = to;
	rc->room.held[0].from = to;
}

/* FPDUs found early whose turn has come. */
static void deliver_runs(struct mpa_recover *rc)
{
	while (rc->n_runs && rc->room.runs[0].from == rc->next) {
		deliver(rc, rc->room.runs[0].to);
		run_remove(rc, 0);
	}
}

/* Lengths that will never do, before the rest has come (GAP-01, GAP-02). */
static enum wire_err never(const struct mpa_recover *rc, u32 size)
{
	if (size == NO_FPDU)
		return WIRE_MPA_MARKER;
	return size > rc->room.ring_size ? WIRE_MPA_LOCAL : WIRE_OK;
}

/* The FPDU at the delivery point (RCV-03). */
static bool in_order(struct mpa_recover *rc)
{
	u32 size;

	deliver_runs(rc);
	fail(rc, never(rc, claimed(rc, rc->next)));
	size = whole(rc, rc->next);
	if (rc->failed || !size)
		return false;
	if (!judge(rc, rc->next, size))
		fail(rc, rc->rx.failed);
	else if (rc->n_runs && before(rc->room.runs[0].from, rc->next + size))
		fail(rc, WIRE_MPA_MARKER);
	if (rc->failed)
		return false;
	deliver(rc, rc->next + size);
	return true;
}

/* Behind run @i (RCV-05). */
static bool chain(struct mpa_recover *rc, u32 i)
{
	struct mpa_run *run = &rc->room.runs[i];
	u32 size = whole(rc, run->to), end = run->to + size;

	if (!size) {
		run->dead = claimed(rc, run->to) == NO_FPDU;
		return false;
	}
	run->dead = (i + 1 < rc->n_runs && before(run[1].from, end)) ||
		    !markers_agree(rc, run->to, size) || !judge(rc, run->to, size);
	if (run->dead)
		return false;
	run->to = end;
	run_close(rc, i);
	return true;
}

static bool chained(struct mpa_recover *rc)
{
	u32 i;

	for (i = 0; i < rc->n_runs; i++)
		if (!rc->room.runs[i].dead && chain(rc, i))
			return true;
	return false;
}

/* An FPDU at @pos, by the word of a Marker: also if it lies (RCV-04). */
static bool early(struct mpa_recover *rc, u32 pos)
{
	u32 size = whole(rc, pos), end = pos + size;
	int i;

	if (!size || rc->n_runs == rc->room.max_runs)
		return false;
	/* Nothing new, or not in it. */
	if (rc->fresh.from == rc->fresh.to || !before(rc->fresh.from, end) ||
	    !before(pos, rc->fresh.to))
		return false;
	i = run_place(rc, pos, end);
	if (i < 0 || !markers_agree(rc, pos, size) || !judge(rc, pos, size))
		return false;
	run_insert(rc, i, pos, end);
	return true;
}

static bool marked(struct mpa_recover *rc)
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
		if (early(rc, pos))
			return true;
	}
	return false;
}

enum mpa_rx_verdict mpa_recover_next(struct mpa_recover *rc)
{
	if (rc->failed)
		return MPA_RX_FAILED;
	if (in_order(rc))
		return MPA_RX_FPDU;
	if (rc->failed)
		return MPA_RX_FAILED;
	if (chained(rc) || marked(rc))
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
