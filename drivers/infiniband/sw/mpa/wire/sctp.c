// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP stream session control messages (RFC 5043 section 5.2.3, RFC 6581 section 7).
 *
 *	0        2        4
 *	DDP-SSN  code     Private Data: the enhanced data of an enhanced Initiate or Accept, then
 *			  the ULP's
 *
 * The length is that of SCTP's chunk. rdma_mpa.ko does not link this file, because it has no SCTP
 * transport that would call it; the test module does (kunit/Kbuild).
 */
#include <linux/types.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include <compat/unaligned.h>

#include "wire/sctp.h"

#define HDR_SIZE	sizeof(struct ddp_sctp_hdr)
#define ENH_SIZE	sizeof(struct mpa_enhanced)

/**
 * struct form - form of a message
 * @kind:	the MPA frame for which it stands
 * @reject:	R of that frame
 * @enhanced:	code of RFC 6581
 * @words:	the Private Data begins with enhanced data (SCTP-01, SCTP-15)
 * @opening:	first chunk of its sender
 */
struct form {
	u8 kind;
	bool reject;
	bool enhanced;
	bool words;
	bool opening;
};

#define OPENING(k, ...)	{ .kind = MPA_##k, .opening = true, __VA_ARGS__ }

static const struct form forms[DDP_SCTP_KINDS] = {
	[DDP_SCTP_INITIATE]	= OPENING(REQUEST),
	[DDP_SCTP_ACCEPT]	= OPENING(REPLY),
	[DDP_SCTP_REJECT]	= OPENING(REPLY, .reject = true),
	[DDP_SCTP_ENH_INITIATE]	= OPENING(REQUEST, .enhanced = true, .words = true),
	[DDP_SCTP_ENH_ACCEPT]	= OPENING(REPLY, .enhanced = true, .words = true),
	[DDP_SCTP_ENH_REJECT]	= OPENING(REPLY, .enhanced = true, .reject = true),
};

/* Reading */

/* @pd_len bytes follow the header. */
static enum ddp_sctp_fault check_message(u16 ssn, u16 code, u32 pd_len)
{
	if (code == DDP_SCTP_SEGMENT || code >= DDP_SCTP_KINDS)
		return DDP_SCTP_ERR_CODE;
	if (pd_len > MPA_PD_MAX)
		return DDP_SCTP_ERR_LONG;		/* SCTP-05 */
	if (code == DDP_SCTP_TERMINATE && pd_len)
		return DDP_SCTP_ERR_DATA;		/* SCTP-06 */
	if (forms[code].words && pd_len < ENH_SIZE)
		return DDP_SCTP_ERR_ENHANCED;
	if (forms[code].opening && ssn)
		return DDP_SCTP_ERR_SSN;
	return DDP_SCTP_OK;
}

static void parse_frame(struct ddp_sctp_chunk *c)
{
	const struct form *form = &forms[c->kind];

	c->f.kind = form->kind;
	c->f.reject = form->reject;
	c->f.rev = form->enhanced ? 2 : 1;
	c->f.enhanced = form->enhanced;
	if (form->words) {
		mpa_enhanced_parse(&c->f, (const struct mpa_enhanced *)c->body);
		c->body += ENH_SIZE;
		c->len -= ENH_SIZE;
	}
	c->f.pd_len = c->len;
}

static enum ddp_sctp_fault parse_message(struct ddp_sctp_chunk *c, const u8 *buf, u32 len)
{
	const struct ddp_sctp_hdr *h = (const struct ddp_sctp_hdr *)buf;
	enum ddp_sctp_fault fault;
	u16 code;

	if (len < HDR_SIZE)
		return DDP_SCTP_ERR_SHORT;
	code = be16_to_cpu(h->code);
	fault = check_message(c->ssn, code, len - HDR_SIZE);
	if (fault)
		return fault;
	c->kind = code;
	c->body = buf + HDR_SIZE;
	c->len = len - HDR_SIZE;
	if (forms[code].opening)
		parse_frame(c);
	return DDP_SCTP_OK;
}

enum ddp_sctp_fault ddp_sctp_parse(struct ddp_sctp_chunk *c, u32 ppid, const u8 *buf, u32 len)
{
	memset(c, 0, sizeof(*c));
	if (ppid != DDP_SCTP_PPID_SEGMENT && ppid != DDP_SCTP_PPID_CONTROL)
		return DDP_SCTP_ERR_PPID;
	if (len < DDP_SCTP_SSN_SIZE)
		return DDP_SCTP_ERR_SHORT;
	c->ssn = get_unaligned_be16(buf);
	if (ppid == DDP_SCTP_PPID_CONTROL)
		return parse_message(c, buf, len);
	c->body = buf + DDP_SCTP_SSN_SIZE;
	c->len = len - DDP_SCTP_SSN_SIZE;
	return DDP_SCTP_OK;
}

/* Writing */

static void build_hdr(struct ddp_sctp_hdr *h, u16 ssn, enum ddp_sctp_kind kind)
{
	h->ssn = cpu_to_be16(ssn);
	h->code = cpu_to_be16(kind);
}

/* SCTP-03: mpa_respond() answers an enhanced Initiate by an enhanced frame, a Reject too. */
static enum ddp_sctp_kind find_kind(const struct mpa_frame *f)
{
	if (f->kind == MPA_REQUEST)
		return f->enhanced ? DDP_SCTP_ENH_INITIATE : DDP_SCTP_INITIATE;
	if (f->reject)
		return f->enhanced ? DDP_SCTP_ENH_REJECT : DDP_SCTP_REJECT;
	return f->enhanced ? DDP_SCTP_ENH_ACCEPT : DDP_SCTP_ACCEPT;
}

u32 ddp_sctp_build(const struct mpa_frame *f, const void *pd, u8 *buf, u32 room)
{
	enum ddp_sctp_kind kind = find_kind(f);
	u32 words = forms[kind].words ? ENH_SIZE : 0;
	u32 pd_len = words + f->pd_len;

	if (f->kind == MPA_RTR || pd_len > MPA_PD_MAX || HDR_SIZE + pd_len > room)
		return 0;
	build_hdr((struct ddp_sctp_hdr *)buf, 0, kind);
	if (words)
		mpa_enhanced_build((struct mpa_enhanced *)(buf + HDR_SIZE), f);
	if (f->pd_len)
		memcpy(buf + HDR_SIZE + words, pd, f->pd_len);
	return HDR_SIZE + pd_len;
}

u32 ddp_sctp_terminate(u16 ssn, u8 *buf, u32 room)
{
	if (room < HDR_SIZE)
		return 0;
	build_hdr((struct ddp_sctp_hdr *)buf, ssn, DDP_SCTP_TERMINATE);
	return HDR_SIZE;
}

/* A Reject of the provider */

bool ddp_sctp_must_refuse(const struct mpa_frame *req, const struct mpa_offer *own)
{
	struct mpa_agreed out;
	struct mpa_frame rep;

	mpa_respond(&rep, &out, req, own, false, 0);
	return rep.peer && !out.rtr;
}

u32 ddp_sctp_refuse(const struct mpa_frame *req, const struct mpa_offer *own, u8 *buf, u32 room)
{
	struct mpa_enhanced words;
	struct mpa_agreed out;
	struct mpa_frame rep;

	mpa_respond(&rep, &out, req, own, true, ENH_SIZE);
	mpa_enhanced_build(&words, &rep);
	return ddp_sctp_build(&rep, &words, buf, room);
}

bool ddp_sctp_refusal(struct mpa_frame *f, const struct ddp_sctp_chunk *c)
{
	memset(f, 0, sizeof(*f));
	if (c->kind != DDP_SCTP_ENH_REJECT || c->len != ENH_SIZE)
		return false;
	mpa_enhanced_parse(f, (const struct mpa_enhanced *)c->body);
	return true;
}
