/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Protocol errors.
 *
 * A local failure is an -errno, and a protocol error is an enum wire_err. The two are never
 * mixed. The table in wire/err.c has the Terminate codes, the class and the name of each error.
 */
#ifndef _WIRE_ERR_H
#define _WIRE_ERR_H

#include <linux/types.h>

/* Terminate layers (RFC 5040 section 4.8). */
#define TERM_LAYER_RDMAP	0
#define TERM_LAYER_DDP		1
#define TERM_LAYER_LLP		2	/* MPA */

/* Error types of layer RDMAP. */
#define TERM_RDMAP_CATASTROPHIC	0
#define TERM_RDMAP_PROTECTION	1
#define TERM_RDMAP_OPERATION	2

/* Code "STag cannot be invalidated" of both of these types. */
#define TERM_RDMAP_NOINVAL	0x09

/* Error types of layer DDP. */
#define TERM_DDP_CATASTROPHIC	0
#define TERM_DDP_TAGGED		1
#define TERM_DDP_UNTAGGED	2

/* The only error type of layer LLP. */
#define TERM_LLP_MPA		0

enum wire_err {
	WIRE_OK = 0,

	/* MPA: RFC 5044 section 8, RFC 6581 section 8 */
	WIRE_MPA_CLOSED,	/* code 1: TCP connection closed, terminated or lost */
	WIRE_MPA_CRC,		/* code 2: CRC mismatch */
	WIRE_MPA_MARKER,	/* code 3: Marker and length chain disagree; bad length */
	WIRE_MPA_FRAME,		/* code 4: invalid startup frame */
	WIRE_MPA_LOCAL,		/* code 5: local catastrophic error */
	WIRE_MPA_IRD,		/* code 6: insufficient IRD resources */
	WIRE_MPA_RTR,		/* code 7: no matching RTR option */

	/* DDP, tagged buffers: RFC 5041 section 7.2 */
	WIRE_DDP_T_STAG,	/* 0x00 invalid STag */
	WIRE_DDP_T_BOUNDS,	/* 0x01 base or bounds violation */
	WIRE_DDP_T_ASSOC,	/* 0x02 STag not associated with the stream */
	WIRE_DDP_T_WRAP,	/* 0x03 TO wrap */
	WIRE_DDP_T_VERSION,	/* 0x04 invalid DDP version */

	/* DDP, untagged buffers */
	WIRE_DDP_U_QN,		/* 0x01 invalid QN */
	WIRE_DDP_U_NOBUF,	/* 0x02 invalid MSN, no buffer available */
	WIRE_DDP_U_MSN,		/* 0x03 invalid MSN, range not valid */
	WIRE_DDP_U_MO,		/* 0x04 invalid MO */
	WIRE_DDP_U_TOOLONG,	/* 0x05 message longer than the buffer */
	WIRE_DDP_U_VERSION,	/* 0x06 invalid DDP version */

	WIRE_DDP_LOCAL,		/* local catastrophic, type 0 code 0 */

	/* RDMAP remote protection: RFC 5040 section 4.8 */
	WIRE_RDMAP_STAG,	/* 0x00 invalid STag */
	WIRE_RDMAP_BOUNDS,	/* 0x01 base or bounds violation */
	WIRE_RDMAP_ACCESS,	/* 0x02 access rights violation */
	WIRE_RDMAP_ASSOC,	/* 0x03 STag not associated with the stream */
	WIRE_RDMAP_WRAP,	/* 0x04 TO wrap */
	WIRE_RDMAP_NOINVAL,	/* 0x09 STag cannot be invalidated */

	/* RDMAP remote operation */
	WIRE_RDMAP_VERSION,	/* 0x05 invalid RDMAP version */
	WIRE_RDMAP_OPCODE,	/* 0x06 unexpected opcode */
	WIRE_RDMAP_CATASTROPHIC,/* 0x07 catastrophic, localised to the stream */
	WIRE_RDMAP_UNSPECIFIED,	/* 0xff unspecified error */

	WIRE_RDMAP_LOCAL,	/* local catastrophic, type 0 code 0 */

	WIRE_ERR_MAX
};

/**
 * enum wire_class - class of an error
 * @WIRE_CLASS_NONE:	no error
 * @WIRE_CLASS_CRC:	the CRC is wrong
 * @WIRE_CLASS_FRAMING:	a Marker or a length is wrong, so the next FPDU cannot be found
 * @WIRE_CLASS_ACCESS:	the peer may not access an STag or a range, or lacks a right
 * @WIRE_CLASS_REQUEST:	a header is invalid, out of order, or asks for too much
 * @WIRE_CLASS_BROKEN:	the startup failed, or a local error ends the connection
 * @WIRE_CLASSES:	number of classes
 *
 * The driver decides by the class which counter it increments and which event it raises.
 */
enum wire_class {
	WIRE_CLASS_NONE,
	WIRE_CLASS_CRC,
	WIRE_CLASS_FRAMING,
	WIRE_CLASS_ACCESS,
	WIRE_CLASS_REQUEST,
	WIRE_CLASS_BROKEN,
	WIRE_CLASSES
};

/**
 * struct wire_err_row - a row of the table of errors
 * @layer:	Terminate layer
 * @etype:	Terminate error type
 * @code:	Terminate error code
 * @class:	enum wire_class
 * @name:	short name for traces and tests
 */
struct wire_err_row {
	u8 layer;
	u8 etype;
	u8 code;
	u8 class;
	const char *name;
};

/**
 * wire_err_row() - get the row of an error
 * @err:	the error; a value out of range gets the row of WIRE_RDMAP_UNSPECIFIED
 *
 * Return: the row, never NULL.
 */
const struct wire_err_row *wire_err_row(enum wire_err err);

/**
 * wire_err_find() - find the error that a Terminate reports
 * @layer:	Terminate layer
 * @etype:	Terminate error type
 * @code:	Terminate error code; a local catastrophic error of RDMAP may have any
 *
 * Return: the error, or WIRE_OK if no row has these codes. A peer may send any codes.
 */
enum wire_err wire_err_find(u8 layer, u8 etype, u8 code);

/**
 * wire_err_name() - get the name of the error in a Terminate
 * @layer:	Terminate layer
 * @etype:	Terminate error type
 * @code:	Terminate error code
 *
 * Return: the name, or "unknown" if wire_err_find() finds no error.
 */
const char *wire_err_name(u8 layer, u8 etype, u8 code);

#endif
