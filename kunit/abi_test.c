// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * <rdma/siw-abi.h>: the sizes and places that rdma-core's stock provider was
 * compiled with. If one moves, no existing user space works with us.
 */
#include <kunit/test.h>
#include <linux/stddef.h>
#include <rdma/siw-abi.h>
#include "suites.h"

#define EXPECT_AT(test, type, member, at) \
	KUNIT_EXPECT_EQ(test, (int)offsetof(type, member), at)
#define EXPECT_SIZE(test, what, size) \
	KUNIT_EXPECT_EQ(test, (int)sizeof(what), size)

static void send_queue_entry(struct kunit *test)
{
	EXPECT_SIZE(test, struct siw_sqe, 120);
	EXPECT_AT(test, struct siw_sqe, id, 0);
	EXPECT_AT(test, struct siw_sqe, flags, 8);
	EXPECT_AT(test, struct siw_sqe, num_sge, 10);
	EXPECT_AT(test, struct siw_sqe, opcode, 11);
	EXPECT_AT(test, struct siw_sqe, rkey, 12);
	EXPECT_AT(test, struct siw_sqe, raddr, 16);
	EXPECT_AT(test, struct siw_sqe, base_mr, 16);
	EXPECT_AT(test, struct siw_sqe, sge, 24);
	EXPECT_AT(test, struct siw_sqe, access, 24);
	KUNIT_EXPECT_EQ(test, (int)SIW_MAX_INLINE, 80);
}

static void receive_queue_entry(struct kunit *test)
{
	EXPECT_SIZE(test, struct siw_rqe, 112);
	EXPECT_AT(test, struct siw_rqe, flags, 8);
	EXPECT_AT(test, struct siw_rqe, num_sge, 10);
	EXPECT_AT(test, struct siw_rqe, opcode, 11);
	EXPECT_AT(test, struct siw_rqe, sge, 16);
	EXPECT_SIZE(test, struct siw_sge, 16);
	EXPECT_AT(test, struct siw_sge, laddr, 0);
	EXPECT_AT(test, struct siw_sge, length, 8);
	EXPECT_AT(test, struct siw_sge, lkey, 12);
}

static void completion_entry(struct kunit *test)
{
	EXPECT_SIZE(test, struct siw_cqe, 32);
	EXPECT_AT(test, struct siw_cqe, id, 0);
	EXPECT_AT(test, struct siw_cqe, flags, 8);
	EXPECT_AT(test, struct siw_cqe, opcode, 9);
	EXPECT_AT(test, struct siw_cqe, status, 10);
	EXPECT_AT(test, struct siw_cqe, bytes, 12);
	EXPECT_AT(test, struct siw_cqe, imm_data, 16);
	EXPECT_AT(test, struct siw_cqe, inval_stag, 16);
	EXPECT_AT(test, struct siw_cqe, qp_id, 24);
	EXPECT_SIZE(test, struct siw_cq_ctrl, 8);
}

static void command_answers(struct kunit *test)
{
	EXPECT_SIZE(test, struct siw_uresp_create_cq, 16);
	EXPECT_AT(test, struct siw_uresp_create_cq, cq_key, 8);
	EXPECT_SIZE(test, struct siw_uresp_create_qp, 32);
	EXPECT_AT(test, struct siw_uresp_create_qp, sq_key, 16);
	EXPECT_AT(test, struct siw_uresp_create_qp, rq_key, 24);
	EXPECT_SIZE(test, struct siw_ureq_reg_mr, 8);
	EXPECT_SIZE(test, struct siw_uresp_reg_mr, 8);
	EXPECT_SIZE(test, struct siw_uresp_create_srq, 16);
	EXPECT_AT(test, struct siw_uresp_create_srq, srq_key, 8);
	EXPECT_SIZE(test, struct siw_uresp_alloc_ctx, 8);
}

static void numbers(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, SIW_ABI_VERSION, 1);
	KUNIT_EXPECT_EQ(test, SIW_MAX_SGE, 6);
	KUNIT_EXPECT_EQ(test, SIW_INVAL_UOBJ_KEY, 0x90000);
	KUNIT_EXPECT_EQ(test, (int)SIW_OP_WRITE, 0);
	KUNIT_EXPECT_EQ(test, (int)SIW_OP_READ, 1);
	KUNIT_EXPECT_EQ(test, (int)SIW_OP_SEND, 3);
	KUNIT_EXPECT_EQ(test, (int)SIW_OP_SEND_REMOTE_INV, 5);
	KUNIT_EXPECT_EQ(test, (int)SIW_OP_RECEIVE, 8);
	KUNIT_EXPECT_EQ(test, (int)SIW_OP_REG_MR, 11);
	KUNIT_EXPECT_EQ(test, (int)SIW_WQE_VALID, 1);
	KUNIT_EXPECT_EQ(test, (int)SIW_WQE_INLINE, 2);
	KUNIT_EXPECT_EQ(test, (int)SIW_WQE_SIGNALLED, 4);
	KUNIT_EXPECT_EQ(test, (int)SIW_WQE_SOLICITED, 8);
	KUNIT_EXPECT_EQ(test, (int)SIW_WC_WR_FLUSH_ERR, 4);
	KUNIT_EXPECT_EQ(test, (int)SIW_WC_GENERAL_ERR, 9);
	KUNIT_EXPECT_EQ(test, (int)SIW_NOTIFY_ALL, 7);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(send_queue_entry),
	KUNIT_CASE(receive_queue_entry),
	KUNIT_CASE(completion_entry),
	KUNIT_CASE(command_answers),
	KUNIT_CASE(numbers),
	{}
};

struct kunit_suite abi_suite = { .name = "abi", .test_cases = cases };
