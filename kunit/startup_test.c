// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/startup.c: the frames (RFC 5044 section 7.1.1, RFC 6581 sections 6, 9). */
#include <kunit/test.h>
#include <linux/string.h>
#include <compat/unaligned.h>
#include <wire/startup.h>
#include "suites.h"
#include "vectors.h"

/* NEG-02, NEG-03, HIST-18: by number, because the printed strings differ (HIST-19) */
static const u8 key_bytes[MPA_KINDS][16] = {
	{ 0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
	  0x65, 0x71, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65 },
	{ 0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
	  0x65, 0x70, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65 },
	{ 0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
	  0x74, 0x52, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65 },
};

static u32 wire_frame(const struct frame_vector *v, u8 *buf)
{
	memcpy(buf, key_bytes[v->reply], 16);
	memcpy(buf + 16, v->after_key, v->total - 16);
	return v->total;
}

static struct mpa_frame host_frame(const struct frame_vector *v)
{
	return (struct mpa_frame){
		.kind = v->reply, .markers = v->f.markers, .crc = v->f.crc,
		.reject = v->f.reject, .rev = v->f.rev, .enhanced = v->f.enhanced,
		.peer = v->f.peer, .rtr = v->f.rtr, .ird = v->f.ird, .ord = v->f.ord,
		.pd_len = v->f.pd_len,
	};
}

static bool same(const struct mpa_frame *a, const struct mpa_frame *b)
{
	return a->kind == b->kind && a->markers == b->markers && a->crc == b->crc &&
	       a->reject == b->reject && a->rev == b->rev && a->enhanced == b->enhanced &&
	       a->rtr_frame == b->rtr_frame &&
	       a->peer == b->peer && a->rtr == b->rtr && a->ird == b->ird &&
	       a->ord == b->ord && a->pd_len == b->pd_len;
}

/* NEG-01 to NEG-03, NEG-07, NEG-08, NEG-10, P2P-01, P2P-06; F1 to F11 */
static void builds(struct kunit *test)
{
	u8 want[MPA_FRAME_MAX], got[MPA_FRAME_MAX];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(frame_vectors); i++) {
		const struct frame_vector *v = &frame_vectors[i];
		struct mpa_frame f = host_frame(v);
		u32 total = wire_frame(v, want);

		memset(got, 0xa5, sizeof(got));
		KUNIT_EXPECT_EQ(test, mpa_frame_build(&f, want + total - f.pd_len, got), total);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(got, want, total), 0, "%s", v->name);
		KUNIT_EXPECT_EQ(test, got[total], 0xa5);
	}
}

/* NEG-14, NEG-18, P2P-57; need() at every prefix; NEG-13 refuses F11's Rev 0 */
static void parses(struct kunit *test)
{
	u8 buf[MPA_FRAME_MAX];
	enum wire_err err;
	const u8 *pd;
	u32 i, have;

	for (i = 0; i < ARRAY_SIZE(frame_vectors); i++) {
		const struct frame_vector *v = &frame_vectors[i];
		struct mpa_frame f, want = host_frame(v);
		u32 total = wire_frame(v, buf);

		for (have = 0; have <= total; have++) {
			u32 need = mpa_frame_need(buf, have, v->reply, &err);
			bool ok = v->proper || have <= 17;

			KUNIT_EXPECT_EQ_MSG(test, err, ok ? WIRE_OK : WIRE_MPA_FRAME,
					    "%s, %u bytes", v->name, have);
			if (ok)
				KUNIT_EXPECT_EQ(test, need, have < 20 ? 20 : total);
		}
		err = mpa_frame_parse(&f, buf, v->reply, &pd);
		KUNIT_EXPECT_EQ(test, err, v->proper ? WIRE_OK : WIRE_MPA_FRAME);
		if (err)
			continue;
		KUNIT_EXPECT_TRUE_MSG(test, same(&f, &want), "%s", v->name);
		KUNIT_EXPECT_PTR_EQ(test, pd, (const u8 *)buf + total - f.pd_len);
	}
}

/* need() reads no byte it was not given */
static void prefixes_exact(struct kunit *test)
{
	u8 buf[MPA_FRAME_MAX];
	enum wire_err err;
	u32 have;

	wire_frame(&frame_vectors[4], buf);
	for (have = 0; have < 24; have++) {
		u8 *exact = kunit_kzalloc(test, have + 1, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, exact);
		memcpy(exact + 1, buf, have);
		mpa_frame_need(exact + 1, have, MPA_REQUEST, &err);
		KUNIT_EXPECT_EQ(test, err, WIRE_OK);
	}
}

/* NEG-04 to NEG-06, NEG-33: each bit of the key, seen as soon as it is there */
static void wrong_keys(struct kunit *test)
{
	u8 buf[MPA_FRAME_MAX];
	struct mpa_frame f;
	enum wire_err err;
	const u8 *pd;
	u32 at, bit, have;

	for (at = 0; at < 16; at++) {
		for (bit = 0; bit < 8; bit++) {
			wire_frame(&frame_vectors[at & 1 ? 2 : 0], buf);
			buf[at] ^= 1 << bit;
			for (have = 0; have <= 20; have++) {
				mpa_frame_need(buf, have, at & 1, &err);
				KUNIT_EXPECT_EQ(test, err,
						have > at ? WIRE_MPA_FRAME : WIRE_OK);
			}
			KUNIT_EXPECT_EQ(test, mpa_frame_parse(&f, buf, at & 1, &pd),
					WIRE_MPA_FRAME);
		}
	}
	wire_frame(&frame_vectors[0], buf);	/* a Request where a Reply is due */
	KUNIT_EXPECT_EQ(test, mpa_frame_parse(&f, buf, MPA_REPLY, &pd), WIRE_MPA_FRAME);
	wire_frame(&frame_vectors[2], buf);
	KUNIT_EXPECT_EQ(test, mpa_frame_parse(&f, buf, MPA_REQUEST, &pd), WIRE_MPA_FRAME);
}

/* NEG-13, NEG-15, P2P-04, GAP-03: every Rev and S, every PD_Length */
static void revisions_and_lengths(struct kunit *test)
{
	u8 buf[MPA_FRAME_MAX] = {};
	struct mpa_frame f;
	enum wire_err err, want;
	const u8 *pd;
	u32 rev, s, len, need;

	for (rev = 0; rev < 256; rev += rev < 4 ? 1 : 63) {
		for (s = 0; s < 2; s++) {
			for (len = 0; len <= 65535; len += len < 600 ? 1 : 241) {
				bool enhanced = rev == 2 && s;

				wire_frame(&frame_vectors[0], buf);
				buf[16] = 0x40 | s << 4;
				buf[17] = rev;
				put_unaligned_be16(len, buf + 18);
				want = (rev == 1 || rev == 2) && len <= 512 &&
				       (!enhanced || len >= 4) ? WIRE_OK : WIRE_MPA_FRAME;
				need = mpa_frame_need(buf, 20, MPA_REQUEST, &err);
				KUNIT_ASSERT_EQ_MSG(test, err, want, "rev %u s %u len %u",
						    rev, s, len);
				KUNIT_ASSERT_EQ(test, mpa_frame_parse(&f, buf, MPA_REQUEST, &pd),
						want);
				if (want)
					continue;
				KUNIT_ASSERT_EQ(test, need, 20 + len);
				KUNIT_ASSERT_EQ(test, f.enhanced, enhanced);
				KUNIT_ASSERT_EQ(test, f.pd_len, len - (enhanced ? 4 : 0));
			}
		}
	}
}

/* NEG-15: half of PD_Length can be enough to refuse it */
static void length_by_halves(struct kunit *test)
{
	u8 buf[MPA_FRAME_MAX];
	enum wire_err err;
	u32 high;

	wire_frame(&frame_vectors[0], buf);
	for (high = 0; high < 256; high++) {
		buf[18] = high;
		mpa_frame_need(buf, 19, MPA_REQUEST, &err);
		KUNIT_EXPECT_EQ(test, err, high <= 2 ? WIRE_OK : WIRE_MPA_FRAME);
	}
}

/* NEG-09, NEG-11: Res is not checked, nor R in a Request; it is in a Reply */
static void reserved_bits_ignored(struct kunit *test)
{
	u8 buf[MPA_FRAME_MAX];
	struct mpa_frame f;
	const u8 *pd;

	wire_frame(&frame_vectors[0], buf);
	buf[16] = 0x7f;
	KUNIT_EXPECT_EQ(test, mpa_frame_parse(&f, buf, MPA_REQUEST, &pd), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, f.crc && !f.markers && !f.reject && !f.enhanced);
	wire_frame(&frame_vectors[2], buf);
	buf[16] = 0x3f;
	KUNIT_EXPECT_EQ(test, mpa_frame_parse(&f, buf, MPA_REPLY, &pd), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, f.reject && !f.enhanced);
	/* sent as zero */
	f = (struct mpa_frame){ .reject = true, .rev = 1 };
	mpa_frame_build(&f, NULL, buf);
	KUNIT_EXPECT_EQ(test, buf[16], 0);
}

/* P2P-27: with A=0, B to D are neither sent nor heard */
static void client_server_has_no_rtr(struct kunit *test)
{
	struct mpa_frame f = { .rev = 2, .enhanced = true, .rtr = MPA_RTR_ALL, .ird = 5 };
	u8 buf[MPA_FRAME_MAX];
	const u8 *pd;

	mpa_frame_build(&f, NULL, buf);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(buf + 20), 0x00050000u);
	put_unaligned_be32(0x4005c006, buf + 20);
	KUNIT_EXPECT_EQ(test, mpa_frame_parse(&f, buf, MPA_REQUEST, &pd), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, !f.peer && !f.rtr && f.ird == 5 && f.ord == 6);
}

/* P2P-05, NEG-15: 512 bytes in all, the enhanced words among them */
static void private_data_limits(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, 508, 509, 511, 512, 513, 65535 };
	u8 *pd = kunit_kzalloc(test, 65535, GFP_KERNEL);
	u8 buf[MPA_FRAME_MAX + 1];
	struct mpa_frame back;
	const u8 *at;
	u32 i, enh, len;

	KUNIT_ASSERT_NOT_NULL(test, pd);
	for (i = 0; i < 512; i++)
		pd[i] = i * 7;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		for (enh = 0; enh < 2; enh++) {
			struct mpa_frame f = { .rev = 2, .enhanced = enh, .pd_len = lens[i] };
			bool fits = lens[i] + 4 * enh <= 512;

			memset(buf, 0xa5, sizeof(buf));
			len = mpa_frame_build(&f, pd, buf);
			KUNIT_EXPECT_EQ(test, len, fits ? 20 + 4 * enh + lens[i] : 0);
			KUNIT_EXPECT_EQ(test, buf[MPA_FRAME_MAX], 0xa5);
			if (!fits)
				continue;
			KUNIT_EXPECT_EQ(test, mpa_frame_parse(&back, buf, MPA_REQUEST, &at),
					WIRE_OK);
			KUNIT_EXPECT_TRUE(test, same(&back, &f) && !memcmp(at, pd, lens[i]));
		}
	}
}

/* Every combination of flags and some depths, there and back */
static void round_trip(struct kunit *test)
{
	static const u16 depths[] = { 0, 1, 16, 0x3ffe, 0x3fff };
	u8 buf[MPA_FRAME_MAX];
	u32 bits, i;

	for (bits = 0; bits < 1 << 9; bits++) {
		for (i = 0; i < ARRAY_SIZE(depths) * ARRAY_SIZE(depths); i++) {
			struct mpa_frame back, f = {
				.kind = bits & 1, .markers = bits & 2, .crc = bits & 4,
				.reject = bits & 8 && bits & 1, .enhanced = bits & 16,
				.rev = bits & 16 ? 2 : 1,
			};
			const u8 *pd;

			if (f.enhanced) {
				f.peer = bits & 32;
				f.rtr = f.peer ? bits >> 6 & 7 : 0;
				f.ird = depths[i % ARRAY_SIZE(depths)];
				f.ord = depths[i / ARRAY_SIZE(depths)];
			}
			mpa_frame_build(&f, NULL, buf);
			KUNIT_ASSERT_EQ(test, mpa_frame_parse(&back, buf, f.kind, &pd), WIRE_OK);
			KUNIT_ASSERT_TRUE(test, same(&back, &f));
		}
	}
}

/* HIST-17, GAP-03: S at revision 1 is another bit than S at revision 2 */
static void s_by_revision(struct kunit *test)
{
	struct mpa_frame f = { .rev = 1, .rtr_frame = true }, back;
	u8 buf[MPA_FRAME_MAX] = {};
	const u8 *pd;

	KUNIT_EXPECT_EQ(test, mpa_frame_build(&f, NULL, buf), 20u);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(buf + 16), 0x10010000u);
	KUNIT_EXPECT_EQ(test, mpa_frame_parse(&back, buf, MPA_REQUEST, &pd), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, same(&back, &f));
	f = (struct mpa_frame){ .kind = MPA_REPLY, .rev = 1, .rtr_frame = true, .crc = true };
	KUNIT_EXPECT_EQ(test, mpa_frame_build(&f, NULL, buf), 20u);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(buf + 16), 0x50010000u);
	KUNIT_EXPECT_EQ(test, mpa_frame_parse(&back, buf, MPA_REPLY, &pd), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, same(&back, &f));
	/* at revision 2 there is no such thing */
	f.rev = 2;
	mpa_frame_build(&f, NULL, buf);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(buf + 16), 0x40020000u);
	f.enhanced = true;
	mpa_frame_build(&f, NULL, buf);
	KUNIT_EXPECT_EQ(test, mpa_frame_parse(&back, buf, MPA_REPLY, &pd), WIRE_OK);
	KUNIT_EXPECT_TRUE(test, back.enhanced && !back.rtr_frame);
}

/* HIST-16 to HIST-18: its bytes, each bit of the key, its revision, its flags */
static void rtr_frame(struct kunit *test)
{
	struct mpa_frame f = { .kind = MPA_RTR, .rev = 1, .crc = true, .rtr_frame = true }, back;
	u8 buf[MPA_FRAME_MAX] = {};
	enum wire_err err, want;
	const u8 *pd;
	u32 i;

	KUNIT_EXPECT_EQ(test, mpa_frame_build(&f, NULL, buf), 20u);
	KUNIT_EXPECT_EQ(test, memcmp(buf, key_bytes[MPA_RTR], 16), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(buf + 16), 0x40010000u);
	for (i = 0; i < 128; i++) {
		buf[i / 8] ^= 1 << i % 8;
		mpa_frame_need(buf, i / 8 + 1, MPA_RTR, &err);
		KUNIT_EXPECT_EQ(test, err, WIRE_MPA_FRAME);
		buf[i / 8] ^= 1 << i % 8;
	}
	for (i = 0; i < 256; i++) {
		want = i == 1 ? WIRE_OK : WIRE_MPA_FRAME;
		buf[17] = i;
		mpa_frame_need(buf, 18, MPA_RTR, &err);
		KUNIT_EXPECT_EQ(test, err, want);
		KUNIT_EXPECT_EQ(test, mpa_frame_parse(&back, buf, MPA_RTR, &pd), want);
	}
	buf[17] = 1;
	for (i = 0; i < 256; i++) {
		buf[16] = i;
		KUNIT_EXPECT_EQ(test, mpa_frame_parse(&back, buf, MPA_RTR, &pd), WIRE_OK);
		KUNIT_EXPECT_TRUE(test, !back.enhanced && !back.reject && !back.rtr_frame);
	}
	/* no other kind of frame passes for it, nor it for another (NEG-33) */
	for (i = 0; i < MPA_KINDS; i++) {
		memcpy(buf, key_bytes[i], 16);
		KUNIT_EXPECT_EQ(test, mpa_frame_parse(&back, buf, MPA_RTR, &pd) == WIRE_OK,
				i == MPA_RTR);
		KUNIT_EXPECT_EQ(test, mpa_frame_parse(&back, buf, MPA_REPLY, &pd) == WIRE_OK,
				i == MPA_REPLY);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(builds),
	KUNIT_CASE(parses),
	KUNIT_CASE(prefixes_exact),
	KUNIT_CASE(wrong_keys),
	KUNIT_CASE(revisions_and_lengths),
	KUNIT_CASE(length_by_halves),
	KUNIT_CASE(reserved_bits_ignored),
	KUNIT_CASE(client_server_has_no_rtr),
	KUNIT_CASE(private_data_limits),
	KUNIT_CASE(round_trip),
	KUNIT_CASE(s_by_revision),
	KUNIT_CASE(rtr_frame),
	{}
};

struct kunit_suite startup_frame_suite = { .name = "startup_frame", .test_cases = cases };
