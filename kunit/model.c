// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <linux/string.h>
#include <compat/unaligned.h>
#include "model.h"

/* Ledger CRC-13: reflected 0x82f63b78, initial ones, complemented. */
u32 model_crc(const u8 *data, u32 len)
{
	u32 crc = 0xffffffff;
	u32 bit;

	while (len--) {
		crc ^= *data++;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

void model_fix_crc(u8 *fpdu, u32 size)
{
	put_unaligned_le32(model_crc(fpdu, size - 4), fpdu + size - 4);
}

struct stream {
	u8 *out;
	u32 at;
	u32 pos;
	bool markers;
	bool begun;
	u32 length_at;
};

static void marker_if_due(struct stream *s)
{
	if (!s->markers || (s->pos + s->at) % 512)
		return;
	put_unaligned_be16(0, s->out + s->at);
	put_unaligned_be16(s->begun ? s->at - s->length_at : 0, s->out + s->at + 2);
	s->at += 4;
}

static void emit(struct stream *s, u8 byte)
{
	marker_if_due(s);
	if (!s->begun) {
		s->begun = true;
		s->length_at = s->at;
	}
	s->out[s->at++] = byte;
}

u32 model_fpdu(u8 *out, u32 pos, const u8 *ulpdu, u32 len, bool markers)
{
	struct stream s = { .out = out, .pos = pos, .markers = markers };
	u32 i;

	emit(&s, len >> 8);
	emit(&s, len & 0xff);
	for (i = 0; i < len; i++)
		emit(&s, ulpdu[i]);
	for (i = 2 + len; i % 4; i++)
		emit(&s, 0);
	marker_if_due(&s);
	put_unaligned_le32(model_crc(out, s.at), out + s.at);
	return s.at + 4;
}

void model_fill(u8 *ulpdu, u32 len, enum fill fill, u32 msn)
{
	u32 i;

	memset(ulpdu, fill == FILL_ONES ? 0xff : 0, len);
	for (i = 0; fill == FILL_PATTERN && i < len; i++)
		ulpdu[i] = i;
	if (fill != FILL_SEND && fill != FILL_SEND_V0)
		return;
	ulpdu[0] = fill == FILL_SEND ? 0x41 : 0x40;
	ulpdu[1] = fill == FILL_SEND ? 0x43 : 0x03;
	put_unaligned_be32(msn, ulpdu + 10);
}

u32 model_vector(const struct fpdu_vector *v, u8 *ulpdu, u8 *out)
{
	model_fill(ulpdu, v->len, v->fill, v->msn);
	return model_fpdu(out, v->pos, ulpdu, v->len, v->markers);
}

u32 model_random(u32 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}
