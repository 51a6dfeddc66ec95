// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work request rings of kernel consumers. Their entries are structs of the driver, which are
 * validated when they are posted. A ring has one consumer, and the queue's lock serialises its
 * producers.
 */
#include "ring/priv.h"

static int convert_kernel_op(enum ib_wr_opcode opcode)
{
	enum rnic_op op;

	for (op = 0; op < RNIC_OP_N; op++)
		if (rnic_op_table[op].by & RNIC_BY_KERNEL && rnic_op_table[op].wr == opcode)
			return op;
	return -EINVAL;
}

static u16 convert_kernel_flags(int ib, bool sig_all)
{
	u16 flags = sig_all ? RNIC_WQE_SIGNALED : 0;

	if (ib & IB_SEND_SIGNALED)
		flags |= RNIC_WQE_SIGNALED;
	if (ib & IB_SEND_SOLICITED)
		flags |= RNIC_WQE_SOLICITED;
	if (ib & IB_SEND_FENCE)
		flags |= RNIC_WQE_FENCE;
	if (ib & IB_SEND_INLINE)
		flags |= RNIC_WQE_INLINE;
	return flags;
}

/* Return: false if the sum of the lengths is above 32 bits. */
static bool copy_sges(struct rnic_sge *to, const struct ib_sge *from, int num, u32 *total)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < num; i++) {
		to[i].addr = from[i].addr;
		to[i].len = from[i].length;
		to[i].lkey = from[i].lkey;
		sum += to[i].len;
	}
	*total = sum;
	return sum <= U32_MAX;
}

/* A kernel consumer gives inline data by kernel address, and its lkeys are not valid. */
static int copy_inline(struct rnic_wqe *wqe, const struct ib_send_wr *wr)
{
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > RNIC_MAX_INLINE - len)
			return -EINVAL;
		memcpy(wqe->inline_data + len,
		       (void *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	wqe->len = len;
	return 0;
}

static int copy_data(struct rnic_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct rnic_op_row *row = &rnic_op_table[wqe->op];

	if (wr->num_sge < 0 || wr->num_sge > row->max_sge)
		return -EINVAL;
	if (wqe->flags & RNIC_WQE_INLINE)
		return row->inl ? copy_inline(wqe, wr) : -EINVAL;
	if (!copy_sges(wqe->sge, wr->sg_list, wr->num_sge, &wqe->len))
		return -EINVAL;
	wqe->num_sge = wr->num_sge;
	/* RNIC_OP_READ_INV invalidates the STag of the sink, so there must be one. */
	if (wqe->op == RNIC_OP_READ_INV && (wqe->num_sge != 1 || !wqe->sge[0].lkey))
		return -EINVAL;
	return 0;
}

/* Copy the fields of the operation: keys, addresses, and the region to register. */
static void copy_keys(struct rnic_wqe *wqe, const struct ib_send_wr *wr)
{
	switch (wqe->op) {
	case RNIC_OP_WRITE:
	case RNIC_OP_READ:
	case RNIC_OP_READ_INV:
		wqe->rkey = rdma_wr(wr)->rkey;
		wqe->raddr = rdma_wr(wr)->remote_addr;
		break;
	case RNIC_OP_SEND_INV:
	case RNIC_OP_LOCAL_INV:
		wqe->rkey = wr->ex.invalidate_rkey;
		break;
	case RNIC_OP_REG_MR:
		wqe->rkey = reg_wr(wr)->key;
		wqe->reg_mr = reg_wr(wr)->mr;
		wqe->access = reg_wr(wr)->access;
		break;
	default:
		break;
	}
}

/**
 * rnic_sq_push() - post a kernel consumer's work request
 * @sq:		a kernel ring
 * @wr:		the work request
 *
 * Context: any. The caller holds the lock of the queue's producers.
 * Return: 0; -ENOMEM if the ring is full; -EINVAL if @wr is not valid.
 */
int rnic_sq_push(struct rnic_sq *sq, const struct ib_send_wr *wr)
{
	struct rnic_wqe *wqe = &sq->kern[sq->put & (sq->size - 1)];
	int op = convert_kernel_op(wr->opcode);
	int ret;

	if (op < 0)
		return op;
	/* Pairs with the release in rnic_sq_pop_kernel(). */
	if (sq->put - smp_load_acquire(&sq->get) == sq->size)
		return -ENOMEM;
	wqe->id = wr->wr_id;
	wqe->op = op;
	wqe->flags = convert_kernel_flags(wr->send_flags, sq->sig_all);
	wqe->num_sge = 0;
	wqe->rkey = 0;
	wqe->raddr = 0;
	ret = copy_data(wqe, wr);
	if (ret)
		return ret;
	copy_keys(wqe, wr);
	/* Store the entry before the index. */
	smp_store_release(&sq->put, sq->put + 1);
	return 0;
}

/**
 * rnic_sq_pop_kernel() - rnic_sq_pop() for a kernel ring
 * @sq:		the ring
 * @wqe:	set to a copy of the entry
 *
 * Return: 1, or 0 if the ring is empty.
 */
int rnic_sq_pop_kernel(struct rnic_sq *sq, struct rnic_wqe *wqe)
{
	/* Pairs with the release in rnic_sq_push(). */
	if (sq->get == smp_load_acquire(&sq->put))
		return 0;
	*wqe = sq->kern[sq->get & (sq->size - 1)];
	/* Read the entry before the producer may overwrite it. */
	smp_store_release(&sq->get, sq->get + 1);
	return 1;
}

/**
 * rnic_rq_push() - post a kernel consumer's receive
 * @rq:		a kernel ring
 * @wr:		the work request
 *
 * Context: any. The caller holds the lock of the queue's producers.
 * Return: 0; -ENOMEM if the ring is full; -EINVAL if @wr is not valid.
 */
int rnic_rq_push(struct rnic_rq *rq, const struct ib_recv_wr *wr)
{
	struct rnic_rwqe *rwqe = &rq->kern[rq->put & (rq->size - 1)];

	/* Pairs with the release in rnic_rq_pop_kernel(). */
	if (rq->put - smp_load_acquire(&rq->get) == rq->size)
		return -ENOMEM;
	if (wr->num_sge < 0 || wr->num_sge > RNIC_MAX_SGE)
		return -EINVAL;
	rwqe->id = wr->wr_id;
	rwqe->num_sge = wr->num_sge;
	if (!copy_sges(rwqe->sge, wr->sg_list, wr->num_sge, &rwqe->len))
		return -EINVAL;
	/* Store the entry before the index. */
	smp_store_release(&rq->put, rq->put + 1);
	return 0;
}

/**
 * rnic_rq_pop_kernel() - rnic_rq_pop() for a kernel ring
 * @rq:		the ring
 * @rwqe:	set to a copy of the entry
 *
 * Return: 1, or 0 if the ring is empty.
 */
int rnic_rq_pop_kernel(struct rnic_rq *rq, struct rnic_rwqe *rwqe)
{
	/* Pairs with the release in rnic_rq_push(). */
	if (rq->get == smp_load_acquire(&rq->put))
		return 0;
	*rwqe = rq->kern[rq->get & (rq->size - 1)];
	/* Read the entry before the producer may overwrite it. */
	smp_store_release(&rq->get, rq->get + 1);
	return 1;
}
