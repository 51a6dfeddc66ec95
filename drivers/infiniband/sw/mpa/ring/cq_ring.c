// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion rings.
 *
 * An entry of a user ring is free while its flags are 0. The driver writes the entry and then sets
 * VALID, and user space clears the flags after it has read the entry. Behind the last entry is
 * the arming word. User space sets it without a system call, so the driver reads it after each
 * completion, behind a full barrier.
 *
 * The caller holds the CQ's lock, except for init and free.
 */
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/overflow.h>

#include "ring/priv.h"

static_assert(sizeof(struct siw_cqe) == 32);
static_assert(sizeof(struct siw_cq_ctrl) == 8);

/**
 * rnic_cq_ring_init() - make a completion ring
 * @ring:	the ring
 * @num_cqe:	completions it must hold, at least 1
 * @uctx:	context of the user, NULL for a kernel ring
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_cq_ring_init(struct rnic_cq_ring *ring, u32 num_cqe,
		      struct ib_ucontext *uctx)
{
	size_t entry = uctx ? sizeof(struct siw_cqe) : sizeof(struct ib_wc);
	size_t size;
	int ret;

	memset(ring, 0, sizeof(*ring));
	ring->size = roundup_pow_of_two(num_cqe);
	size = array_size(ring->size, entry);
	if (uctx)
		size = size_add(size, sizeof(struct siw_cq_ctrl));
	ret = rnic_rmem_alloc(&ring->mem, size, uctx);
	if (ret)
		return ret;
	if (uctx) {
		ring->user = ring->mem.addr;
		ring->ctrl = (struct siw_cq_ctrl *)(ring->user + ring->size);
	} else {
		ring->kern = ring->mem.addr;
	}
	return 0;
}

/**
 * rnic_cq_ring_free() - free a completion ring
 * @ring:	the ring, which is no longer pushed to or polled
 */
void rnic_cq_ring_free(struct rnic_cq_ring *ring)
{
	rnic_rmem_free(&ring->mem);
	ring->user = NULL;
	ring->kern = NULL;
	ring->ctrl = NULL;
}

static u16 convert_status(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_SUCCESS:
		return SIW_WC_SUCCESS;
	case IB_WC_LOC_LEN_ERR:
		return SIW_WC_LOC_LEN_ERR;
	case IB_WC_LOC_PROT_ERR:
		return SIW_WC_LOC_PROT_ERR;
	case IB_WC_LOC_QP_OP_ERR:
		return SIW_WC_LOC_QP_OP_ERR;
	case IB_WC_WR_FLUSH_ERR:
		return SIW_WC_WR_FLUSH_ERR;
	case IB_WC_BAD_RESP_ERR:
		return SIW_WC_BAD_RESP_ERR;
	case IB_WC_LOC_ACCESS_ERR:
		return SIW_WC_LOC_ACCESS_ERR;
	case IB_WC_REM_ACCESS_ERR:
		return SIW_WC_REM_ACCESS_ERR;
	case IB_WC_REM_INV_REQ_ERR:
		return SIW_WC_REM_INV_REQ_ERR;
	default:
		return SIW_WC_GENERAL_ERR;
	}
}

static int push_user(struct rnic_cq_ring *ring, const struct rnic_cqe *cqe)
{
	struct siw_cqe *slot = &ring->user[ring->put & (ring->size - 1)];

	/* Pairs with the provider's barrier between reading the entry and clearing its flags. */
	if (smp_load_acquire(&slot->flags))
		return -ENOSPC;
	slot->id = cqe->id;
	slot->opcode = rnic_op_table[cqe->op].siw;
	slot->status = convert_status(cqe->status);
	slot->bytes = cqe->len;
	slot->imm_data = 0;
	slot->inval_stag = cqe->invalidated ? cqe->inval_stag : 0;
	slot->qp_id = cqe->qp->qp_num;
	/* Store the entry before VALID. */
	smp_store_release(&slot->flags, (u8)SIW_WQE_VALID);
	ring->put++;
	return 0;
}

static int push_kernel(struct rnic_cq_ring *ring, const struct rnic_cqe *cqe)
{
	struct ib_wc *wc = &ring->kern[ring->put & (ring->size - 1)];

	if (ring->put - ring->get == ring->size)
		return -ENOSPC;
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->id;
	wc->status = cqe->status;
	wc->opcode = rnic_op_table[cqe->op].wc;
	wc->byte_len = cqe->len;
	wc->qp = cqe->qp;
	if (cqe->invalidated) {
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->inval_stag;
	}
	ring->put++;
	return 0;
}

/**
 * rnic_cq_ring_push() - add a completion
 * @ring:	the ring
 * @cqe:	the completion
 *
 * Return: 0, or -ENOSPC if the ring is full.
 */
int rnic_cq_ring_push(struct rnic_cq_ring *ring, const struct rnic_cqe *cqe)
{
	return ring->user ? push_user(ring, cqe) : push_kernel(ring, cqe);
}

/**
 * rnic_cq_ring_empty() - test for an empty kernel ring
 * @ring:	the ring
 *
 * Return: true if a kernel ring is empty; true for each user ring, which only user space polls.
 */
bool rnic_cq_ring_empty(const struct rnic_cq_ring *ring)
{
	return ring->user || ring->get == ring->put;
}

/**
 * rnic_cq_ring_is_half_full() - test for a kernel ring with few free entries
 * @ring:	the ring
 *
 * Return: true if at least half of a kernel ring's entries are in use; false for each user ring.
 */
bool rnic_cq_ring_is_half_full(const struct rnic_cq_ring *ring)
{
	return !ring->user && ring->put - ring->get >= DIV_ROUND_UP(ring->size, 2);
}

/**
 * rnic_cq_ring_poll() - take a completion from a kernel ring
 * @ring:	the ring
 * @wc:		set to the completion
 *
 * Return: false if there is none.
 */
bool rnic_cq_ring_poll(struct rnic_cq_ring *ring, struct ib_wc *wc)
{
	if (rnic_cq_ring_empty(ring))
		return false;
	*wc = ring->kern[ring->get++ & (ring->size - 1)];
	return true;
}

/**
 * rnic_cq_ring_forget() - remove the completions of a queue pair
 * @ring:	the ring; a user ring is not changed, because its entries have no pointer
 * @qp:		the queue pair, which does not push any more
 *
 * The other completions keep their order. Those before the first of @qp are not touched, because a
 * consumer that drained the queue pair has left none, and the caller has interrupts off.
 */
void rnic_cq_ring_forget(struct rnic_cq_ring *ring, const struct ib_qp *qp)
{
	u32 from, to = ring->get;

	for (from = ring->get; ring->kern && from != ring->put; from++) {
		const struct ib_wc *wc = &ring->kern[from & (ring->size - 1)];

		if (wc->qp == qp)
			continue;
		if (to != from)
			ring->kern[to & (ring->size - 1)] = *wc;
		to++;
	}
	if (ring->kern)
		ring->put = to;
}

/**
 * rnic_cq_ring_arm() - request an upcall
 * @ring:	a kernel ring; user space arms its rings itself
 * @flags:	IB_CQ_SOLICITED or IB_CQ_NEXT_COMP, which wins over IB_CQ_SOLICITED
 */
void rnic_cq_ring_arm(struct rnic_cq_ring *ring, enum ib_cq_notify_flags flags)
{
	ring->armed |= flags & IB_CQ_SOLICITED_MASK;
}

static bool disarm_user(struct siw_cq_ctrl *ctrl, bool solicited)
{
	u32 want = SIW_NOTIFY_NEXT_COMPLETION;

	if (solicited)
		want |= SIW_NOTIFY_SOLICITED;
	/* Pairs with the provider's full barrier between arming and polling once more. */
	smp_mb();
	if (!(READ_ONCE(ctrl->flags) & want))
		return false;
	WRITE_ONCE(ctrl->flags, SIW_NOTIFY_NOT);
	return true;
}

/**
 * rnic_cq_ring_unread() - test for a completion that user space has not read
 * @ring:	a user ring
 * @age:	number of completions after it, 0 for the newest
 *
 * Return: true if it is unread. A completion that was overwritten had been read.
 */
bool rnic_cq_ring_unread(const struct rnic_cq_ring *ring, u32 age)
{
	return age < ring->size &&
	       READ_ONCE(ring->user[(ring->put - 1 - age) & (ring->size - 1)].flags);
}

/**
 * rnic_cq_ring_disarm() - disarm the ring if a completion causes an upcall
 * @ring:	the ring
 * @solicited:	the completion is a solicited one, or an error
 *
 * Return: true if the caller must make the upcall; the ring is then disarmed.
 */
bool rnic_cq_ring_disarm(struct rnic_cq_ring *ring, bool solicited)
{
	if (ring->user)
		return disarm_user(ring->ctrl, solicited);
	if (!(ring->armed & IB_CQ_NEXT_COMP) &&
	    !(ring->armed & IB_CQ_SOLICITED && solicited))
		return false;
	ring->armed = 0;
	return true;
}
