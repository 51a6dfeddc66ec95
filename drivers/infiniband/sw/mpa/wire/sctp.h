/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * DDP over SCTP: the messages that begin and end a DDP stream session (RFC 5043 section 5.2.3),
 * and their enhanced forms (RFC 6581 section 7). wire/session.h has the order in which they may
 * come.
 *
 * A plain Initiate and Accept are what the Request and the accepting Reply are to MPA (SCTP-12), so
 * each message has a struct mpa_frame, and mpa_request(), mpa_respond() and mpa_conclude()
 * negotiate for both transports. An offer for SCTP asks for no Markers, no CRC and no RtR frame,
 * because SCTP keeps messages apart and has a checksum.
 */
#ifndef _WIRE_SCTP_H
#define _WIRE_SCTP_H

#include <linux/types.h>
#include <linux/build_bug.h>

#include "wire/startup.h"

/* Payload protocol identifiers of a Data Chunk */
#define DDP_SCTP_PPID_SEGMENT	16
#define DDP_SCTP_PPID_CONTROL	17

struct ddp_sctp_hdr {
	__be16 ssn;		/* DDP-SSN: number of the chunk in its direction of the session */
	__be16 code;		/* enum ddp_sctp_kind */
} __packed;
static_assert(sizeof(struct ddp_sctp_hdr) == 4);

/* A DDP segment follows the DDP-SSN at once. */
#define DDP_SCTP_SSN_SIZE	sizeof(__be16)

/* Largest session control message */
#define DDP_SCTP_MSG_MAX	(sizeof(struct ddp_sctp_hdr) + MPA_PD_MAX)

/**
 * enum ddp_sctp_kind - kind of a Data Chunk
 * @DDP_SCTP_SEGMENT:	a DDP segment. The other kinds are messages, and their values are the
 *			function codes (SCTP-02, SCTP-16).
 * @DDP_SCTP_INITIATE:	the initiator asks for a session
 * @DDP_SCTP_ACCEPT:	the responder accepts
 * @DDP_SCTP_REJECT:	the responder rejects because its ULP says so
 * @DDP_SCTP_TERMINATE:	the last chunk of its sender; also the answer to an Initiate that does not
 *			reach the ULP
 * @DDP_SCTP_ENH_INITIATE: Initiate with enhanced data
 * @DDP_SCTP_ENH_ACCEPT: Accept with enhanced data
 * @DDP_SCTP_ENH_REJECT: Reject of an enhanced Initiate
 * @DDP_SCTP_KINDS:	number of kinds
 */
enum ddp_sctp_kind {
	DDP_SCTP_SEGMENT	= 0,
	DDP_SCTP_INITIATE	= 1,
	DDP_SCTP_ACCEPT		= 2,
	DDP_SCTP_REJECT		= 3,
	DDP_SCTP_TERMINATE	= 4,
	DDP_SCTP_ENH_INITIATE	= 5,
	DDP_SCTP_ENH_ACCEPT	= 6,
	DDP_SCTP_ENH_REJECT	= 7,
	DDP_SCTP_KINDS
};

/**
 * enum ddp_sctp_fault - what is wrong with a Data Chunk
 * @DDP_SCTP_OK:		nothing
 * @DDP_SCTP_ERR_PPID:	neither a DDP segment nor a session control message
 * @DDP_SCTP_ERR_SHORT:	no whole header
 * @DDP_SCTP_ERR_CODE:	unknown function code
 * @DDP_SCTP_ERR_LONG:	more than 512 bytes of Private Data
 * @DDP_SCTP_ERR_ENHANCED:	an enhanced Initiate or Accept without whole enhanced data
 * @DDP_SCTP_ERR_DATA:	a Terminate with Private Data
 * @DDP_SCTP_ERR_SSN:	an Initiate, Accept or Reject with another DDP-SSN than 0
 * @DDP_SCTP_FAULTS:	number of values
 *
 * These are no enum wire_err, because neither RFC has a Terminate code for them. Each of them ends
 * the session: it is a DDP_ON_BAD of wire/session.h.
 */
enum ddp_sctp_fault {
	DDP_SCTP_OK,
	DDP_SCTP_ERR_PPID,
	DDP_SCTP_ERR_SHORT,
	DDP_SCTP_ERR_CODE,
	DDP_SCTP_ERR_LONG,
	DDP_SCTP_ERR_ENHANCED,
	DDP_SCTP_ERR_DATA,
	DDP_SCTP_ERR_SSN,
	DDP_SCTP_FAULTS
};

/**
 * struct ddp_sctp_chunk - the payload of a received Data Chunk
 * @kind:	kind of chunk
 * @ssn:	DDP-SSN
 * @f:		parameters of an Initiate, Accept or Reject; revision 2 if it is enhanced, else 1.
 *		The depths and RTR types are those of the enhanced data, which an enhanced Reject
 *		does not have.
 * @body:	the DDP segment, or the Private Data of the ULP, inside the chunk
 * @len:	bytes of @body
 */
struct ddp_sctp_chunk {
	enum ddp_sctp_kind kind;
	u16 ssn;
	struct mpa_frame f;
	const u8 *body;
	u32 len;
};

/**
 * ddp_sctp_parse() - read a received Data Chunk
 * @c:		filled in
 * @ppid:	payload protocol identifier, in host order
 * @buf:	user data of the chunk
 * @len:	bytes of @buf
 *
 * Nothing is read behind @len bytes, and each byte is read once.
 *
 * Return: DDP_SCTP_OK, or the fault; then @c->ssn is valid if the chunk has one, and nothing else.
 */
enum ddp_sctp_fault ddp_sctp_parse(struct ddp_sctp_chunk *c, u32 ppid, const u8 *buf, u32 len);

/**
 * ddp_sctp_build() - write an Initiate, Accept or Reject
 * @f:		the Request or Reply for which the message stands; enhanced or not, by @f->enhanced
 * @pd:		Private Data of the ULP, @f->pd_len bytes; may be NULL if that is 0
 * @buf:	written
 * @room:	bytes of @buf; DDP_SCTP_MSG_MAX is enough for any
 *
 * Its DDP-SSN is 0, because each of these is the first chunk of its sender in the session.
 *
 * Return: number of bytes written; 0 if they do not fit into @room, if the Private Data is too long
 * (SCTP-05), or if @f is an RtR frame. Then @buf is unchanged.
 */
u32 ddp_sctp_build(const struct mpa_frame *f, const void *pd, u8 *buf, u32 room);

/**
 * ddp_sctp_terminate() - write a Terminate
 * @ssn:	DDP-SSN: one more than the last that we sent in the session, 0 if there is none
 * @buf:	written
 * @room:	bytes of @buf
 *
 * It is the same for plain and enhanced sessions (SCTP-09) and has no Private Data (SCTP-06).
 *
 * Return: number of bytes written, or 0 if they do not fit.
 */
u32 ddp_sctp_terminate(u16 ssn, u8 *buf, u32 room);

/**
 * ddp_sctp_must_refuse() - check whether an enhanced Initiate offers no RTR type of ours
 * @req:	the Initiate
 * @own:	offer of the responder
 *
 * Return: true if the initiator cannot send any RTR that we support. Then the provider may answer
 * by itself, with ddp_sctp_refuse(), without asking the ULP (SCTP-08).
 */
bool ddp_sctp_must_refuse(const struct mpa_frame *req, const struct mpa_offer *own);

/**
 * ddp_sctp_refuse() - write the enhanced Reject of the provider
 * @req:	the Initiate, for which ddp_sctp_must_refuse() is true
 * @own:	offer of the responder
 * @buf:	written
 * @room:	bytes of @buf
 *
 * The Private Data is the enhanced data, which shows the RTR types and depths that we support.
 * RFC 6581 puts enhanced data into Initiate and Accept only (SCTP-15), so the Private Data of any
 * other Reject is the ULP's, all of it. The ULP has no part in a Reject of the provider.
 *
 * Return: number of bytes written, or 0 if they do not fit.
 */
u32 ddp_sctp_refuse(const struct mpa_frame *req, const struct mpa_offer *own, u8 *buf, u32 room);

/**
 * ddp_sctp_refusal() - read the enhanced data that a Reject of a provider shows
 * @f:		depths and RTR types are set if there are any
 * @c:		the Reject
 *
 * A ULP that rejects with four bytes of its own looks the same. So the result is good for a message
 * or for another attempt, and the ULP gets the Private Data all the same (SCTP-13).
 *
 * Return: true if it is an enhanced Reject with just the size of enhanced data.
 */
bool ddp_sctp_refusal(struct mpa_frame *f, const struct ddp_sctp_chunk *c);

#endif
