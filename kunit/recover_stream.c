// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <linux/string.h>
#include "recover_stream.h"

int stream_setup(struct kunit *test)
{
	struct stream *s = (struct stream *)model_alloc(test, sizeof(*s));

	s->wire = model_alloc(test, STREAM_MAX);
	s->have = model_alloc(test, STREAM_MAX);
	s->ulpdu = model_alloc(test, MODEL_MAX);
	s->room.ring = model_alloc(test, STREAM_RING);
	s->room.held = (struct mpa_held *)
		model_alloc(test, STREAM_ENTRIES * sizeof(struct mpa_held));
	s->room.runs = (struct mpa_run *)
		model_alloc(test, STREAM_ENTRIES * sizeof(struct mpa_run));
	test->priv = s;
	return 0;
}

void stream_begin(struct stream *s, u32 pos, bool markers, bool crc)
{
	s->pos = pos;
	s->markers = markers;
	s->crc = crc;
	s->n = 0;
	s->total = 0;
	s->judged = true;
	s->room.ring_size = STREAM_RING;
	s->room.max_held = STREAM_ENTRIES;
	s->room.max_runs = STREAM_ENTRIES;
}

/* Bytes that tell the FPDU and the place in it. */
static void fill(struct stream *s, u32 i)
{
	u32 k;

	for (k = 0; k < s->len[i]; k++)
		s->ulpdu[k] = i * 53 + k + (k >> 8);
}

u32 stream_add(struct stream *s, u32 len)
{
	u32 i = s->n++;

	s->len[i] = len;
	s->at[i] = s->total;
	fill(s, i);
	s->total += model_fpdu(s->wire + s->total, s->pos + s->total, s->ulpdu, len,
			       s->markers);
	s->at[s->n] = s->total;
	return i;
}

void stream_restart(struct stream *s)
{
	memset(s->have, 0, s->total);
	memset(s->seen, 0, sizeof(s->seen));
	mpa_recover_init(&s->rc, &s->room, s->pos, s->markers, s->crc);
}

void stream_fix(struct stream *s, u32 i)
{
	model_fix_crc(s->wire + s->at[i], s->at[i + 1] - s->at[i]);
}

/* Is the FPDU that the engine found one of ours, found for the first time, and unharmed? */
static bool check_found(struct stream *s)
{
	const struct mpa_rx *rx = &s->rc.rx;
	u32 i, n, off = 0;

	for (i = 0; i < s->n && rx->pos != s->pos + s->at[i]; i++)
		;
	if (i == s->n || s->seen[i] || rx->ulpdu_len != s->len[i] ||
	    rx->size != s->at[i + 1] - s->at[i])
		return false;
	s->seen[i] = true;
	fill(s, i);
	if (memcmp(rx->hdr, s->ulpdu, rx->hdr_len))
		return false;
	for (;;) {
		const u8 *p = mpa_recover_span(&s->rc, off, &n);

		if (!n)
			return off == s->len[i];
		if (memcmp(p, s->ulpdu + off, n))
			return false;
		off += n;
	}
}

static bool arrived(const struct stream *s, u32 i)
{
	return !memchr(s->have + s->at[i], 0, s->at[i + 1] - s->at[i]);
}

static bool has_marker(const struct stream *s, u32 i)
{
	return s->markers &&
	       -(s->pos + s->at[i]) % 512 < s->at[i + 1] - s->at[i];
}

/*
 * The engine must know exactly the FPDUs that are here whole and are first, have a Marker
 * or follow a known one. It must have delivered all bytes before the first gap.
 */
static bool as_foretold(const struct stream *s)
{
	bool known = true, gap = false;
	u32 i, next = s->pos;

	for (i = 0; i < s->n; i++) {
		known = arrived(s, i) && (known || has_marker(s, i));
		gap |= !known;
		if (s->seen[i] != known)
			return false;
		if (!gap)
			next = s->pos + s->at[i + 1];
	}
	return s->rc.next == next;
}

bool stream_drain(struct stream *s)
{
	enum mpa_rx_verdict v;

	while ((v = mpa_recover_next(&s->rc)) == MPA_RX_FPDU)
		if (!check_found(s))
			return false;
	if (mpa_recover_next(&s->rc) != v)
		return false;
	return !s->judged || (v == MPA_RX_MORE && as_foretold(s));
}

int stream_put(struct stream *s, u32 off, u32 len)
{
	u32 used = mpa_recover_put(&s->rc, s->pos + off, s->wire + off, len);

	if (used > len)
		return -1;
	memset(s->have + off, 1, used);
	return stream_drain(s) ? used : -1;
}

bool stream_complete(const struct stream *s)
{
	return s->rc.next == s->pos + s->total && !s->rc.failed &&
	       !memchr(s->seen, 0, s->n);
}
