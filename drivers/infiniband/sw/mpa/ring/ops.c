// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The table of operations: the producers that may post each, its limits, and its numbers in the
 * user ABI, in kernel consumers' work requests and in completions.
 */
#include "ring/priv.h"

const struct rnic_op_row rnic_op_table[RNIC_OP_N] = {
	[RNIC_OP_WRITE]	    = { RNIC_BY_ALL, RNIC_MAX_SGE, true,
				SIW_OP_WRITE, IB_WR_RDMA_WRITE, IB_WC_RDMA_WRITE },
	[RNIC_OP_READ]	    = { RNIC_BY_ALL, 1, false,
				SIW_OP_READ, IB_WR_RDMA_READ, IB_WC_RDMA_READ },
	[RNIC_OP_READ_INV]  = { RNIC_BY_KERNEL, 1, false,
				SIW_OP_READ_LOCAL_INV, IB_WR_RDMA_READ_WITH_INV, IB_WC_RDMA_READ },
	[RNIC_OP_SEND]	    = { RNIC_BY_ALL, RNIC_MAX_SGE, true,
				SIW_OP_SEND, IB_WR_SEND, IB_WC_SEND },
	[RNIC_OP_SEND_INV]  = { RNIC_BY_ALL, RNIC_MAX_SGE, true,
				SIW_OP_SEND_REMOTE_INV, IB_WR_SEND_WITH_INV, IB_WC_SEND },
	[RNIC_OP_RECV]	    = { 0, RNIC_MAX_SGE, false,
				SIW_OP_RECEIVE, 0, IB_WC_RECV },
	[RNIC_OP_LOCAL_INV] = { RNIC_BY_KERNEL, 0, false,
				SIW_OP_INVAL_STAG, IB_WR_LOCAL_INV, IB_WC_LOCAL_INV },
	[RNIC_OP_REG_MR]    = { RNIC_BY_KERNEL, 0, false,
				SIW_OP_REG_MR, IB_WR_REG_MR, IB_WC_REG_MR },
};
