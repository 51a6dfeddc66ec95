// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The one table of wire errors: what a Terminate says (RFC 5040 section 4.8,
 * RFC 5041 section 8.2, RFC 6581 section 8) and what counters call it.
 */
#include "wire/err.h"

#define MPA(c, n)		{ TERM_LAYER_LLP, TERM_LLP_MPA, c, n }
#define DDP_T(c, n)	{ TERM_LAYER_DDP, TERM_DDP_TAGGED, c, n }
#define DDP_U(c, n)	{ TERM_LAYER_DDP, TERM_DDP_UNTAGGED, c, n }
#define PROTECTION(c, n)	{ TERM_LAYER_RDMAP, TERM_RDMAP_PROTECTION, c, n }
#define OPERATION(c, n)	{ TERM_LAYER_RDMAP, TERM_RDMAP_OPERATION, c, n }

static const struct wire_err_row rows[WIRE_ERR_MAX] = {
	/* Never sent; here so that every value has a name. */
	[WIRE_OK]		= OPERATION(0xff, "ok"),

	[WIRE_MPA_CLOSED]	= MPA(1, "mpa_closed"),
	[WIRE_MPA_CRC]		= MPA(2, "mpa_crc"),
	[WIRE_MPA_MARKER]	= MPA(3, "mpa_marker"),
	[WIRE_MPA_FRAME]	= MPA(4, "mpa_frame"),
	[WIRE_MPA_LOCAL]	= MPA(5, "mpa_local"),
	[WIRE_MPA_IRD]		= MPA(6, "mpa_ird"),
	[WIRE_MPA_RTR]		= MPA(7, "mpa_rtr"),

	[WIRE_DDP_T_STAG]	= DDP_T(0x00, "ddp_t_stag"),
	[WIRE_DDP_T_BOUNDS]	= DDP_T(0x01, "ddp_t_bounds"),
	[WIRE_DDP_T_ASSOC]	= DDP_T(0x02, "ddp_t_assoc"),
	[WIRE_DDP_T_WRAP]	= DDP_T(0x03, "ddp_t_wrap"),
	[WIRE_DDP_T_VERSION]	= DDP_T(0x04, "ddp_t_version"),

	[WIRE_DDP_U_QN]		= DDP_U(0x01, "ddp_u_qn"),
	[WIRE_DDP_U_NOBUF]	= DDP_U(0x02, "ddp_u_nobuf"),
	[WIRE_DDP_U_MSN]	= DDP_U(0x03, "ddp_u_msn"),
	[WIRE_DDP_U_MO]		= DDP_U(0x04, "ddp_u_mo"),
	[WIRE_DDP_U_TOOLONG]	= DDP_U(0x05, "ddp_u_toolong"),
	[WIRE_DDP_U_VERSION]	= DDP_U(0x06, "ddp_u_version"),

	[WIRE_DDP_LOCAL]	= { TERM_LAYER_DDP, TERM_DDP_CATASTROPHIC, 0, "ddp_local" },

	[WIRE_RDMAP_STAG]	= PROTECTION(0x00, "rdmap_stag"),
	[WIRE_RDMAP_BOUNDS]	= PROTECTION(0x01, "rdmap_bounds"),
	[WIRE_RDMAP_ACCESS]	= PROTECTION(0x02, "rdmap_access"),
	[WIRE_RDMAP_ASSOC]	= PROTECTION(0x03, "rdmap_assoc"),
	[WIRE_RDMAP_WRAP]	= PROTECTION(0x04, "rdmap_wrap"),
	[WIRE_RDMAP_NOINVAL]	= PROTECTION(0x09, "rdmap_noinval"),

	[WIRE_RDMAP_VERSION]	= OPERATION(0x05, "rdmap_version"),
	[WIRE_RDMAP_OPCODE]	= OPERATION(0x06, "rdmap_opcode"),
	[WIRE_RDMAP_CATASTROPHIC] = OPERATION(0x07, "rdmap_catastrophic"),
	[WIRE_RDMAP_UNSPECIFIED] = OPERATION(0xff, "rdmap_unspecified"),

	[WIRE_RDMAP_LOCAL]	= { TERM_LAYER_RDMAP, TERM_RDMAP_CATASTROPHIC, 0, "rdmap_local" },
};

const struct wire_err_row *wire_err_row(enum wire_err err)
{
	if ((unsigned int)err >= WIRE_ERR_MAX)
		err = WIRE_RDMAP_UNSPECIFIED;
	return &rows[err];
}
