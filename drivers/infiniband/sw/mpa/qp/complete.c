// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completions of a queue pair. Each work request completes once, in order, and with a flush status
 * if the connection ended before it was carried out.
 */
#include "core/dev.h"
#include "mem/mr.h"
#include "qp/cq.h"
#include "qp/priv.h"
#include "qp/srq.h"
#include "qp/trace.h"

/**
 * rnic_sent_add() - note a work request that was taken from the send queue
 * @qp:		queue pair with room in @sent; the caller holds its data path
 * @wqe:	the work request
 *
 * Return: its slot, for rnic_sent_done().
 */
u32 rnic_sent_add(struct rnic_qp *qp, const struct rnic_wqe *wqe)
{
	u32 number = qp->sent_tail++;
	u32 slot = number & (qp->sq.size - 1);

	trace_rnic_post(&qp->ibqp, number, wqe);
	qp->sent[slot] = (struct rnic_sent) {
		.id = wqe->id,
		.op = wqe->op,
		.signaled = wqe->flags & RNIC_WQE_SIGNALED,
		.len = wqe->len,
		.inval = wqe->op == RNIC_OP_READ_INV && wqe->num_sge ? wqe->sge[0].lkey : 0,
	};
	return slot;
}

/*
 * Push a completion. If the CQ has no room, end the connection, because the consumer may wait for
 * the completion forever. During a flush there is no connection, and the CQ of a kernel consumer
 * gets the completion later. A CQ that is shared by queue pairs may be too small for the flushes of
 * all, and ib_drain_qp() waits for the last completion of each.
 *
 * Return: false if the completion has to be pushed again.
 */
static bool push_completion(struct rnic_qp *qp, struct rnic_cq *cq, const struct rnic_cqe *cqe,
			    bool solicited)
{
	bool connected = READ_ONCE(qp->conn);
	int ret = rnic_cq_push(cq, cqe, solicited, !connected);

	if (ret == -EAGAIN)
		return false;
	trace_rnic_completion(cqe, qp->sent_head);
	if (ret && connected && rnic_qp_state(qp) != IB_QPS_ERR)
		rnic_qp_fail(qp, WIRE_RDMAP_LOCAL);
	return true;
}

/*
 * Complete a work request. Those behind a failed one are flushed, because the peer has not handled
 * any of them.
 *
 * Return: as push_completion().
 */
static bool complete_one(struct rnic_qp *qp, const struct rnic_sent *sent)
{
	struct rnic_cqe cqe = {
		.id = sent->id,
		.qp = &qp->ibqp,
		.op = sent->op,
		.status = sent->status,
		.len = sent->len,
	};

	if (qp->failed && cqe.status == IB_WC_SUCCESS)
		cqe.status = IB_WC_WR_FLUSH_ERR;
	qp->failed = cqe.status != IB_WC_SUCCESS;
	if (!sent->signaled && !qp->failed)
		return true;
	return push_completion(qp, qp->scq, &cqe, false);
}

/**
 * rnic_sent_complete() - complete the work requests that are done, in the order of posting
 * @qp:	queue pair; the caller holds its data path
 *
 * During a flush it leaves those for which a CQ has no room, as rnic_recv_complete() does.
 */
void rnic_sent_complete(struct rnic_qp *qp)
{
	while (qp->sent_head != qp->sent_tail) {
		struct rnic_sent *sent = &qp->sent[qp->sent_head & (qp->sq.size - 1)];

		if (!sent->done)
			return;
		/* The ring may hold the entry of the work request taken last. */
		if (qp->sent_head + 1 == qp->sent_tail)
			rnic_sq_give_back(&qp->sq);
		if (!complete_one(qp, sent))
			return;
		qp->sent_head++;
	}
}

/**
 * rnic_recv_complete() - complete the receive that was being filled
 * @qp:		queue pair with @rx.have_rwqe; the caller holds its data path
 * @status:	result
 * @len:	bytes received
 * @inval_stag:	STag that the peer invalidated, if @invalidated
 * @invalidated: the peer invalidated an STag
 * @solicited:	the peer asked for an event
 */
void rnic_recv_complete(struct rnic_qp *qp, enum ib_wc_status status, u32 len, u32 inval_stag,
			bool invalidated, bool solicited)
{
	struct rnic_cqe cqe = {
		.id = qp->rx.rwqe.id,
		.qp = &qp->ibqp,
		.op = RNIC_OP_RECV,
		.status = status,
		.len = len,
		.inval_stag = inval_stag,
		.invalidated = invalidated,
	};

	qp->rx.have_rwqe = !push_completion(qp, qp->rcq, &cqe, solicited);
}

/**
 * rnic_qp_tell() - make the upcalls of a queue pair's completions
 * @qp:	queue pair without an open access to a region; the caller holds its data path
 *
 * Calls handlers of the consumer.
 */
void rnic_qp_tell(struct rnic_qp *qp)
{
	rnic_cq_tell(qp->scq);
	rnic_cq_tell(qp->rcq);
}

static bool has_sent(const struct rnic_qp *qp)
{
	return qp->sent_head != qp->sent_tail;
}

/* Return: true if there is more. */
static bool flush_sq(struct rnic_qp *qp)
{
	struct rnic_wqe wqe;
	u32 i;

	for (i = qp->sent_head; i != qp->sent_tail; i++)
		rnic_sent_done(qp, i & (qp->sq.size - 1), IB_WC_WR_FLUSH_ERR);
	rnic_sent_complete(qp);
	for (i = 0; i < qp->sq.size && !has_sent(qp) && rnic_sq_pop(&qp->sq, &wqe); i++) {
		rnic_sent_done(qp, rnic_sent_add(qp, &wqe), IB_WC_WR_FLUSH_ERR);
		rnic_sent_complete(qp);
	}
	return has_sent(qp) || rnic_sq_pending(&qp->sq);
}

/* Return: true if there may be more. */
static bool flush_rq(struct rnic_qp *qp)
{
	u32 i;

	if (qp->rx.have_rwqe)
		rnic_recv_complete(qp, IB_WC_WR_FLUSH_ERR, 0, 0, false, true);
	if (qp->srq)
		return qp->rx.have_rwqe;
	for (i = 0; i < qp->rq.size && !qp->rx.have_rwqe; i++) {
		if (!rnic_rq_pop(&qp->rq, &qp->rx.rwqe))
			return false;
		rnic_recv_complete(qp, IB_WC_WR_FLUSH_ERR, 0, 0, false, true);
	}
	return true;
}

/**
 * rnic_qp_flush() - complete all posted work requests with a flush status
 * @qp:	queue pair in error, without a connection
 *
 * Takes at most as many work requests as each queue has entries, because a user may post as fast
 * as the worker flushes. If there may be more, the worker runs again.
 *
 * Context: the worker.
 * Return: true if a CQ of a kernel consumer has no room; the caller has to flush again later.
 */
bool rnic_qp_flush(struct rnic_qp *qp)
{
	bool again, full;

	qp->tx.msg = RNIC_TX_NONE;
	qp->tx.waits = false;
	rnic_sq_reopen(&qp->sq);
	/* Set the error state before looking at the queues. Pairs with rnic_post_recv(). */
	smp_mb();
	again = flush_sq(qp);
	again |= flush_rq(qp);
	full = has_sent(qp) || qp->rx.have_rwqe;
	rnic_qp_tell(qp);
	if (again && !full)
		rnic_qp_kick(qp);
	return full;
}

/**
 * rnic_qp_discard() - remove all posted work requests without completing them
 * @qp:	queue pair without a connection; the caller holds its data path
 *
 * Takes at most as many work requests as each queue has entries, as rnic_qp_flush() does.
 */
void rnic_qp_discard(struct rnic_qp *qp)
{
	struct rnic_wqe wqe;
	u32 i;

	qp->tx.msg = RNIC_TX_NONE;
	qp->tx.waits = false;
	qp->rx.have_rwqe = false;
	qp->failed = false;
	qp->sent_head = qp->sent_tail;
	rnic_sq_reopen(&qp->sq);
	for (i = 0; i < qp->sq.size && rnic_sq_pop(&qp->sq, &wqe); i++)
		;
	/* Give the last entry back. */
	rnic_sq_pending(&qp->sq);
	for (i = 0; !qp->srq && i < qp->rq.size; i++)
		if (!rnic_rq_pop(&qp->rq, &qp->rx.rwqe))
			break;
}
