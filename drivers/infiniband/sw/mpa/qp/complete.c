// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completions of a queue pair: in order, once each, and with a flush status
 * when the connection ended before they were carried out.
 */
#include "core/dev.h"
#include "mem/mr.h"
#include "qp/cq.h"
#include "qp/qp.h"
#include "qp/srq.h"
#include "qp/trace.h"

/**
 * rnic_sent_add() - a work request was taken from the send queue
 * @qp:		queue pair with room in @sent; its data path is the caller's
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
 * With a completion that has no room the connection is lost, too: who waits for it learns.
 * What is flushed has none any more.
 */
static void tell(struct rnic_qp *qp, struct rnic_cq *cq, const struct rnic_cqe *cqe,
		 bool solicited)
{
	trace_rnic_completion(cqe, qp->sent_head);
	if (!rnic_cq_push(cq, cqe, solicited))
		return;
	if (READ_ONCE(qp->conn) && rnic_qp_state(qp) != IB_QPS_ERR)
		rnic_qp_fail(qp, WIRE_RDMAP_LOCAL, false);
}

/*
 * What was sent behind a Read that failed is flushed with it: the peer stopped there, and
 * looked at none of it.
 */
static void complete_one(struct rnic_qp *qp, const struct rnic_sent *sent)
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
	if (sent->signaled || qp->failed)
		tell(qp, qp->scq, &cqe, false);
}

/**
 * rnic_sent_complete() - complete what is done, in the order of posting
 * @qp:	queue pair; its data path is the caller's
 */
void rnic_sent_complete(struct rnic_qp *qp)
{
	while (qp->sent_head != qp->sent_tail) {
		struct rnic_sent *sent = &qp->sent[qp->sent_head & (qp->sq.size - 1)];

		if (!sent->done)
			return;
		/* The one taken last: its entry may be held. */
		if (qp->sent_head + 1 == qp->sent_tail)
			rnic_sq_give_back(&qp->sq);
		complete_one(qp, sent);
		qp->sent_head++;
	}
}

/**
 * rnic_recv_complete() - complete the receive being filled
 * @qp:		queue pair with @rx.have_rwqe; its data path is the caller's
 * @status:	how it ended
 * @len:	octets received
 * @inval_stag:	the STag the peer invalidated
 * @invalidated: it did
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

	qp->rx.have_rwqe = false;
	tell(qp, qp->rcq, &cqe, solicited);
}

/**
 * rnic_qp_tell() - tell who waits for completions of a queue pair
 * @qp:	queue pair; its data path is the caller's, and no access to a region goes on
 *
 * Calls handlers of the consumer.
 */
void rnic_qp_tell(struct rnic_qp *qp)
{
	rnic_cq_tell(qp->scq);
	rnic_cq_tell(qp->rcq);
}

/* Return: there is more. */
static bool flush_sq(struct rnic_qp *qp)
{
	struct rnic_wqe wqe;
	u32 i;

	for (i = qp->sent_head; i != qp->sent_tail; i++)
		rnic_sent_done(qp, i & (qp->sq.size - 1), IB_WC_WR_FLUSH_ERR);
	rnic_sent_complete(qp);
	for (i = 0; i < qp->sq.size && rnic_sq_pop(&qp->sq, &wqe); i++) {
		rnic_sent_done(qp, rnic_sent_add(qp, &wqe), IB_WC_WR_FLUSH_ERR);
		rnic_sent_complete(qp);
	}
	return rnic_sq_pending(&qp->sq);
}

/* Return: there may be more. */
static bool flush_rq(struct rnic_qp *qp)
{
	u32 i;

	if (qp->rx.have_rwqe)
		rnic_recv_complete(qp, IB_WC_WR_FLUSH_ERR, 0, 0, false, true);
	if (qp->srq)
		return false;
	for (i = 0; i < qp->rq.size; i++) {
		if (!rnic_rq_pop(&qp->rq, &qp->rx.rwqe))
			return false;
		rnic_recv_complete(qp, IB_WC_WR_FLUSH_ERR, 0, 0, false, true);
	}
	return true;
}

/**
 * rnic_qp_flush() - complete everything posted with a flush status
 * @qp:	queue pair in error, without a connection
 *
 * Each queue is emptied once at most: a user may fill it as fast as we can
 * flush it, and must not keep us here.
 *
 * Context: the worker. Runs again for work requests posted later.
 */
void rnic_qp_flush(struct rnic_qp *qp)
{
	bool again;

	qp->tx.msg = RNIC_TX_NONE;
	qp->tx.waits = false;
	/* In error, then look: pairs with rnic_post_recv(). */
	smp_mb();
	again = flush_sq(qp);
	again |= flush_rq(qp);
	rnic_qp_tell(qp);
	if (again)
		rnic_qp_kick(qp);
}

/**
 * rnic_qp_discard() - forget everything posted, without a completion
 * @qp:	queue pair without a connection; its data path is the caller's
 *
 * Each queue is emptied once at most, as in rnic_qp_flush().
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
	for (i = 0; i < qp->sq.size && rnic_sq_pop(&qp->sq, &wqe); i++)
		;
	/* Gives back the last. */
	rnic_sq_pending(&qp->sq);
	for (i = 0; !qp->srq && i < qp->rq.size; i++)
		if (!rnic_rq_pop(&qp->rq, &qp->rx.rwqe))
			break;
}
