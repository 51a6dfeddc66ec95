// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ring/cq_ring.c: completions for user space, which frees entries and arms the ring without a
 * call, and completions for kernel consumers.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <rdma/siw-abi.h>
#include <ring/priv.h>
#include "ring_watched.h"
#include "suites.h"

static struct rnic_cq_ring new_ring(struct kunit *test, u32 num_cqe, struct ib_ucontext *uctx)
{
	struct rnic_cq_ring ring;

	KUNIT_ASSERT_EQ(test, rnic_cq_ring_init(&ring, num_cqe, uctx), 0);
	return ring;
}

static struct ib_qp *new_qp(struct kunit *test, u32 qp_num)
{
	struct ib_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->qp_num = qp_num;
	return qp;
}

static int push(struct rnic_cq_ring *ring, struct ib_qp *qp, u64 id)
{
	struct rnic_cqe cqe = { .id = id, .qp = qp, .op = RNIC_OP_SEND };

	return rnic_cq_ring_push(ring, &cqe);
}

static const struct {
	enum rnic_op op;
	u8 siw;
	enum ib_wc_opcode wc;
} ops[] = {
	{ RNIC_OP_WRITE, SIW_OP_WRITE, IB_WC_RDMA_WRITE },
	{ RNIC_OP_READ, SIW_OP_READ, IB_WC_RDMA_READ },
	{ RNIC_OP_READ_INV, SIW_OP_READ_LOCAL_INV, IB_WC_RDMA_READ },
	{ RNIC_OP_SEND, SIW_OP_SEND, IB_WC_SEND },
	{ RNIC_OP_SEND_INV, SIW_OP_SEND_REMOTE_INV, IB_WC_SEND },
	{ RNIC_OP_RECV, SIW_OP_RECEIVE, IB_WC_RECV },
	{ RNIC_OP_LOCAL_INV, SIW_OP_INVAL_STAG, IB_WC_LOCAL_INV },
	{ RNIC_OP_REG_MR, SIW_OP_REG_MR, IB_WC_REG_MR },
};

static const struct {
	enum ib_wc_status ib;
	u16 siw;
} statuses[] = {
	{ IB_WC_SUCCESS, SIW_WC_SUCCESS },
	{ IB_WC_LOC_LEN_ERR, SIW_WC_LOC_LEN_ERR },
	{ IB_WC_LOC_PROT_ERR, SIW_WC_LOC_PROT_ERR },
	{ IB_WC_LOC_QP_OP_ERR, SIW_WC_LOC_QP_OP_ERR },
	{ IB_WC_WR_FLUSH_ERR, SIW_WC_WR_FLUSH_ERR },
	{ IB_WC_BAD_RESP_ERR, SIW_WC_BAD_RESP_ERR },
	{ IB_WC_LOC_ACCESS_ERR, SIW_WC_LOC_ACCESS_ERR },
	{ IB_WC_REM_ACCESS_ERR, SIW_WC_REM_ACCESS_ERR },
	{ IB_WC_REM_INV_REQ_ERR, SIW_WC_REM_INV_REQ_ERR },
	{ IB_WC_GENERAL_ERR, SIW_WC_GENERAL_ERR },
	{ IB_WC_FATAL_ERR, SIW_WC_GENERAL_ERR },
};

/* Every field is written, over anything that user space left in the entry. */
static void user_fields(struct kunit *test)
{
	struct rnic_cq_ring ring = new_ring(test, 1, ring_user);
	struct siw_cqe *seen = ring.user;
	u32 i, s;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		for (s = 0; s < ARRAY_SIZE(statuses); s++) {
			struct rnic_cqe cqe = {
				.id = U64_MAX - i, .qp = new_qp(test, 0xabcdef), .op = ops[i].op,
				.status = statuses[s].ib, .len = 77 + s, .inval_stag = 0x5a5a5a5a,
				.invalidated = s & 1,
			};

			memset(seen, 0xff, sizeof(*seen));
			seen->flags = 0;
			KUNIT_EXPECT_EQ(test, rnic_cq_ring_push(&ring, &cqe), 0);
			KUNIT_EXPECT_EQ(test, seen->flags, SIW_WQE_VALID);
			KUNIT_EXPECT_EQ(test, seen->id, U64_MAX - i);
			KUNIT_EXPECT_EQ(test, seen->opcode, ops[i].siw);
			KUNIT_EXPECT_EQ(test, seen->status, statuses[s].siw);
			KUNIT_EXPECT_EQ(test, seen->bytes, 77 + s);
			KUNIT_EXPECT_EQ(test, seen->inval_stag, s & 1 ? 0x5a5a5a5a : 0);
			KUNIT_EXPECT_EQ(test, seen->imm_data == 0, !(s & 1));
			KUNIT_EXPECT_EQ(test, seen->qp_id, 0xabcdefULL);
		}
	}
	rnic_cq_ring_free(&ring);
}

/*
 * A ring that user space does not read is full after its size, and nothing in it changes. Any
 * flag keeps an entry. Entries that user space frees are filled in order.
 */
static void user_full_and_wrap(struct kunit *test)
{
	struct ib_qp *qp = new_qp(test, 1);
	u32 asked, size, i, n, put, flag;

	for (asked = 1; asked <= 9; asked++) {
		struct rnic_cq_ring ring = new_ring(test, asked, ring_user);

		size = ring.size;
		KUNIT_EXPECT_GE(test, size, asked);
		KUNIT_EXPECT_EQ(test, size & (size - 1), 0u);
		put = -7U;
		ring.put = put;
		for (n = 0; n <= size && !push(&ring, qp, put); n++)
			put++;
		KUNIT_EXPECT_EQ(test, n, size);
		for (i = 0; i < 5 * size; i++) {
			struct siw_cqe *oldest = &ring.user[put & (size - 1)];

			KUNIT_EXPECT_EQ(test, oldest->id, (u64)(put - size));
			for (flag = 1; flag < 256; flag <<= 1) {
				oldest->flags = flag;
				KUNIT_EXPECT_EQ(test, push(&ring, qp, 0), -ENOSPC);
			}
			KUNIT_EXPECT_EQ(test, oldest->id, (u64)(put - size));
			KUNIT_EXPECT_EQ(test, ring.put, put);
			oldest->flags = 0;
			KUNIT_EXPECT_EQ(test, push(&ring, qp, put++), 0);
			KUNIT_EXPECT_EQ(test, push(&ring, qp, 0), -ENOSPC);
		}
		/* the arming word is behind the last entry */
		KUNIT_EXPECT_PTR_EQ(test, (void *)ring.ctrl, (void *)(ring.user + size));
		KUNIT_EXPECT_EQ(test, ring.ctrl->flags, 0u);
		rnic_cq_ring_free(&ring);
	}
}

/* User space's arming word makes one event, for completions of the kinds that it asks for. */
static void user_arming(struct kunit *test)
{
	static const struct {
		u32 flags;
		bool any;
		bool solicited;
	} words[] = {
		{ SIW_NOTIFY_NOT, false, false },
		{ SIW_NOTIFY_SOLICITED, false, true },
		{ SIW_NOTIFY_NEXT_COMPLETION, true, true },
		{ SIW_NOTIFY_SOLICITED | SIW_NOTIFY_NEXT_COMPLETION, true, true },
		{ SIW_NOTIFY_ALL, true, true },
		{ SIW_NOTIFY_MISSED_EVENTS, false, false },
		{ ~(u32)(SIW_NOTIFY_SOLICITED | SIW_NOTIFY_NEXT_COMPLETION), false, false },
		{ U32_MAX, true, true },
	};
	struct rnic_cq_ring ring = new_ring(test, 2, ring_user);
	u32 i, solicited;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		for (solicited = 0; solicited < 2; solicited++) {
			bool due = solicited ? words[i].solicited : words[i].any;

			ring.ctrl->flags = words[i].flags;
			KUNIT_EXPECT_EQ_MSG(test, rnic_cq_ring_disarm(&ring, solicited), due,
					    "%x", words[i].flags);
			KUNIT_EXPECT_EQ(test, ring.ctrl->flags, due ? 0 : words[i].flags);
			if (due)
				KUNIT_EXPECT_FALSE(test, rnic_cq_ring_disarm(&ring, solicited));
		}
	}
	rnic_cq_ring_free(&ring);
}

/* Is a completion unread after @age others have come? Only user space reads them. */
static void user_unread(struct kunit *test)
{
	struct rnic_cq_ring ring = new_ring(test, 4, ring_user);
	struct ib_qp *qp = new_qp(test, 1);
	u32 age;

	/* across the wrap of the index */
	ring.put = -2U;
	for (age = 0; age < 6; age++)
		KUNIT_EXPECT_FALSE(test, rnic_cq_ring_unread(&ring, age));
	for (age = 0; age < 4; age++)
		KUNIT_EXPECT_EQ(test, push(&ring, qp, age), 0);
	for (age = 0; age < 4; age++) {
		KUNIT_EXPECT_TRUE(test, rnic_cq_ring_unread(&ring, age));
		ring.user[(ring.put - 1 - age) & 3].flags = 0;
		KUNIT_EXPECT_FALSE(test, rnic_cq_ring_unread(&ring, age));
		ring.user[(ring.put - 1 - age) & 3].flags = SIW_WQE_VALID;
	}
	/* a completion that is no longer in the ring was read */
	KUNIT_EXPECT_FALSE(test, rnic_cq_ring_unread(&ring, 4));
	KUNIT_EXPECT_FALSE(test, rnic_cq_ring_unread(&ring, U32_MAX));
	/* kernel functions leave a user's ring alone */
	KUNIT_EXPECT_TRUE(test, rnic_cq_ring_empty(&ring));
	rnic_cq_ring_forget(&ring, qp);
	KUNIT_EXPECT_TRUE(test, rnic_cq_ring_unread(&ring, 3));
	rnic_cq_ring_free(&ring);
}

static void kernel_fields(struct kunit *test)
{
	struct rnic_cq_ring ring = new_ring(test, 1, NULL);
	struct ib_qp *qp = new_qp(test, 1);
	struct ib_wc wc;
	u32 i, s;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		for (s = 0; s < ARRAY_SIZE(statuses); s++) {
			struct rnic_cqe cqe = {
				.id = U64_MAX - i, .qp = qp, .op = ops[i].op,
				.status = statuses[s].ib, .len = 77 + s, .inval_stag = 0x5a5a5a5a,
				.invalidated = s & 1,
			};

			memset(ring.kern, 0xff, sizeof(*ring.kern));
			KUNIT_EXPECT_EQ(test, rnic_cq_ring_push(&ring, &cqe), 0);
			KUNIT_ASSERT_TRUE(test, rnic_cq_ring_poll(&ring, &wc));
			KUNIT_EXPECT_EQ(test, wc.wr_id, U64_MAX - i);
			KUNIT_EXPECT_EQ(test, wc.opcode, ops[i].wc);
			KUNIT_EXPECT_EQ(test, wc.status, statuses[s].ib);
			KUNIT_EXPECT_EQ(test, wc.byte_len, 77 + s);
			KUNIT_EXPECT_PTR_EQ(test, wc.qp, qp);
			KUNIT_EXPECT_EQ(test, wc.wc_flags, s & 1 ? (int)IB_WC_WITH_INVALIDATE : 0);
			KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, s & 1 ? 0x5a5a5a5a : 0);
		}
	}
	rnic_cq_ring_free(&ring);
}

static void kernel_full_and_wrap(struct kunit *test)
{
	struct ib_qp *qp = new_qp(test, 1);
	u32 asked, i, n, put, next;
	struct ib_wc wc;

	for (asked = 1; asked <= 9; asked++) {
		struct rnic_cq_ring ring = new_ring(test, asked, NULL);

		put = -7U;
		next = -7U;
		ring.put = put;
		ring.get = put;
		for (i = 0; i < 20; i++) {
			KUNIT_EXPECT_EQ(test, rnic_cq_ring_empty(&ring), next == put);
			for (; put - next <= ring.size && !push(&ring, qp, put); put++)
				;
			KUNIT_EXPECT_EQ(test, put - next, ring.size);
			KUNIT_EXPECT_EQ(test, push(&ring, qp, 0), -ENOSPC);
			for (n = i % ring.size; n < ring.size; n++) {
				KUNIT_EXPECT_FALSE(test, rnic_cq_ring_empty(&ring));
				KUNIT_ASSERT_TRUE(test, rnic_cq_ring_poll(&ring, &wc));
				KUNIT_EXPECT_EQ(test, wc.wr_id, (u64)next++);
				KUNIT_EXPECT_EQ(test, rnic_cq_ring_is_half_full(&ring),
						2 * (put - next) >= ring.size);
			}
			if (next == put)
				KUNIT_EXPECT_FALSE(test, rnic_cq_ring_poll(&ring, &wc));
		}
		rnic_cq_ring_free(&ring);
	}
}

/* Every set of four completions of two queue pairs: one is forgotten, the other's keep order. */
static void kernel_forget(struct kunit *test)
{
	struct ib_qp *gone = new_qp(test, 1), *stays = new_qp(test, 2);
	u32 set, first, i;
	struct ib_wc wc;

	for (set = 0; set < 16; set++) {
		for (first = 0; first < 4; first++) {
			struct rnic_cq_ring ring = new_ring(test, 4, NULL);

			ring.put = first - 2;
			ring.get = first - 2;
			for (i = 0; i < 4; i++)
				push(&ring, set >> i & 1 ? gone : stays, i);
			rnic_cq_ring_forget(&ring, gone);
			for (i = 0; i < 4; i++) {
				if (set >> i & 1)
					continue;
				KUNIT_ASSERT_TRUE(test, rnic_cq_ring_poll(&ring, &wc));
				KUNIT_EXPECT_EQ(test, wc.wr_id, (u64)i);
				KUNIT_EXPECT_PTR_EQ(test, wc.qp, stays);
			}
			KUNIT_EXPECT_FALSE(test, rnic_cq_ring_poll(&ring, &wc));
			rnic_cq_ring_free(&ring);
		}
	}
}

static void kernel_arming(struct kunit *test)
{
	struct rnic_cq_ring ring = new_ring(test, 2, NULL);

	KUNIT_EXPECT_FALSE(test, rnic_cq_ring_disarm(&ring, true));
	rnic_cq_ring_arm(&ring, IB_CQ_SOLICITED | IB_CQ_REPORT_MISSED_EVENTS);
	KUNIT_EXPECT_FALSE(test, rnic_cq_ring_disarm(&ring, false));
	KUNIT_EXPECT_TRUE(test, rnic_cq_ring_disarm(&ring, true));
	KUNIT_EXPECT_FALSE(test, rnic_cq_ring_disarm(&ring, true));
	/* of two armings the wider one wins, in either order */
	rnic_cq_ring_arm(&ring, IB_CQ_NEXT_COMP);
	rnic_cq_ring_arm(&ring, IB_CQ_SOLICITED);
	KUNIT_EXPECT_TRUE(test, rnic_cq_ring_disarm(&ring, false));
	KUNIT_EXPECT_FALSE(test, rnic_cq_ring_disarm(&ring, true));
	rnic_cq_ring_arm(&ring, IB_CQ_SOLICITED);
	rnic_cq_ring_arm(&ring, IB_CQ_NEXT_COMP);
	KUNIT_EXPECT_TRUE(test, rnic_cq_ring_disarm(&ring, false));
	rnic_cq_ring_arm(&ring, IB_CQ_REPORT_MISSED_EVENTS);
	KUNIT_EXPECT_FALSE(test, rnic_cq_ring_disarm(&ring, true));
	rnic_cq_ring_free(&ring);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(user_fields),
	KUNIT_CASE(user_full_and_wrap),
	KUNIT_CASE(user_arming),
	KUNIT_CASE(user_unread),
	KUNIT_CASE(kernel_fields),
	KUNIT_CASE(kernel_full_and_wrap),
	KUNIT_CASE(kernel_forget),
	KUNIT_CASE(kernel_arming),
	{}
};

struct kunit_suite ring_cq_suite = { .name = "ring_cq", .test_cases = cases };
