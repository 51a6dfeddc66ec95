// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ring/user.c: send and receive queues in memory that user space may fill with anything and
 * change at any time.
 */
#include <kunit/test.h>
#include <rdma/siw-abi.h>
#include <ring/priv.h>
#include "ring_watched.h"
#include "suites.h"

/* Sizes asked for, and those a send queue gets. */
static const struct {
	u32 asked;
	u32 size;
} sizes[] = { { 0, 2 }, { 1, 2 }, { 2, 2 }, { 3, 4 }, { 8, 8 }, { 9, 16 } };

static const enum rnic_op user_ops[256] = {
	[SIW_OP_WRITE] = 1 + RNIC_OP_WRITE,
	[SIW_OP_READ] = 1 + RNIC_OP_READ,
	[SIW_OP_SEND] = 1 + RNIC_OP_SEND,
	[SIW_OP_SEND_REMOTE_INV] = 1 + RNIC_OP_SEND_INV,
};

static u8 most_sges(enum rnic_op op)
{
	return op == RNIC_OP_READ ? 1 : SIW_MAX_SGE;
}

/* A work request with @num_sge SGEs of 1, 2, ... bytes. */
static struct siw_sqe new_sqe(u8 opcode, u16 flags, u8 num_sge)
{
	struct siw_sqe sqe = {
		.id = 0x1122334455667788ULL, .opcode = opcode, .flags = SIW_WQE_VALID | flags,
		.num_sge = num_sge, .rkey = 0xa1b2c3d4, .raddr = 0x8877665544332211ULL,
	};
	u32 i;

	for (i = 0; i < SIW_MAX_SGE; i++) {
		sqe.sge[i].laddr = 0x1000000000ULL * (i + 1);
		sqe.sge[i].length = i + 1;
		sqe.sge[i].lkey = 0x100 * (i + 1);
	}
	return sqe;
}

static struct rnic_sq new_sq(struct kunit *test, u32 max_wr)
{
	struct rnic_sq sq;

	KUNIT_ASSERT_EQ(test, rnic_sq_init(&sq, max_wr, ring_user), 0);
	return sq;
}

static struct rnic_rq new_rq(struct kunit *test, u32 max_wr)
{
	struct rnic_rq rq;

	KUNIT_ASSERT_EQ(test, rnic_rq_init(&rq, max_wr, ring_user), 0);
	return rq;
}

/* Take @sqe out of a ring of its own. */
static int pop_one(struct kunit *test, struct siw_sqe sqe, struct rnic_wqe *wqe)
{
	struct rnic_sq sq = new_sq(test, 2);
	int ret;

	sq.ring[0] = sqe;
	ret = rnic_sq_pop(&sq, wqe);
	rnic_sq_free(&sq);
	return ret;
}

static int pop_one_receive(struct kunit *test, const struct siw_rqe *rqe, struct rnic_rwqe *rwqe)
{
	struct rnic_rq rq = new_rq(test, 1);
	int ret;

	rq.ring[0] = *rqe;
	ret = rnic_rq_pop(&rq, rwqe);
	KUNIT_EXPECT_EQ(test, rq.ring[0].flags, 0);
	rnic_rq_free(&rq);
	return ret;
}

/* Is this a work request that may be called valid? */
static bool is_sane(const struct rnic_wqe *wqe)
{
	u64 sum = 0;
	u8 i;

	if (wqe->op != RNIC_OP_WRITE && wqe->op != RNIC_OP_READ && wqe->op != RNIC_OP_SEND &&
	    wqe->op != RNIC_OP_SEND_INV)
		return false;
	if (wqe->flags & RNIC_WQE_INLINE)
		return wqe->op != RNIC_OP_READ && !wqe->num_sge && wqe->len <= SIW_MAX_INLINE;
	if (wqe->num_sge > most_sges(wqe->op))
		return false;
	for (i = 0; i < wqe->num_sge; i++)
		sum += wqe->sge[i].len;
	return sum == wqe->len;
}

static void opcodes(struct kunit *test)
{
	struct rnic_wqe wqe;
	u32 opcode;

	for (opcode = 0; opcode < 256; opcode++) {
		int ret = pop_one(test, new_sqe(opcode, SIW_WQE_SIGNALLED, 1), &wqe);

		KUNIT_EXPECT_EQ_MSG(test, ret, user_ops[opcode] ? 1 : -EINVAL, "%u", opcode);
		KUNIT_EXPECT_EQ_MSG(test, wqe.op, user_ops[opcode] ? user_ops[opcode] - 1 :
				    RNIC_OP_SEND, "%u", opcode);
		/* good for completing it in error, too */
		KUNIT_EXPECT_EQ(test, wqe.id, 0x1122334455667788ULL);
		KUNIT_EXPECT_EQ(test, wqe.flags, RNIC_WQE_SIGNALED);
		if (ret != 1)
			continue;
		KUNIT_EXPECT_EQ(test, wqe.rkey, 0xa1b2c3d4);
		KUNIT_EXPECT_EQ(test, wqe.raddr, 0x8877665544332211ULL);
		KUNIT_EXPECT_TRUE(test, is_sane(&wqe));
	}
}

static void flags(struct kunit *test)
{
	struct rnic_wqe wqe;
	u32 bits, all;

	for (bits = 0; bits < 128; bits++) {
		for (all = 0; all < 2; all++) {
			struct rnic_sq sq = new_sq(test, 2);
			u32 expected = 0;

			sq.sig_all = all;
			sq.ring[0] = new_sqe(SIW_OP_SEND, 0, 1);
			sq.ring[0].flags = bits;
			if (bits & SIW_WQE_SIGNALLED || all)
				expected |= RNIC_WQE_SIGNALED;
			if (bits & SIW_WQE_SOLICITED)
				expected |= RNIC_WQE_SOLICITED;
			if (bits & SIW_WQE_READ_FENCE)
				expected |= RNIC_WQE_FENCE;
			if (bits & SIW_WQE_INLINE)
				expected |= RNIC_WQE_INLINE;
			KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), (int)(bits & SIW_WQE_VALID));
			if (bits & SIW_WQE_VALID)
				KUNIT_EXPECT_EQ(test, wqe.flags, expected);
			rnic_sq_free(&sq);
		}
	}
}

static void expect_sges(struct kunit *test, const struct rnic_sge *sge, u8 num)
{
	u8 i;

	for (i = 0; i < num; i++) {
		KUNIT_EXPECT_EQ(test, sge[i].addr, 0x1000000000ULL * (i + 1));
		KUNIT_EXPECT_EQ(test, sge[i].len, i + 1u);
		KUNIT_EXPECT_EQ(test, sge[i].lkey, 0x100u * (i + 1));
	}
}

static void counts_of_sges(struct kunit *test)
{
	struct siw_rqe rqe = { .id = 7, .flags = SIW_WQE_VALID };
	struct rnic_rwqe rwqe;
	struct rnic_wqe wqe;
	u32 opcode, num;
	int ret;

	memcpy(rqe.sge, new_sqe(0, 0, 0).sge, sizeof(rqe.sge));
	for (num = 0; num < 256; num++) {
		for (opcode = 0; opcode < 256; opcode++) {
			if (!user_ops[opcode])
				continue;
			ret = pop_one(test, new_sqe(opcode, 0, num), &wqe);
			KUNIT_EXPECT_EQ_MSG(test, ret, num <= most_sges(user_ops[opcode] - 1) ?
					    1 : -EINVAL, "%u, %u", opcode, num);
			KUNIT_EXPECT_EQ(test, wqe.num_sge, ret == 1 ? num : 0);
			if (ret != 1)
				continue;
			KUNIT_EXPECT_EQ(test, wqe.len, num * (num + 1) / 2);
			expect_sges(test, wqe.sge, num);
		}
		rqe.num_sge = num;
		ret = pop_one_receive(test, &rqe, &rwqe);
		KUNIT_EXPECT_EQ_MSG(test, ret, num <= SIW_MAX_SGE ? 1 : -EINVAL, "%u", num);
		KUNIT_EXPECT_EQ(test, rwqe.id, 7ULL);
		KUNIT_EXPECT_EQ(test, rwqe.num_sge, ret == 1 ? num : 0);
		if (ret == 1) {
			KUNIT_EXPECT_EQ(test, rwqe.len, num * (num + 1) / 2);
			expect_sges(test, rwqe.sge, num);
		}
	}
}

/* A message is shorter than 2^32 bytes, whatever the SGEs say. */
static void lengths(struct kunit *test)
{
	struct siw_rqe rqe = { .flags = SIW_WQE_VALID, .num_sge = SIW_MAX_SGE };
	struct siw_sqe sqe = new_sqe(SIW_OP_WRITE, 0, SIW_MAX_SGE);
	struct rnic_rwqe rwqe;
	struct rnic_wqe wqe;
	u32 i, last;

	for (last = 0; last < 2; last++) {
		for (i = 0; i < SIW_MAX_SGE; i++)
			sqe.sge[i].length = i ? U32_MAX / SIW_MAX_SGE : U32_MAX / SIW_MAX_SGE + 3;
		sqe.sge[SIW_MAX_SGE - 1].length += last;
		memcpy(rqe.sge, sqe.sge, sizeof(rqe.sge));
		KUNIT_EXPECT_EQ(test, pop_one(test, sqe, &wqe), last ? -EINVAL : 1);
		KUNIT_EXPECT_EQ(test, pop_one_receive(test, &rqe, &rwqe), last ? -EINVAL : 1);
		if (!last) {
			KUNIT_EXPECT_EQ(test, wqe.len, U32_MAX);
			KUNIT_EXPECT_EQ(test, rwqe.len, U32_MAX);
		}
	}
	/* a sum that is small modulo 2^32 */
	for (i = 0; i < SIW_MAX_SGE; i++)
		sqe.sge[i].length = U32_MAX;
	memcpy(rqe.sge, sqe.sge, sizeof(rqe.sge));
	KUNIT_EXPECT_EQ(test, pop_one(test, sqe, &wqe), -EINVAL);
	KUNIT_EXPECT_EQ(test, pop_one_receive(test, &rqe, &rwqe), -EINVAL);
	/* a single one is allowed */
	sqe.num_sge = 1;
	KUNIT_EXPECT_EQ(test, pop_one(test, sqe, &wqe), 1);
	KUNIT_EXPECT_EQ(test, wqe.len, U32_MAX);
}

static void inline_data(struct kunit *test)
{
	static const u32 beyond[] = { 81, 96, 120, 256, 0x80000000, U32_MAX };
	struct siw_sqe sqe = new_sqe(SIW_OP_SEND, SIW_WQE_INLINE, 255);
	struct rnic_wqe wqe;
	u32 len;

	memset(&sqe.sge[1], 0x5a, SIW_MAX_INLINE);
	for (len = 0; len <= SIW_MAX_INLINE; len++) {
		((u8 *)&sqe.sge[1])[SIW_MAX_INLINE - 1] = len;
		sqe.sge[0].length = len;
		memset(&wqe, 0, sizeof(wqe));
		KUNIT_EXPECT_EQ(test, pop_one(test, sqe, &wqe), 1);
		KUNIT_EXPECT_EQ(test, wqe.len, len);
		/* it is not SGEs, whatever number user space gives */
		KUNIT_EXPECT_EQ(test, wqe.num_sge, 0);
		KUNIT_EXPECT_TRUE(test, !memcmp(wqe.inline_data, &sqe.sge[1], len));
		KUNIT_EXPECT_TRUE(test, len == SIW_MAX_INLINE || !wqe.inline_data[len]);
	}
	for (len = 0; len < ARRAY_SIZE(beyond); len++) {
		sqe.sge[0].length = beyond[len];
		KUNIT_EXPECT_EQ(test, pop_one(test, sqe, &wqe), -EINVAL);
	}
	sqe.sge[0].length = 8;
	sqe.opcode = SIW_OP_READ;
	KUNIT_EXPECT_EQ(test, pop_one(test, sqe, &wqe), -EINVAL);
}

/* User space replaces the entry meanwhile, at the read number @at. */
static struct {
	void *entry;
	const void *instead;
	u32 size;
	u32 at;
	u32 reads;
	u8 times[sizeof(struct siw_sqe)];	/* that each byte of it was read */
} meanwhile;

static void replace_entry(const void *at, size_t size)
{
	size_t from = (const u8 *)at - (const u8 *)meanwhile.entry, i;

	for (i = from; i < from + size && from < meanwhile.size; i++)
		meanwhile.times[i]++;
	if (meanwhile.reads++ == meanwhile.at)
		memcpy(meanwhile.entry, meanwhile.instead, meanwhile.size);
}

static void watch(void *entry, const void *instead, u32 size, u32 at)
{
	memset(&meanwhile, 0, sizeof(meanwhile));
	meanwhile.entry = entry;
	meanwhile.instead = instead;
	meanwhile.size = size;
	meanwhile.at = at;
	ring_after_read = replace_entry;
}

/* Entries that are valid, and hostile ones that are not. */
static void fill_entries(struct siw_sqe *sqe)
{
	sqe[0] = new_sqe(SIW_OP_SEND, SIW_WQE_SOLICITED, 6);
	sqe[1] = new_sqe(SIW_OP_READ, SIW_WQE_READ_FENCE, 1);
	sqe[2] = new_sqe(SIW_OP_WRITE, SIW_WQE_INLINE, 0);
	sqe[2].sge[0].length = SIW_MAX_INLINE;
	sqe[3] = new_sqe(SIW_OP_READ, SIW_WQE_INLINE, 7);
	sqe[4] = new_sqe(SIW_OP_SEND, SIW_WQE_INLINE, 0);
	sqe[4].sge[0].length = SIW_MAX_INLINE + 1;
	memset(&sqe[5], 0xff, sizeof(*sqe));
	memset(&sqe[6], 0, sizeof(*sqe));
}

#define VALID	3
#define ENTRIES	7

/* Return: false once @at is beyond the last read. */
static bool change_sqe(struct kunit *test, const struct siw_sqe *first,
		       const struct siw_sqe *instead, u32 at)
{
	struct rnic_sq sq = new_sq(test, 2);
	struct rnic_wqe wqe;
	int ret;

	sq.ring[0] = *first;
	watch(&sq.ring[0], instead, sizeof(*instead), at);
	ret = rnic_sq_pop(&sq, &wqe);
	ring_after_read = NULL;
	KUNIT_EXPECT_TRUE_MSG(test, ret == -EINVAL || ret == 1, "%d", ret);
	if (ret == 1)
		KUNIT_EXPECT_TRUE_MSG(test, is_sane(&wqe), "changed after read %u", at);
	KUNIT_EXPECT_TRUE(test, wqe.id == first->id || wqe.id == instead->id);
	rnic_sq_free(&sq);
	return at < meanwhile.reads;
}

static bool change_rqe(struct kunit *test, u8 num_sge, const struct siw_rqe *instead, u32 at)
{
	struct siw_rqe first = { .flags = SIW_WQE_VALID, .num_sge = num_sge };
	struct rnic_rq rq = new_rq(test, 1);
	struct rnic_rwqe rwqe;
	u64 sum = 0;
	int ret, i;

	rq.ring[0] = first;
	watch(&rq.ring[0], instead, sizeof(*instead), at);
	ret = rnic_rq_pop(&rq, &rwqe);
	ring_after_read = NULL;
	KUNIT_EXPECT_TRUE_MSG(test, ret == -EINVAL || ret == 1, "%d", ret);
	if (ret == 1) {
		KUNIT_EXPECT_LE(test, rwqe.num_sge, SIW_MAX_SGE);
		for (i = 0; i < rwqe.num_sge && i < SIW_MAX_SGE; i++)
			sum += rwqe.sge[i].len;
		KUNIT_EXPECT_EQ(test, (u64)rwqe.len, sum);
	}
	rnic_rq_free(&rq);
	return at < meanwhile.reads;
}

/* User space replaces the entry between any two reads of it. */
static void changes_between_reads(struct kunit *test)
{
	struct siw_sqe sqe[ENTRIES];
	struct siw_rqe rqe;
	u32 from, to, at;

	fill_entries(sqe);
	for (from = 0; from < VALID; from++)
		for (to = 0; to < ENTRIES; to++)
			for (at = 0; change_sqe(test, &sqe[from], &sqe[to], at); at++)
				;
	memset(&rqe, 0xff, sizeof(rqe));
	for (at = 0; change_rqe(test, 6, &rqe, at); at++)
		;
	KUNIT_EXPECT_EQ(test, at, 3u + 3 * SIW_MAX_SGE);
	rqe.num_sge = 6;
	for (at = 0; change_rqe(test, 1, &rqe, at); at++)
		;
	KUNIT_EXPECT_EQ(test, at, 3u + 3);
}

static void expect_once(struct kunit *test, size_t flags_at)
{
	size_t i;

	for (i = 0; i < meanwhile.size; i++) {
		/* The flag that says that there is an entry is not believed again. */
		u8 most = i - flags_at < sizeof_field(struct siw_sqe, flags) ? 2 : 1;

		KUNIT_EXPECT_LE(test, meanwhile.times[i], most);
	}
}

static void read_once(struct kunit *test)
{
	struct rnic_sq sq = new_sq(test, 2);
	struct rnic_rq rq = new_rq(test, 1);
	struct siw_sqe sqe[ENTRIES];
	struct rnic_rwqe rwqe;
	struct rnic_wqe wqe;
	u32 i;

	fill_entries(sqe);
	for (i = 0; i < ENTRIES - 1; i++) {
		sq.ring[sq.get & 1] = sqe[i];
		watch(&sq.ring[sq.get & 1], NULL, sizeof(*sqe), U32_MAX);
		KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), i < VALID ? 1 : -EINVAL);
		expect_once(test, offsetof(struct siw_sqe, flags));
	}
	rq.ring[0].flags = SIW_WQE_VALID;
	rq.ring[0].num_sge = SIW_MAX_SGE;
	watch(&rq.ring[0], NULL, sizeof(*rq.ring), U32_MAX);
	KUNIT_EXPECT_EQ(test, rnic_rq_pop(&rq, &rwqe), 1);
	ring_after_read = NULL;
	expect_once(test, offsetof(struct siw_rqe, flags));
	KUNIT_EXPECT_EQ(test, meanwhile.times[offsetof(struct siw_rqe, num_sge)], 1);
	rnic_rq_free(&rq);
	rnic_sq_free(&sq);
}

/* As the provider posts a Send. Return: false when the ring is full. */
static bool post(struct rnic_sq *sq, u32 *put, bool *rang)
{
	struct siw_sqe *sqe = &sq->ring[*put & (sq->size - 1)];
	const struct siw_sqe *before = &sq->ring[(*put - 1) & (sq->size - 1)];

	if (sqe->flags & SIW_WQE_VALID)
		return false;
	*sqe = new_sqe(SIW_OP_SEND, 0, 1);
	sqe->id = *put;
	++*put;
	if (!(before->flags & SIW_WQE_VALID))
		*rang = true;
	return true;
}

/*
 * Rings of each size are filled, and emptied in order, from positions before the wrap of the
 * index on. The entry taken last stays VALID: one fewer fits until it is given back.
 */
static void order_and_wrap(struct kunit *test)
{
	struct rnic_wqe wqe;
	u32 i, round, n;
	bool rang;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct rnic_sq sq = new_sq(test, sizes[i].asked);
		u32 put = -9U, next = -9U;

		KUNIT_EXPECT_EQ(test, sq.size, sizes[i].size);
		sq.get = put;
		for (round = 0; round < 40; round++) {
			for (n = 0; post(&sq, &put, &rang); n++)
				;
			KUNIT_EXPECT_EQ(test, n, sq.held ? sq.size - 1 : sq.size);
			while (next != put) {
				KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
				KUNIT_EXPECT_EQ(test, wqe.id, (u64)next++);
			}
			if (round % 3)
				KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 0);
		}
		rnic_sq_free(&sq);
	}
}

/* While the consumer is at work no doorbell rings; once it has found "empty", one does. */
static void doorbells(struct kunit *test)
{
	struct rnic_sq sq = new_sq(test, 4);
	struct rnic_wqe wqe;
	bool rang = false;
	u32 put = 0, i;

	KUNIT_EXPECT_TRUE(test, post(&sq, &put, &rang));
	KUNIT_EXPECT_TRUE(test, rang);
	for (i = 0; i < 9; i++) {
		rang = false;
		KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
		KUNIT_EXPECT_TRUE(test, post(&sq, &put, &rang));
		KUNIT_EXPECT_FALSE(test, rang);
		/* only the last one taken is kept */
		KUNIT_EXPECT_EQ(test, sq.ring[(sq.get - 2) & 3].flags, 0);
	}
	KUNIT_EXPECT_TRUE(test, rnic_sq_pending(&sq));
	KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
	KUNIT_EXPECT_FALSE(test, rnic_sq_pending(&sq));
	KUNIT_EXPECT_TRUE(test, post(&sq, &put, &rang));
	KUNIT_EXPECT_TRUE(test, rang);
	/* given back before its completion, there is room for a full ring */
	KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
	rnic_sq_give_back(&sq);
	for (i = 0; post(&sq, &put, &rang); i++)
		;
	KUNIT_EXPECT_EQ(test, i, 4u);
	/* an entry given back is user space's: giving back again takes nothing */
	rnic_sq_give_back(&sq);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, sq.ring[i].flags & SIW_WQE_VALID, SIW_WQE_VALID);
	rnic_sq_free(&sq);
}

/*
 * A ring that is closed has what was posted before, and no more, whatever user space does. The
 * entry that is held is not among it.
 */
static void closed(struct kunit *test)
{
	u32 i, before, put, n;
	struct rnic_wqe wqe;
	bool rang;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (before = 0; before <= sizes[i].size; before++) {
			struct rnic_sq sq = new_sq(test, sizes[i].asked);

			put = -3U;
			sq.get = put;
			post(&sq, &put, &rang);
			KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
			for (n = 0; n < before && post(&sq, &put, &rang); n++)
				;
			rnic_sq_close(&sq);
			KUNIT_EXPECT_EQ(test, rnic_sq_pending(&sq), n > 0);
			while (post(&sq, &put, &rang))
				;
			/* closing again changes nothing */
			rnic_sq_close(&sq);
			for (; n; n--) {
				KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
				post(&sq, &put, &rang);
			}
			KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 0);
			KUNIT_EXPECT_FALSE(test, rnic_sq_pending(&sq));
			/* there is no entry that user space cannot post to once it is taken */
			while (post(&sq, &put, &rang))
				;
			rnic_sq_reopen(&sq);
			for (n = sq.size; n; n--) {
				KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
				KUNIT_EXPECT_EQ(test, wqe.id, (u64)(put - n));
			}
			KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 0);
			rnic_sq_free(&sq);
		}
	}
}

/* Another processor posts after the read number @at. */
static struct {
	struct rnic_sq *sq;
	u32 put;
	u32 at;
	u32 reads;
	bool rang;
} poster;

static void post_meanwhile(const void *at __maybe_unused,
			   size_t size __maybe_unused)
{
	if (poster.reads++ == poster.at)
		post(poster.sq, &poster.put, &poster.rang);
}

/* A Send that is posted while the consumer finds the ring empty is found, or it rings. */
static void no_send_is_lost(struct kunit *test)
{
	u32 at = 0, sleepers = 0;
	struct rnic_wqe wqe;
	int ret;

	do {
		struct rnic_sq sq = new_sq(test, 2);

		memset(&poster, 0, sizeof(poster));
		poster.sq = &sq;
		poster.at = at++;
		post(&sq, &poster.put, &poster.rang);
		KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
		poster.rang = false;
		ring_after_read = post_meanwhile;
		ret = rnic_sq_pop(&sq, &wqe);
		ring_after_read = NULL;
		if (poster.put == 2 && !poster.rang)
			KUNIT_EXPECT_EQ_MSG(test, ret, 1, "posted after read %u", poster.at);
		sleepers += !ret && poster.rang;
		rnic_sq_free(&sq);
	} while (poster.at < poster.reads);
	KUNIT_EXPECT_EQ(test, sleepers, 1u);
	KUNIT_EXPECT_GE(test, at, 3u);
}

static void receive_order_and_wrap(struct kunit *test)
{
	struct rnic_rwqe rwqe;
	u32 i, n, round;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct rnic_rq rq = new_rq(test, sizes[i].asked);
		u32 put = -9U, next = -9U, size = sizes[i].asked < 2 ? 1 : sizes[i].size;

		KUNIT_EXPECT_EQ(test, rq.size, size);
		rq.get = next;
		for (round = 0; round < 40; round++) {
			while (put - next < 1 + round % size) {
				rq.ring[put & (size - 1)].id = put;
				rq.ring[put++ & (size - 1)].flags = SIW_WQE_VALID;
			}
			for (n = 1; n <= size + 1; n++)
				KUNIT_EXPECT_EQ(test, rnic_rq_has(&rq, n), n <= put - next);
			KUNIT_EXPECT_FALSE(test, rnic_rq_has(&rq, U32_MAX));
			for (n = round % 2; n < 2 && next != put; n++) {
				KUNIT_EXPECT_EQ(test, rnic_rq_pop(&rq, &rwqe), 1);
				KUNIT_EXPECT_EQ(test, rwqe.id, (u64)next++);
			}
			if (next == put)
				KUNIT_EXPECT_EQ(test, rnic_rq_pop(&rq, &rwqe), 0);
		}
		rnic_rq_free(&rq);
	}
}

/* Flags without VALID are no entry, and VALID among others is one. */
static void receive_flags(struct kunit *test)
{
	struct rnic_rq rq = new_rq(test, 2);
	struct rnic_rwqe rwqe;

	rq.ring[0].flags = (u16)~SIW_WQE_VALID;
	KUNIT_EXPECT_FALSE(test, rnic_rq_has(&rq, 1));
	KUNIT_EXPECT_EQ(test, rnic_rq_pop(&rq, &rwqe), 0);
	KUNIT_EXPECT_EQ(test, rq.ring[0].flags, (u16)~SIW_WQE_VALID);
	rq.ring[0].flags = U16_MAX;
	KUNIT_EXPECT_TRUE(test, rnic_rq_has(&rq, 1));
	KUNIT_EXPECT_EQ(test, rnic_rq_pop(&rq, &rwqe), 1);
	KUNIT_EXPECT_EQ(test, rq.ring[0].flags, 0);
	rnic_rq_free(&rq);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(opcodes),
	KUNIT_CASE(flags),
	KUNIT_CASE(counts_of_sges),
	KUNIT_CASE(lengths),
	KUNIT_CASE(inline_data),
	KUNIT_CASE(changes_between_reads),
	KUNIT_CASE(read_once),
	KUNIT_CASE(order_and_wrap),
	KUNIT_CASE(doorbells),
	KUNIT_CASE(closed),
	KUNIT_CASE(no_send_is_lost),
	KUNIT_CASE(receive_order_and_wrap),
	KUNIT_CASE(receive_flags),
	{}
};

struct kunit_suite ring_user_suite = { .name = "ring_user", .test_cases = cases };
