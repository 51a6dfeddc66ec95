// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/rdmap.c: the Terminate message (RFC 5040 section 4.8). */
#include <kunit/test.h>
#include <linux/string.h>
#include <compat/unaligned.h>
#include <wire/ddp.h>
#include <wire/mpa.h>
#include "suites.h"

static const u8 opcodes[] = {
	RDMAP_WRITE, RDMAP_READ_REQ, RDMAP_READ_RESP, RDMAP_SEND, RDMAP_SEND_INV,
	RDMAP_SEND_SE, RDMAP_SEND_SE_INV, RDMAP_TERMINATE,
};

/* Which headers go along, by error: none, the DDP header, a Read Request too */
enum shows { SHOWS_NONE, SHOWS_DDP, SHOWS_READ };

static enum shows rule(enum wire_err err)
{
	switch (err) {
	case WIRE_DDP_LOCAL:
	case WIRE_RDMAP_LOCAL:
		return SHOWS_NONE;
	case WIRE_RDMAP_STAG:
	case WIRE_RDMAP_BOUNDS:
	case WIRE_RDMAP_ACCESS:
	case WIRE_RDMAP_ASSOC:
	case WIRE_RDMAP_WRAP:
	case WIRE_RDMAP_NOINVAL:
		return SHOWS_READ;
	default:
		return err <= WIRE_MPA_RTR ? SHOWS_NONE : SHOWS_DDP;
	}
}

/* The receiver keeps all of the longest Terminate. */
static_assert(sizeof(struct ddp_untagged_hdr) + RDMAP_TERM_MAX <= MPA_RX_HDR_MAX);

static u32 segment(u8 opcode, u8 *hdr)
{
	struct ddp_seg seg = {
		.opcode = opcode, .last = true, .msn = 0x1234, .stag = 0xcafe,
		.to = 0x123456789, .read = { .size = 77, .src_stag = 0xbeef },
	};

	return ddp_build(&seg, hdr);
}

static bool equal(const struct rdmap_term *a, const struct rdmap_term *b)
{
	return a->layer == b->layer && a->etype == b->etype && a->code == b->code &&
	       a->has_len == b->has_len && a->has_ddp == b->has_ddp &&
	       a->has_rdmap == b->has_rdmap && a->seg_len == b->seg_len &&
	       a->hdr_len == b->hdr_len && !memcmp(a->hdr, b->hdr, a->hdr_len);
}

/* Terminates by hand */
static void bytes(struct kunit *test)
{
	static const u8 crc[] = { 0x20, 0x02, 0x00, 0x00 };
	static const u8 bounds[] = {
		0x11, 0x01, 0xc0, 0x00, 0x05, 0xb4,
		0xc1, 0x40, 0, 0, 0xca, 0xfe, 0, 0, 0, 1, 0x23, 0x45, 0x67, 0x89,
	};
	static const u8 access[] = {
		0x01, 0x02, 0xe0, 0x00, 0x00, 0x2e,
		0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0x12, 0x34, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0xbe, 0xef,
		0, 0, 0, 0, 0, 0, 0, 0,
	};
	static const u8 version[] = {
		0x11, 0x04, 0xc0, 0x00, 0x00, 0x0f,
		0xc2, 0x40, 0, 0, 0xca, 0xfe, 0, 0, 0, 1, 0x23, 0x45, 0x67, 0x89,
	};
	u8 hdr[DDP_HDR_MAX], buf[RDMAP_TERM_MAX];
	struct rdmap_term term;

	rdmap_term_init(&term, WIRE_MPA_CRC, NULL, 0, 0);
	KUNIT_EXPECT_EQ(test, rdmap_term_build(&term, buf), (u32)sizeof(crc));
	KUNIT_EXPECT_EQ(test, memcmp(buf, crc, sizeof(crc)), 0);

	segment(RDMAP_WRITE, hdr);
	rdmap_term_init(&term, WIRE_DDP_T_BOUNDS, hdr, 14, 1460);
	KUNIT_EXPECT_EQ(test, rdmap_term_build(&term, buf), (u32)sizeof(bounds));
	KUNIT_EXPECT_EQ(test, memcmp(buf, bounds, sizeof(bounds)), 0);

	hdr[0] ^= 3;	/* version 2 */
	rdmap_term_init(&term, WIRE_DDP_T_VERSION, hdr, 15, 15);
	KUNIT_EXPECT_EQ(test, rdmap_term_build(&term, buf), (u32)sizeof(version));
	KUNIT_EXPECT_EQ(test, memcmp(buf, version, sizeof(version)), 0);

	segment(RDMAP_READ_REQ, hdr);
	rdmap_term_init(&term, WIRE_RDMAP_ACCESS, hdr, 46, 46);
	KUNIT_EXPECT_EQ(test, rdmap_term_build(&term, buf), (u32)sizeof(access));
	KUNIT_EXPECT_EQ(test, memcmp(buf, access, sizeof(access)), 0);
}

static void check_round_trip(struct kunit *test, enum wire_err err, u8 opcode)
{
	const struct wire_err_row *row = wire_err_row(err);
	u8 hdr[DDP_HDR_MAX], buf[RDMAP_TERM_MAX + 8];
	u32 hdr_len = segment(opcode, hdr), len, cut;
	bool shows_read = rule(err) == SHOWS_READ && opcode == RDMAP_READ_REQ;
	struct rdmap_term term, back;

	rdmap_term_init(&term, err, hdr, hdr_len, 1000);
	KUNIT_EXPECT_TRUE(test, term.layer == row->layer && term.etype == row->etype &&
			  term.code == row->code);
	KUNIT_EXPECT_EQ_MSG(test, term.has_ddp, rule(err) != SHOWS_NONE, "%s", row->name);
	KUNIT_EXPECT_EQ_MSG(test, term.has_rdmap, shows_read, "%s", row->name);
	KUNIT_EXPECT_EQ(test, term.has_len, term.has_ddp);
	if (term.has_ddp)
		KUNIT_EXPECT_EQ(test, term.hdr_len,
				shows_read ? 46 : rdmap_is_tagged(opcode) ? 14 : 18);

	memset(buf, 0xa5, sizeof(buf));
	len = rdmap_term_build(&term, buf);
	KUNIT_EXPECT_TRUE(test, len <= RDMAP_TERM_MAX && buf[len] == 0xa5);
	KUNIT_EXPECT_TRUE(test, rdmap_term_parse(&back, buf, len) && equal(&term, &back));
	/* bytes behind are ignored */
	KUNIT_EXPECT_TRUE(test, rdmap_term_parse(&back, buf, len + 8) && equal(&term, &back));
	for (cut = 0; cut < len; cut++) {
		u8 *exact = kunit_kzalloc(test, cut + 1, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, exact);
		memcpy(exact + 1, buf, cut);
		KUNIT_EXPECT_FALSE(test, rdmap_term_parse(&back, exact + 1, cut));
		/* Only whole headers count. */
		KUNIT_EXPECT_FALSE(test, back.has_rdmap);
		KUNIT_EXPECT_EQ(test, back.has_ddp, shows_read && cut >= 4 + 2 + 18);
		KUNIT_EXPECT_EQ(test, back.hdr_len, back.has_ddp ? 18 : 0);
		KUNIT_EXPECT_EQ(test, memcmp(back.hdr, term.hdr, back.hdr_len), 0);
		if (cut >= 4)
			KUNIT_EXPECT_TRUE(test, back.layer == term.layer &&
					  back.etype == term.etype && back.code == term.code);
		else
			KUNIT_EXPECT_TRUE(test, back.layer == 0xf && back.etype == 0xf &&
					  back.code == 0xff);
	}
}

/* Every error about every opcode, cut at every byte */
static void every_error(struct kunit *test)
{
	int err;
	u32 i;

	for (err = WIRE_OK + 1; err < WIRE_ERR_MAX; err++)
		for (i = 0; i < ARRAY_SIZE(opcodes); i++)
			check_round_trip(test, err, opcodes[i]);
}

/* Headers that are incomplete are left out */
static void partial_headers(struct kunit *test)
{
	u8 hdr[DDP_HDR_MAX];
	struct rdmap_term term;
	u32 have;

	segment(RDMAP_READ_REQ, hdr);
	for (have = 0; have <= 46; have++) {
		rdmap_term_init(&term, WIRE_RDMAP_STAG, hdr, have, 46);
		KUNIT_EXPECT_EQ(test, term.has_ddp, have >= 18);
		KUNIT_EXPECT_EQ(test, term.has_rdmap, have >= 46);
	}
	segment(RDMAP_WRITE, hdr);
	for (have = 0; have <= 14; have++) {
		rdmap_term_init(&term, WIRE_DDP_T_STAG, hdr, have, 14);
		KUNIT_EXPECT_EQ(test, term.has_ddp, have >= 14);
	}
	rdmap_term_init(&term, WIRE_RDMAP_STAG, NULL, 0, 0);
	KUNIT_EXPECT_FALSE(test, term.has_ddp || term.has_len);
}

/* Terminates that other ends may send: each combination of M, D, R; reserved bits set */
static void flag_combinations(struct kunit *test)
{
	u8 buf[64], back[64];
	u32 flags, t;

	for (flags = 0; flags < 8; flags++) {
		for (t = 0; t < 2; t++) {
			bool m = flags & 4, d = flags & 2, r = flags & 1;
			u32 need = 4 + (m || d ? 2 : 0) + (d ? t ? 14 : 18 : 0) + (r ? 28 : 0);
			u32 msn;
			struct rdmap_term term;

			memset(buf, 0x31, sizeof(buf));
			put_unaligned_be32(0x02061fff | flags << 13, buf);
			buf[6] = t ? 0xc1 : 0x41;
			put_unaligned_be32(0x01020304, buf + 6 + 10);	/* MSN, if untagged */
			KUNIT_EXPECT_TRUE(test, rdmap_term_parse(&term, buf, need));
			KUNIT_EXPECT_FALSE(test, rdmap_term_parse(&term, buf, need - 1));
			rdmap_term_parse(&term, buf, need);
			KUNIT_EXPECT_TRUE(test, term.has_len == m && term.has_ddp == d &&
					  term.has_rdmap == r);
			KUNIT_EXPECT_EQ(test, term.hdr_len, need - 4 - (m || d ? 2 : 0));
			KUNIT_EXPECT_EQ(test, rdmap_term_read(&term, &msn), d && !t);
			if (d && !t)
				KUNIT_EXPECT_EQ(test, msn, 0x01020304u);
			KUNIT_EXPECT_EQ(test, term.etype << 8 | term.code, 0x206);
			/* and as we would build it, reserved bits clear */
			put_unaligned_be32(0x02060000 | flags << 13, buf);
			KUNIT_EXPECT_EQ(test, rdmap_term_build(&term, back), need);
			KUNIT_EXPECT_EQ(test, memcmp(back, buf, need), 0);
		}
	}
}

/* Is a Terminate about a Read of ours? Its headers say so, or else its error. */
static void about_reads(struct kunit *test)
{
	static const struct {
		u16 numbers;	/* layer, type, code */
		u8 flags;	/* D and R */
		u8 opcode;	/* in the DDP header */
		u8 have;	/* bytes behind the DDP header */
		bool named;
		bool about;
	} rows[] = {
		{ 0x0100, 3, RDMAP_READ_REQ, 28, true, true },
		{ 0x0100, 2, RDMAP_READ_REQ, 0, true, true },
		{ 0x0206, 2, RDMAP_READ_REQ, 0, true, true },
		{ 0x1202, 2, RDMAP_READ_REQ, 0, true, true },
		{ 0x0100, 1, 0, 28, false, true },
		{ 0x0101, 0, 0, 0, false, true },
		{ 0x01ff, 0, 0, 0, false, true },
		{ 0x0207, 0, 0, 0, false, true },
		{ 0x0109, 0, 0, 0, false, false },
		{ 0x0209, 0, 0, 0, false, false },
		{ 0x0000, 0, 0, 0, false, false },
		{ 0x0102, 2, RDMAP_WRITE, 0, false, false },
		{ 0x0109, 2, RDMAP_SEND_INV, 0, false, false },
		{ 0x1205, 2, RDMAP_SEND, 0, false, false },
		{ 0x1100, 0, 0, 0, false, false },
		{ 0x2002, 0, 0, 0, false, false },
		/* siw announces a Read Request with each protection error. */
		{ 0x0100, 3, RDMAP_SEND, 0, false, false },
	};
	u8 buf[RDMAP_TERM_MAX];
	struct rdmap_term term;
	u32 i, len, msn;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(buf, 0, sizeof(buf));
		put_unaligned_be32(rows[i].numbers << 16 | rows[i].flags << 13, buf);
		len = 4;
		if (rows[i].flags & 2) {
			len += 2;
			segment(rows[i].opcode, buf + len);
			len += rdmap_is_tagged(rows[i].opcode) ? 14 : 18;
		}
		rdmap_term_parse(&term, buf, len + rows[i].have);
		KUNIT_EXPECT_EQ_MSG(test, rdmap_term_read(&term, &msn), rows[i].named, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, rdmap_term_about_read(&term), rows[i].about, "%u", i);
		if (rows[i].named)
			KUNIT_EXPECT_EQ(test, msn, 0x1234u);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(bytes),
	KUNIT_CASE(every_error),
	KUNIT_CASE(partial_headers),
	KUNIT_CASE(flag_combinations),
	KUNIT_CASE(about_reads),
	{}
};

struct kunit_suite rdmap_terminate_suite = { .name = "rdmap_terminate", .test_cases = cases };
