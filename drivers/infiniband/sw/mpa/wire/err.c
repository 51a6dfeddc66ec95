// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The table of protocol errors: the codes in a Terminate (RFC 5040 section 4.8, RFC 5041
 * section 7.2, RFC 6581 section 8), the class by which rnic_qp_fail() counts and reports the
 * error, and the name in traces.
 */
#include "wire/err.h"

#define ROW(l, t, c, k, n)	{ TERM_LAYER_##l, TERM_##l##_##t, c, WIRE_CLASS_##k, n }
#define MPA(c, k, n)	{ TERM_LAYER_LLP, TERM_LLP_MPA, c, WIRE_CLASS_##k, n }

static const struct wire_err_row rows[WIRE_ERR_MAX] = {
	/* Never sent. It has a row so that every value has a name. */
	[WIRE_OK]		= ROW(RDMAP, OPERATION, 0xff, NONE, "ok"),

	[WIRE_MPA_CLOSED]	= MPA(1, BROKEN, "mpa_closed"),
	[WIRE_MPA_CRC]		= MPA(2, CRC, "mpa_crc"),
	[WIRE_MPA_MARKER]	= MPA(3, FRAMING, "mpa_marker"),
	[WIRE_MPA_FRAME]	= MPA(4, BROKEN, "mpa_frame"),
	[WIRE_MPA_LOCAL]	= MPA(5, BROKEN, "mpa_local"),
	[WIRE_MPA_IRD]		= MPA(6, BROKEN, "mpa_ird"),
	[WIRE_MPA_RTR]		= MPA(7, BROKEN, "mpa_rtr"),

	[WIRE_DDP_T_STAG]	= ROW(DDP, TAGGED, 0x00, ACCESS, "ddp_t_stag"),
	[WIRE_DDP_T_BOUNDS]	= ROW(DDP, TAGGED, 0x01, ACCESS, "ddp_t_bounds"),
	[WIRE_DDP_T_ASSOC]	= ROW(DDP, TAGGED, 0x02, ACCESS, "ddp_t_assoc"),
	[WIRE_DDP_T_WRAP]	= ROW(DDP, TAGGED, 0x03, ACCESS, "ddp_t_wrap"),
	[WIRE_DDP_T_VERSION]	= ROW(DDP, TAGGED, 0x04, REQUEST, "ddp_t_version"),

	[WIRE_DDP_U_QN]		= ROW(DDP, UNTAGGED, 0x01, REQUEST, "ddp_u_qn"),
	[WIRE_DDP_U_NOBUF]	= ROW(DDP, UNTAGGED, 0x02, REQUEST, "ddp_u_nobuf"),
	[WIRE_DDP_U_MSN]	= ROW(DDP, UNTAGGED, 0x03, REQUEST, "ddp_u_msn"),
	[WIRE_DDP_U_MO]		= ROW(DDP, UNTAGGED, 0x04, REQUEST, "ddp_u_mo"),
	[WIRE_DDP_U_TOOLONG]	= ROW(DDP, UNTAGGED, 0x05, REQUEST, "ddp_u_toolong"),
	[WIRE_DDP_U_VERSION]	= ROW(DDP, UNTAGGED, 0x06, REQUEST, "ddp_u_version"),

	[WIRE_DDP_LOCAL]	= ROW(DDP, CATASTROPHIC, 0x00, BROKEN, "ddp_local"),

	[WIRE_RDMAP_STAG]	= ROW(RDMAP, PROTECTION, 0x00, ACCESS, "rdmap_stag"),
	[WIRE_RDMAP_BOUNDS]	= ROW(RDMAP, PROTECTION, 0x01, ACCESS, "rdmap_bounds"),
	[WIRE_RDMAP_ACCESS]	= ROW(RDMAP, PROTECTION, 0x02, ACCESS, "rdmap_access"),
	[WIRE_RDMAP_ASSOC]	= ROW(RDMAP, PROTECTION, 0x03, ACCESS, "rdmap_assoc"),
	[WIRE_RDMAP_WRAP]	= ROW(RDMAP, PROTECTION, 0x04, ACCESS, "rdmap_wrap"),
	[WIRE_RDMAP_NOINVAL]	= ROW(RDMAP, PROTECTION, 0x09, ACCESS, "rdmap_noinval"),

	[WIRE_RDMAP_VERSION]	= ROW(RDMAP, OPERATION, 0x05, REQUEST, "rdmap_version"),
	[WIRE_RDMAP_OPCODE]	= ROW(RDMAP, OPERATION, 0x06, REQUEST, "rdmap_opcode"),
	[WIRE_RDMAP_CATASTROPHIC] = ROW(RDMAP, OPERATION, 0x07, REQUEST, "rdmap_catastrophic"),
	[WIRE_RDMAP_UNSPECIFIED] = ROW(RDMAP, OPERATION, 0xff, REQUEST, "rdmap_unspecified"),

	[WIRE_RDMAP_LOCAL]	= ROW(RDMAP, CATASTROPHIC, 0x00, BROKEN, "rdmap_local"),
};

const struct wire_err_row *wire_err_row(enum wire_err err)
{
	if ((unsigned int)err >= WIRE_ERR_MAX)
		err = WIRE_RDMAP_UNSPECIFIED;
	return &rows[err];
}

static bool has_numbers(const struct wire_err_row *row, u8 layer, u8 etype, u8 code)
{
	bool any_code = layer == TERM_LAYER_RDMAP && etype == TERM_RDMAP_CATASTROPHIC;

	return row->layer == layer && row->etype == etype && (row->code == code || any_code);
}

enum wire_err wire_err_find(u8 layer, u8 etype, u8 code)
{
	u32 err;

	for (err = WIRE_OK + 1; err < WIRE_ERR_MAX; err++)
		if (has_numbers(&rows[err], layer, etype, code))
			return err;
	return WIRE_OK;
}

const char *wire_err_name(u8 layer, u8 etype, u8 code)
{
	enum wire_err err = wire_err_find(layer, etype, code);

	return err ? rows[err].name : "unknown";
}
