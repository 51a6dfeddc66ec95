// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ring/kernel.c: work requests of kernel consumers, checked when they are posted.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <ring/priv.h>
#include "suites.h"

static struct rnic_sq new_sq(struct kunit *test, u32 max_wr)
{
	struct rnic_sq sq;

	KUNIT_ASSERT_EQ(test, rnic_sq_init(&sq, max_wr, NULL), 0);
	return sq;
}

/* A request of any operation, as the consumer's largest. */
union request {
	struct ib_send_wr wr;
	struct ib_rdma_wr rdma;
	struct ib_reg_wr reg;
};

static union request new_request(enum ib_wr_opcode opcode, struct ib_sge *sge, int num_sge)
{
	union request r = { .wr = { .wr_id = 99, .opcode = opcode, .sg_list = sge,
				    .num_sge = num_sge } };

	return r;
}

/* Post @r to a ring of its own and take it again. Return: the error of the post, or 1. */
static int pass(struct kunit *test, const union request *r, struct rnic_wqe *wqe)
{
	struct rnic_sq sq = new_sq(test, 2);
	int ret;

	/* an earlier request left this */
	memset(sq.kern, 0xff, sizeof(*sq.kern));
	ret = rnic_sq_push(&sq, &r->wr);
	/* a refused request leaves nothing */
	KUNIT_EXPECT_EQ(test, rnic_sq_pending(&sq), !ret);
	KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, wqe), !ret);
	KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, wqe), 0);
	rnic_sq_free(&sq);
	return ret ?: 1;
}

static const struct {
	enum ib_wr_opcode opcode;
	enum rnic_op op;
	int max_sge;
	bool inl;
} known[] = {
	{ IB_WR_RDMA_WRITE, RNIC_OP_WRITE, 6, true },
	{ IB_WR_SEND, RNIC_OP_SEND, 6, true },
	{ IB_WR_RDMA_READ, RNIC_OP_READ, 1, false },
	{ IB_WR_SEND_WITH_INV, RNIC_OP_SEND_INV, 6, true },
	{ IB_WR_RDMA_READ_WITH_INV, RNIC_OP_READ_INV, 1, false },
	{ IB_WR_LOCAL_INV, RNIC_OP_LOCAL_INV, 0, false },
	{ IB_WR_REG_MR, RNIC_OP_REG_MR, 0, false },
};

/* Return: its row of known[], or NULL. */
static const typeof(known[0]) *find_known(u32 opcode)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].opcode == opcode)
			return &known[i];
	return NULL;
}

/* Each operation with each number of SGEs, and operations that we do not have. */
static void operations(struct kunit *test)
{
	struct ib_sge sge[7];
	struct rnic_wqe wqe;
	u32 opcode, i;
	int num, ret;

	for (i = 0; i < ARRAY_SIZE(sge); i++)
		sge[i] = (struct ib_sge){ .addr = 64 * i, .length = i + 1, .lkey = 8 + i };
	for (opcode = 0; opcode < 64; opcode++) {
		const typeof(known[0]) *k = find_known(opcode);

		for (num = -1; num <= 7; num++) {
			union request r = new_request(opcode, sge, num);
			bool good = k && num >= 0 && num <= k->max_sge &&
				    !(opcode == IB_WR_RDMA_READ_WITH_INV && !num);

			ret = pass(test, &r, &wqe);
			KUNIT_EXPECT_EQ_MSG(test, ret, good ? 1 : -EINVAL, "%u, %d", opcode, num);
			if (ret != 1)
				continue;
			KUNIT_EXPECT_EQ(test, wqe.op, k->op);
			KUNIT_EXPECT_EQ(test, wqe.id, 99ULL);
			KUNIT_EXPECT_EQ(test, wqe.num_sge, num);
			KUNIT_EXPECT_EQ(test, wqe.len, (u32)(num * (num + 1) / 2));
			for (i = 0; i < num; i++) {
				KUNIT_EXPECT_EQ(test, wqe.sge[i].addr, 64ULL * i);
				KUNIT_EXPECT_EQ(test, wqe.sge[i].len, i + 1);
				KUNIT_EXPECT_EQ(test, wqe.sge[i].lkey, 8 + i);
			}
		}
	}
}

/* The keys that each operation names besides its memory. */
static void keys(struct kunit *test)
{
	struct ib_sge sge = { .length = 4, .lkey = 5 };
	struct ib_mr mr = {};
	struct rnic_wqe wqe;
	union request r;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		enum ib_wr_opcode opcode = known[i].opcode;

		r = new_request(opcode, &sge, known[i].max_sge != 0);
		switch (opcode) {
		case IB_WR_REG_MR:
			r.reg.mr = &mr;
			r.reg.key = 0x1234;
			r.reg.access = IB_ACCESS_REMOTE_READ;
			break;
		case IB_WR_SEND_WITH_INV:
		case IB_WR_LOCAL_INV:
			r.wr.ex.invalidate_rkey = 0x1234;
			break;
		default:
			r.rdma.rkey = 0x1234;
			r.rdma.remote_addr = 1ULL << 60;
		}
		KUNIT_EXPECT_EQ(test, pass(test, &r, &wqe), 1);
		KUNIT_EXPECT_EQ_MSG(test, wqe.rkey, opcode == IB_WR_SEND ? 0u : 0x1234u, "%u",
				    opcode);
		KUNIT_EXPECT_EQ_MSG(test, wqe.raddr, opcode == IB_WR_RDMA_WRITE ||
				    opcode == IB_WR_RDMA_READ ||
				    opcode == IB_WR_RDMA_READ_WITH_INV ? 1ULL << 60 : 0ULL, "%u",
				    opcode);
		if (opcode != IB_WR_REG_MR)
			continue;
		KUNIT_EXPECT_PTR_EQ(test, wqe.reg_mr, &mr);
		KUNIT_EXPECT_EQ(test, wqe.access, (int)IB_ACCESS_REMOTE_READ);
	}
	/* the sink of a Read with Invalidate is a region that can be invalidated */
	sge.lkey = 0;
	r = new_request(IB_WR_RDMA_READ_WITH_INV, &sge, 1);
	KUNIT_EXPECT_EQ(test, pass(test, &r, &wqe), -EINVAL);
}

static void flags(struct kunit *test)
{
	struct rnic_wqe wqe;
	u32 ib, all;

	for (ib = 0; ib < 16; ib++) {
		for (all = 0; all < 2; all++) {
			union request r = new_request(IB_WR_SEND, NULL, 0);
			struct rnic_sq sq = new_sq(test, 2);
			u32 expected = all ? RNIC_WQE_SIGNALED : 0;

			sq.sig_all = all;
			r.wr.send_flags = ib;
			if (ib & IB_SEND_SIGNALED)
				expected |= RNIC_WQE_SIGNALED;
			if (ib & IB_SEND_SOLICITED)
				expected |= RNIC_WQE_SOLICITED;
			if (ib & IB_SEND_FENCE)
				expected |= RNIC_WQE_FENCE;
			if (ib & IB_SEND_INLINE)
				expected |= RNIC_WQE_INLINE;
			KUNIT_EXPECT_EQ(test, rnic_sq_push(&sq, &r.wr), 0);
			KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
			KUNIT_EXPECT_EQ(test, wqe.flags, expected);
			rnic_sq_free(&sq);
		}
	}
}

/* Inline data is gathered when posted, up to the limit in all SGEs together. */
static void inline_data(struct kunit *test)
{
	struct ib_sge sge[3];
	struct rnic_wqe wqe;
	u8 data[3][96];
	u32 a, b, i;

	for (i = 0; i < 3; i++) {
		memset(data[i], 'a' + i, sizeof(data[i]));
		sge[i] = (struct ib_sge){ .addr = (uintptr_t)data[i] };
	}
	for (a = 0; a <= RNIC_MAX_INLINE + 1; a++) {
		for (b = 0; a + b <= RNIC_MAX_INLINE + 1; b++) {
			union request r = new_request(IB_WR_RDMA_WRITE, sge, 3);
			bool good = a + b <= RNIC_MAX_INLINE;

			r.wr.send_flags = IB_SEND_INLINE;
			sge[0].length = a;
			sge[2].length = b;
			KUNIT_EXPECT_EQ(test, pass(test, &r, &wqe), good ? 1 : -EINVAL);
			if (!good)
				continue;
			KUNIT_EXPECT_EQ(test, wqe.len, a + b);
			KUNIT_EXPECT_EQ(test, wqe.num_sge, 0);
			KUNIT_EXPECT_TRUE(test, !memcmp(wqe.inline_data, data[0], a));
			KUNIT_EXPECT_TRUE(test, !memcmp(wqe.inline_data + a, data[2], b));
		}
	}
	/* a sum that is small modulo 2^32 */
	sge[0].length = 1;
	sge[1].length = U32_MAX;
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		union request r = new_request(known[i].opcode, sge, known[i].inl ? 2 : 1);

		r.wr.send_flags = IB_SEND_INLINE;
		KUNIT_EXPECT_EQ(test, pass(test, &r, &wqe), -EINVAL);
		r.wr.num_sge = !!known[i].max_sge;
		KUNIT_EXPECT_EQ(test, pass(test, &r, &wqe), known[i].inl ? 1 : -EINVAL);
	}
}

static void lengths(struct kunit *test)
{
	struct ib_sge sge[2] = { { .length = U32_MAX }, { .length = 1 } };
	union request r = new_request(IB_WR_SEND, sge, 2);
	struct ib_recv_wr recv = { .sg_list = sge, .num_sge = 2 };
	struct rnic_rwqe rwqe;
	struct rnic_wqe wqe;
	struct rnic_rq rq;

	KUNIT_ASSERT_EQ(test, rnic_rq_init(&rq, 4, NULL), 0);
	KUNIT_EXPECT_EQ(test, pass(test, &r, &wqe), -EINVAL);
	KUNIT_EXPECT_EQ(test, rnic_rq_push(&rq, &recv), -EINVAL);
	sge[1].length = 0;
	KUNIT_EXPECT_EQ(test, pass(test, &r, &wqe), 1);
	KUNIT_EXPECT_EQ(test, wqe.len, U32_MAX);
	KUNIT_EXPECT_EQ(test, rnic_rq_push(&rq, &recv), 0);
	recv.num_sge = 7;
	KUNIT_EXPECT_EQ(test, rnic_rq_push(&rq, &recv), -EINVAL);
	recv.num_sge = -1;
	KUNIT_EXPECT_EQ(test, rnic_rq_push(&rq, &recv), -EINVAL);
	/* of all these one was posted */
	KUNIT_EXPECT_EQ(test, rnic_rq_pop(&rq, &rwqe), 1);
	KUNIT_EXPECT_EQ(test, rwqe.len, U32_MAX);
	KUNIT_EXPECT_EQ(test, rwqe.num_sge, 2);
	KUNIT_EXPECT_EQ(test, rnic_rq_pop(&rq, &rwqe), 0);
	rnic_rq_free(&rq);
}

/* Rings of each size, full and empty in turn, while the indexes wrap. */
static void order_and_wrap(struct kunit *test)
{
	static const u32 sizes[][2] = { { 1, 2 }, { 2, 2 }, { 3, 4 }, { 8, 8 } };
	u32 i, n, round, put, next;
	struct rnic_wqe wqe;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct rnic_sq sq = new_sq(test, sizes[i][0]);

		KUNIT_EXPECT_EQ(test, sq.size, sizes[i][1]);
		put = -9U;
		next = -9U;
		sq.put = put;
		sq.get = put;
		for (round = 0; round < 40; round++) {
			union request r = new_request(IB_WR_SEND, NULL, 0);

			for (r.wr.wr_id = put; put - next <= sq.size &&
			     !rnic_sq_push(&sq, &r.wr); r.wr.wr_id = ++put)
				;
			KUNIT_EXPECT_EQ(test, put - next, sizes[i][1]);
			KUNIT_EXPECT_EQ(test, rnic_sq_push(&sq, &r.wr), -ENOMEM);
			for (n = round % sizes[i][1]; n < sizes[i][1]; n++) {
				KUNIT_EXPECT_TRUE(test, rnic_sq_pending(&sq));
				KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
				KUNIT_EXPECT_EQ(test, wqe.id, (u64)next++);
			}
			if (next == put)
				KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 0);
		}
		rnic_sq_free(&sq);
	}
}

/* A ring that is closed has what was posted before. */
static void closed(struct kunit *test)
{
	union request r = new_request(IB_WR_SEND, NULL, 0);
	struct rnic_sq sq = new_sq(test, 4);
	struct rnic_wqe wqe;
	u32 before, n;

	for (before = 0; before <= 4; before++) {
		for (n = 0; n < before; n++)
			KUNIT_EXPECT_EQ(test, rnic_sq_push(&sq, &r.wr), 0);
		rnic_sq_close(&sq);
		KUNIT_EXPECT_EQ(test, rnic_sq_pending(&sq), before > 0);
		for (; n < 4; n++)
			KUNIT_EXPECT_EQ(test, rnic_sq_push(&sq, &r.wr), 0);
		rnic_sq_close(&sq);
		for (n = 0; n < before; n++) {
			KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
			KUNIT_EXPECT_EQ(test, rnic_sq_push(&sq, &r.wr), 0);
		}
		KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 0);
		KUNIT_EXPECT_FALSE(test, rnic_sq_pending(&sq));
		rnic_sq_reopen(&sq);
		for (n = 0; n < 4; n++)
			KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 1);
		KUNIT_EXPECT_EQ(test, rnic_sq_pop(&sq, &wqe), 0);
	}
	rnic_sq_free(&sq);
}

static void receive_order_and_wrap(struct kunit *test)
{
	static const u32 sizes[][2] = { { 0, 1 }, { 1, 1 }, { 2, 2 }, { 3, 4 }, { 8, 8 } };
	struct ib_sge sge = { .length = 3 };
	u32 i, n, round, put, next;
	struct rnic_rwqe rwqe;
	struct rnic_rq rq;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		KUNIT_ASSERT_EQ(test, rnic_rq_init(&rq, sizes[i][0], NULL), 0);
		KUNIT_EXPECT_EQ(test, rq.size, sizes[i][1]);
		put = -9U;
		next = -9U;
		rq.put = put;
		rq.get = put;
		for (round = 0; round < 40; round++) {
			struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

			for (wr.wr_id = put; put - next <= rq.size &&
			     !rnic_rq_push(&rq, &wr); wr.wr_id = ++put)
				;
			KUNIT_EXPECT_EQ(test, put - next, rq.size);
			KUNIT_EXPECT_EQ(test, rnic_rq_push(&rq, &wr), -ENOMEM);
			for (n = round % rq.size; n < rq.size; n++) {
				KUNIT_EXPECT_TRUE(test, rnic_rq_has(&rq, put - next));
				KUNIT_EXPECT_FALSE(test, rnic_rq_has(&rq, put - next + 1));
				KUNIT_EXPECT_EQ(test, rnic_rq_pop(&rq, &rwqe), 1);
				KUNIT_EXPECT_EQ(test, rwqe.id, (u64)next++);
				KUNIT_EXPECT_EQ(test, rwqe.sge[0].len, 3u);
			}
			if (next == put)
				KUNIT_EXPECT_EQ(test, rnic_rq_pop(&rq, &rwqe), 0);
		}
		rnic_rq_free(&rq);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(operations),
	KUNIT_CASE(keys),
	KUNIT_CASE(flags),
	KUNIT_CASE(inline_data),
	KUNIT_CASE(lengths),
	KUNIT_CASE(order_and_wrap),
	KUNIT_CASE(closed),
	KUNIT_CASE(receive_order_and_wrap),
	{}
};

struct kunit_suite ring_kernel_suite = { .name = "ring_kernel", .test_cases = cases };
