// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP segments (RFC 5041): building and parsing headers, and the order of the segments of an
 * untagged queue.
 *
 * ddp_parse() checks in the order in which the layers see a segment: DDP version, DDP header,
 * queue number, RDMAP version, opcode, and the rules of the opcode.
 */
#include <linux/types.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "wire/ddp.h"

#define CTRL_SIZE	sizeof(struct ddp_ctrl)
#define READ_REQ_SIZE	sizeof(struct rdmap_read_req)

static void build_ctrl(const struct ddp_seg *seg, struct ddp_ctrl *ctrl)
{
	ctrl->ddp = DDP_VERSION | (seg->last ? DDP_FLAG_LAST : 0);
	if (rdmap_is_tagged(seg->opcode))
		ctrl->ddp |= DDP_FLAG_TAGGED;
	ctrl->rdmap = RDMAP_VERSION << RDMAP_VERSION_SHIFT | seg->opcode;
}

static void build_tagged(const struct ddp_seg *seg, struct ddp_tagged_hdr *h)
{
	build_ctrl(seg, &h->ctrl);
	h->stag = cpu_to_be32(seg->stag);
	h->to = cpu_to_be64(seg->to);
}

static void build_untagged(const struct ddp_seg *seg, struct ddp_untagged_hdr *h)
{
	build_ctrl(seg, &h->ctrl);
	h->inval_stag = cpu_to_be32(rdmap_is_inval(seg->opcode) ? seg->stag : 0);
	h->qn = cpu_to_be32(rdmap_queue(seg->opcode));
	h->msn = cpu_to_be32(seg->msn);
	h->mo = cpu_to_be32(seg->mo);
}

static void build_read_req(const struct ddp_seg *seg, struct rdmap_read_req *r)
{
	r->sink_stag = cpu_to_be32(seg->read.sink_stag);
	r->sink_to = cpu_to_be64(seg->read.sink_to);
	r->size = cpu_to_be32(seg->read.size);
	r->src_stag = cpu_to_be32(seg->read.src_stag);
	r->src_to = cpu_to_be64(seg->read.src_to);
}

u32 ddp_build(const struct ddp_seg *seg, u8 *hdr)
{
	if (rdmap_is_tagged(seg->opcode)) {
		build_tagged(seg, (struct ddp_tagged_hdr *)hdr);
		return rdmap_hdr_len(seg->opcode);
	}
	build_untagged(seg, (struct ddp_untagged_hdr *)hdr);
	if (seg->opcode == RDMAP_READ_REQ) {
		hdr += sizeof(struct ddp_untagged_hdr);
		build_read_req(seg, (struct rdmap_read_req *)hdr);
	}
	return rdmap_hdr_len(seg->opcode);
}

/* Read the control bytes and check the DDP version. */
static enum wire_err parse_ctrl(struct ddp_seg *seg, const struct ddp_ctrl *ctrl)
{
	seg->tagged = ctrl->ddp & DDP_FLAG_TAGGED;
	seg->last = ctrl->ddp & DDP_FLAG_LAST;
	seg->opcode = ctrl->rdmap & RDMAP_OPCODE_MASK;
	if ((ctrl->ddp & DDP_VERSION_MASK) == DDP_VERSION)
		return WIRE_OK;
	return seg->tagged ? WIRE_DDP_T_VERSION : WIRE_DDP_U_VERSION;
}

/* RFC 5041 section 7.1: the buffer's address space must not wrap. */
static enum wire_err parse_tagged(struct ddp_seg *seg, const struct ddp_tagged_hdr *h)
{
	seg->stag = be32_to_cpu(h->stag);
	seg->to = be64_to_cpu(h->to);
	if (seg->len && seg->to + (seg->len - 1) < seg->to)
		return WIRE_DDP_T_WRAP;
	return WIRE_OK;
}

/* The queue exists (RFC 5041 section 7.1), and a message is below 2^32 bytes (section 5.2). */
static enum wire_err parse_untagged(struct ddp_seg *seg, const struct ddp_untagged_hdr *h)
{
	seg->stag = be32_to_cpu(h->inval_stag);
	seg->qn = be32_to_cpu(h->qn);
	seg->msn = be32_to_cpu(h->msn);
	seg->mo = be32_to_cpu(h->mo);
	if (seg->qn >= DDP_QN_MAX)
		return WIRE_DDP_U_QN;
	if (seg->mo + seg->len < seg->mo)
		return WIRE_DDP_U_TOOLONG;
	return WIRE_OK;
}

/*
 * One message is one Read Request of 28 bytes (RFC 5040 sections 3.1 and 4.4). It has to be in one
 * segment, because no MULPDU is so small that a peer would have to cut it (RDMAP-32).
 */
static enum wire_err parse_read_req(struct ddp_seg *seg, const u8 *ulpdu, u32 have)
{
	const struct rdmap_read_req *r = (const void *)(ulpdu + seg->hdr_len);

	if (seg->mo)
		return WIRE_DDP_U_MO;
	if (seg->len > READ_REQ_SIZE)
		return WIRE_DDP_U_TOOLONG;
	if (seg->len < READ_REQ_SIZE || have < seg->hdr_len + READ_REQ_SIZE || !seg->last)
		return WIRE_DDP_LOCAL;
	seg->read.sink_stag = be32_to_cpu(r->sink_stag);
	seg->read.sink_to = be64_to_cpu(r->sink_to);
	seg->read.size = be32_to_cpu(r->size);
	seg->read.src_stag = be32_to_cpu(r->src_stag);
	seg->read.src_to = be64_to_cpu(r->src_to);
	seg->hdr_len += READ_REQ_SIZE;
	seg->len = 0;
	return WIRE_OK;
}

/* The checks of RDMAP on the control bytes (RFC 5040 section 4.1, figure 4). */
static enum wire_err parse_rdmap(const struct ddp_seg *seg, const struct ddp_ctrl *ctrl)
{
	if ((ctrl->rdmap & RDMAP_VERSION_MASK) != RDMAP_VERSION << RDMAP_VERSION_SHIFT)
		return WIRE_RDMAP_VERSION;
	if (seg->opcode >= RDMAP_OPCODE_MAX ||
	    seg->tagged != rdmap_is_tagged(seg->opcode) ||
	    seg->qn != rdmap_queue(seg->opcode))
		return WIRE_RDMAP_OPCODE;
	return WIRE_OK;
}

/* The DDP header: 14 bytes tagged, 18 untagged. */
static enum wire_err parse_ddp(struct ddp_seg *seg, const u8 *ulpdu, u32 have, u32 ulpdu_len)
{
	seg->hdr_len = seg->tagged ? sizeof(struct ddp_tagged_hdr) :
				     sizeof(struct ddp_untagged_hdr);
	if (have < seg->hdr_len || ulpdu_len < seg->hdr_len)
		return WIRE_DDP_LOCAL;
	seg->len = ulpdu_len - seg->hdr_len;
	if (seg->tagged)
		return parse_tagged(seg, (const struct ddp_tagged_hdr *)ulpdu);
	return parse_untagged(seg, (const struct ddp_untagged_hdr *)ulpdu);
}

enum wire_err ddp_parse(struct ddp_seg *seg, const u8 *ulpdu, u32 have, u32 ulpdu_len)
{
	const struct ddp_ctrl *ctrl = (const struct ddp_ctrl *)ulpdu;
	enum wire_err err;

	memset(seg, 0, offsetof(struct ddp_seg, read));
	if (have < CTRL_SIZE || ulpdu_len < CTRL_SIZE)
		return WIRE_DDP_LOCAL;
	err = parse_ctrl(seg, ctrl);
	if (!err)
		err = parse_ddp(seg, ulpdu, have, ulpdu_len);
	if (!err)
		err = parse_rdmap(seg, ctrl);
	if (!err && seg->opcode == RDMAP_READ_REQ)
		err = parse_read_req(seg, ulpdu, have);
	return err;
}

/* The MSNs of each queue begin at 1 (RFC 5041 section 4.3). */
void ddp_rx_init(struct ddp_rx *rx)
{
	u32 qn;

	memset(rx, 0, sizeof(*rx));
	for (qn = 0; qn < DDP_QN_MAX; qn++)
		rx->msn[qn] = 1;
}

enum wire_err ddp_rx_check(const struct ddp_rx *rx, const struct ddp_seg *seg)
{
	if (seg->tagged)
		return WIRE_OK;
	if (seg->msn != rx->msn[seg->qn])
		return WIRE_DDP_U_MSN;
	if (seg->mo != rx->mo[seg->qn])
		return WIRE_DDP_U_MO;
	if (seg->qn == DDP_QN_SEND && rx->open && seg->opcode != rx->opcode)
		return WIRE_RDMAP_OPCODE;
	return WIRE_OK;
}

void ddp_rx_accept(struct ddp_rx *rx, const struct ddp_seg *seg)
{
	if (seg->tagged)
		return;
	if (seg->last) {
		rx->msn[seg->qn]++;
		rx->mo[seg->qn] = 0;
	} else {
		rx->mo[seg->qn] += seg->len;
	}
	if (seg->qn == DDP_QN_SEND) {
		rx->opcode = seg->opcode;
		rx->open = !seg->last;
	}
}
