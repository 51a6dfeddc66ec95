// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/startup.c: the agreement of two ends (ledger groups NEG and P2P). */
#include <kunit/test.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <wire/startup.h>
#include "suites.h"

#define ULP	MPA_DEPTH_ULP

static const u16 depths[] = { 0, 1, 2, 16, 127, 128, 255, 0x3ffe, 0x3fff };
#define DEPTHS	ARRAY_SIZE(depths)

/* A whole startup between two of us, over the wire. */
struct deal {
	struct mpa_offer i, r;
	struct mpa_frame req, rep;
	struct mpa_agreed at_i, at_r;
	enum wire_err err;
};

static bool over_the_wire(struct mpa_frame *f)
{
	u8 buf[MPA_FRAME_MAX];
	enum mpa_kind kind = f->kind;
	const u8 *pd;

	return mpa_frame_build(f, NULL, buf) && !mpa_frame_parse(f, buf, kind, &pd);
}

static bool strike(struct deal *d)
{
	mpa_request(&d->req, &d->i, 0);
	if (!over_the_wire(&d->req))
		return false;
	mpa_respond(&d->rep, &d->at_r, &d->req, &d->r, false, 0);
	if (!over_the_wire(&d->rep))
		return false;
	d->err = mpa_conclude(&d->at_i, &d->i, &d->req, &d->rep);
	return true;
}

static struct deal offers(u16 i_ird, u16 i_ord, u16 r_ird, u16 r_ord)
{
	return (struct deal){
		.i = { .crc = true, .rev = 2, .ird = i_ird, .ord = i_ord, .ird_max = 0x3ffe },
		.r = { .crc = true, .rev = 2, .ird = r_ird, .ord = r_ord, .ird_max = 0x3ffe },
	};
}

/* MRK-03, CRC-05, CRC-06, NEG-07, NEG-08: four M and four C combinations */
static void markers_and_crc(struct kunit *test)
{
	u32 bits, rev;

	for (bits = 0; bits < 16; bits++) {
		for (rev = 1; rev <= 2; rev++) {
			struct deal d = {
				.i = { .markers = bits & 1, .crc = bits & 2, .rev = rev },
				.r = { .markers = bits & 4, .crc = bits & 8, .rev = 2 },
			};
			bool crc = bits & 10;

			KUNIT_ASSERT_TRUE(test, strike(&d));
			KUNIT_EXPECT_EQ(test, d.err, WIRE_OK);
			KUNIT_EXPECT_EQ(test, d.at_i.rx_markers, d.i.markers);
			KUNIT_EXPECT_EQ(test, d.at_r.tx_markers, d.i.markers);
			KUNIT_EXPECT_EQ(test, d.at_r.rx_markers, d.r.markers);
			KUNIT_EXPECT_EQ(test, d.at_i.tx_markers, d.r.markers);
			KUNIT_EXPECT_TRUE(test, d.at_i.crc == crc && d.at_r.crc == crc);
		}
	}
}

/* P2P-03, P2P-04, P2P-44 to P2P-46, GAP-03, GAP-11: revisions of both ends */
static void revisions(struct kunit *test)
{
	static const u8 revs[] = { 1, 2 };
	u32 i, r;

	for (i = 0; i < 2; i++) {
		for (r = 0; r < 2; r++) {
			struct deal d = offers(4, 5, 6, 7);
			u8 rev = revs[i < r ? i : r];

			d.i.rev = revs[i];
			d.r.rev = revs[r];
			KUNIT_ASSERT_TRUE(test, strike(&d));
			KUNIT_EXPECT_EQ(test, mpa_request_acceptable(&d.req, &d.r), i <= r);
			KUNIT_EXPECT_EQ(test, d.req.enhanced, revs[i] == 2);
			KUNIT_EXPECT_EQ(test, d.rep.rev, rev);
			KUNIT_EXPECT_EQ(test, d.rep.enhanced, rev == 2);
			KUNIT_EXPECT_TRUE(test, d.at_i.rev == rev && d.at_r.rev == rev);
			KUNIT_EXPECT_TRUE(test, d.at_i.enhanced == d.rep.enhanced &&
					  d.at_r.enhanced == d.rep.enhanced);
			if (rev == 2)
				continue;
			/* the ULPs see to the depths */
			KUNIT_EXPECT_TRUE(test, d.at_i.ird == 4 && d.at_i.ord == 5 &&
					  d.at_r.ird == 6 && d.at_r.ord == 7);
		}
	}
}

/* P2P-61, GAP-03, GAP-24: Rev 2 without S is answered without S, with the responder's Rev */
static void revision_2_unenhanced(struct kunit *test)
{
	struct mpa_frame rep, req = { .rev = 2, .crc = true };
	struct mpa_offer own = { .rtr = MPA_RTR_ALL, .ird = 3, .ord = 4, .ird_max = 8 };
	struct mpa_agreed out;

	for (own.rev = 1; own.rev <= 2; own.rev++) {
		KUNIT_EXPECT_TRUE(test, mpa_request_acceptable(&req, &own));
		mpa_respond(&rep, &out, &req, &own, false, 9);
		KUNIT_EXPECT_EQ(test, rep.kind, MPA_REPLY);
		KUNIT_EXPECT_TRUE(test, rep.rev == own.rev && !rep.enhanced && !rep.peer);
		KUNIT_EXPECT_TRUE(test, rep.pd_len == 9 && !rep.reject);
		KUNIT_EXPECT_TRUE(test, !out.rtr && out.ird == 3 && out.ord == 4);
	}
}

/* P2P-11, P2P-13, P2P-16, P2P-55, P2P-65: all pairs of depths, with and without RTR */
static void depths_fit(struct kunit *test, struct deal *d)
{
	bool i_number = d->i.ird != ULP, o_number = d->i.ord != ULP;
	/* A Read is the only RTR, and the IRD that it needs may not be raised. */
	bool no_rtr = d->i.rtr == MPA_RTR_READ && !o_number && !d->r.ird;

	KUNIT_ASSERT_TRUE(test, strike(d));
	KUNIT_ASSERT_EQ(test, d->err, no_rtr ? WIRE_MPA_RTR : WIRE_OK);
	KUNIT_ASSERT_TRUE(test, d->at_r.ird <= d->r.ird_max);
	if (o_number) {
		KUNIT_ASSERT_TRUE(test, d->at_i.ord <= d->at_r.ird);
		/* at least one for the RTR, else never more than asked for */
		KUNIT_ASSERT_TRUE(test, d->at_i.ord <= max_t(u16, d->i.ord, !!d->i.rtr));
		KUNIT_ASSERT_TRUE(test, d->at_r.ird >= min_t(u16, d->i.ord, d->r.ird_max));
	} else {
		KUNIT_ASSERT_EQ(test, d->rep.ird, ULP);
		KUNIT_ASSERT_EQ(test, d->at_i.ord, d->i.ord);
		KUNIT_ASSERT_EQ(test, d->at_r.ird, d->r.ird);
	}
	if (i_number) {
		KUNIT_ASSERT_TRUE(test, d->at_r.ord <= d->at_i.ird);
		KUNIT_ASSERT_TRUE(test, d->at_r.ord <= d->r.ord && d->rep.ord == d->at_r.ord);
	} else {
		KUNIT_ASSERT_EQ(test, d->rep.ord, ULP);
		KUNIT_ASSERT_EQ(test, d->at_r.ord, d->r.ord);
		KUNIT_ASSERT_EQ(test, d->at_i.ird, ULP);
	}
}

static void all_depths(struct kunit *test)
{
	static const u16 limits[] = { 1, 16, 128, 0x3ffe };
	static const u8 rtrs[] = { 0, MPA_RTR_READ, MPA_RTR_ALL };
	u32 n, l, r, m;

	for (n = 0; n < DEPTHS * DEPTHS * DEPTHS * DEPTHS; n++) {
		for (l = 0; l < ARRAY_SIZE(limits); l++) {
			for (r = 0; r < ARRAY_SIZE(rtrs); r++) {
				struct deal d = offers(depths[n % DEPTHS],
						       depths[n / DEPTHS % DEPTHS],
						       depths[n / DEPTHS / DEPTHS % DEPTHS],
						       depths[n / DEPTHS / DEPTHS / DEPTHS]);

				m = limits[l];
				d.i.rtr = rtrs[r];
				d.r.rtr = rtrs[r];
				d.r.ird_max = m;
				d.r.ird = min_t(u16, d.r.ird, m);
				depths_fit(test, &d);
			}
		}
	}
}

/* P2P-20 to P2P-23: F7 changes nothing at either end */
static void depths_left_to_the_ulp(struct kunit *test)
{
	struct deal d = offers(ULP, ULP, 6, 7);

	KUNIT_ASSERT_TRUE(test, strike(&d));
	KUNIT_EXPECT_TRUE(test, d.rep.ird == ULP && d.rep.ord == ULP);
	KUNIT_EXPECT_TRUE(test, d.at_r.ird == 6 && d.at_r.ord == 7);
	KUNIT_EXPECT_TRUE(test, d.at_i.ird == ULP && d.at_i.ord == ULP);
}

/* P2P-48, SEC-14: a depth beyond its field is a number still */
static void depths_beyond_the_field(struct kunit *test)
{
	struct deal d = offers(0x4000, 0xffff, 0xffff, 0x8000);

	d.r.ird_max = 0xffff;
	KUNIT_ASSERT_TRUE(test, strike(&d));
	KUNIT_EXPECT_TRUE(test, d.req.ird == 0x3ffe && d.req.ord == 0x3ffe);
	KUNIT_EXPECT_TRUE(test, d.rep.ird == 0x3ffe && d.rep.ord == 0x3ffe);
	KUNIT_EXPECT_EQ(test, d.err, WIRE_OK);
}

/* P2P-21: nor does a Reply that leaves it to the ULP change such a depth */
static void reply_leaves_ord_alone(struct kunit *test)
{
	struct deal d = offers(1, 0x8000, 1, 1);

	KUNIT_ASSERT_TRUE(test, strike(&d));
	d.rep.ird = ULP;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&d.at_i, &d.i, &d.req, &d.rep), WIRE_OK);
	KUNIT_EXPECT_EQ(test, d.at_i.ord, 0x8000);
}

/* An IRD that was offered counts, even if the limit is lower now */
static void offered_ird_counts(struct kunit *test)
{
	struct deal d = offers(16, 16, 16, 16);

	d.i.ird_max = 8;
	KUNIT_ASSERT_TRUE(test, strike(&d));
	KUNIT_EXPECT_EQ(test, d.rep.ord, 16);
	KUNIT_EXPECT_EQ(test, d.err, WIRE_OK);
	d.rep.ord = 17;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&d.at_i, &d.i, &d.req, &d.rep), WIRE_MPA_IRD);
}

/* P2P-17, ERR-15: a Reply's ORD above what can be served is code 6 */
static void insufficient_ird(struct kunit *test)
{
	u32 ord;

	for (ord = 0; ord <= 0x3fff; ord++) {
		struct deal d = offers(16, 16, 16, 16);
		enum wire_err want = ord > 32 && ord != ULP ? WIRE_MPA_IRD : WIRE_OK;

		d.i.ird_max = 32;
		KUNIT_ASSERT_TRUE(test, strike(&d));
		d.rep.ord = ord;
		KUNIT_ASSERT_EQ(test, mpa_conclude(&d.at_i, &d.i, &d.req, &d.rep), want);
		if (!want)
			KUNIT_ASSERT_EQ(test, d.at_i.ird,
					ord > 16 && ord != ULP ? ord : 16);
	}
}

static u8 preferred(u8 set)
{
	if (set & MPA_RTR_WRITE)
		return MPA_RTR_WRITE;
	return set & MPA_RTR_READ ? MPA_RTR_READ : set;
}

/* P2P-24 to P2P-35, GAP-15: every offer against every support */
static void all_rtr(struct kunit *test)
{
	u8 offer, support;

	for (offer = 0; offer <= MPA_RTR_ALL; offer++) {
		for (support = 0; support <= MPA_RTR_ALL; support++) {
			struct deal d = offers(4, 4, 4, 4);
			/* P2P-29: every responder has some type */
			u8 shown = support ? support : MPA_RTR_ALL;
			u8 both = offer & shown;

			d.i.rtr = offer;
			d.r.rtr = support;
			KUNIT_ASSERT_TRUE(test, strike(&d));
			KUNIT_EXPECT_EQ(test, d.req.peer, offer != 0);
			KUNIT_EXPECT_EQ(test, d.rep.peer, d.req.peer);
			if (!offer) {
				KUNIT_EXPECT_TRUE(test, !d.err && !d.at_i.rtr && !d.at_r.rtr);
				continue;
			}
			KUNIT_EXPECT_EQ(test, d.rep.rtr, both ? both : shown);
			KUNIT_EXPECT_EQ(test, d.at_r.rtr, both);
			KUNIT_EXPECT_EQ(test, d.err, both ? WIRE_OK : WIRE_MPA_RTR);
			KUNIT_EXPECT_EQ(test, d.at_i.rtr, preferred(both));
		}
	}
}

/* P2P-28, P2P-32, P2P-60, GAP-20: a Reply with types not offered, or with another A */
static void odd_rtr_replies(struct kunit *test)
{
	struct deal d = offers(4, 4, 4, 4);

	d.i.rtr = MPA_RTR_READ;
	d.r.rtr = MPA_RTR_READ;
	KUNIT_ASSERT_TRUE(test, strike(&d));
	d.rep.rtr = MPA_RTR_ALL;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&d.at_i, &d.i, &d.req, &d.rep), WIRE_OK);
	KUNIT_EXPECT_EQ(test, d.at_i.rtr, MPA_RTR_READ);
	d.rep.peer = false;
	d.rep.rtr = 0;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&d.at_i, &d.i, &d.req, &d.rep), WIRE_MPA_RTR);

	d.i.rtr = 0;
	KUNIT_ASSERT_TRUE(test, strike(&d));
	d.rep.peer = true;
	d.rep.rtr = MPA_RTR_ALL;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&d.at_i, &d.i, &d.req, &d.rep), WIRE_OK);
	KUNIT_EXPECT_EQ(test, d.at_i.rtr, 0);
}

/* P2P-14: F9, F10: no ORD wanted, but the Read that serves as RTR needs one */
static void read_rtr_without_ord(struct kunit *test)
{
	struct deal d = offers(1, 0, 0, 5);

	d.i.rtr = MPA_RTR_ALL;
	d.r.rtr = MPA_RTR_READ;
	KUNIT_ASSERT_TRUE(test, strike(&d));
	KUNIT_EXPECT_TRUE(test, d.rep.rtr == MPA_RTR_READ && d.rep.ird == 1 && d.rep.ord == 1);
	KUNIT_EXPECT_EQ(test, d.err, WIRE_OK);
	KUNIT_EXPECT_TRUE(test, d.at_i.rtr == MPA_RTR_READ && d.at_i.ord == 1);
	KUNIT_EXPECT_EQ(test, d.at_r.ird, 1);

	/* a Write RTR raises nothing */
	d.r.rtr = MPA_RTR_WRITE;
	KUNIT_ASSERT_TRUE(test, strike(&d));
	KUNIT_EXPECT_TRUE(test, d.at_i.ord == 0 && d.at_r.ird == 0);

	/* a responder without any IRD does not offer the Read */
	d.r.rtr = MPA_RTR_READ | MPA_RTR_SEND;
	d.r.ird_max = 0;
	KUNIT_ASSERT_TRUE(test, strike(&d));
	KUNIT_EXPECT_TRUE(test, d.rep.rtr == MPA_RTR_SEND && d.at_i.rtr == MPA_RTR_SEND);

	/* and one that says IRD 0 is not sent one */
	d.rep.rtr = MPA_RTR_READ;
	d.rep.ird = 0;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&d.at_i, &d.i, &d.req, &d.rep), WIRE_MPA_RTR);
}

/* P2P-65: a depth that is left to the ULP is not raised for a Read as RTR, at either end */
static void read_rtr_with_ord_open(struct kunit *test)
{
	struct deal d = offers(1, ULP, 0, 5);

	d.i.rtr = MPA_RTR_ALL;
	d.r.rtr = MPA_RTR_ALL;
	KUNIT_ASSERT_TRUE(test, strike(&d));
	KUNIT_EXPECT_EQ(test, d.rep.rtr, MPA_RTR_WRITE | MPA_RTR_SEND);
	KUNIT_EXPECT_TRUE(test, d.rep.ird == ULP && d.at_r.ird == 0);
	d.r.rtr = MPA_RTR_READ;
	KUNIT_ASSERT_TRUE(test, strike(&d));
	KUNIT_EXPECT_TRUE(test, d.rep.rtr == (MPA_RTR_WRITE | MPA_RTR_SEND) && d.at_r.ird == 0);
	KUNIT_EXPECT_TRUE(test, !d.err && d.at_i.rtr == MPA_RTR_WRITE);

	/* no conforming responder leaves a depth open that the Request has as a number */
	d.req.ord = 0;
	d.i.ord = 0;
	d.rep.rtr = MPA_RTR_READ | MPA_RTR_SEND;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&d.at_i, &d.i, &d.req, &d.rep), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, d.at_i.rtr == MPA_RTR_SEND && d.at_i.ord == 0);
	d.rep.rtr = MPA_RTR_READ;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&d.at_i, &d.i, &d.req, &d.rep), WIRE_MPA_RTR);
	KUNIT_EXPECT_EQ(test, d.at_i.ord, 0);
}

/* NEG-10, P2P-15, GAP-05, GAP-12: F8 */
static void rejects(struct kunit *test)
{
	struct mpa_offer own = { .crc = true, .rev = 2, .rtr = MPA_RTR_WRITE,
				 .ird = 32, .ord = 64, .ird_max = 128 };
	struct mpa_frame rep, req = { .crc = true, .rev = 2, .enhanced = true, .peer = true,
				      .rtr = MPA_RTR_WRITE | MPA_RTR_READ,
				      .ird = 16, .ord = 32 };
	struct mpa_agreed out;

	mpa_respond(&rep, &out, &req, &own, true, 0);
	KUNIT_EXPECT_TRUE(test, rep.reject && rep.kind == MPA_REPLY && rep.enhanced && rep.peer);
	KUNIT_EXPECT_TRUE(test, rep.ird == 32 && rep.ord == 64 && rep.rtr == MPA_RTR_WRITE);
	mpa_respond(&rep, &out, &req, &own, false, 0);	/* F6 */
	KUNIT_EXPECT_TRUE(test, !rep.reject && rep.ird == 32 && rep.ord == 16);
	req = (struct mpa_frame){ .crc = true, .rev = 1 };
	mpa_respond(&rep, &out, &req, &own, true, 4);	/* F4 */
	KUNIT_EXPECT_TRUE(test, rep.reject && rep.rev == 1 && rep.crc && !rep.enhanced &&
			  rep.pd_len == 4);
}

/* NEG-44: an older Reply, or an enhanced one nobody asked for */
static void mismatched_replies(struct kunit *test)
{
	struct deal d = offers(4, 5, 6, 7);

	d.i.rtr = MPA_RTR_ALL;
	KUNIT_ASSERT_TRUE(test, strike(&d));
	d.rep = (struct mpa_frame){ .kind = MPA_REPLY, .rev = 1 };
	KUNIT_EXPECT_EQ(test, mpa_conclude(&d.at_i, &d.i, &d.req, &d.rep), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, !d.at_i.enhanced && d.at_i.rev == 1 && !d.at_i.rtr);
	KUNIT_EXPECT_TRUE(test, d.at_i.ird == 4 && d.at_i.ord == 5 && d.at_i.crc);

	d = offers(4, 5, 6, 7);
	d.i.rev = 1;
	KUNIT_ASSERT_TRUE(test, strike(&d));
	d.rep = (struct mpa_frame){ .kind = MPA_REPLY, .rev = 2, .enhanced = true, .ird = 1 };
	KUNIT_EXPECT_EQ(test, mpa_conclude(&d.at_i, &d.i, &d.req, &d.rep), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, !d.at_i.enhanced && d.at_i.rev == 1 && d.at_i.ord == 5);
}

/*
 * HIST-16, HIST-17: an RtR frame follows only when both ends want it. Else it is
 * plain revision 1, whatever the responder's revision.
 */
static void rtr_frames(struct kunit *test)
{
	u32 bits;

	for (bits = 0; bits < 16; bits++) {
		struct deal d = offers(4, 5, 6, 7);
		bool both = (bits & 3) == 3;

		d.i.rtr_frame = bits & 1;
		d.r.rtr_frame = bits & 2;
		d.i.rev = bits & 4 ? 2 : 1;
		d.r.rev = bits & 8 ? 2 : 1;
		d.i.rtr = MPA_RTR_ALL;
		d.r.rtr = MPA_RTR_ALL;
		KUNIT_ASSERT_TRUE(test, strike(&d));
		KUNIT_EXPECT_EQ(test, d.err, WIRE_OK);
		KUNIT_EXPECT_EQ(test, d.at_i.rtr_frame, both);
		KUNIT_EXPECT_EQ(test, d.at_r.rtr_frame, both);
		KUNIT_EXPECT_EQ(test, d.rep.rtr_frame, both);
		if (!(bits & 1))
			continue;
		KUNIT_EXPECT_TRUE(test, mpa_request_acceptable(&d.req, &d.r));
		KUNIT_EXPECT_TRUE(test, d.req.rev == 1 && d.req.rtr_frame && !d.req.enhanced);
		KUNIT_EXPECT_TRUE(test, d.rep.rev == 1 && !d.rep.enhanced);
		/* one "ready to receive" is enough, and the depths are the ULPs' */
		KUNIT_EXPECT_TRUE(test, !d.at_i.rtr && !d.at_r.rtr);
		KUNIT_EXPECT_TRUE(test, d.at_i.ord == 5 && d.at_r.ord == 7);
	}
}

/* HIST-17: a responder that rejects waits for nothing */
static void rejected_without_rtr_frame(struct kunit *test)
{
	struct mpa_offer own = { .rev = 2, .rtr_frame = true };
	struct mpa_frame rep, req = { .rev = 1, .rtr_frame = true };
	struct mpa_agreed out;

	mpa_respond(&rep, &out, &req, &own, true, 0);
	KUNIT_EXPECT_TRUE(test, rep.reject && !rep.rtr_frame && !out.rtr_frame);
}

/* HIST-17: a Reply cannot ask for what was not offered, nor at revision 2 */
static void uninvited_rtr_frame(struct kunit *test)
{
	struct mpa_offer own = { .rev = 1, .crc = true };
	struct mpa_frame req, rep = { .kind = MPA_REPLY, .rev = 1, .rtr_frame = true };
	struct mpa_agreed out;

	mpa_request(&req, &own, 0);
	KUNIT_EXPECT_EQ(test, mpa_conclude(&out, &own, &req, &rep), WIRE_OK);
	KUNIT_EXPECT_FALSE(test, out.rtr_frame);
	own.rtr_frame = true;
	mpa_request(&req, &own, 0);
	rep = (struct mpa_frame){ .kind = MPA_REPLY, .rev = 2, .enhanced = true };
	KUNIT_EXPECT_EQ(test, mpa_conclude(&out, &own, &req, &rep), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, !out.rtr_frame && !out.enhanced);
}

/* HIST-17: M as in the Request, C as in the Reply, no Private Data */
static void rtr_frame_flags(struct kunit *test)
{
	struct mpa_frame f;
	u32 bits;

	for (bits = 0; bits < 8; bits++) {
		struct mpa_frame req = { .markers = bits & 1, .crc = bits & 2, .rev = 1 };
		struct mpa_frame rep = { .crc = bits & 4, .markers = !(bits & 1), .rev = 1 };

		mpa_rtr_frame(&f, &req, &rep);
		KUNIT_EXPECT_EQ(test, f.kind, MPA_RTR);
		KUNIT_EXPECT_TRUE(test, f.markers == req.markers && f.crc == rep.crc);
		KUNIT_EXPECT_TRUE(test, f.rev == 1 && !f.pd_len && !f.enhanced && !f.rtr_frame);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(markers_and_crc),
	KUNIT_CASE(revisions),
	KUNIT_CASE(revision_2_unenhanced),
	KUNIT_CASE(all_depths),
	KUNIT_CASE(depths_left_to_the_ulp),
	KUNIT_CASE(depths_beyond_the_field),
	KUNIT_CASE(reply_leaves_ord_alone),
	KUNIT_CASE(offered_ird_counts),
	KUNIT_CASE(insufficient_ird),
	KUNIT_CASE(all_rtr),
	KUNIT_CASE(odd_rtr_replies),
	KUNIT_CASE(read_rtr_without_ord),
	KUNIT_CASE(read_rtr_with_ord_open),
	KUNIT_CASE(rejects),
	KUNIT_CASE(mismatched_replies),
	KUNIT_CASE(rtr_frames),
	KUNIT_CASE(rejected_without_rtr_frame),
	KUNIT_CASE(uninvited_rtr_frame),
	KUNIT_CASE(rtr_frame_flags),
	{}
};

struct kunit_suite startup_negotiate_suite = {
	.name = "startup_negotiate",
	.test_cases = cases,
};
