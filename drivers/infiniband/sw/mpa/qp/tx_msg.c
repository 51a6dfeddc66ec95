// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages to send: what goes next, whether it may, and where its payload is.
 *
 * tx.c asks rnic_tx_next() for a message, cuts it into FPDUs with
 * rnic_tx_payload(), and ends it with rnic_tx_done() or rnic_tx_fault(). All is
 * under the socket lock.
 *
 * A work request is done when its last byte was encoded, because its memory is not
 * looked at again. It completes after the push, in order (rnic_sent_complete()).
 *
 * Errors of the consumer's own (bad SGE, bad STag) complete the work request
 * with their status and end the connection with a Terminate.
 */
#include "core/dev.h"
#include "mem/mr.h"
#include "qp/qp.h"

/*
 * The consumer's own mistake: complete its work request with @status. The Terminate says that
 * this end broke down.
 */
static void fail_wqe(struct rnic_qp *qp, enum ib_wc_status status)
{
	rnic_sent_done(qp, qp->tx.slot, status);
	qp->tx.msg = RNIC_TX_NONE;
	qp->tx.waits = false;
	rnic_qp_fail(qp, WIRE_RDMAP_LOCAL, false);
}

/* Of a Read Request the caller fills in seg.read. */
static void begin_message(struct rnic_tx *tx, enum rnic_tx_msg msg, enum rdmap_opcode opcode,
			  u32 len)
{
	tx->msg = msg;
	rnic_pace_message(&tx->pace, opcode == RDMAP_READ_REQ);
	tx->left = len;
	tx->off = 0;
	memset(&tx->seg, 0, offsetof(struct ddp_seg, read));
	tx->seg.opcode = opcode;
}

/* RFC 6581 section 9.2: a message without data that no consumer sees. */
static void begin_rtr(struct rnic_qp *qp)
{
	struct rnic_read_out r = { .slot = RNIC_NO_SLOT };
	struct rnic_tx *tx = &qp->tx;

	switch (tx->rtr) {
	case MPA_RTR_WRITE:
		begin_message(tx, RNIC_TX_RTR, RDMAP_WRITE, 0);
		tx->seg.tagged = true;
		break;
	case MPA_RTR_READ:
		begin_message(tx, RNIC_TX_RTR, RDMAP_READ_REQ, 0);
		tx->seg.qn = DDP_QN_READ_REQ;
		memset(&tx->seg.read, 0, sizeof(tx->seg.read));
		rnic_read_out_push(&qp->readq, &r);
		break;
	default:
		begin_message(tx, RNIC_TX_RTR, RDMAP_SEND, 0);
		break;
	}
	tx->rtr = 0;
}

static void begin_response(struct rnic_qp *qp, const struct rnic_read_in *r)
{
	struct rnic_tx *tx = &qp->tx;

	begin_message(tx, RNIC_TX_RESPONSE, RDMAP_READ_RESP, r->len);
	tx->seg.tagged = true;
	tx->seg.stag = r->sink_stag;
	tx->seg.to = r->sink_to;
	tx->src = r->src_stag;
	tx->src_to = r->src_to;
	tx->responded = true;
	rnic_read_in_pop(&qp->readq);
}

/* Never cut in two: an FPDU below MULPDU_MIN is not worth it. */
static bool is_one_fpdu(u32 len)
{
	return len <= MPA_MULPDU_MIN - sizeof(struct ddp_untagged_hdr);
}

/*
 * May all of its memory be accessed? Of what is sent in one FPDU that is looked at when it is
 * copied there, and nothing was sent before.
 */
static bool check_sgl(struct rnic_qp *qp, bool read)
{
	struct rnic_tx *tx = &qp->tx;

	if (tx->wqe.flags & RNIC_WQE_INLINE)
		return true;
	rnic_sgl_init(&tx->sgl, tx->wqe.sge, tx->wqe.num_sge, tx->wqe.len);
	if (!read && is_one_fpdu(tx->wqe.len))
		return true;
	return !rnic_sgl_check(&qp->mem, &tx->sgl, read ? IB_ACCESS_LOCAL_WRITE : 0);
}

static bool is_read(const struct rnic_wqe *wqe)
{
	return wqe->op == RNIC_OP_READ || wqe->op == RNIC_OP_READ_INV;
}

static enum rdmap_opcode opcode_of_send(const struct rnic_wqe *wqe)
{
	if (wqe->op == RNIC_OP_SEND_INV)
		return wqe->flags & RNIC_WQE_SOLICITED ? RDMAP_SEND_SE_INV : RDMAP_SEND_INV;
	return wqe->flags & RNIC_WQE_SOLICITED ? RDMAP_SEND_SE : RDMAP_SEND;
}

/*
 * The Read Request does not show the address of the sink, which may be one of the kernel's. The
 * peer repeats what it says without a look at it (RFC 5040, 4.4), so it has a count of the bytes
 * asked for on this connection.
 */
static void begin_read(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;
	const struct rnic_wqe *wqe = &tx->wqe;
	struct rnic_read_out r = {
		.slot = tx->slot,
		.stag = wqe->num_sge ? wqe->sge[0].lkey : 0,
		.to = wqe->num_sge ? wqe->sge[0].addr : 0,
		.sink = tx->sink,
		.len = wqe->len,
	};

	tx->sink += r.len;
	begin_message(tx, RNIC_TX_WQE, RDMAP_READ_REQ, 0);
	tx->seg.qn = DDP_QN_READ_REQ;
	tx->seg.read.sink_stag = r.stag;
	tx->seg.read.sink_to = r.sink;
	tx->seg.read.size = r.len;
	tx->seg.read.src_stag = wqe->rkey;
	tx->seg.read.src_to = wqe->raddr;
	/* A program that asked to see it may be waiting for the data. */
	if (wqe->flags & RNIC_WQE_SIGNALED)
		rnic_pace_urgent(&tx->pace);
	rnic_read_out_push(&qp->readq, &r);
}

/* Operations that put nothing on the wire. */
static bool do_local_operation(struct rnic_qp *qp)
{
	const struct rnic_wqe *wqe = &qp->tx.wqe;
	int ret;

	if (wqe->op == RNIC_OP_REG_MR)
		ret = rnic_mr_fastreg(&qp->mem, wqe->reg_mr, wqe->rkey, wqe->access);
	else
		ret = rnic_mr_invalidate(&qp->mem, wqe->rkey, false);
	if (ret) {
		fail_wqe(qp, IB_WC_MW_BIND_ERR);
		return false;
	}
	rnic_sent_done(qp, qp->tx.slot, IB_WC_SUCCESS);
	return true;
}

/* The work request in tx->wqe may go: check it and make it the message. */
static bool begin_wqe(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;
	const struct rnic_wqe *wqe = &tx->wqe;
	bool read = is_read(wqe);

	tx->waits = false;
	if (wqe->op == RNIC_OP_REG_MR || wqe->op == RNIC_OP_LOCAL_INV)
		return do_local_operation(qp);
	if (!check_sgl(qp, read)) {
		fail_wqe(qp, IB_WC_LOC_PROT_ERR);
		return false;
	}
	if (read) {
		begin_read(qp);
		return true;
	}
	if (wqe->op == RNIC_OP_WRITE) {
		begin_message(tx, RNIC_TX_WQE, RDMAP_WRITE, wqe->len);
		tx->seg.tagged = true;
		tx->seg.stag = wqe->rkey;
		tx->seg.to = wqe->raddr;
	} else {
		begin_message(tx, RNIC_TX_WQE, opcode_of_send(wqe), wqe->len);
		tx->seg.stag = wqe->op == RNIC_OP_SEND_INV ? wqe->rkey : 0;
		if (wqe->flags & RNIC_WQE_SOLICITED)
			rnic_pace_urgent(&tx->pace);
	}
	return true;
}

/* True if tx->wqe must wait for outstanding Reads. */
static bool must_wait(const struct rnic_qp *qp)
{
	const struct rnic_wqe *wqe = &qp->tx.wqe;
	u32 out = rnic_reads_out(&qp->readq);

	if (wqe->flags & RNIC_WQE_FENCE && out)
		return true;
	return is_read(wqe) && out >= qp->readq.ord;
}

/*
 * True if there is room for one more work request that is not completed. A program that does not
 * wait for completions may have posted more than that in one go. Only outstanding Reads, whose
 * responses lead here again, may keep us from completing.
 */
static bool has_sent_room(struct rnic_qp *qp)
{
	if (qp->sent_tail - qp->sent_head >= qp->sq.size)
		rnic_sent_complete(qp);
	return qp->sent_tail - qp->sent_head < qp->sq.size;
}

/* Take work requests until one makes a message. */
static bool next_wqe(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;
	int ret;

	while (tx->msg == RNIC_TX_NONE && !rnic_qp_failed(qp)) {
		if (!tx->waits) {
			if (!has_sent_room(qp))
				return false;
			ret = rnic_sq_pop(&qp->sq, &tx->wqe);
			if (!ret)
				return false;
			tx->slot = rnic_sent_add(qp, &tx->wqe);
			tx->waits = true;
			if (ret < 0) {
				rnic_stat_inc(qp->dev, RNIC_STAT_BAD_WQES);
				fail_wqe(qp, IB_WC_LOC_QP_OP_ERR);
				return false;
			}
		}
		/* Posted in ERR it comes back flushed: a consumer that drains waits for it. */
		if (rnic_qp_state(qp) == IB_QPS_ERR)
			return false;
		if (must_wait(qp)) {
			/* For none: no Read can ever be sent on this connection. */
			if (!rnic_reads_out(&qp->readq))
				fail_wqe(qp, IB_WC_LOC_QP_OP_ERR);
			return false;
		}
		if (!begin_wqe(qp))
			return false;
	}
	return tx->msg != RNIC_TX_NONE;
}

/**
 * rnic_tx_next() - choose the next message and make its header's template
 * @qp:	queue pair, socket locked, nothing under way
 *
 * An RTR goes first; then responses and work requests by turns.
 *
 * Return: false when nothing is to be sent now.
 */
bool rnic_tx_next(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;
	struct rnic_read_in *r;

	if (!tx->open || rnic_qp_failed(qp))
		return false;
	if (tx->rtr) {
		begin_rtr(qp);
		return true;
	}
	r = rnic_read_in_head(&qp->readq);
	if (!r || tx->responded) {
		tx->responded = false;
		if (next_wqe(qp))
			return true;
	}
	if (!r || rnic_qp_failed(qp))
		return false;
	begin_response(qp, r);
	return true;
}

/* The next @n bytes of a Read Response, to @dst. */
static int copy_response(struct rnic_qp *qp, void *dst, u32 n)
{
	struct rnic_tx *tx = &qp->tx;

	if (rnic_mr_get(&qp->mem, tx->src, tx->src_to, n, IB_ACCESS_REMOTE_READ))
		return -EACCES;
	if (!rnic_mr_is_wild(qp->mem.mr, IB_ACCESS_REMOTE_READ))
		rnic_mr_read(qp->mem.mr, tx->src_to, dst, n);
	else if (rnic_mr_read_wild(tx->src_to, dst, n))
		return -EFAULT;
	tx->src_to += n;
	return 0;
}

/**
 * rnic_tx_payload() - copy the next payload bytes of the message
 * @qp:	queue pair, a message under way
 * @dst:	their place in an FPDU
 * @n:	how many
 *
 * The access to the memory is left open for the next.
 *
 * Return: 0, or a negative errno: the memory may not be read, or not any more.
 */
int rnic_tx_payload(struct rnic_qp *qp, void *dst, u32 n)
{
	struct rnic_tx *tx = &qp->tx;

	if (tx->msg == RNIC_TX_RESPONSE)
		return copy_response(qp, dst, n);
	if (!(tx->wqe.flags & RNIC_WQE_INLINE))
		return rnic_sgl_copy_from(&qp->mem, &tx->sgl, dst, n);
	memcpy(dst, tx->wqe.inline_data + tx->off, n);
	return 0;
}

/**
 * rnic_tx_fault() - memory of a message that has begun may not be read (any more)
 * @qp:	queue pair
 *
 * Ends the message and the connection.
 */
void rnic_tx_fault(struct rnic_qp *qp)
{
	if (qp->tx.msg == RNIC_TX_WQE) {
		fail_wqe(qp, IB_WC_LOC_PROT_ERR);
		return;
	}
	qp->tx.msg = RNIC_TX_NONE;
	rnic_qp_fail(qp, WIRE_RDMAP_LOCAL, false);
}

/**
 * rnic_tx_done() - the message's last FPDU was encoded
 * @qp:	queue pair
 */
void rnic_tx_done(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	rnic_stat_inc(qp->dev, RNIC_STAT_TX_MSG + tx->seg.opcode);
	if (!tx->seg.tagged)
		tx->msn[tx->seg.qn]++;
	/* A Read is done when its response is. */
	if (tx->msg == RNIC_TX_WQE && tx->seg.opcode != RDMAP_READ_REQ)
		rnic_sent_done(qp, tx->slot, IB_WC_SUCCESS);
	tx->msg = RNIC_TX_NONE;
}

/**
 * rnic_tx_idle() - was everything posted so far carried out?
 * @qp:	queue pair, socket locked
 *
 * Return: yes.
 */
bool rnic_tx_idle(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	return tx->msg == RNIC_TX_NONE && !tx->waits && tx->img.fill == tx->sent &&
	       !rnic_reads_out(&qp->readq) && !rnic_read_in_head(&qp->readq) &&
	       !rnic_sq_pending(&qp->sq);
}

/**
 * rnic_tx_waiting() - is there a work request that is not begun?
 * @qp:	queue pair, socket locked
 *
 * Return: yes; it may have waited for Reads to come back.
 */
bool rnic_tx_waiting(struct rnic_qp *qp)
{
	return qp->tx.waits || rnic_sq_pending(&qp->sq);
}
