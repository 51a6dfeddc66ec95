// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMAP (RFC 5040): the format of each opcode, and the Terminate message.
 *
 * Terminate payload (section 4.8): a control word
 *
 *	 0      4      8               16     19                 31
 *	| Layer| EType|  Error Code   |M|D|R |     reserved        |
 *
 * With M or D, the DDP Segment Length of 16 bits follows. With D, the offending DDP header
 * follows (14 bytes tagged, 18 untagged), and with R the Read Request.
 */
#include <linux/limits.h>
#include <linux/types.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include <compat/unaligned.h>

#include "wire/ddp.h"

#define TERM_CTRL_SIZE	4
#define TERM_LEN_SIZE	2
#define TERM_M		0x8000
#define TERM_D		0x4000
#define TERM_R		0x2000

/* RFC 5040 figure 4: buffer model and queue of each opcode */
const struct rdmap_opcode_row rdmap_opcodes[RDMAP_OPCODE_MAX] = {
	[RDMAP_WRITE]		= { .hdr_len = 14, .tagged = true },
	[RDMAP_READ_REQ]	= { .hdr_len = 46, .qn = DDP_QN_READ_REQ },
	[RDMAP_READ_RESP]	= { .hdr_len = 14, .tagged = true },
	[RDMAP_SEND]		= { .hdr_len = 18, .send = true },
	[RDMAP_SEND_INV]	= { .hdr_len = 18, .send = true, .inval = true },
	[RDMAP_SEND_SE]		= { .hdr_len = 18, .send = true },
	[RDMAP_SEND_SE_INV]	= { .hdr_len = 18, .send = true, .inval = true },
	[RDMAP_TERMINATE]	= { .hdr_len = 18, .qn = DDP_QN_TERMINATE },
};

static u32 ddp_hdr_len(u8 first)
{
	return first & DDP_FLAG_TAGGED ? sizeof(struct ddp_tagged_hdr) :
					 sizeof(struct ddp_untagged_hdr);
}

/* Return: true if the Terminate of the error contains the offending header. */
static bool shows_header(const struct wire_err_row *row)
{
	if (row->layer == TERM_LAYER_RDMAP)
		return row->etype != TERM_RDMAP_CATASTROPHIC;
	return row->layer == TERM_LAYER_DDP && row->etype != TERM_DDP_CATASTROPHIC;
}

static bool shows_read(const struct wire_err_row *row, const u8 *ulpdu)
{
	return row->layer == TERM_LAYER_RDMAP &&
	       row->etype == TERM_RDMAP_PROTECTION &&
	       (ulpdu[1] & RDMAP_OPCODE_MASK) == RDMAP_READ_REQ;
}

void rdmap_term_init(struct rdmap_term *term, enum wire_err err, const u8 *ulpdu,
		     u32 have, u32 ulpdu_len)
{
	const struct wire_err_row *row = wire_err_row(err);

	memset(term, 0, sizeof(*term));
	term->layer = row->layer;
	term->etype = row->etype;
	term->code = row->code;
	if (!ulpdu || !have || !shows_header(row) || have < ddp_hdr_len(ulpdu[0]))
		return;
	term->has_len = true;
	term->has_ddp = true;
	term->seg_len = ulpdu_len;
	term->hdr_len = ddp_hdr_len(ulpdu[0]);
	if (shows_read(row, ulpdu) && have >= term->hdr_len + sizeof(struct rdmap_read_req)) {
		term->has_rdmap = true;
		term->hdr_len += sizeof(struct rdmap_read_req);
	}
	memcpy(term->hdr, ulpdu, term->hdr_len);
}

u32 rdmap_term_build(const struct rdmap_term *term, u8 *buf)
{
	u32 word = (u32)term->layer << 28 | (u32)(term->etype & 0xf) << 24 |
		   (u32)term->code << 16;
	u32 len = TERM_CTRL_SIZE;

	word |= term->has_len ? TERM_M : 0;
	word |= term->has_ddp ? TERM_D : 0;
	word |= term->has_rdmap ? TERM_R : 0;
	put_unaligned_be32(word, buf);
	if (term->has_len || term->has_ddp) {
		put_unaligned_be16(term->seg_len, buf + len);
		len += TERM_LEN_SIZE;
	}
	memcpy(buf + len, term->hdr, term->hdr_len);
	return len + term->hdr_len;
}

/* Copy the headers that @word announces. Return: false if one of them is not complete. */
static bool copy_headers(struct rdmap_term *term, u32 word, const u8 *buf, u32 len)
{
	bool ddp = word & TERM_D, read = word & TERM_R;

	term->has_ddp = ddp && len && ddp_hdr_len(buf[0]) <= len;
	if (term->has_ddp)
		term->hdr_len = ddp_hdr_len(buf[0]);
	term->has_rdmap = read && term->hdr_len + sizeof(struct rdmap_read_req) <= len;
	if (term->has_rdmap)
		term->hdr_len += sizeof(struct rdmap_read_req);
	memcpy(term->hdr, buf, term->hdr_len);
	return term->has_ddp == ddp && term->has_rdmap == read;
}

bool rdmap_term_parse(struct rdmap_term *term, const u8 *buf, u32 len)
{
	u32 at = TERM_CTRL_SIZE;
	u32 word;

	memset(term, 0, sizeof(*term));
	/* Without a control field the numbers are those of no error. */
	word = len < at ? U32_MAX : get_unaligned_be32(buf);
	term->layer = word >> 28;
	term->etype = word >> 24 & 0xf;
	term->code = word >> 16 & 0xff;
	if (len < at)
		return false;
	if (word & (TERM_M | TERM_D)) {
		if (len < at + TERM_LEN_SIZE)
			return false;
		term->has_len = word & TERM_M;
		term->seg_len = get_unaligned_be16(buf + at);
		at += TERM_LEN_SIZE;
	}
	return copy_headers(term, word, buf + at, len - at);
}

bool rdmap_term_read(const struct rdmap_term *term, u32 *msn)
{
	const struct ddp_untagged_hdr *h = (const void *)term->hdr;

	if (!term->has_ddp || h->ctrl.ddp & DDP_FLAG_TAGGED ||
	    (h->ctrl.rdmap & RDMAP_OPCODE_MASK) != RDMAP_READ_REQ)
		return false;
	*msn = be32_to_cpu(h->msn);
	return true;
}

/* RFC 5040 figures 9 and 10: code 9 of either type is about an invalidation. */
static bool may_concern_read(const struct rdmap_term *term)
{
	return term->layer == TERM_LAYER_RDMAP && term->code != TERM_RDMAP_NOINVAL &&
	       (term->etype == TERM_RDMAP_PROTECTION || term->etype == TERM_RDMAP_OPERATION);
}

bool rdmap_term_about_read(const struct rdmap_term *term)
{
	u32 msn;

	if (term->has_rdmap)
		return true;
	return term->has_ddp ? rdmap_term_read(term, &msn) : may_concern_read(term);
}
