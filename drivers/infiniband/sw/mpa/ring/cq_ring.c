// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion rings. A user ring's entries are free while their flags are 0: we
 * write an entry and set VALID last, user space clears it when it has read the
 * entry. Right after the last entry is the arming word, which user space sets
 * without telling us: after each completion, full barrier, then look at it.
 *
 * All functions want the CQ's lock, except for init and free.
 */
#include <linux/log2.h>
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
 * @ring:	the ring; nobody pushes or polls any more
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

	/* Pairs with the provider's barrier between reading and freeing. */
	if (smp_load_acquire(&slot->flags))
		return -ENOSPC;
	slot->id = cqe->id;
	slot->opcode = rnic_op_table[cqe->op].siw;
	slot->status = convert_status(cqe->status);
	slot->bytes = cqe->len;
	slot->imm_data = 0;
	slot->inval_stag = cqe->invalidated ? cqe->inval_stag : 0;
	slot->qp_id = cqe->qp->qp_num;
	/* The entry before VALID. */
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
 * Return: 0, or -ENOSPC when the ring is full.
 */
int rnic_cq_ring_push(struct rnic_cq_ring *ring, const struct rnic_cqe *cqe)
{
	return ring->user ? push_user(ring, cqe) : push_kernel(ring, cqe);
}

/**
 * rnic_cq_ring_empty() - is there nothing to poll?
 * @ring:	the ring
 *
 * Return: true when a kernel ring is empty; true for a user ring, about which
 * only user space knows.
 */
bool rnic_cq_ring_empty(const struct rnic_cq_ring *ring)
{
	return ring->user || ring->get == ring->put;
}

/**
 * rnic_cq_ring_poll() - take a completion from a kernel ring
 * @ring:	the ring
 * @wc:		where it goes
 *
 * Return: false when there is none.
 */
bool rnic_cq_ring_poll(struct rnic_cq_ring *ring, struct ib_wc *wc)
{
	if (rnic_cq_ring_empty(ring))
		return false;
	*wc = ring->kern[ring->get++ & (ring->size - 1)];
	return true;
}

/**
 * rnic_cq_ring_forget() - take out what a queue pair completed
 * @ring:	the ring; nothing happens to a user's, whose entries have a number only
 * @qp:		the queue pair, which pushes no more
 *
 * The others keep their order.
 */
void rnic_cq_ring_forget(struct rnic_cq_ring *ring, const struct ib_qp *qp)
{
	u32 from, to = ring->get;

	for (from = ring->get; ring->kern && from != ring->put; from++) {
		const struct ib_wc *wc = &ring->kern[from & (ring->size - 1)];

		if (wc->qp != qp)
			ring->kern[to++ & (ring->size - 1)] = *wc;
	}
	if (ring->kern)
		ring->put = to;
}

/**
 * rnic_cq_ring_arm() - ask for an upcall
 * @ring:	a kernel ring; user space arms its rings by itself
 * @flags:	IB_CQ_SOLICITED or IB_CQ_NEXT_COMP; the wider of two askings wins
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
	/* Against the provider's: arm, full barrier, poll once more. */
	smp_mb();
	if (!(READ_ONCE(ctrl->flags) & want))
		return false;
	WRITE_ONCE(ctrl->flags, SIW_NOTIFY_NOT);
	return true;
}

/**
 * rnic_cq_ring_unread() - did user space leave a completion unread?
 * @ring:	a user ring; the caller holds the CQ's lock
 * @age:	how many came after it: 0 for the newest
 *
 * Return: it did. What is no more in the ring was read.
 */
bool rnic_cq_ring_unread(const struct rnic_cq_ring *ring, u32 age)
{
	return age < ring->size &&
	       READ_ONCE(ring->user[(ring->put - 1 - age) & (ring->size - 1)].flags);
}

/**
 * rnic_cq_ring_disarm() - is an upcall due after a completion?
 * @ring:	the ring
 * @solicited:	the completion is a solicited one, or an error
 *
 * Return: true when it is; the ring is not armed any more then.
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
