// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work request rings of user space. Only this folder, verbs.c and device.c use the user ABI
 * <rdma/siw-abi.h>.
 *
 * A user ring has no producer or consumer index in shared memory. Each entry has a VALID flag. In
 * send and receive rings user space fills the entry and then sets VALID, and the driver clears it
 * after it has read the entry. User space may change an entry at any time, so the driver reads
 * each field once and validates its copy.
 *
 * Doorbells. The provider makes a system call for a send only if the entry before the new one is
 * not VALID. So the driver leaves the entry that it took last VALID while the consumer runs
 * ("held"). It clears VALID ("gives the entry back") when it takes the next entry. If there is no
 * next entry, it gives the entry back, executes a full barrier and looks again before it reports
 * an empty ring. User space sets VALID of the new entry, executes a full barrier and looks at the
 * entry before it. So at least one of the two sees the store of the other.
 *
 * An entry must be given back before its work request completes, because a program that has seen
 * the last completion may fill the whole ring (rnic_sq_give_back()).
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
	/* With a single entry, the held entry would also be the next one. */
	sq->size = roundup_pow_of_two(max_t(u32, max_wr, 2));
	ret = rnic_rmem_alloc(&sq->mem, array_size(sq->size, entry), uctx);
	if (!ret)
		sq->ring = sq->mem.addr;
	return ret;
}

/**
 * rnic_sq_free() - free a send queue ring
 * @sq:		the ring, which is no longer pushed to or popped from; may be zeroed
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

	/* Read VALID before the rest of the entry. */
	return smp_load_acquire(&sqe->flags) & SIW_WQE_VALID ? sqe : NULL;
}

/**
 * rnic_sq_give_back() - let user space fill the entry that was taken last
 * @sq:	the ring
 *
 * The consumer calls this before the work request of that entry completes.
 */
void rnic_sq_give_back(struct rnic_sq *sq)
{
	if (!sq->held)
		return;
	sq->held = false;
	/* Read the entry before user space may overwrite it. */
	smp_store_release(&get_sqe(sq, sq->get - 1)->flags, 0);
}

/* Return: true if the next entry was posted after rnic_sq_close(). */
static bool is_past_end(const struct rnic_sq *sq)
{
	return sq->closed && sq->get == sq->end;
}

static u32 count_posted(const struct rnic_sq *sq)
{
	u32 n = 0;

	if (!sq->user)
		return READ_ONCE(sq->put) - sq->get;
	while (n < sq->size && READ_ONCE(get_sqe(sq, sq->get + n)->flags) & SIW_WQE_VALID)
		n++;
	return n;
}

/**
 * rnic_sq_close() - take only the work requests that are posted now
 * @sq:	the ring
 *
 * To rnic_sq_pop() and rnic_sq_pending() the ring is empty behind them, until rnic_sq_reopen().
 *
 * Context: as for rnic_sq_pop().
 */
void rnic_sq_close(struct rnic_sq *sq)
{
	if (sq->closed)
		return;
	/* The entry taken last is still VALID, but it is no longer posted. */
	rnic_sq_give_back(sq);
	sq->end = sq->get + count_posted(sq);
	sq->closed = true;
}

/**
 * rnic_sq_reopen() - undo rnic_sq_close()
 * @sq:	the ring
 *
 * Context: as for rnic_sq_pop().
 */
void rnic_sq_reopen(struct rnic_sq *sq)
{
	sq->closed = false;
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
 * Read each field once. There is no copy of the whole array, because a kernel may zero the stack
 * first.
 *
 * Return: false if the sum of the lengths is above 32 bits.
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

/* Inline data is in place of the SGEs after the first. */
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
 * @wqe:	set to a private copy
 *
 * After this returned 0, user space rings the doorbell for the next work request.
 *
 * Context: any, one consumer at a time.
 * Return: 1 if @wqe is a valid work request; 0 if there is none; -EINVAL if an invalid one was
 * taken. Then only @wqe->id, @wqe->op and @wqe->flags are valid, for its completion in error.
 */
int rnic_sq_pop(struct rnic_sq *sq, struct rnic_wqe *wqe)
{
	if (is_past_end(sq))
		return 0;
	return sq->user ? pop_user_sqe(sq, wqe) : rnic_sq_pop_kernel(sq, wqe);
}

/**
 * rnic_sq_pending() - look for a work request before going to sleep
 * @sq:		the ring
 *
 * Gives the entry taken last back first, so that user space rings the doorbell for the next one.
 *
 * Context: as for rnic_sq_pop().
 * Return: true if there is one.
 */
bool rnic_sq_pending(struct rnic_sq *sq)
{
	rnic_sq_give_back(sq);
	/* Pairs with the provider's full barrier between setting VALID and reading our entry. */
	smp_mb();
	if (is_past_end(sq))
		return false;
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
 * The ring has at least one entry, because the provider maps it even if @max_wr is 0.
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
 * @rq:		the ring, which is no longer pushed to or popped from; may be zeroed
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
	/* Read the entry before user space may overwrite it. */
	smp_store_release(&slot->flags, 0);
	WRITE_ONCE(rq->get, rq->get + 1);
	return ret ?: 1;
}

/**
 * rnic_rq_pop() - take the next receive
 * @rq:		the ring
 * @rwqe:	set to a private copy
 *
 * Context: any, one consumer at a time. The queue pairs of an SRQ take its lock for that.
 * Return: 1 if @rwqe is a valid receive; 0 if there is none; -EINVAL if an invalid one was taken.
 * Then only @rwqe->id is valid.
 */
int rnic_rq_pop(struct rnic_rq *rq, struct rnic_rwqe *rwqe)
{
	return rq->user ? pop_user_rqe(rq, rwqe) : rnic_rq_pop_kernel(rq, rwqe);
}

/**
 * rnic_rq_has() - test for a number of posted receives
 * @rq:		the ring
 * @n:		the number, not 0
 *
 * Looks at the @n-th entry only, because receives are posted in ring order.
 *
 * Context: any. A hint unless the caller is the consumer.
 * Return: true if at least @n receives are posted.
 */
bool rnic_rq_has(const struct rnic_rq *rq, u32 n)
{
	if (n > rq->size)
		return false;
	if (!rq->user)
		return READ_ONCE(rq->put) - rq->get >= n;
	return READ_ONCE(get_rqe(rq, READ_ONCE(rq->get) + n - 1)->flags) & SIW_WQE_VALID;
}
