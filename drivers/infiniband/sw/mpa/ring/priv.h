/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Declarations for the files of this folder.
 */
#ifndef _RNIC_RING_PRIV_H
#define _RNIC_RING_PRIV_H

#include <rdma/siw-abi.h>

#include "ring/ring.h"

/* Producers that may post an operation */
#define RNIC_BY_USER		0x1
#define RNIC_BY_KERNEL	0x2
#define RNIC_BY_ALL		(RNIC_BY_USER | RNIC_BY_KERNEL)

/**
 * struct rnic_op_row - properties of an operation
 * @by:		producers that may post it to a send queue, RNIC_BY_*
 * @max_sge:	maximum number of SGEs
 * @inl:	inline data is allowed
 * @siw:	its number in the user ABI
 * @wr:		its number in the work requests of kernel consumers
 * @wc:		opcode of its completion for kernel consumers
 */
struct rnic_op_row {
	u8 by;
	u8 max_sge;
	bool inl;
	enum siw_opcode siw;
	enum ib_wr_opcode wr;
	enum ib_wc_opcode wc;
};

extern const struct rnic_op_row rnic_op_table[RNIC_OP_N];

/* memory.c */
int rnic_rmem_alloc(struct rnic_rmem *mem, size_t size,
		    struct ib_ucontext *uctx);
void rnic_rmem_free(struct rnic_rmem *mem);

/* kernel.c */
int rnic_sq_pop_kernel(struct rnic_sq *sq, struct rnic_wqe *wqe);
int rnic_rq_pop_kernel(struct rnic_rq *rq, struct rnic_rwqe *rwqe);

#endif /* _RNIC_RING_PRIV_H */
