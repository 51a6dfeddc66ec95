// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/sctp.c: the session control messages (RFC 5043 section 5.2.3, RFC 6581 section 7). */
#include <kunit/test.h>
#include <linux/string.h>
#include <compat/unaligned.h>
#include <wire/sctp.h>
#include "suites.h"
#include "vectors.h"

#define CONTROL	17
#define SEGMENT	16
#define LARGEST	(4 + 512)

/* By number, as registered: RFC 6580 section 3.5, RFC 6581 section 11 */
enum {
	INITIATE = 1, ACCEPT, REJECT, TERMINATE, ENH_INITIATE, ENH_ACCEPT, ENH_REJECT, CODES
};

static bool has_words(u32 code)
{
	return code == ENH_INITIATE || code == ENH_ACCEPT;
}

static bool same(const struct mpa_frame *a, const struct mpa_frame *b)
{
	return a->kind == b->kind && a->markers == b->markers && a->crc == b->crc &&
	       a->reject == b->reject && a->rev == b->rev && a->enhanced == b->enhanced &&
	       a->rtr_frame == b->rtr_frame && a->peer == b->peer && a->rtr == b->rtr &&
	       a->ird == b->ird && a->ord == b->ord && a->pd_len == b->pd_len;
}

/* A message with @pd_len bytes of Private Data, exactly as long as its memory */
static u8 *message(struct kunit *test, u32 ssn, u32 code, u32 pd_len)
{
	u8 *room = kunit_kzalloc(test, 4 + pd_len, GFP_KERNEL);
	u32 i;

	if (!room)
		return NULL;
	put_unaligned_be16(ssn, room);
	put_unaligned_be16(code, room + 2);
	for (i = 0; i < pd_len; i++)
		room[4 + i] = 0x81 + 3 * i;
	return room;
}

/* SCTP-01, SCTP-04, SCTP-15 */
static const struct message_vector {
	const char *name;
	u32 len;
	const u8 *bytes;
	struct mpa_frame f;
} vectors[] = {
	{ "Initiate", 4, FPDU(0, 0, 0, 1), { .kind = MPA_REQUEST, .rev = 1 } },
	{ "Initiate, data", 9, FPDU(0, 0, 0, 1, 0x68, 0x65, 0x6c, 0x6c, 0x6f),
	  { .kind = MPA_REQUEST, .rev = 1, .pd_len = 5 } },
	{ "Accept", 4, FPDU(0, 0, 0, 2), { .kind = MPA_REPLY, .rev = 1 } },
	{ "Accept, data", 6, FPDU(0, 0, 0, 2, 0xff, 0xff),
	  { .kind = MPA_REPLY, .rev = 1, .pd_len = 2 } },
	{ "Reject", 4, FPDU(0, 0, 0, 3), { .kind = MPA_REPLY, .rev = 1, .reject = true } },
	{ "Reject, data", 8, FPDU(0, 0, 0, 3, 0x62, 0x75, 0x73, 0x79),
	  { .kind = MPA_REPLY, .rev = 1, .reject = true, .pd_len = 4 } },
	/* the enhanced data of F5, F7, F9, F6, F10 */
	{ "enhanced Initiate", 8, FPDU(0, 0, 0, 5, 0x80, 0x10, 0xc0, 0x20),
	  { .kind = MPA_REQUEST, .rev = 2, .enhanced = true, .peer = true,
	    .rtr = RTR_WRITE | RTR_READ, .ird = 16, .ord = 32 } },
	{ "enhanced Initiate, ULP's depths", 8, FPDU(0, 0, 0, 5, 0x3f, 0xff, 0x3f, 0xff),
	  { .kind = MPA_REQUEST, .rev = 2, .enhanced = true, .ird = 0x3fff, .ord = 0x3fff } },
	{ "enhanced Initiate, data", 13,
	  FPDU(0, 0, 0, 5, 0xc0, 0x01, 0xc0, 0, 0x68, 0x65, 0x6c, 0x6c, 0x6f),
	  { .kind = MPA_REQUEST, .rev = 2, .enhanced = true, .peer = true,
	    .rtr = RTR_SEND | RTR_WRITE | RTR_READ, .ird = 1, .pd_len = 5 } },
	{ "enhanced Accept", 8, FPDU(0, 0, 0, 6, 0x80, 0x20, 0x80, 0x10),
	  { .kind = MPA_REPLY, .rev = 2, .enhanced = true, .peer = true, .rtr = RTR_WRITE,
	    .ird = 32, .ord = 16 } },
	{ "enhanced Accept, data", 9, FPDU(0, 0, 0, 6, 0x80, 0x01, 0x40, 0x01, 0xee),
	  { .kind = MPA_REPLY, .rev = 2, .enhanced = true, .peer = true, .rtr = RTR_READ,
	    .ird = 1, .ord = 1, .pd_len = 1 } },
	{ "enhanced Reject", 4, FPDU(0, 0, 0, 7),
	  { .kind = MPA_REPLY, .rev = 2, .enhanced = true, .reject = true } },
	{ "enhanced Reject, data", 8, FPDU(0, 0, 0, 7, 0x80, 0x20, 0x80, 0x40),
	  { .kind = MPA_REPLY, .rev = 2, .enhanced = true, .reject = true, .pd_len = 4 } },
};

/* SCTP-01, SCTP-02, SCTP-04, SCTP-12, SCTP-14 to SCTP-16 */
static void builds(struct kunit *test)
{
	u8 got[LARGEST + 1];
	u32 i;

	KUNIT_EXPECT_EQ(test, (u32)DDP_SCTP_MSG_MAX, (u32)LARGEST);
	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct message_vector *v = &vectors[i];
		const u8 *pd = v->bytes + v->len - v->f.pd_len;

		memset(got, 0xa5, sizeof(got));
		KUNIT_EXPECT_EQ_MSG(test, ddp_sctp_build(&v->f, pd, got, LARGEST), v->len, "%s",
				    v->name);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(got, v->bytes, v->len), 0, "%s", v->name);
		KUNIT_EXPECT_EQ_MSG(test, got[v->len], 0xa5, "%s", v->name);
	}
}

/* SCTP-13, SCTP-15: the ULP's data is all there, and nothing else */
static void parses(struct kunit *test)
{
	struct ddp_sctp_chunk c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct message_vector *v = &vectors[i];

		KUNIT_EXPECT_EQ_MSG(test, ddp_sctp_parse(&c, CONTROL, v->bytes, v->len),
				    DDP_SCTP_OK, "%s", v->name);
		KUNIT_EXPECT_EQ(test, c.kind, v->bytes[3]);
		KUNIT_EXPECT_EQ(test, c.ssn, 0);
		KUNIT_EXPECT_TRUE_MSG(test, same(&c.f, &v->f), "%s", v->name);
		KUNIT_EXPECT_EQ_MSG(test, c.len, v->f.pd_len, "%s", v->name);
		KUNIT_EXPECT_PTR_EQ(test, c.body, v->bytes + v->len - v->f.pd_len);
	}
}

/* Each room too small is refused, and nothing is written into it */
static void room_too_small(struct kunit *test)
{
	u8 buf[LARGEST];
	u32 i, room, k;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct message_vector *v = &vectors[i];
		const u8 *pd = v->bytes + v->len - v->f.pd_len;

		memset(buf, 0xa5, sizeof(buf));
		for (room = 0; room < v->len; room++)
			KUNIT_EXPECT_EQ(test, ddp_sctp_build(&v->f, pd, buf, room), 0u);
		for (k = 0; k < sizeof(buf); k++)
			KUNIT_ASSERT_EQ(test, buf[k], 0xa5);
		KUNIT_EXPECT_EQ(test, ddp_sctp_build(&v->f, pd, buf, v->len), v->len);
	}
	memset(buf, 0xa5, sizeof(buf));
	for (room = 0; room < 4; room++)
		KUNIT_EXPECT_EQ(test, ddp_sctp_terminate(0, buf, room), 0u);
	KUNIT_EXPECT_EQ(test, buf[0], 0xa5);
	KUNIT_EXPECT_EQ(test, ddp_sctp_terminate(0, buf, 4), 4u);
}

/* SCTP-02, SCTP-16: no other code, not even that for experiments */
static void every_code(struct kunit *test)
{
	struct ddp_sctp_chunk c;
	u8 buf[8] = {};
	u32 code;

	for (code = 0; code <= 0xffff; code++) {
		enum ddp_sctp_fault fault;

		put_unaligned_be16(code, buf + 2);
		fault = ddp_sctp_parse(&c, CONTROL, buf, code == TERMINATE ? 4 : 8);
		KUNIT_ASSERT_EQ_MSG(test, fault, code && code < CODES ? DDP_SCTP_OK :
				    DDP_SCTP_ERR_CODE, "code %u", code);
		if (!fault)
			KUNIT_ASSERT_EQ(test, c.kind, code);
	}
}

/* What is wrong with a message of known code whose length is right by its header */
static enum ddp_sctp_fault expected_fault(u32 code, u32 pd_len)
{
	if (pd_len > 512)
		return DDP_SCTP_ERR_LONG;
	if (code == TERMINATE)
		return pd_len ? DDP_SCTP_ERR_DATA : DDP_SCTP_OK;
	return has_words(code) && pd_len < 4 ? DDP_SCTP_ERR_ENHANCED : DDP_SCTP_OK;
}

/* SCTP-04 to SCTP-06: each code with each length up to beyond the limit */
static void every_length(struct kunit *test)
{
	struct ddp_sctp_chunk c;
	u32 code, pd_len;

	for (code = INITIATE; code < CODES; code++) {
		u8 *buf = message(test, 0, code, 520);

		KUNIT_ASSERT_NOT_NULL(test, buf);
		for (pd_len = 0; pd_len <= 520; pd_len++) {
			enum ddp_sctp_fault want = expected_fault(code, pd_len);
			u32 words = has_words(code) ? 4 : 0;

			KUNIT_ASSERT_EQ_MSG(test, ddp_sctp_parse(&c, CONTROL, buf, 4 + pd_len),
					    want, "code %u, %u bytes", code, pd_len);
			if (want)
				continue;
			KUNIT_ASSERT_EQ(test, c.len, pd_len - words);
			KUNIT_ASSERT_TRUE(test, c.body == buf + 4 + words);
			if (code != TERMINATE)
				KUNIT_ASSERT_EQ(test, c.f.pd_len, pd_len - words);
		}
		KUNIT_EXPECT_EQ(test, ddp_sctp_parse(&c, CONTROL, buf, 0xffffffff),
				DDP_SCTP_ERR_LONG);
	}
}

/* A header that is cut off, and memory that ends with the message */
static void short_chunks(struct kunit *test)
{
	struct ddp_sctp_chunk c;
	u32 code, len;

	for (code = 0; code < CODES; code++) {
		for (len = 0; len < 12; len++) {
			u8 *whole = message(test, 0, code, 8);
			u8 *exact = kunit_kzalloc(test, len + 1, GFP_KERNEL);

			KUNIT_ASSERT_TRUE(test, whole && exact);
			memcpy(exact + 1, whole, len);
			KUNIT_EXPECT_EQ(test, ddp_sctp_parse(&c, CONTROL, exact + 1, len) ==
					DDP_SCTP_ERR_SHORT, len < 4);
			KUNIT_EXPECT_EQ(test, ddp_sctp_parse(&c, SEGMENT, exact + 1, len) ==
					DDP_SCTP_ERR_SHORT, len < 2);
		}
	}
}

/* RFC 5043 section 6.1: the chunk that opens a direction has DDP-SSN 0 */
static void every_ssn(struct kunit *test)
{
	struct ddp_sctp_chunk c;
	u32 code, ssn;

	for (code = INITIATE; code < CODES; code++) {
		u8 *buf = message(test, 0, code, code == TERMINATE ? 0 : 4);
		u32 len = code == TERMINATE ? 4 : 8, wrong = 0;

		KUNIT_ASSERT_NOT_NULL(test, buf);
		for (ssn = 0; ssn <= 0xffff; ssn++) {
			bool ok = !ssn || code == TERMINATE;

			put_unaligned_be16(ssn, buf);
			wrong += ddp_sctp_parse(&c, CONTROL, buf, len) !=
				 (ok ? DDP_SCTP_OK : DDP_SCTP_ERR_SSN);
			wrong += c.ssn != ssn;
		}
		KUNIT_EXPECT_EQ_MSG(test, wrong, 0u, "code %u", code);
	}
}

/* SCTP-11: the payload protocol identifier tells segments from messages */
static void identifiers(struct kunit *test)
{
	static const u32 others[] = { 0, 1, 15, 18, 0x10000010, 0x11000000, 0xffffffff };
	static const u8 segment[] = { 0x12, 0x34, 0, 1, 2, 3 };
	struct ddp_sctp_chunk c;
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		KUNIT_EXPECT_EQ(test, ddp_sctp_parse(&c, others[i], segment, 6),
				DDP_SCTP_ERR_PPID);
	for (len = 2; len <= 6; len++) {
		KUNIT_EXPECT_EQ(test, ddp_sctp_parse(&c, SEGMENT, segment, len), DDP_SCTP_OK);
		KUNIT_EXPECT_TRUE(test, c.kind == DDP_SCTP_SEGMENT && c.ssn == 0x1234);
		KUNIT_EXPECT_TRUE(test, c.body == segment + 2 && c.len == len - 2);
	}
	/* a segment may be long */
	KUNIT_EXPECT_EQ(test, ddp_sctp_parse(&c, SEGMENT, segment, 65535), DDP_SCTP_OK);
	KUNIT_EXPECT_EQ(test, c.len, 65533u);
}

/* SCTP-05: 512 bytes in all, the enhanced data among them */
static void private_data_limits(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, 507, 508, 509, 511, 512, 513, 65535 };
	u8 *pd = kunit_kzalloc(test, 65535, GFP_KERNEL);
	u8 buf[LARGEST + 1];
	struct ddp_sctp_chunk c;
	u32 bits, i;

	KUNIT_ASSERT_NOT_NULL(test, pd);
	for (i = 0; i < 512; i++)
		pd[i] = i * 7;
	for (bits = 0; bits < 8; bits++) {
		for (i = 0; i < ARRAY_SIZE(lens); i++) {
			struct mpa_frame f = {
				.kind = bits & 1, .enhanced = bits & 2,
				.reject = bits & 1 && bits & 4,
				.rev = bits & 2 ? 2 : 1, .pd_len = lens[i],
			};
			u32 words = f.enhanced && !f.reject ? 4 : 0;
			bool fits = words + lens[i] <= 512;
			u32 len;

			memset(buf, 0xa5, sizeof(buf));
			len = ddp_sctp_build(&f, pd, buf, sizeof(buf));
			KUNIT_EXPECT_EQ(test, len, fits ? 4 + words + lens[i] : 0);
			KUNIT_EXPECT_EQ(test, buf[LARGEST], 0xa5);
			if (!fits)
				continue;
			KUNIT_EXPECT_EQ(test, ddp_sctp_parse(&c, CONTROL, buf, len), DDP_SCTP_OK);
			KUNIT_EXPECT_TRUE(test, same(&c.f, &f) && !memcmp(c.body, pd, lens[i]));
		}
	}
}

/* SCTP-06, SCTP-09: one Terminate for all, with each DDP-SSN */
static void terminate(struct kunit *test)
{
	struct ddp_sctp_chunk c;
	u8 buf[5] = { [4] = 0xa5 };
	u32 ssn, wrong = 0;

	for (ssn = 0; ssn <= 0xffff; ssn++) {
		wrong += ddp_sctp_terminate(ssn, buf, sizeof(buf)) != 4;
		wrong += get_unaligned_be32(buf) != (ssn << 16 | TERMINATE);
		wrong += ddp_sctp_parse(&c, CONTROL, buf, 4) != DDP_SCTP_OK;
		wrong += c.kind != DDP_SCTP_TERMINATE || c.ssn != ssn || c.len;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0u);
	KUNIT_EXPECT_EQ(test, buf[4], 0xa5);
}

/* There is no third message of the initiator (HIST-16) */
static void no_rtr_frame(struct kunit *test)
{
	struct mpa_frame f = { .kind = MPA_RTR, .rev = 1 };
	u8 buf[LARGEST];

	KUNIT_EXPECT_EQ(test, ddp_sctp_build(&f, NULL, buf, sizeof(buf)), 0u);
}

/* P2P-27: with A=0, B to D are neither sent nor heard */
static void client_server_has_no_rtr(struct kunit *test)
{
	static const u8 bytes[] = { 0, 0, 0, 5, 0x40, 5, 0xc0, 6 };
	struct ddp_sctp_chunk c;
	u8 buf[LARGEST];

	KUNIT_EXPECT_EQ(test, ddp_sctp_parse(&c, CONTROL, bytes, 8), DDP_SCTP_OK);
	KUNIT_EXPECT_TRUE(test, !c.f.peer && !c.f.rtr && c.f.ird == 5 && c.f.ord == 6);
	c.f.rtr = MPA_RTR_ALL;
	KUNIT_EXPECT_EQ(test, ddp_sctp_build(&c.f, NULL, buf, sizeof(buf)), 8u);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(buf + 4), 0x00050006u);
}

static bool over_the_wire(struct ddp_sctp_chunk *c, const struct mpa_frame *f)
{
	u8 buf[LARGEST];
	u32 len = ddp_sctp_build(f, NULL, buf, sizeof(buf));

	return len && ddp_sctp_parse(c, CONTROL, buf, len) == DDP_SCTP_OK;
}

/*
 * SCTP-01, SCTP-03, SCTP-10, SCTP-12: the negotiation of MPA, over these messages; the answer has
 * the form of the Initiate.
 */
static void negotiates(struct kunit *test)
{
	struct mpa_offer i = { .rtr = MPA_RTR_WRITE | MPA_RTR_READ, .ird = 4, .ord = 40,
			       .ird_max = 8 };
	struct mpa_offer r = { .rtr = MPA_RTR_ALL, .ird = 16, .ord = 8, .ird_max = 32, .rev = 2 };
	struct mpa_agreed at_i, at_r;
	struct ddp_sctp_chunk req, rep;
	struct mpa_frame f, sent;

	for (i.rev = 1; i.rev <= 2; i.rev++) {
		bool enhanced = i.rev == 2;

		mpa_request(&sent, &i, 0);
		KUNIT_ASSERT_TRUE(test, over_the_wire(&req, &sent));
		KUNIT_EXPECT_EQ(test, req.kind, enhanced ? ENH_INITIATE : INITIATE);
		mpa_respond(&f, &at_r, &req.f, &r, true, 0);
		KUNIT_ASSERT_TRUE(test, over_the_wire(&rep, &f));
		KUNIT_EXPECT_EQ(test, rep.kind, enhanced ? ENH_REJECT : REJECT);
		mpa_respond(&f, &at_r, &req.f, &r, false, 0);
		KUNIT_ASSERT_TRUE(test, over_the_wire(&rep, &f));
		KUNIT_EXPECT_EQ(test, rep.kind, enhanced ? ENH_ACCEPT : ACCEPT);
		KUNIT_EXPECT_EQ(test, mpa_conclude(&at_i, &i, &sent, &rep.f), WIRE_OK);
		KUNIT_EXPECT_EQ(test, at_i.enhanced, enhanced);
		KUNIT_EXPECT_EQ(test, at_i.ord, enhanced ? 32 : 40);
		KUNIT_EXPECT_EQ(test, at_r.ord, enhanced ? 4 : 8);
		KUNIT_EXPECT_EQ(test, at_r.ird, enhanced ? 32 : 16);
		KUNIT_EXPECT_EQ(test, at_i.rtr, enhanced ? MPA_RTR_WRITE : 0);
		KUNIT_EXPECT_FALSE(test, at_i.crc || at_r.crc || at_i.tx_markers ||
				   at_i.rx_markers || at_i.rtr_frame);
	}
}

/* SCTP-08: each set of offered types against each set that the responder supports */
static void refuses(struct kunit *test)
{
	struct mpa_offer own = { .rev = 2, .ird = 3, .ord = 9, .ird_max = 8 };
	struct mpa_frame req = { .kind = MPA_REQUEST, .rev = 2, .enhanced = true, .ird = 5 };
	struct ddp_sctp_chunk c;
	struct mpa_frame shown;
	u8 buf[8];

	for (req.rtr = 0; req.rtr <= MPA_RTR_ALL; req.rtr++) {
		for (own.rtr = 1; own.rtr <= MPA_RTR_ALL; own.rtr++) {
			req.peer = false;
			KUNIT_EXPECT_FALSE(test, ddp_sctp_must_refuse(&req, &own));
			req.peer = true;
			KUNIT_EXPECT_EQ(test, ddp_sctp_must_refuse(&req, &own),
					!(req.rtr & own.rtr));
			if (req.rtr & own.rtr)
				continue;
			KUNIT_EXPECT_EQ(test, ddp_sctp_refuse(&req, &own, buf, 7), 0u);
			KUNIT_ASSERT_EQ(test, ddp_sctp_refuse(&req, &own, buf, 8), 8u);
			KUNIT_EXPECT_EQ(test, ddp_sctp_parse(&c, CONTROL, buf, 8), DDP_SCTP_OK);
			KUNIT_EXPECT_EQ(test, c.kind, ENH_REJECT);
			KUNIT_EXPECT_EQ(test, c.len, 4u);
			KUNIT_EXPECT_TRUE(test, ddp_sctp_refusal(&shown, &c));
			KUNIT_EXPECT_TRUE(test, shown.peer && shown.rtr == own.rtr);
			KUNIT_EXPECT_TRUE(test, shown.ird == 3 && shown.ord == 9);
		}
	}
	/* an unenhanced end has nothing to refuse */
	own.rev = 1;
	KUNIT_EXPECT_FALSE(test, ddp_sctp_must_refuse(&req, &own));
}

/* What only looks a little like it */
static void no_refusal(struct kunit *test)
{
	struct mpa_frame shown;
	struct ddp_sctp_chunk c;
	u32 code, pd_len;

	for (code = INITIATE; code < CODES; code++) {
		for (pd_len = 0; pd_len <= 8; pd_len++) {
			u8 *buf = message(test, 0, code, pd_len);

			KUNIT_ASSERT_NOT_NULL(test, buf);
			if (ddp_sctp_parse(&c, CONTROL, buf, 4 + pd_len))
				continue;
			KUNIT_EXPECT_EQ(test, ddp_sctp_refusal(&shown, &c),
					code == ENH_REJECT && pd_len == 4);
			KUNIT_EXPECT_EQ(test, shown.enhanced, code == ENH_REJECT && pd_len == 4);
		}
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(builds),
	KUNIT_CASE(parses),
	KUNIT_CASE(room_too_small),
	KUNIT_CASE(every_code),
	KUNIT_CASE(every_length),
	KUNIT_CASE(short_chunks),
	KUNIT_CASE(every_ssn),
	KUNIT_CASE(identifiers),
	KUNIT_CASE(private_data_limits),
	KUNIT_CASE(terminate),
	KUNIT_CASE(no_rtr_frame),
	KUNIT_CASE(client_server_has_no_rtr),
	KUNIT_CASE(negotiates),
	KUNIT_CASE(refuses),
	KUNIT_CASE(no_refusal),
	{}
};

struct kunit_suite sctp_message_suite = { .name = "sctp_message", .test_cases = cases };
