/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA startup (RFC 5044 section 7.1, RFC 6581): the Request and Reply frames and the negotiation,
 * for both roles; and the RtR frame of a proposal of 2007 that was never standardised (HIST-16 to
 * HIST-18).
 */
#ifndef _WIRE_STARTUP_H
#define _WIRE_STARTUP_H

#include <linux/types.h>
#include <linux/build_bug.h>

#include "wire/err.h"

#define MPA_KEY_SIZE		16
#define MPA_FLAG_MARKERS	0x80
#define MPA_FLAG_CRC		0x40
#define MPA_FLAG_REJECT		0x20
#define MPA_FLAG_S		0x10	/* revision 2: enhanced; revision 1: RtR frame */
#define MPA_PD_MAX		512	/* Private Data, enhanced words included */
#define MPA_REV_MAX		2

/* Enhanced data: first word */
#define MPA_ENH_PEER		0x8000	/* A: peer-to-peer model */
#define MPA_ENH_RTR_SEND	0x4000	/* B */
/* second word */
#define MPA_ENH_RTR_WRITE	0x8000	/* C */
#define MPA_ENH_RTR_READ	0x4000	/* D */
#define MPA_ENH_DEPTH_MASK	0x3fff
#define MPA_DEPTH_ULP		0x3fff	/* not negotiated here (P2P-19) */

struct mpa_frame_hdr {
	u8 key[MPA_KEY_SIZE];
	u8 flags;
	u8 rev;
	__be16 pd_len;
} __packed;
static_assert(sizeof(struct mpa_frame_hdr) == 20);

struct mpa_enhanced {
	__be16 ird;		/* A, B, IRD */
	__be16 ord;		/* C, D, ORD */
} __packed;
static_assert(sizeof(struct mpa_enhanced) == 4);

#define MPA_FRAME_MAX	(sizeof(struct mpa_frame_hdr) + MPA_PD_MAX)

/* Sets of RTR types */
#define MPA_RTR_SEND	0x1
#define MPA_RTR_WRITE	0x2
#define MPA_RTR_READ	0x4
#define MPA_RTR_ALL	0x7

/**
 * enum mpa_kind - kind of a startup frame
 * @MPA_REQUEST:	the initiator's
 * @MPA_REPLY:		the responder's
 * @MPA_RTR:		the initiator's second: "ready to receive"
 * @MPA_KINDS:		number of kinds
 */
enum mpa_kind {
	MPA_REQUEST,
	MPA_REPLY,
	MPA_RTR,
	MPA_KINDS
};

/**
 * struct mpa_frame - a startup frame in host order
 * @kind:	kind of frame
 * @markers:	M: the sender wants to receive Markers
 * @crc:	C: the sender wants CRCs
 * @reject:	R, of a Reply
 * @rev:	revision
 * @enhanced:	enhanced data present (S at revision 2)
 * @rtr_frame:	S of a Request or Reply at revision 1: the initiator will send an RtR frame, or
 *		the responder waits for it; ignored unless we offer it
 * @peer:	A: peer-to-peer model
 * @rtr:	RTR types offered or supported, set of MPA_RTR_*
 * @ird:	IRD, valid if @enhanced
 * @ord:	ORD, valid if @enhanced
 * @pd_len:	bytes of the ULP's Private Data, enhanced words not counted
 */
struct mpa_frame {
	enum mpa_kind kind;
	bool markers;
	bool crc;
	bool reject;
	u8 rev;
	bool enhanced;
	bool rtr_frame;
	bool peer;
	u8 rtr;
	u16 ird;
	u16 ord;
	u16 pd_len;
};

/**
 * mpa_enhanced_build() - write the enhanced data of a frame
 * @e:		written
 * @f:		the frame; @peer, @rtr, @ird and @ord are used
 *
 * The session control messages of DDP over SCTP have the same data (wire/sctp.h).
 */
void mpa_enhanced_build(struct mpa_enhanced *e, const struct mpa_frame *f);

/**
 * mpa_enhanced_parse() - read the enhanced data of a frame
 * @f:		@enhanced, @peer, @rtr, @ird and @ord are set; @peer and @rtr must be clear before
 * @e:		the data
 */
void mpa_enhanced_parse(struct mpa_frame *f, const struct mpa_enhanced *e);

/**
 * mpa_frame_build() - write a startup frame
 * @f:		the frame
 * @pd:		Private Data of the ULP, @f->pd_len bytes; may be NULL if that is 0
 * @buf:	at least MPA_FRAME_MAX bytes
 *
 * Return: number of bytes written, 0 if the Private Data does not fit (P2P-05).
 */
u32 mpa_frame_build(const struct mpa_frame *f, const void *pd, u8 *buf);

/**
 * mpa_frame_need() - compute the size of a frame from its first bytes
 * @buf:	bytes received so far
 * @have:	number of bytes
 * @kind:	kind of the expected frame
 * @err:	set to WIRE_MPA_FRAME if no valid frame begins with these bytes (wrong key, bad
 *		revision, PD_Length above 512, enhanced with PD_Length below 4), else WIRE_OK
 *
 * Return: bytes of the whole frame, or 20 while PD_Length is not known.
 */
u32 mpa_frame_need(const u8 *buf, u32 have, enum mpa_kind kind, enum wire_err *err);

/**
 * mpa_frame_parse() - read a complete frame
 * @f:		filled in
 * @buf:	the frame, mpa_frame_need() bytes
 * @kind:	kind of the expected frame
 * @pd:		set to the Private Data of the ULP inside @buf
 *
 * Return: WIRE_OK or WIRE_MPA_FRAME.
 */
enum wire_err mpa_frame_parse(struct mpa_frame *f, const u8 *buf, enum mpa_kind kind,
			      const u8 **pd);

/**
 * struct mpa_offer - the wishes and limits of one end
 * @markers:	wants to receive Markers
 * @crc:	wants CRCs
 * @rev:	highest revision to use (1 or 2)
 * @rtr:	RTR types supported, 0 for none
 * @rtr_frame:	send or accept an RtR frame; an initiator then uses revision 1 whatever @rev is
 * @ird:	inbound Reads that this end is ready to serve
 * @ord:	outbound Reads that this end wants outstanding
 * @ird_max:	most inbound Reads that the peer can make this end serve
 */
struct mpa_offer {
	bool markers;
	bool crc;
	u8 rev;
	u8 rtr;
	bool rtr_frame;
	u16 ird;
	u16 ord;
	u16 ird_max;
};

/**
 * struct mpa_agreed - result of the negotiation for one end
 * @tx_markers:	put Markers into what we send
 * @rx_markers:	expect Markers in what we receive
 * @crc:	compute and check CRCs
 * @rev:	revision in use
 * @enhanced:	RFC 6581 rules apply
 * @ird:	IRD to set
 * @ord:	ORD to set
 * @rtr:	initiator: the RTR type to send; responder: set of RTR types, one of which the
 *		initiator will send; 0 if none
 * @rtr_frame:	the initiator sends an RtR frame after the Reply; then both ends may send FPDUs
 */
struct mpa_agreed {
	bool tx_markers;
	bool rx_markers;
	bool crc;
	u8 rev;
	bool enhanced;
	u16 ird;
	u16 ord;
	u8 rtr;
	bool rtr_frame;
};

/**
 * mpa_request() - fill in the Request of an initiator
 * @f:		filled in
 * @own:	our offer
 * @pd_len:	bytes of the ULP's Private Data
 *
 * If @own->rev is 2, the Request is enhanced (revision 2, S). It is also peer-to-peer (A) and
 * offers @own->rtr if that set is not empty. With @own->rtr_frame, it is a Request of revision 1
 * with S, which a peer without the RtR frame ignores (NEG-11).
 */
void mpa_request(struct mpa_frame *f, const struct mpa_offer *own, u16 pd_len);

/**
 * mpa_request_acceptable() - check the revision of a Request
 * @req:	a Request that mpa_frame_parse() accepted
 * @own:	offer of the responder
 *
 * Return: false if the Request's revision is above ours. Then the responder must close without a
 * Reply (P2P-46, GAP-11).
 */
bool mpa_request_acceptable(const struct mpa_frame *req, const struct mpa_offer *own);

/**
 * mpa_respond() - fill in the Reply to a Request, and the responder's result
 * @f:		the Reply, filled in
 * @out:	the result, filled in
 * @req:	the Request
 * @own:	offer of the responder; @ird and @ord as its consumer asked
 * @reject:	build a rejecting Reply
 * @pd_len:	bytes of the ULP's Private Data
 */
void mpa_respond(struct mpa_frame *f, struct mpa_agreed *out, const struct mpa_frame *req,
		 const struct mpa_offer *own, bool reject, u16 pd_len);

/**
 * mpa_conclude() - compute the initiator's result from an accepting Reply
 * @out:	the result, filled in also on error
 * @own:	offer of the initiator
 * @req:	the Request that we sent
 * @rep:	the Reply, R clear
 *
 * Return: WIRE_OK, or the error that a Terminate must report: WIRE_MPA_IRD or WIRE_MPA_RTR.
 */
enum wire_err mpa_conclude(struct mpa_agreed *out, const struct mpa_offer *own,
			   const struct mpa_frame *req, const struct mpa_frame *rep);

/**
 * mpa_rtr_frame() - fill in the RtR frame of an initiator
 * @f:		filled in
 * @req:	the Request that we sent
 * @rep:	the Reply; its C is copied (HIST-17)
 */
void mpa_rtr_frame(struct mpa_frame *f, const struct mpa_frame *req, const struct mpa_frame *rep);

#endif
