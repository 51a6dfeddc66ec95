// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/ddp.c: segment headers and message order (RFC 5040, RFC 5041). */
#include <kunit/test.h>
#include <linux/string.h>
#include <compat/unaligned.h>
#include <wire/ddp.h>
#include <wire/mpa.h>
#include "suites.h"

#define BYTES(...)	((const u8[]){ __VA_ARGS__ })

/* Headers written out by hand from RFC 5040 section 4 and RFC 5041 section 4. */
static const struct {
	struct ddp_seg seg;
	u32 len;
	const u8 *hdr;
} headers[] = {
	{ { .opcode = RDMAP_SEND, .last = true, .msn = 1 }, 18,
	  BYTES(0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0) },
	{ { .opcode = RDMAP_SEND, .msn = 0x01020304, .mo = 0x05060708 }, 18,
	  BYTES(0x01, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8) },
	{ { .opcode = RDMAP_SEND_INV, .last = true, .stag = 0xa1a2a3a4, .msn = 2 }, 18,
	  BYTES(0x41, 0x44, 0xa1, 0xa2, 0xa3, 0xa4, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0) },
	{ { .opcode = RDMAP_SEND_SE, .last = true, .msn = 3, .stag = 0x55555555 }, 18,
	  BYTES(0x41, 0x45, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0) },
	{ { .opcode = RDMAP_SEND_SE_INV, .last = true, .stag = 0x11223344, .msn = 4 }, 18,
	  BYTES(0x41, 0x46, 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0) },
	{ { .opcode = RDMAP_WRITE, .tagged = true, .stag = 0x01020304,
	    .to = 0x1112131415161718 }, 14,
	  BYTES(0x81, 0x40, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18) },
	{ { .opcode = RDMAP_READ_RESP, .tagged = true, .last = true, .stag = 0x01020304,
	    .to = 0xfffffffffffffffe }, 14,
	  BYTES(0xc1, 0x42, 1, 2, 3, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe) },
	{ { .opcode = RDMAP_READ_REQ, .last = true, .qn = 1, .msn = 7,
	    .read = { .sink_stag = 0x21222324, .sink_to = 0x3132333435363738,
		      .size = 0x41424344, .src_stag = 0x51525354,
		      .src_to = 0x6162636465666768 } }, 46,
	  BYTES(0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0,
		0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
		0x41, 0x42, 0x43, 0x44, 0x51, 0x52, 0x53, 0x54,
		0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68) },
	{ { .opcode = RDMAP_TERMINATE, .last = true, .qn = 2, .msn = 1 }, 18,
	  BYTES(0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0) },
	/* a Write of 2048 bytes at 16384 in two segments, the first of 1486 bytes */
	{ { .opcode = RDMAP_WRITE, .tagged = true, .stag = 0xcafe, .to = 16384 }, 14,
	  BYTES(0x81, 0x40, 0, 0, 0xca, 0xfe, 0, 0, 0, 0, 0, 0, 0x40, 0) },
	{ { .opcode = RDMAP_WRITE, .tagged = true, .last = true, .stag = 0xcafe,
	    .to = 16384 + 1486 }, 14,
	  BYTES(0xc1, 0x40, 0, 0, 0xca, 0xfe, 0, 0, 0, 0, 0, 0, 0x45, 0xce) },
	/* a Send of 2048 bytes in two segments, the first of 1482 bytes */
	{ { .opcode = RDMAP_SEND, .msn = 5 }, 18,
	  BYTES(0x01, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0) },
	{ { .opcode = RDMAP_SEND, .last = true, .msn = 5, .mo = 1482 }, 18,
	  BYTES(0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 5, 0xca) },
	/* the Sends number 2^32 - 1 and 2^32 */
	{ { .opcode = RDMAP_SEND, .last = true, .msn = ~0u }, 18,
	  BYTES(0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0) },
	{ { .opcode = RDMAP_SEND, .last = true, .msn = 0 }, 18,
	  BYTES(0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) },
	/* a Read of no bytes, whatever its source, and its answer */
	{ { .opcode = RDMAP_READ_REQ, .last = true, .qn = 1, .msn = 1,
	    .read = { .sink_stag = 0x1234, .sink_to = 0x5678 } }, 46,
	  BYTES(0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0,
		0, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0x56, 0x78,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) },
	{ { .opcode = RDMAP_READ_RESP, .tagged = true, .last = true, .stag = 0x1234,
	    .to = 0x5678 }, 14,
	  BYTES(0xc1, 0x42, 0, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0x56, 0x78) },
};

/* A valid header of @opcode. */
static u32 sample(u8 opcode, u8 *hdr)
{
	struct ddp_seg seg = { .opcode = opcode, .last = true, .msn = 1, .stag = 9 };

	memset(hdr, 0, DDP_HDR_MAX);
	return ddp_build(&seg, hdr);
}

static enum wire_err parse(const u8 *hdr, u32 ulpdu_len)
{
	struct ddp_seg seg;
	u32 have = ulpdu_len < DDP_HDR_MAX ? ulpdu_len : DDP_HDR_MAX;

	return ddp_parse(&seg, hdr, have, ulpdu_len);
}

static void builds(struct kunit *test)
{
	u8 buf[DDP_HDR_MAX + 1];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(headers); i++) {
		memset(buf, 0xa5, sizeof(buf));
		KUNIT_EXPECT_EQ(test, ddp_build(&headers[i].seg, buf), headers[i].len);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(buf, headers[i].hdr, headers[i].len), 0,
				    "header %u", i);
		KUNIT_EXPECT_EQ(test, buf[headers[i].len], 0xa5);
		KUNIT_EXPECT_EQ(test, rdmap_hdr_len(headers[i].seg.opcode), headers[i].len);
	}
}

static bool same_read(const struct ddp_seg *a, const struct ddp_seg *b)
{
	return a->read.sink_stag == b->read.sink_stag &&
	       a->read.sink_to == b->read.sink_to && a->read.size == b->read.size &&
	       a->read.src_stag == b->read.src_stag && a->read.src_to == b->read.src_to;
}

static bool same(const struct ddp_seg *a, const struct ddp_seg *b)
{
	return a->opcode == b->opcode && a->tagged == b->tagged && a->last == b->last &&
	       a->to == b->to && a->qn == b->qn && a->msn == b->msn && a->mo == b->mo &&
	       (a->opcode != RDMAP_READ_REQ || same_read(a, b));
}

static void parses(struct kunit *test)
{
	struct ddp_seg seg;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(headers); i++) {
		bool read = headers[i].seg.opcode == RDMAP_READ_REQ;
		u32 payload = headers[i].len == 14 || read ? 0 : 5;

		memset(&seg, 0xa5, sizeof(seg));
		KUNIT_EXPECT_EQ(test, ddp_parse(&seg, headers[i].hdr, headers[i].len,
						headers[i].len + payload), WIRE_OK);
		KUNIT_EXPECT_TRUE_MSG(test, same(&seg, &headers[i].seg), "header %u", i);
		KUNIT_EXPECT_EQ(test, seg.hdr_len, headers[i].len);
		KUNIT_EXPECT_EQ(test, seg.len, payload);
		if (seg.tagged || rdmap_is_inval(seg.opcode))
			KUNIT_EXPECT_EQ(test, seg.stag, headers[i].seg.stag);
	}
}

/* Reserved bits are not looked at: DDP 0x3c, RDMAP 0x30 */
static void reserved_bits_ignored(struct kunit *test)
{
	u8 hdr[DDP_HDR_MAX];
	u8 op;

	for (op = 0; op < RDMAP_OPCODE_MAX; op++) {
		u32 len = sample(op, hdr);

		hdr[0] |= DDP_RSVD_MASK;
		hdr[1] |= 0x30;
		KUNIT_EXPECT_EQ_MSG(test, parse(hdr, len), WIRE_OK, "opcode %u", op);
	}
}

/* Each of the 65536 control pairs, with each queue */
static enum wire_err control_rule(u8 ddp, u8 rdmap, u32 qn)
{
	static const u32 queue[8] = { ~0u, 1, ~0u, 0, 0, 0, 0, 2 };	/* ~0: tagged */
	bool tagged = ddp & 0x80;
	u8 op = rdmap & 0xf;

	if ((ddp & 3) != 1)
		return tagged ? WIRE_DDP_T_VERSION : WIRE_DDP_U_VERSION;
	if (!tagged && qn > 2)
		return WIRE_DDP_U_QN;
	if (rdmap >> 6 != 1)
		return WIRE_RDMAP_VERSION;
	if (op > 7 || (tagged ? ~0u : qn) != queue[op])
		return WIRE_RDMAP_OPCODE;
	if (op == 1 && !(ddp & 0x40))
		return WIRE_DDP_LOCAL;
	return WIRE_OK;
}

static void controls(struct kunit *test)
{
	static const u32 qns[] = { 0, 1, 2, 3, 0x100, 0xffffffff };
	u8 hdr[DDP_HDR_MAX] = {};
	u32 pair, i;

	for (pair = 0; pair < 0x10000; pair++) {
		for (i = 0; i < ARRAY_SIZE(qns); i++) {
			put_unaligned_be16(pair, hdr);
			put_unaligned_be32(qns[i], hdr + 6);
			if (parse(hdr, 46) == control_rule(pair >> 8, pair & 0xff, qns[i]))
				continue;
			KUNIT_FAIL(test, "control %04x queue %x: %s", pair, qns[i],
				   wire_err_row(parse(hdr, 46))->name);
			return;
		}
	}
}

/* Shorter than its header: an error at every length, and no byte read beyond */
static void short_ulpdus(struct kunit *test)
{
	u8 hdr[DDP_HDR_MAX];
	u32 len, full;
	u8 op;

	for (op = 0; op < RDMAP_OPCODE_MAX; op++) {
		full = sample(op, hdr);
		for (len = 0; len < full; len++) {
			u8 *exact = kunit_kzalloc(test, len + 1, GFP_KERNEL);
			struct ddp_seg seg;

			KUNIT_ASSERT_NOT_NULL(test, exact);
			memcpy(exact + 1, hdr, len);
			KUNIT_EXPECT_EQ_MSG(test, ddp_parse(&seg, exact + 1, len, len),
					    WIRE_DDP_LOCAL, "opcode %u, %u bytes", op, len);
			/* more bytes at hand than belong to it, or fewer */
			KUNIT_EXPECT_EQ(test, ddp_parse(&seg, hdr, full, len), WIRE_DDP_LOCAL);
			KUNIT_EXPECT_EQ(test, ddp_parse(&seg, hdr, len, full), WIRE_DDP_LOCAL);
		}
		KUNIT_EXPECT_EQ(test, parse(hdr, full), WIRE_OK);
	}
}

/* RDMAP-31, RDMAP-32: one segment, MO 0, 28 bytes */
static void read_request_shape(struct kunit *test)
{
	u8 hdr[MPA_RX_HDR_MAX] = {};

	sample(RDMAP_READ_REQ, hdr);
	KUNIT_EXPECT_EQ(test, parse(hdr, 47), WIRE_DDP_U_TOOLONG);
	put_unaligned_be32(1, hdr + 14);
	KUNIT_EXPECT_EQ(test, parse(hdr, 46), WIRE_DDP_U_MO);
	put_unaligned_be32(0, hdr + 14);
	KUNIT_EXPECT_EQ(test, parse(hdr, 46), WIRE_OK);
	hdr[0] &= ~DDP_FLAG_LAST;
	KUNIT_EXPECT_EQ(test, parse(hdr, 46), WIRE_DDP_LOCAL);
}

/* TO + length may reach 2^64, not pass it */
static void tagged_offset_wrap(struct kunit *test)
{
	static const struct { u64 to; u32 len; enum wire_err err; } rows[] = {
		{ 0, 64754, WIRE_OK }, { ~0ull, 0, WIRE_OK }, { ~0ull, 1, WIRE_OK },
		{ ~0ull, 2, WIRE_DDP_T_WRAP }, { ~0ull - 9, 10, WIRE_OK },
		{ ~0ull - 9, 11, WIRE_DDP_T_WRAP }, { 0xffffffff, 100, WIRE_OK },
	};
	u8 hdr[DDP_HDR_MAX];
	u32 i;

	sample(RDMAP_WRITE, hdr);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		put_unaligned_be64(rows[i].to, hdr + 6);
		KUNIT_EXPECT_EQ_MSG(test, parse(hdr, 14 + rows[i].len), rows[i].err,
				    "row %u", i);
	}
}

/* A message ends below 2^32 */
static void message_offset_wrap(struct kunit *test)
{
	u8 hdr[DDP_HDR_MAX];

	sample(RDMAP_SEND, hdr);
	put_unaligned_be32(0xfffffff0, hdr + 14);
	KUNIT_EXPECT_EQ(test, parse(hdr, 18 + 15), WIRE_OK);
	KUNIT_EXPECT_EQ(test, parse(hdr, 18 + 16), WIRE_DDP_U_TOOLONG);
}

static struct ddp_seg untagged(u8 opcode, u32 msn, u32 mo, u32 len, bool last)
{
	return (struct ddp_seg){ .opcode = opcode, .qn = rdmap_queue(opcode), .msn = msn,
				 .mo = mo, .len = len, .last = last };
}

static enum wire_err take(struct ddp_rx *rx, struct ddp_seg seg)
{
	struct ddp_rx before = *rx;
	enum wire_err err = ddp_rx_check(rx, &seg);

	if (memcmp(&before, rx, sizeof(before)))
		return WIRE_ERR_MAX;	/* a check changes nothing */
	if (!err)
		ddp_rx_accept(rx, &seg);
	return err;
}

/* RFC 5041 section 4.3: MSN counts messages from 1, MO bytes from 0 */
static void message_order(struct kunit *test)
{
	struct ddp_rx rx;

	ddp_rx_init(&rx);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 0, 0, 5, true)), WIRE_DDP_U_MSN);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 2, 0, 5, true)), WIRE_DDP_U_MSN);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 1, 4, 5, true)), WIRE_DDP_U_MO);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 1, 0, 100, false)), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, rx.open);
	KUNIT_EXPECT_EQ(test, rx.mo[0], 100u);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 1, 0, 9, false)), WIRE_DDP_U_MO);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 1, 101, 9, false)), WIRE_DDP_U_MO);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 2, 100, 9, true)), WIRE_DDP_U_MSN);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 1, 100, 9, true)), WIRE_OK);
	KUNIT_EXPECT_FALSE(test, rx.open);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 1, 109, 9, true)), WIRE_DDP_U_MSN);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND_SE, 2, 0, 0, true)), WIRE_OK);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 3, 0, 0, true)), WIRE_OK);
}

/* Queues count apart, and Reads pass between the segments of a Send */
static void queues_apart(struct kunit *test)
{
	struct ddp_rx rx;
	struct ddp_seg write = { .opcode = RDMAP_WRITE, .tagged = true, .len = 7 };

	ddp_rx_init(&rx);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 1, 0, 8, false)), WIRE_OK);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_READ_REQ, 1, 0, 0, true)), WIRE_OK);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_READ_REQ, 2, 0, 0, true)), WIRE_OK);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_READ_REQ, 2, 0, 0, true)),
			WIRE_DDP_U_MSN);
	KUNIT_EXPECT_EQ(test, take(&rx, write), WIRE_OK);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_TERMINATE, 1, 0, 4, true)), WIRE_OK);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 1, 8, 8, true)), WIRE_OK);
}

/* A message keeps its opcode */
static void opcode_kept(struct kunit *test)
{
	struct ddp_rx rx;
	u8 first, then;

	for (first = RDMAP_SEND; first <= RDMAP_SEND_SE_INV; first++) {
		for (then = RDMAP_SEND; then <= RDMAP_SEND_SE_INV; then++) {
			ddp_rx_init(&rx);
			KUNIT_EXPECT_TRUE(test, rdmap_is_send(first));
			take(&rx, untagged(first, 1, 0, 8, false));
			KUNIT_EXPECT_EQ(test, take(&rx, untagged(then, 1, 8, 8, true)),
					first == then ? WIRE_OK : WIRE_RDMAP_OPCODE);
		}
	}
	KUNIT_EXPECT_FALSE(test, rdmap_is_send(RDMAP_WRITE) || rdmap_is_send(RDMAP_TERMINATE) ||
			   rdmap_is_send(RDMAP_READ_REQ) || rdmap_is_send(0xf));
	KUNIT_EXPECT_TRUE(test, rdmap_is_inval(4) && rdmap_is_inval(6) && !rdmap_is_inval(3) &&
			  !rdmap_is_inval(5) && !rdmap_is_inval(14));
}

/* MSN 0 follows 0xffffffff */
static void msn_wraps(struct kunit *test)
{
	struct ddp_rx rx;

	ddp_rx_init(&rx);
	rx.msn[0] = 0xffffffff;
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, ~0u, 0, 1, true)), WIRE_OK);
	KUNIT_EXPECT_EQ(test, take(&rx, untagged(RDMAP_SEND, 0, 0, 1, true)), WIRE_OK);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(builds),
	KUNIT_CASE(parses),
	KUNIT_CASE(reserved_bits_ignored),
	KUNIT_CASE(controls),
	KUNIT_CASE(short_ulpdus),
	KUNIT_CASE(read_request_shape),
	KUNIT_CASE(tagged_offset_wrap),
	KUNIT_CASE(message_offset_wrap),
	KUNIT_CASE(message_order),
	KUNIT_CASE(queues_apart),
	KUNIT_CASE(opcode_kept),
	KUNIT_CASE(msn_wraps),
	{}
};

struct kunit_suite ddp_header_suite = { .name = "ddp_header", .test_cases = cases };
