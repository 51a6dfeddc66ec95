// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rings of work requests. The ring files and verbs.c are all that knows the user
 * ABI <rdma/siw-abi.h>.
 *
 * A user ring has no producer or consumer index in shared memory. Each entry
 * carries a VALID flag: user space sets it last, we clear it when the entry is
 * taken (send and receive rings), and the other way round in a completion ring.
 * Everything in such a ring is hostile: each field is read once, the flag that
 * made us look is not believed again, and only what was read is validated.
 *
 * Doorbells. The provider makes a system call for a send only when it finds the
 * entry before the new one not VALID. So we keep the entry last taken VALID
 * while the consumer is at work ("held"), and give it back when the next one is
 * taken, or when there is no next one: give back, full barrier, look again, and
 * only then tell the caller that the ring is empty. User space sets VALID of
 * the new entry, full barrier, looks at the one before: one of the two sees the
 * other. Nor may a work request complete whose entry is held: who saw the last
 * one complete may fill the whole ring (rnic_sq_give_back()).
 *
 * Kernel rings are in kernel.c, completion rings in cq_ring.c, the memory of
 * all of them in memory.c.
 */
#include <linux/log2.h>
#include <linux/overflow.h>
#include <rdma/siw-abi.h>

#include "ring/priv.h"

static_assert(RNIC_MAX_SGE == SIW_MAX_SGE);
static_assert(RNIC_MAX_INLINE == SIW_MAX_INLINE);
static_assert(sizeof(struct siw_sqe) == 120);
static_assert(sizeof(struct siw_rqe) == 112);

/* Send queues */

/**
 * rnic_sq_init() - make a send queue ring
 * @sq:		the ring
 * @max_wr:	work requests it must hold
 * @uctx:	context of the user, NULL for a kernel ring
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_sq_init(struct rnic_sq *sq, u32 max_wr, struct ib_ucontext *uctx)
{
	size_t entry = uctx ? sizeof(struct siw_sqe) : sizeof(struct rnic_wqe);
	int ret;

	memset(sq, 0, sizeof(*sq));
	sq->user = uctx;
	/* Of a single one, the entry held would be the next, too. */
	sq->size = roundup_pow_of_two(max_t(u32, max_wr, 2));
	ret = rnic_rmem_alloc(&sq->mem, array_size(sq->size, entry), uctx);
	if (!ret)
		sq->ring = sq->mem.addr;
	return ret;
}

/**
 * rnic_sq_free() - free a send queue ring
 * @sq:		the ring; nobody pushes or pops any more; may be zeroed
 */
void rnic_sq_free(struct rnic_sq *sq)
{
	rnic_rmem_free(&sq->mem);
	sq->ring = NULL;
}

static struct siw_sqe *get_sqe(const struct rnic_sq *sq, u32 i)
{
	return &sq->ring[i & (sq->size - 1)];
}

/* Pairs with the release by which user space sets VALID. */
static struct siw_sqe *peek_sqe(const struct rnic_sq *sq)
{
	struct siw_sqe *sqe = get_sqe(sq, sq->get);

	/* VALID before the rest of the entry. */
	return smp_load_acquire(&sqe->flags) & SIW_WQE_VALID ? sqe : NULL;
}

/**
 * rnic_sq_give_back() - let user space have the entry last taken
 * @sq:	the ring, at its consumer
 *
 * Before the work request that was in it completes.
 */
void rnic_sq_give_back(struct rnic_sq *sq)
{
	if (!sq->held)
		return;
	sq->held = false;
	/* What was read, before the entry is overwritten. */
	smp_store_release(&get_sqe(sq, sq->get - 1)->flags, 0);
}

static int convert_user_op(u8 opcode)
{
	enum rnic_op op;

	for (op = 0; op < RNIC_OP_N; op++)
		if (rnic_op_table[op].by & RNIC_BY_USER && rnic_op_table[op].siw == opcode)
			return op;
	return -EINVAL;
}

static u16 convert_user_flags(u16 siw, bool sig_all)
{
	u16 flags = sig_all ? RNIC_WQE_SIGNALED : 0;

	if (siw & SIW_WQE_SIGNALLED)
		flags |= RNIC_WQE_SIGNALED;
	if (siw & SIW_WQE_SOLICITED)
		flags |= RNIC_WQE_SOLICITED;
	if (siw & SIW_WQE_READ_FENCE)
		flags |= RNIC_WQE_FENCE;
	if (siw & SIW_WQE_INLINE)
		flags |= RNIC_WQE_INLINE;
	return flags;
}

/*
 * Each field is read once. (Copied in one go it would be to the stack, which the kernel
 * may be built to zero before.)
 *
 * Return: false when no message can be that long.
 */
static bool take_sges(struct rnic_sge *to, const struct siw_sge *from, u8 num, u32 *total)
{
	u64 sum = 0;
	u8 i;

	for (i = 0; i < num; i++) {
		to[i].addr = READ_ONCE(from[i].laddr);
		to[i].len = READ_ONCE(from[i].length);
		to[i].lkey = READ_ONCE(from[i].lkey);
		sum += to[i].len;
	}
	*total = sum;
	return sum <= U32_MAX;
}

/* Inline data takes the place of the SGEs after the first. */
static int take_data(struct rnic_wqe *wqe, const struct rnic_op_row *row,
		     const struct siw_sqe *slot)
{
	u8 num_sge = READ_ONCE(slot->num_sge);

	if (wqe->flags & RNIC_WQE_INLINE) {
		wqe->len = READ_ONCE(slot->sge[0].length);
		if (!row->inl || wqe->len > RNIC_MAX_INLINE)
			return -EINVAL;
		memcpy(wqe->inline_data, &slot->sge[1], wqe->len);
		return 0;
	}
	if (num_sge > row->max_sge)
		return -EINVAL;
	wqe->num_sge = num_sge;
	return take_sges(wqe->sge, slot->sge, num_sge, &wqe->len) ? 0 : -EINVAL;
}

/* User space may change @slot at any time. */
static int parse_sqe(struct rnic_wqe *wqe, const struct siw_sqe *slot, bool sig_all)
{
	int op = convert_user_op(READ_ONCE(slot->opcode));

	wqe->id = READ_ONCE(slot->id);
	wqe->op = RNIC_OP_SEND;
	wqe->flags = convert_user_flags(READ_ONCE(slot->flags), sig_all);
	wqe->num_sge = 0;
	wqe->rkey = READ_ONCE(slot->rkey);
	wqe->raddr = READ_ONCE(slot->raddr);
	wqe->len = 0;
	if (op < 0)
		return op;
	wqe->op = op;
	return take_data(wqe, &rnic_op_table[op], slot);
}

static int pop_user_sqe(struct rnic_sq *sq, struct rnic_wqe *wqe)
{
	int ret;

	if (!peek_sqe(sq) && !rnic_sq_pending(sq))
		return 0;
	ret = parse_sqe(wqe, get_sqe(sq, sq->get), sq->sig_all);
	rnic_sq_give_back(sq);
	sq->get++;
	sq->held = true;
	return ret ?: 1;
}

/**
 * rnic_sq_pop() - take the next work request
 * @sq:		the ring
 * @wqe:	where the private copy goes
 *
 * Only one consumer at a time; any context. Once this said 0, user space rings
 * the doorbell for the next one.
 *
 * Return: 1 when @wqe is a valid work request; 0 when there is none; -EINVAL
 * when one was taken that is not valid: @wqe->id, @wqe->op and @wqe->flags are
 * good for completing it in error, the rest is not.
 */
int rnic_sq_pop(struct rnic_sq *sq, struct rnic_wqe *wqe)
{
	return sq->user ? pop_user_sqe(sq, wqe) : rnic_sq_pop_kernel(sq, wqe);
}

/**
 * rnic_sq_pending() - look for a work request before going to sleep
 * @sq:		the ring
 *
 * Gives back the entry last taken, so that user space will ring the doorbell
 * from now on, then looks. Belongs to the consumer, like rnic_sq_pop().
 *
 * Return: true when there is one.
 */
bool rnic_sq_pending(struct rnic_sq *sq)
{
	rnic_sq_give_back(sq);
	/* Against the provider's: set VALID, full barrier, look at ours. */
	smp_mb();
	if (sq->user)
		return peek_sqe(sq);
	return sq->get != READ_ONCE(sq->put);
}

/* Receive queues */

/**
 * rnic_rq_init() - make a receive queue ring
 * @rq:		the ring
 * @max_wr:	work requests it must hold
 * @uctx:	context of the user, NULL for a kernel ring
 *
 * There is at least one entry: the provider cannot map nothing.
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_rq_init(struct rnic_rq *rq, u32 max_wr, struct ib_ucontext *uctx)
{
	size_t entry = uctx ? sizeof(struct siw_rqe) : sizeof(struct rnic_rwqe);
	int ret;

	memset(rq, 0, sizeof(*rq));
	rq->user = uctx;
	rq->size = roundup_pow_of_two(max_t(u32, max_wr, 1));
	ret = rnic_rmem_alloc(&rq->mem, array_size(rq->size, entry), uctx);
	if (!ret)
		rq->ring = rq->mem.addr;
	return ret;
}

/**
 * rnic_rq_free() - free a receive queue ring
 * @rq:		the ring; nobody pushes or pops any more; may be zeroed
 */
void rnic_rq_free(struct rnic_rq *rq)
{
	rnic_rmem_free(&rq->mem);
	rq->ring = NULL;
}

static struct siw_rqe *get_rqe(const struct rnic_rq *rq, u32 i)
{
	return &rq->ring[i & (rq->size - 1)];
}

static int parse_rqe(struct rnic_rwqe *rwqe, const struct siw_rqe *slot)
{
	u8 num_sge = READ_ONCE(slot->num_sge);

	rwqe->id = READ_ONCE(slot->id);
	rwqe->num_sge = 0;
	rwqe->len = 0;
	if (num_sge > RNIC_MAX_SGE)
		return -EINVAL;
	rwqe->num_sge = num_sge;
	return take_sges(rwqe->sge, slot->sge, num_sge, &rwqe->len) ? 0 : -EINVAL;
}

static int pop_user_rqe(struct rnic_rq *rq, struct rnic_rwqe *rwqe)
{
	struct siw_rqe *slot = get_rqe(rq, rq->get);
	int ret;

	/* Pairs with the release by which user space sets VALID. */
	if (!(smp_load_acquire(&slot->flags) & SIW_WQE_VALID))
		return 0;
	ret = parse_rqe(rwqe, slot);
	/* What was read before the entry is overwritten. */
	smp_store_release(&slot->flags, 0);
	rq->get++;
	return ret ?: 1;
}

/**
 * rnic_rq_pop() - take the next receive
 * @rq:		the ring
 * @rwqe:	where the private copy goes
 *
 * One consumer at a time: several QPs of an SRQ take its lock. Any context.
 *
 * Return: 1 when @rwqe is a valid receive; 0 when there is none; -EINVAL when
 * one was taken that is not valid: only @rwqe->id is good.
 */
int rnic_rq_pop(struct rnic_rq *rq, struct rnic_rwqe *rwqe)
{
	return rq->user ? pop_user_rqe(rq, rwqe) : rnic_rq_pop_kernel(rq, rwqe);
}

/**
 * rnic_rq_has() - are so many receives posted?
 * @rq:		the ring; the consumer asks
 * @n:		how many, not 0
 *
 * Receives are posted in ring order, so the last of them tells.
 *
 * Return: true when at least @n are.
 */
bool rnic_rq_has(const struct rnic_rq *rq, u32 n)
{
	if (n > rq->size)
		return false;
	if (!rq->user)
		return READ_ONCE(rq->put) - rq->get >= n;
	return READ_ONCE(get_rqe(rq, rq->get + n - 1)->flags) & SIW_WQE_VALID;
}
