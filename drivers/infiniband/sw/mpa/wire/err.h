/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a peer did wrong, or must be told.
 *
 * Two worlds of errors never mix: a local failure is an -errno, a fault on the
 * wire is an enum wire_err. One table (wire/err.c) says for each what its
 * Terminate message carries and what it is called.
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

/* Error types of layer DDP. */
#define TERM_DDP_CATASTROPHIC	0
#define TERM_DDP_TAGGED		1
#define TERM_DDP_UNTAGGED	2

/* The only error type of layer LLP. */
#define TERM_LLP_MPA		0

enum wire_err {
	WIRE_OK = 0,

	/* MPA: RFC 5044 section 8, RFC 6581 section 8 */
	WIRE_MPA_CLOSED,	/* code 1: the TCP connection is gone */
	WIRE_MPA_CRC,		/* code 2: CRC mismatch */
	WIRE_MPA_MARKER,	/* code 3: Marker and length chain disagree; bad length */
	WIRE_MPA_FRAME,		/* code 4: invalid startup frame */
	WIRE_MPA_LOCAL,		/* code 5: local catastrophic error */
	WIRE_MPA_IRD,		/* code 6: insufficient IRD resources */
	WIRE_MPA_RTR,		/* code 7: no matching RTR option */

	/* DDP, tagged buffers: RFC 5041 section 8.2 */
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
 * struct wire_err_row - what one error is on the wire
 * @layer:	Terminate layer
 * @etype:	Terminate error type
 * @code:	Terminate error code
 * @name:	short name for tests and debuggers, lower case, underscores
 */
struct wire_err_row {
	u8 layer;
	u8 etype;
	u8 code;
	const char *name;
};

/**
 * wire_err_row() - look an error up
 * @err:	any value; one out of range gives the row of WIRE_RDMAP_UNSPECIFIED
 *
 * Return: the table row, never NULL.
 */
const struct wire_err_row *wire_err_row(enum wire_err err);

#endif
