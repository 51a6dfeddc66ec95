/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * DDP and RDMAP (RFC 5041, RFC 5040): segment headers, message order rules,
 * the Terminate message.
 */
#ifndef _WIRE_DDP_H
#define _WIRE_DDP_H

#include <linux/types.h>
#include <linux/build_bug.h>

#include "wire/err.h"

#define DDP_FLAG_TAGGED		0x80
#define DDP_FLAG_LAST		0x40
#define DDP_RSVD_MASK		0x3c
#define DDP_VERSION_MASK	0x03
#define DDP_VERSION		1

#define RDMAP_VERSION_MASK	0xc0
#define RDMAP_VERSION_SHIFT	6
#define RDMAP_VERSION		1
#define RDMAP_OPCODE_MASK	0x0f

#define DDP_QN_SEND		0
#define DDP_QN_READ_REQ		1
#define DDP_QN_TERMINATE	2
#define DDP_QN_MAX		3

enum rdmap_opcode {
	RDMAP_WRITE		= 0,
	RDMAP_READ_REQ		= 1,
	RDMAP_READ_RESP		= 2,
	RDMAP_SEND		= 3,
	RDMAP_SEND_INV		= 4,
	RDMAP_SEND_SE		= 5,
	RDMAP_SEND_SE_INV	= 6,
	RDMAP_TERMINATE		= 7,
	RDMAP_OPCODE_MAX
};

/* The two control bytes every segment begins with. */
struct ddp_ctrl {
	u8 ddp;			/* T, L, reserved, DDP version */
	u8 rdmap;		/* RDMAP version, reserved, opcode */
} __packed;

struct ddp_tagged_hdr {
	struct ddp_ctrl ctrl;
	__be32 stag;
	__be64 to;
} __packed;
static_assert(sizeof(struct ddp_tagged_hdr) == 14);

struct ddp_untagged_hdr {
	struct ddp_ctrl ctrl;
	__be32 inval_stag;	/* of Send with Invalidate, else reserved */
	__be32 qn;
	__be32 msn;
	__be32 mo;
} __packed;
static_assert(sizeof(struct ddp_untagged_hdr) == 18);

/* Payload of a Read Request segment. */
struct rdmap_read_req {
	__be32 sink_stag;
	__be64 sink_to;
	__be32 size;
	__be32 src_stag;
	__be64 src_to;
} __packed;
static_assert(sizeof(struct rdmap_read_req) == 28);

#define DDP_HDR_MAX	(sizeof(struct ddp_untagged_hdr) + sizeof(struct rdmap_read_req))

/**
 * struct ddp_seg - one segment header in host order
 * @opcode:	enum rdmap_opcode
 * @tagged:	tagged buffer model
 * @last:	last segment of its message
 * @hdr_len:	header bytes on the wire (14 or 18; 46 for a Read Request)
 * @len:	payload bytes after the header (0 for a Read Request)
 * @stag:	tagged: STag; Send with Invalidate: the STag to invalidate
 * @to:		tagged: tagged offset
 * @qn:		untagged: queue number
 * @msn:	untagged: message sequence number
 * @mo:		untagged: message offset
 * @read:	Read Request fields; only its own are filled in
 */
struct ddp_seg {
	u8 opcode;
	bool tagged;
	bool last;
	u32 hdr_len;
	u32 len;
	u32 stag;
	u64 to;
	u32 qn;
	u32 msn;
	u32 mo;
	struct {
		u32 sink_stag;
		u64 sink_to;
		u32 size;
		u32 src_stag;
		u64 src_to;
	} read;
};

/**
 * struct rdmap_opcode_row - what an opcode's segments look like
 * @hdr_len:	header bytes: 14, 18 or 46 (Read Request with its payload)
 * @tagged:	tagged buffer model
 * @qn:		DDP_QN_*, 0 for tagged opcodes
 * @send:	one of the four Send types
 * @inval:	carries an STag to invalidate
 */
struct rdmap_opcode_row {
	u8 hdr_len;
	bool tagged;
	u8 qn;
	bool send;
	bool inval;
};

extern const struct rdmap_opcode_row rdmap_opcodes[RDMAP_OPCODE_MAX];

/**
 * rdmap_hdr_len() - header bytes of an opcode's segments
 * @opcode:	enum rdmap_opcode, below RDMAP_OPCODE_MAX
 *
 * Return: 14, 18 or 46 (Read Request with its payload).
 */
static inline u32 rdmap_hdr_len(u8 opcode)
{
	return rdmap_opcodes[opcode].hdr_len;
}

/**
 * rdmap_is_tagged() - does an opcode use the tagged buffer model?
 * @opcode:	enum rdmap_opcode, below RDMAP_OPCODE_MAX
 *
 * Return: it does.
 */
static inline bool rdmap_is_tagged(u8 opcode)
{
	return rdmap_opcodes[opcode].tagged;
}

/**
 * rdmap_queue() - the DDP queue of an untagged opcode
 * @opcode:	enum rdmap_opcode, below RDMAP_OPCODE_MAX
 *
 * Return: DDP_QN_*, 0 for tagged opcodes.
 */
static inline u32 rdmap_queue(u8 opcode)
{
	return rdmap_opcodes[opcode].qn;
}

/* Is it one of the four Send types? */
static inline bool rdmap_is_send(u8 opcode)
{
	return opcode < RDMAP_OPCODE_MAX && rdmap_opcodes[opcode].send;
}

/* Does it carry an STag to invalidate? */
static inline bool rdmap_is_inval(u8 opcode)
{
	return opcode < RDMAP_OPCODE_MAX && rdmap_opcodes[opcode].inval;
}

/**
 * ddp_build() - write a segment header
 * @seg:	what to say; @hdr_len and @len are not read, @tagged and @qn follow
 *		from @opcode
 * @hdr:	room for rdmap_hdr_len() bytes
 *
 * Return: bytes written.
 */
u32 ddp_build(const struct ddp_seg *seg, u8 *hdr);

/**
 * ddp_parse() - read and validate a segment header
 * @seg:	filled in
 * @ulpdu:	the first bytes of the ULPDU
 * @have:	how many are there: min(ulpdu_len, MPA_RX_HDR_MAX)
 * @ulpdu_len:	length of the ULPDU
 *
 * Checks what needs no state: versions, opcode, tagged flag and queue number
 * agree with the opcode, the header fits, a Read Request is a single last
 * segment with MO 0, TO + length does not wrap. Reserved bits are ignored.
 *
 * A segment too short for its headers has no error code of its own in RFC 5040
 * and RFC 5041: it is WIRE_DDP_LOCAL, as hardware reports it. A queue number that
 * exists but is not the opcode's is the opcode's fault (WIRE_RDMAP_OPCODE), for
 * DDP does not know opcodes.
 *
 * Return: WIRE_OK or the error to report; @seg holds what was read up to there.
 */
enum wire_err ddp_parse(struct ddp_seg *seg, const u8 *ulpdu, u32 have, u32 ulpdu_len);

/**
 * struct ddp_rx - order state of the receiving direction
 * @msn:	next expected MSN, by queue
 * @mo:		next expected MO, by queue; not 0 inside a message
 * @opcode:	opcode of the untagged message being received on queue 0
 * @open:	inside an untagged message on queue 0
 */
struct ddp_rx {
	u32 msn[DDP_QN_MAX];
	u32 mo[DDP_QN_MAX];
	u8 opcode;
	bool open;
};

void ddp_rx_init(struct ddp_rx *rx);

/**
 * ddp_rx_check() - is this untagged segment the next one of its queue?
 * @rx:		order state, not changed
 * @seg:	a segment ddp_parse() accepted
 *
 * Tagged segments always pass. In-order reliable delivery makes any gap in MSN
 * or MO the peer's fault (RFC 5041 section 7.1), and a message keeps its opcode.
 *
 * Return: WIRE_OK or the error to report.
 */
enum wire_err ddp_rx_check(const struct ddp_rx *rx, const struct ddp_seg *seg);

/**
 * ddp_rx_accept() - the checked segment was placed: move on
 * @rx:		order state
 * @seg:	the segment
 */
void ddp_rx_accept(struct ddp_rx *rx, const struct ddp_seg *seg);

/* Largest Terminate payload: control, segment length, DDP and RDMAP headers. */
#define RDMAP_TERM_MAX	(4 + 2 + 18 + 28)

/**
 * struct rdmap_term - a Terminate message in host order (RFC 5040 section 4.8)
 * @layer:	TERM_LAYER_*
 * @etype:	error type
 * @code:	error code
 * @has_len:	@seg_len is valid (M bit); the field is there with M or D
 * @has_ddp:	@hdr holds the offending DDP header (D bit)
 * @has_rdmap:	@hdr also holds the Read Request payload (R bit)
 * @seg_len:	DDP segment length of the offending segment
 * @hdr_len:	bytes in @hdr
 * @hdr:	the offending header as it was on the wire
 */
struct rdmap_term {
	u8 layer;
	u8 etype;
	u8 code;
	bool has_len;
	bool has_ddp;
	bool has_rdmap;
	u16 seg_len;
	u8 hdr_len;
	u8 hdr[18 + 28];
};

/**
 * rdmap_term_init() - a Terminate for an error
 * @term:	filled in
 * @err:	the error
 * @ulpdu:	first bytes of the offending ULPDU, NULL when there is none
 * @have:	bytes at @ulpdu
 * @ulpdu_len:	its length
 *
 * Decides by the error which headers go along (RFC 5040 section 4.8): none for
 * errors of the LLP, local catastrophes and an unknown DDP version; else length
 * and DDP header, and the Read Request too for a protection error on one. What
 * is not wholly in @have is left out.
 */
void rdmap_term_init(struct rdmap_term *term, enum wire_err err, const u8 *ulpdu,
		     u32 have, u32 ulpdu_len);

/**
 * rdmap_term_build() - the payload that follows the untagged header on queue 2
 * @term:	what to say
 * @buf:	at least RDMAP_TERM_MAX bytes
 *
 * Return: bytes written.
 */
u32 rdmap_term_build(const struct rdmap_term *term, u8 *buf);

/**
 * rdmap_term_parse() - read a received Terminate payload
 * @term:	filled in
 * @buf:	payload bytes
 * @len:	how many
 *
 * Return: false when it is too short to hold what its flags promise; the control
 * fields are still filled in when 4 bytes were there, @has_ddp and @has_rdmap
 * are then clear. Bytes behind the promised ones are ignored.
 */
bool rdmap_term_parse(struct rdmap_term *term, const u8 *buf, u32 len);

/**
 * rdmap_term_read() - which Read Request does a received Terminate show?
 * @term:	the Terminate
 * @msn:	set to that Request's MSN
 *
 * Return: false when it shows none.
 */
bool rdmap_term_read(const struct rdmap_term *term, u32 *msn);

#endif
