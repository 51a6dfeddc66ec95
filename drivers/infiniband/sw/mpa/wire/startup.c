// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA startup: frames (RFC 5044 section 7.1.1, RFC 6581 sections 6 and 9) and negotiation.
 *
 * The Request has the wishes of the initiator, and the Reply has the decisions of the responder,
 * to which the initiator adapts. The IRD of one end serves the ORD of the other, so the result is
 *
 *	initiator ORD <= responder IRD, responder ORD <= initiator IRD (P2P-11)
 *
 * unless an end sent 0x3fff, which leaves the depth to the ULP (P2P-19).
 */
#include <linux/types.h>
#include <linux/string.h>
#include <linux/minmax.h>
#include <asm/byteorder.h>
#include <compat/unaligned.h>

#include "wire/startup.h"

#define HDR_SIZE	sizeof(struct mpa_frame_hdr)
#define ENH_SIZE	sizeof(struct mpa_enhanced)
#define AT_FLAGS	MPA_KEY_SIZE
#define AT_REV		(MPA_KEY_SIZE + 1)
#define AT_PD_LEN	(MPA_KEY_SIZE + 2)
/* Largest depth that is a number */
#define DEPTH_MAX	(MPA_DEPTH_ULP - 1)

static const char * const keys[MPA_KINDS] = {
	[MPA_REQUEST]	= "MPA ID Req Frame",	/* NEG-02 */
	[MPA_REPLY]	= "MPA ID Rep Frame",	/* NEG-03 */
	[MPA_RTR]	= "MPA ID RtR Frame",	/* HIST-18: the proposal's bytes, not its text */
};

/* Frames */

static void build_hdr(const struct mpa_frame *f, u32 pd_len, struct mpa_frame_hdr *h)
{
	bool s = f->enhanced || (f->rtr_frame && f->rev < 2);

	memcpy(h->key, keys[f->kind], MPA_KEY_SIZE);
	h->flags = (f->markers ? MPA_FLAG_MARKERS : 0) |
		   (f->crc ? MPA_FLAG_CRC : 0) |
		   (f->kind == MPA_REPLY && f->reject ? MPA_FLAG_REJECT : 0) |
		   (s && f->kind != MPA_RTR ? MPA_FLAG_S : 0);
	h->rev = f->rev;
	h->pd_len = cpu_to_be16(pd_len);
}

/* P2P-06; client-server frames have no RTR flags (P2P-27). */
void mpa_enhanced_build(struct mpa_enhanced *e, const struct mpa_frame *f)
{
	u16 ird = f->ird & MPA_ENH_DEPTH_MASK;
	u16 ord = f->ord & MPA_ENH_DEPTH_MASK;

	if (f->peer) {
		ird |= MPA_ENH_PEER;
		ird |= f->rtr & MPA_RTR_SEND ? MPA_ENH_RTR_SEND : 0;
		ord |= f->rtr & MPA_RTR_WRITE ? MPA_ENH_RTR_WRITE : 0;
		ord |= f->rtr & MPA_RTR_READ ? MPA_ENH_RTR_READ : 0;
	}
	e->ird = cpu_to_be16(ird);
	e->ord = cpu_to_be16(ord);
}

u32 mpa_frame_build(const struct mpa_frame *f, const void *pd, u8 *buf)
{
	u32 enh = f->enhanced ? ENH_SIZE : 0;
	u32 pd_len = enh + f->pd_len;

	if (pd_len > MPA_PD_MAX)
		return 0;
	build_hdr(f, pd_len, (struct mpa_frame_hdr *)buf);
	if (enh)
		mpa_enhanced_build((struct mpa_enhanced *)(buf + HDR_SIZE), f);
	if (f->pd_len)
		memcpy(buf + HDR_SIZE + enh, pd, f->pd_len);
	return HDR_SIZE + pd_len;
}

/* Since revision 2, S means enhanced data (P2P-03, GAP-03). */
static bool is_enhanced(u8 flags, u8 rev)
{
	return rev >= 2 && flags & MPA_FLAG_S;
}

/* NEG-13; the RtR frame was proposed for revision 1 only. */
static bool rev_ok(u8 rev, enum mpa_kind kind)
{
	return rev && rev <= (kind == MPA_RTR ? 1 : MPA_REV_MAX);
}

/* NEG-15; the enhanced words are part of the Private Data (P2P-05, GAP-03). */
static bool pd_len_ok(const u8 *buf)
{
	u32 pd_len = get_unaligned_be16(buf + AT_PD_LEN);

	if (pd_len > MPA_PD_MAX)
		return false;
	return pd_len >= ENH_SIZE || !is_enhanced(buf[AT_FLAGS], buf[AT_REV]);
}

/* Return: true if a valid frame may begin with these bytes. */
static bool prefix_ok(const u8 *buf, u32 have, enum mpa_kind kind)
{
	if (memcmp(buf, keys[kind], min_t(u32, have, MPA_KEY_SIZE)))
		return false;
	if (have > AT_REV && !rev_ok(buf[AT_REV], kind))
		return false;
	if (have == AT_PD_LEN + 1)
		return buf[AT_PD_LEN] <= MPA_PD_MAX >> 8;
	return have < HDR_SIZE || pd_len_ok(buf);
}

u32 mpa_frame_need(const u8 *buf, u32 have, enum mpa_kind kind, enum wire_err *err)
{
	bool ok = prefix_ok(buf, have, kind);

	*err = ok ? WIRE_OK : WIRE_MPA_FRAME;
	if (!ok || have < HDR_SIZE)
		return HDR_SIZE;
	return HDR_SIZE + get_unaligned_be16(buf + AT_PD_LEN);
}

void mpa_enhanced_parse(struct mpa_frame *f, const struct mpa_enhanced *e)
{
	u16 ird = be16_to_cpu(e->ird);
	u16 ord = be16_to_cpu(e->ord);

	f->enhanced = true;
	f->ird = ird & MPA_ENH_DEPTH_MASK;
	f->ord = ord & MPA_ENH_DEPTH_MASK;
	f->peer = ird & MPA_ENH_PEER;
	if (!f->peer)
		return;		/* P2P-27 */
	f->rtr = (ird & MPA_ENH_RTR_SEND ? MPA_RTR_SEND : 0) |
		 (ord & MPA_ENH_RTR_WRITE ? MPA_RTR_WRITE : 0) |
		 (ord & MPA_ENH_RTR_READ ? MPA_RTR_READ : 0);
}

enum wire_err mpa_frame_parse(struct mpa_frame *f, const u8 *buf, enum mpa_kind kind,
			      const u8 **pd)
{
	const struct mpa_frame_hdr *h = (const struct mpa_frame_hdr *)buf;

	memset(f, 0, sizeof(*f));
	*pd = buf + HDR_SIZE;
	if (!prefix_ok(buf, HDR_SIZE, kind))
		return WIRE_MPA_FRAME;
	f->kind = kind;
	f->markers = h->flags & MPA_FLAG_MARKERS;
	f->crc = h->flags & MPA_FLAG_CRC;
	f->reject = kind == MPA_REPLY && h->flags & MPA_FLAG_REJECT;	/* NEG-09 */
	f->rev = h->rev;
	f->pd_len = be16_to_cpu(h->pd_len);
	f->rtr_frame = kind != MPA_RTR && h->rev < 2 && h->flags & MPA_FLAG_S;
	if (is_enhanced(h->flags, h->rev)) {
		mpa_enhanced_parse(f, (const struct mpa_enhanced *)*pd);
		f->pd_len -= ENH_SIZE;
		*pd += ENH_SIZE;
	}
	return WIRE_OK;
}

/* Negotiation */

/* A depth above the field's range must not become MPA_DEPTH_ULP, which is not a number. */
static u16 depth_field(u16 depth)
{
	return depth > MPA_DEPTH_ULP ? DEPTH_MAX : depth;
}

void mpa_request(struct mpa_frame *f, const struct mpa_offer *own, u16 pd_len)
{
	memset(f, 0, sizeof(*f));
	f->markers = own->markers;
	f->crc = own->crc;
	f->rev = own->rtr_frame ? 1 : own->rev;
	f->rtr_frame = own->rtr_frame;
	f->pd_len = pd_len;
	if (f->rev < 2)
		return;
	f->enhanced = true;
	f->peer = own->rtr;
	f->rtr = own->rtr;
	f->ird = depth_field(own->ird);
	f->ord = depth_field(own->ord);
}

bool mpa_request_acceptable(const struct mpa_frame *req, const struct mpa_offer *own)
{
	/* A Request without S is an unenhanced one at any revision (P2P-61, GAP-24). */
	return req->rev <= own->rev || !req->enhanced;
}

/*
 * Choose the RTR types of the Reply: the offered ones that we support, or if there are none, all
 * that we support (P2P-30 to P2P-33). A Read needs an IRD, which may not be raised if the Request
 * leaves the depth to the ULP (P2P-65). If @own->rtr has no other type, the Reply shows all others,
 * because a responder must be able to receive each of them (P2P-29).
 */
static u8 respond_rtr(const struct mpa_frame *req, const struct mpa_offer *own)
{
	u8 all = MPA_RTR_ALL;
	u8 rtr;

	if (!req->peer)
		return 0;
	if (!own->ird_max || (!own->ird && req->ord == MPA_DEPTH_ULP))
		all &= ~MPA_RTR_READ;
	rtr = own->rtr & all ? own->rtr & all : all;
	return rtr & req->rtr ? rtr & req->rtr : rtr;
}

/*
 * Set our IRD to at least the initiator's ORD, as far as @own->ird_max allows (P2P-08, P2P-09).
 * If that is less, the initiator lowers its ORD (P2P-55). A Read as RTR needs at least 1
 * (P2P-14). An ORD that is left to the ULP changes nothing (P2P-20).
 */
static void respond_ird(struct mpa_frame *f, struct mpa_agreed *out,
			const struct mpa_frame *req, const struct mpa_offer *own)
{
	if (req->ord == MPA_DEPTH_ULP) {
		f->ird = MPA_DEPTH_ULP;
		return;
	}
	out->ird = min_t(u16, max(own->ird, req->ord), own->ird_max);
	if (f->rtr & MPA_RTR_READ)
		out->ird = max_t(u16, out->ird, 1);
	f->ird = min_t(u16, out->ird, DEPTH_MAX);
}

/*
 * Limit our ORD to the initiator's IRD (P2P-10, P2P-13). A rejecting Reply shows the ORD that we
 * wanted (P2P-15).
 */
static void respond_ord(struct mpa_frame *f, struct mpa_agreed *out,
			const struct mpa_frame *req, const struct mpa_offer *own)
{
	if (req->ird == MPA_DEPTH_ULP) {
		f->ord = MPA_DEPTH_ULP;
		return;
	}
	out->ord = min(own->ord, req->ird);
	f->ord = f->reject ? min_t(u16, own->ord, DEPTH_MAX) : out->ord;
}

void mpa_respond(struct mpa_frame *f, struct mpa_agreed *out, const struct mpa_frame *req,
		 const struct mpa_offer *own, bool reject, u16 pd_len)
{
	memset(f, 0, sizeof(*f));
	memset(out, 0, sizeof(*out));
	f->kind = MPA_REPLY;
	f->markers = own->markers;
	f->crc = own->crc || req->crc;		/* CRC-05 */
	f->reject = reject;
	f->rev = min(req->rev, own->rev);	/* GAP-03 */
	f->pd_len = pd_len;
	out->tx_markers = req->markers;		/* MRK-03 */
	out->rx_markers = own->markers;
	out->crc = f->crc;
	out->rev = f->rev;
	out->ird = own->ird;
	out->ord = own->ord;
	f->rtr_frame = own->rtr_frame && req->rtr_frame && !reject;
	out->rtr_frame = f->rtr_frame;
	if (!req->enhanced || f->rev < 2)
		return;				/* P2P-45 */
	f->enhanced = true;
	out->enhanced = true;
	f->peer = req->peer;			/* P2P-28 */
	f->rtr = respond_rtr(req, own);
	out->rtr = f->rtr & req->rtr;
	respond_ird(f, out, req, own);
	respond_ord(f, out, req, own);
}

/* P2P-16, P2P-17, P2P-23. */
static enum wire_err conclude_ird(struct mpa_agreed *out, const struct mpa_offer *own,
				  const struct mpa_frame *rep)
{
	if (rep->ord == MPA_DEPTH_ULP)
		return WIRE_OK;
	if (rep->ord > own->ird && rep->ord > own->ird_max)
		return WIRE_MPA_IRD;
	out->ird = max(out->ird, rep->ord);
	return WIRE_OK;
}

/* P2P-16, P2P-21, P2P-55. */
static void conclude_ord(struct mpa_agreed *out, const struct mpa_frame *rep)
{
	if (rep->ird != MPA_DEPTH_ULP)
		out->ord = min(out->ord, rep->ird);
}

/*
 * Choose the RTR (P2P-34). A Write comes first because it uses no queue. A Read uses one of the
 * responder's IRD and of our ORD, which is raised to 1 for it (P2P-14), except where the Reply
 * leaves it to the ULP (P2P-65). A Send may use a receive of the responder. If the two ends have no
 * type in common, the error is code 7 (P2P-35, P2P-60, GAP-15).
 */
static enum wire_err conclude_rtr(struct mpa_agreed *out, const struct mpa_frame *req,
				  const struct mpa_frame *rep)
{
	u8 both = req->rtr & rep->rtr;

	if (!rep->ird || (rep->ird == MPA_DEPTH_ULP && !out->ord))
		both &= ~MPA_RTR_READ;
	if (both & MPA_RTR_WRITE) {
		out->rtr = MPA_RTR_WRITE;
	} else if (both & MPA_RTR_READ) {
		out->rtr = MPA_RTR_READ;
		out->ord = max_t(u16, out->ord, 1);
	} else {
		out->rtr = both;
	}
	return out->rtr ? WIRE_OK : WIRE_MPA_RTR;
}

enum wire_err mpa_conclude(struct mpa_agreed *out, const struct mpa_offer *own,
			   const struct mpa_frame *req, const struct mpa_frame *rep)
{
	enum wire_err err;

	memset(out, 0, sizeof(*out));
	out->tx_markers = rep->markers;		/* MRK-03 */
	out->rx_markers = req->markers;
	out->crc = req->crc || rep->crc;	/* CRC-05, CRC-06 */
	out->rev = min(req->rev, rep->rev);
	out->enhanced = req->enhanced && rep->enhanced;
	out->rtr_frame = req->rtr_frame && rep->rtr_frame;
	out->ird = own->ird;
	out->ord = own->ord;
	if (!out->enhanced)
		return WIRE_OK;
	err = conclude_ird(out, own, rep);
	conclude_ord(out, rep);
	if (!err && req->peer)
		err = conclude_rtr(out, req, rep);
	return err;
}

void mpa_rtr_frame(struct mpa_frame *f, const struct mpa_frame *req, const struct mpa_frame *rep)
{
	memset(f, 0, sizeof(*f));
	f->kind = MPA_RTR;
	f->markers = req->markers;
	f->crc = rep->crc;
	f->rev = 1;
}
