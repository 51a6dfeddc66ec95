/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Wire bytes to compare the engine with. Ids are those of the requirement ledger,
 * appendices B (FPDUs) and C (startup frames); a draft has the "printed" ones.
 */
#ifndef _KUNIT_VECTORS_H
#define _KUNIT_VECTORS_H

#include <linux/types.h>

/* The contents of the ULPDU. */
enum fill {
	FILL_PATTERN,		/* byte i is i mod 256 */
	FILL_ZERO,
	FILL_ONES,
	FILL_SEND,		/* Send header, version 1, @msn, zeros behind it */
	FILL_SEND_V0,		/* the same with draft-00's control bytes 40 03 */
};

struct fpdu_vector {
	const char *name;
	const char *source;
	u32 pos;
	u32 len;
	enum fill fill;
	u32 msn;
	bool markers;
	u32 total;
	u8 crc[4];
	u32 nmarkers;
	u16 last_ptr;		/* FPDUPTR of the last Marker */
	const u8 *bytes;	/* the whole FPDU, NULL for long ones */
};

#define FPDU(...)	((const u8[]){ __VA_ARGS__ })

static const struct fpdu_vector fpdu_vectors[] __maybe_unused = {
	{ "V1", "draft-06 figure 5, printed", 0, 42, FILL_SEND, 1, true, 52,
	  { 0x52, 0x23, 0x99, 0x83 }, 1, 0,
	  FPDU(0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0,
	       0x00, 0x00, 0x00, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	       0x52, 0x23, 0x99, 0x83) },
	{ "V2", "draft-06 figure 6, printed", 492, 42, FILL_SEND, 2, true, 52,
	  { 0x84, 0x92, 0x58, 0x98 }, 1, 0x14,
	  FPDU(0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 0x00, 0x02,
	       0, 0, 0, 0, 0x00, 0x00, 0x00, 0x14, 0, 0, 0, 0, 0, 0, 0, 0,
	       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	       0x84, 0x92, 0x58, 0x98) },
	{ "V3", "draft-00 figure 5, printed", 0, 42, FILL_SEND_V0, 1, true, 52,
	  { 0x4c, 0x86, 0xb3, 0x84 }, 1, 0,
	  FPDU(0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x40, 0x03, 0, 0, 0, 0, 0, 0, 0, 0,
	       0x00, 0x00, 0x00, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	       0x4c, 0x86, 0xb3, 0x84) },
	{ "V4", "draft-00 figure 6, printed", 492, 42, FILL_SEND_V0, 2, true, 52,
	  { 0xa1, 0x9c, 0xd1, 0x03 }, 1, 0x14,
	  FPDU(0x00, 0x2a, 0x40, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 0x00, 0x02,
	       0, 0, 0, 0, 0x00, 0x00, 0x00, 0x14, 0, 0, 0, 0, 0, 0, 0, 0,
	       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	       0xa1, 0x9c, 0xd1, 0x03) },
	{ "B1", "V1 without Marker", 0, 42, FILL_SEND, 1, false, 48,
	  { 0xb7, 0x24, 0x3e, 0xc3 }, 0, 0, NULL },
	{ "B2", "V2 without Marker", 492, 42, FILL_SEND, 2, false, 48,
	  { 0x29, 0x0f, 0xbe, 0xde }, 0, 0, NULL },
	{ "B3", "layout of figure 4", 500, 16, FILL_PATTERN, 0, true, 28,
	  { 0x10, 0x5b, 0x1c, 0x88 }, 1, 0x0c,
	  FPDU(0x00, 0x10, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
	       0x00, 0x00, 0x00, 0x0c, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x00, 0x00,
	       0x10, 0x5b, 0x1c, 0x88) },
	{ "B4", "smallest FPDU", 0, 1, FILL_ZERO, 0, false, 8,
	  { 0xb9, 0xd9, 0x26, 0xed }, 0, 0,
	  FPDU(0x00, 0x01, 0x00, 0x00, 0xb9, 0xd9, 0x26, 0xed) },
	{ "B5", "pad 3", 0, 3, FILL_ONES, 0, false, 12,
	  { 0x0f, 0x6f, 0xfd, 0x0d }, 0, 0,
	  FPDU(0x00, 0x03, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x0f, 0x6f, 0xfd, 0x0d) },
	{ "B6", "pad 2", 0, 4, FILL_ONES, 0, false, 12,
	  { 0x2e, 0xf4, 0x1d, 0x81 }, 0, 0,
	  FPDU(0x00, 0x04, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x2e, 0xf4, 0x1d, 0x81) },
	{ "B7", "Marker between ULPDU and CRC", 0, 506, FILL_PATTERN, 0, true, 520,
	  { 0x29, 0xec, 0xd9, 0x09 }, 2, 0x01fc, NULL },
	{ "B8", "Marker between PAD and CRC", 0, 505, FILL_PATTERN, 0, true, 520,
	  { 0x53, 0xa8, 0xe8, 0xed }, 2, 0x01fc, NULL },
	{ "B9", "ends at 512, no second Marker", 0, 502, FILL_PATTERN, 0, true, 512,
	  { 0x22, 0x8a, 0xdb, 0x98 }, 1, 0, NULL },
	{ "B10", "follows B9, leading Marker", 512, 42, FILL_PATTERN, 0, true, 52,
	  { 0x15, 0x8f, 0xec, 0x89 }, 1, 0, NULL },
	{ "B11", "full FPDU, EMSS 1460", 0, 1442, FILL_PATTERN, 0, true, 1460,
	  { 0xbc, 0x4a, 0x22, 0xc1 }, 3, 0x03fc, NULL },
	{ "B12", "second, EMSS 1460", 1460, 1442, FILL_PATTERN, 0, true, 1460,
	  { 0x39, 0xdf, 0x1d, 0xdb }, 3, 0x044c, NULL },
	{ "B13", "third, EMSS 1460", 2920, 1442, FILL_PATTERN, 0, true, 1460,
	  { 0x45, 0x99, 0x22, 0x44 }, 3, 0x0498, NULL },
	{ "B14", "full FPDU, EMSS 1460", 0, 1454, FILL_PATTERN, 0, false, 1460,
	  { 0xdb, 0x81, 0x40, 0xcb }, 0, 0, NULL },
	{ "B15", "full FPDU, EMSS 536", 0, 522, FILL_PATTERN, 0, true, 536,
	  { 0x5f, 0x40, 0x05, 0x99 }, 2, 0x01fc, NULL },
	{ "B16", "full FPDU, EMSS 8948", 0, 8870, FILL_PATTERN, 0, true, 8948,
	  { 0x4e, 0xb0, 0x98, 0xab }, 18, 0x21fc, NULL },
	{ "B17", "largest ULPDU", 0, 64768, FILL_PATTERN, 0, true, 65288,
	  { 0x44, 0x53, 0x75, 0xcf }, 128, 0xfdfc, NULL },
	{ "B18", "largest FPDUPTR", 256, 64768, FILL_PATTERN, 0, true, 65288,
	  { 0x35, 0x0c, 0x19, 0x8b }, 128, 0xff00, NULL },
	{ "B19", "largest ULPDU", 0, 64768, FILL_PATTERN, 0, false, 64776,
	  { 0xb4, 0xf7, 0x42, 0x05 }, 0, 0, NULL },
	{ "B20", "MULPDU floor", 0, 128, FILL_PATTERN, 0, true, 140,
	  { 0xe2, 0x09, 0xa5, 0x5d }, 1, 0, NULL },
	{ "B21", "ends on a Marker position", 376, 128, FILL_PATTERN, 0, true, 136,
	  { 0x3c, 0xe7, 0xf0, 0x3d }, 0, 0, NULL },
	{ "B22", "Marker between PAD and CRC", 380, 128, FILL_PATTERN, 0, true, 140,
	  { 0xf8, 0x53, 0x8b, 0xac }, 1, 0x84, NULL },
	{ "B23", "492 bytes before V2", 0, 482, FILL_SEND, 1, true, 492,
	  { 0xa0, 0x1e, 0xe4, 0xfd }, 1, 0, NULL },
	{ "B24", "Send without payload", 0, 18, FILL_SEND, 1, false, 24,
	  { 0x58, 0x7b, 0xe8, 0xc4 }, 0, 0,
	  FPDU(0x00, 0x12, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0, 0, 0, 0,
	       0x58, 0x7b, 0xe8, 0xc4) },
	{ "B25", "B24 with Marker", 0, 18, FILL_SEND, 1, true, 28,
	  { 0x88, 0xc1, 0xd6, 0xfc }, 1, 0,
	  FPDU(0, 0, 0, 0, 0x00, 0x12, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01,
	       0, 0, 0, 0, 0x88, 0xc1, 0xd6, 0xfc) },
};

struct frame_vector {
	const char *name;
	bool reply;
	bool proper;		/* we take it */
	u32 total;
	const u8 *after_key;
	struct {
		bool markers, crc, reject;
		u8 rev;
		bool enhanced, peer;
		u8 rtr;
		u16 ird, ord, pd_len;
	} f;
};

enum {
	RTR_SEND = 1,		/* as MPA_RTR_*, which this file does not trust */
	RTR_WRITE = 2,
	RTR_READ = 4,
};

/* Ledger appendix C: the bytes behind the key. */
static const struct frame_vector frame_vectors[] __maybe_unused = {
	{ "F1", false, true, 20, FPDU(0x40, 1, 0, 0),
	  { .crc = true, .rev = 1 } },
	{ "F2", false, true, 20, FPDU(0xc0, 1, 0, 0),
	  { .markers = true, .crc = true, .rev = 1 } },
	{ "F3", true, true, 20, FPDU(0xc0, 1, 0, 0),
	  { .markers = true, .crc = true, .rev = 1 } },
	{ "F4", true, true, 24, FPDU(0x60, 1, 0, 4, 0x62, 0x75, 0x73, 0x79),
	  { .crc = true, .reject = true, .rev = 1, .pd_len = 4 } },
	{ "F5", false, true, 24, FPDU(0x50, 2, 0, 4, 0x80, 0x10, 0xc0, 0x20),
	  { .crc = true, .rev = 2, .enhanced = true, .peer = true, .rtr = RTR_WRITE | RTR_READ,
	    .ird = 16, .ord = 32 } },
	{ "F6", true, true, 24, FPDU(0x50, 2, 0, 4, 0x80, 0x20, 0x80, 0x10),
	  { .crc = true, .rev = 2, .enhanced = true, .peer = true, .rtr = RTR_WRITE,
	    .ird = 32, .ord = 16 } },
	{ "F7", false, true, 24, FPDU(0x50, 2, 0, 4, 0x3f, 0xff, 0x3f, 0xff),
	  { .crc = true, .rev = 2, .enhanced = true, .ird = 0x3fff, .ord = 0x3fff } },
	{ "F8", true, true, 24, FPDU(0x70, 2, 0, 4, 0x80, 0x20, 0x80, 0x40),
	  { .crc = true, .reject = true, .rev = 2, .enhanced = true, .peer = true,
	    .rtr = RTR_WRITE, .ird = 32, .ord = 64 } },
	{ "F9", false, true, 29,
	  FPDU(0xd0, 2, 0, 9, 0xc0, 0x01, 0xc0, 0, 0x68, 0x65, 0x6c, 0x6c, 0x6f),
	  { .markers = true, .crc = true, .rev = 2, .enhanced = true, .peer = true,
	    .rtr = RTR_SEND | RTR_WRITE | RTR_READ, .ird = 1, .ord = 0, .pd_len = 5 } },
	{ "F10", true, true, 24, FPDU(0xd0, 2, 0, 4, 0x80, 0x01, 0x40, 0x01),
	  { .markers = true, .crc = true, .rev = 2, .enhanced = true, .peer = true,
	    .rtr = RTR_READ, .ird = 1, .ord = 1 } },
	{ "F11", false, false, 20, FPDU(0xc0, 0, 0, 0),
	  { .markers = true, .crc = true } },
};

#endif
