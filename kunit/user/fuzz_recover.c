// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * libFuzzer: recovery of FPDUs from segments of a stranger, in any order.
 *
 * Input: four bytes (settings and repairs, start position, room,
 * number of segments), four bytes for each segment (offset, length, whether its
 * bytes are altered), then the stream. After the segments the stream comes once
 * more in order, as from a sender that repeats.
 *
 * Rules: an FPDU is found once, from bytes that arrived, with a right CRC, and
 * overlaps no other. The bytes that came first count. The delivered FPDUs are those
 * that mpa_rx_feed() finds in the ordered stream, and an error is its error, except
 * for an FPDU too large for the room or in the way of one found early. The work
 * is in proportion to the bytes that came.
 */
#include <stdlib.h>
#include <string.h>
#include <compat/unaligned.h>
#include <linux/crc32c.h>
#include <wire/recover.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define CHECK(c) do { if (!(c)) abort(); } while (0)

#define STREAM_MAX	16384

static struct fuzz {
	bool markers;
	bool crc;
	u32 pos;
	u32 len;
	u32 next;		/* delivered, from @pos */
	u64 put;		/* bytes of all segments */
	u8 sent[STREAM_MAX];
	u8 first[STREAM_MAX];	/* the bytes that came first */
	bool have[STREAM_MAX];
	bool found[STREAM_MAX];
	struct mpa_recover rc;
	u8 ring[65536];
	struct mpa_held held[8];
	struct mpa_run runs[8];
} f;

/* Make Markers and CRC of the chain of lengths right, so that the rest counts. */
static void repair(bool markers)
{
	u32 at = 0, m, lead, len, size;

	for (;; at += size) {
		lead = f.markers && !((f.pos + at) % MPA_MARKER_SPACING) ? MPA_MARKER_SIZE : 0;
		if (f.len - at < lead + MPA_LEN_SIZE)
			return;
		len = get_unaligned_be16(f.sent + at + lead);
		if (!len || len > MPA_ULPDU_MAX)
			return;
		size = mpa_fpdu_size(f.pos + at, len, f.markers);
		if (size > f.len - at)
			return;
		for (m = -(f.pos + at) % MPA_MARKER_SPACING; f.markers && markers && m < size;
		     m += MPA_MARKER_SPACING)
			put_unaligned_be16(m ? m - lead : 0, f.sent + at + m + 2);
		put_unaligned_le32(~crc32c(~0, f.sent + at, size - MPA_CRC_SIZE),
				   f.sent + at + size - MPA_CRC_SIZE);
	}
}

static void check_bytes(u32 at)
{
	u32 off = 0, n, i, wire;

	for (;;) {
		const u8 *p = mpa_recover_span(&f.rc, off, &n);

		mpa_ulpdu_span(&f.rc.rx, off, &wire);
		if (!n)
			break;
		for (i = 0; i < n; i++)
			CHECK(p[i] == f.first[at + wire + i]);
		off += n;
	}
	CHECK(off == f.rc.rx.ulpdu_len);
}

static void check_found(void)
{
	u32 at = f.rc.rx.pos - f.pos, size = f.rc.rx.size, i;

	CHECK(at < f.len && size <= f.len - at);
	for (i = at; i < at + size; i++) {
		CHECK(f.have[i] && !f.found[i]);
		f.found[i] = true;
	}
	if (f.crc)
		CHECK(get_unaligned_le32(f.first + at + size - MPA_CRC_SIZE) ==
		      ~crc32c(~0, f.first + at, size - MPA_CRC_SIZE));
	check_bytes(at);
}

static void drain(void)
{
	u32 next;

	while (mpa_recover_next(&f.rc) == MPA_RX_FPDU)
		check_found();
	next = f.rc.next - f.pos;
	CHECK(next >= f.next && next <= f.len);
	for (; f.next < next; f.next++)
		CHECK(f.found[f.next]);
	CHECK(f.rc.n_held >= 1 && f.rc.n_held <= f.rc.room.max_held);
	CHECK(f.rc.n_runs <= f.rc.room.max_runs);
}

static u32 put(u32 off, u32 len, bool alter)
{
	u8 *piece = malloc(len);	/* to see a read beyond it */
	u32 used, i;

	CHECK(piece);
	memcpy(piece, f.sent + off, len);
	for (i = 0; alter && i < len; i++)
		piece[i] ^= 0x81;
	used = mpa_recover_put(&f.rc, f.pos + off, piece, len);
	CHECK(used <= len);
	f.put += len;
	for (i = off; i < off + used; i++) {
		if (f.have[i])
			continue;
		f.have[i] = true;
		f.first[i] = piece[i - off];
	}
	free(piece);
	return used;
}

static void segments(const u8 *op, u32 n)
{
	for (; n--; op += 4) {
		u32 off = get_unaligned_be16(op) % f.len;
		u32 len = 1 + (get_unaligned_be16(op + 2) & 0x3ff);

		put(off, len < f.len - off ? len : f.len - off, op[2] & 0x80);
		if (!(op[2] & 0x40))
			drain();
	}
}

/* A sender that repeats unacknowledged bytes gets everything through. */
static void repeat(void)
{
	u32 before;

	do {
		before = f.next;
		put(f.next, f.len - f.next, false);
		drain();
	} while (f.next != before);
}

/* Are FPDUs that were found early in the @size bytes at the delivery point? */
static bool in_the_way(u32 size)
{
	return memchr(f.found + f.next, true, size < f.len - f.next ? size : f.len - f.next);
}

static void compare(void)
{
	struct mpa_rx rx;
	u32 at = 0, used, arrived = 0;
	enum mpa_rx_verdict v;

	while (arrived < f.len && f.have[arrived])
		arrived++;
	mpa_rx_init_at(&rx, f.pos, f.markers, f.crc);
	while ((v = mpa_rx_feed(&rx, f.first + at, arrived - at, &used)) == MPA_RX_FPDU &&
	       at != f.next) {
		at += used;
		mpa_rx_next(&rx);
	}
	CHECK(at == f.next);
	if (f.rc.failed == WIRE_MPA_LOCAL)
		CHECK(rx.size > f.rc.room.ring_size);
	else if (f.rc.failed && v == MPA_RX_FPDU)
		CHECK(f.rc.failed == WIRE_MPA_MARKER && in_the_way(rx.size));
	else
		CHECK(f.rc.failed == rx.failed && v != MPA_RX_FPDU);
}

static void start(const u8 *head)
{
	struct mpa_recover_room room = {
		.ring = f.ring, .ring_size = 512 << 7 * (head[2] >> 7),
		.held = f.held, .max_held = 1 + (head[2] & 7),
		.runs = f.runs, .max_runs = head[2] >> 3 & 7,
	};

	mpa_recover_init(&f.rc, &room, f.pos, f.markers, f.crc);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 n, head;

	n = size > 4 ? data[3] & 31 : 0;
	head = 4 + 4 * n;
	if (size <= head || size - head > STREAM_MAX)
		return 0;
	memset(f.have, 0, sizeof(f.have));
	memset(f.found, 0, sizeof(f.found));
	f.next = 0;
	f.put = 0;
	f.markers = data[0] & 1;
	f.crc = data[0] & 2;
	f.pos = (data[0] & 8 ? 0xfffffe00 : 0) + 4 * data[1];
	f.len = size - head;
	memcpy(f.sent, data + head, f.len);
	if (data[0] & 4)
		repair(data[0] & 16);
	start(data);
	segments(data + 4, n);
	drain();
	repeat();
	CHECK(f.rc.checked <= 4 * f.put);
	compare();
	return 0;
}
