/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * DDP and RDMAP (RFC 5041, RFC 5040): segment headers, the order of messages, and the
 * Terminate message.
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

/* The two control bytes at the start of every segment. */
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
 * @read:	the fields of a Read Request; not set for other opcodes
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
 * struct rdmap_opcode_row - format of an opcode's segments
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
 * rdmap_hdr_len() - get the header length of an opcode's segments
 * @opcode:	enum rdmap_opcode, below RDMAP_OPCODE_MAX
 *
 * Return: 14, 18 or 46 bytes (Read Request with its payload).
 */
static inline u32 rdmap_hdr_len(u8 opcode)
{
	return rdmap_opcodes[opcode].hdr_len;
}

/**
 * rdmap_is_tagged() - test for an opcode of the tagged buffer model
 * @opcode:	enum rdmap_opcode, below RDMAP_OPCODE_MAX
 *
 * Return: true if its segments are tagged.
 */
static inline bool rdmap_is_tagged(u8 opcode)
{
	return rdmap_opcodes[opcode].tagged;
}

/**
 * rdmap_queue() - get the DDP queue of an untagged opcode
 * @opcode:	enum rdmap_opcode, below RDMAP_OPCODE_MAX
 *
 * Return: DDP_QN_*, or 0 for tagged opcodes.
 */
static inline u32 rdmap_queue(u8 opcode)
{
	return rdmap_opcodes[opcode].qn;
}

/* Return: true for the four Send types. */
static inline bool rdmap_is_send(u8 opcode)
{
	return opcode < RDMAP_OPCODE_MAX && rdmap_opcodes[opcode].send;
}

/* Return: true if the segments carry an STag to invalidate. */
static inline bool rdmap_is_inval(u8 opcode)
{
	return opcode < RDMAP_OPCODE_MAX && rdmap_opcodes[opcode].inval;
}

/**
 * ddp_build() - write a segment header
 * @seg:	the fields; @opcode decides @tagged and @qn, which are not read, and @hdr_len
 *		and @len are not read either
 * @hdr:	buffer of at least rdmap_hdr_len() bytes
 *
 * Return: number of bytes written.
 */
u32 ddp_build(const struct ddp_seg *seg, u8 *hdr);

/**
 * ddp_parse() - read and validate a segment header
 * @seg:	filled in
 * @ulpdu:	the first bytes of the ULPDU
 * @have:	number of bytes at @ulpdu: min(ulpdu_len, MPA_RX_HDR_MAX)
 * @ulpdu_len:	length of the ULPDU
 *
 * Makes the checks that need no state: the versions and the opcode are known, the tagged flag
 * and the queue number agree with the opcode, the header fits, a Read Request is a single last
 * segment with MO 0, and TO + length does not wrap. Reserved bits are ignored.
 *
 * RFC 5040 and RFC 5041 have no error code for a segment that is too short for its headers. It
 * is reported as WIRE_DDP_LOCAL, as hardware does. A queue number that exists but does not
 * belong to the opcode is reported as WIRE_RDMAP_OPCODE, because DDP does not know opcodes.
 *
 * Return: WIRE_OK or the error to report; @seg then holds the fields read so far.
 */
enum wire_err ddp_parse(struct ddp_seg *seg, const u8 *ulpdu, u32 have, u32 ulpdu_len);

/**
 * struct ddp_rx - message order in the receiving direction
 * @msn:	next expected MSN, by queue
 * @mo:		next expected MO, by queue; not 0 inside a message
 * @opcode:	opcode of the message last received, or being received, on queue 0
 * @open:	a message on queue 0 is not complete
 */
struct ddp_rx {
	u32 msn[DDP_QN_MAX];
	u32 mo[DDP_QN_MAX];
	u8 opcode;
	bool open;
};

/* Expect the first message of each queue. */
void ddp_rx_init(struct ddp_rx *rx);

/**
 * ddp_rx_check() - check that an untagged segment is the next one of its queue
 * @rx:		order state, not changed
 * @seg:	a segment that ddp_parse() accepted
 *
 * Tagged segments always pass. TCP delivers in order, so the peer caused any gap in MSN or MO
 * (RFC 5041 section 7.1). All segments of a message have the same opcode.
 *
 * Return: WIRE_OK or the error to report.
 */
enum wire_err ddp_rx_check(const struct ddp_rx *rx, const struct ddp_seg *seg);

/**
 * ddp_rx_accept() - advance behind a segment that was checked and placed
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
 * @has_len:	@seg_len is valid (M bit); the message has the field with M or D
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
 * rdmap_term_init() - fill in the Terminate of an error
 * @term:	filled in
 * @err:	the error
 * @ulpdu:	first bytes of the offending ULPDU, NULL if there is none
 * @have:	number of bytes at @ulpdu
 * @ulpdu_len:	length of the ULPDU
 *
 * The error decides which headers the Terminate contains (RFC 5040 section 4.8): none for errors
 * of the LLP and local catastrophic errors; else the length and the DDP header, and also the Read
 * Request for a protection error on one. A header that is not complete at @ulpdu is left out.
 */
void rdmap_term_init(struct rdmap_term *term, enum wire_err err, const u8 *ulpdu,
		     u32 have, u32 ulpdu_len);

/**
 * rdmap_term_build() - write the payload of a Terminate
 * @term:	the Terminate
 * @buf:	at least RDMAP_TERM_MAX bytes
 *
 * Return: number of bytes written.
 */
u32 rdmap_term_build(const struct rdmap_term *term, u8 *buf);

/**
 * rdmap_term_parse() - read the payload of a received Terminate
 * @term:	filled in
 * @buf:	payload
 * @len:	bytes of payload
 *
 * Bytes behind the headers that the flags announce are ignored.
 *
 * Return: false if @len is too short for these headers. Then @has_ddp and @has_rdmap are set for
 * those that are complete. If @len is below 4, @layer, @etype and @code have all bits set.
 */
bool rdmap_term_parse(struct rdmap_term *term, const u8 *buf, u32 len);

/**
 * rdmap_term_read() - get the MSN of the Read Request whose header is in a received Terminate
 * @term:	the Terminate
 * @msn:	set to the MSN
 *
 * Return: false if the Terminate has no DDP header, or that of another message.
 */
bool rdmap_term_read(const struct rdmap_term *term, u32 *msn);

/**
 * rdmap_term_about_read() - test whether a received Terminate is about a Read Request
 * @term:	the Terminate
 *
 * Its headers tell. Without a header, a protection or an operation error of RDMAP counts as one,
 * unless it is about an invalidation.
 *
 * Return: true if it is.
 */
bool rdmap_term_about_read(const struct rdmap_term *term);

#endif
