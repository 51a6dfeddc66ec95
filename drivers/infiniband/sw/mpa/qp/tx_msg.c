// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages to send: choose the next one, check that it may be sent, and copy its payload.
 *
 * tx.c gets a message from rnic_tx_next(), cuts it into FPDUs with rnic_tx_payload(), and ends it
 * with rnic_tx_done(), all under the socket lock.
 *
 * A work request is done when its last byte was encoded, because its memory is not read again. It
 * completes after the push, in order (rnic_sent_complete()).
 *
 * A mistake of the consumer (bad SGE, bad STag) completes the work request with an error and ends
 * the connection with a Terminate.
 */
#include "core/dev.h"
#include "mem/mr.h"
#include "qp/priv.h"

/*
 * Complete the work request with @status after a mistake of the consumer. The Terminate reports a
 * local error to the peer.
 */
static void fail_wqe(struct rnic_qp *qp, enum ib_wc_status status)
{
	rnic_sent_done(qp, qp->tx.slot, status);
	qp->tx.msg = RNIC_TX_NONE;
	qp->tx.waits = false;
	rnic_qp_fail(qp, WIRE_RDMAP_LOCAL);
}

/* Begin a message. The caller fills in seg.read of a Read Request. */
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

/* Begin the RTR, a message without data that no consumer sees (RFC 6581 section 9.2). */
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
	tx->responded = true;
}

/* Return: true if a message of @len bytes always is a single FPDU; see next_ulpdu(). */
static bool is_one_fpdu(u32 len)
{
	return len <= MPA_MULPDU_MIN - sizeof(struct ddp_untagged_hdr);
}

/*
 * Check that the memory of tx->wqe may be accessed. A message of one FPDU is checked only while it
 * is copied, because nothing of it was sent before.
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

static enum rdmap_opcode get_send_opcode(const struct rnic_wqe *wqe)
{
	if (wqe->op == RNIC_OP_SEND_INV)
		return wqe->flags & RNIC_WQE_SOLICITED ? RDMAP_SEND_SE_INV : RDMAP_SEND_INV;
	return wqe->flags & RNIC_WQE_SOLICITED ? RDMAP_SEND_SE : RDMAP_SEND;
}

/*
 * The Read Request contains neither the STag nor the address of the sink, because both would help
 * the peer elsewhere: the STag may grant it rights, and the address may be one of the kernel. The
 * peer only echoes them (RFC 5040 section 4.4), so the driver sends the connection's token, and
 * the number of bytes requested on this connection so far.
 *
 * No region is registered under the token. A region that happens to have the same STag is as safe
 * from the peer as from any other guess of an STag, and a response never reaches it by the token,
 * because rx_read_response() places by the Read's own @stag.
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
	tx->seg.read.sink_stag = tx->token;
	tx->seg.read.sink_to = r.sink;
	tx->seg.read.size = r.len;
	tx->seg.read.src_stag = wqe->rkey;
	tx->seg.read.src_to = wqe->raddr;
	/* The consumer of a signaled Read may be waiting for the data. */
	if (wqe->flags & RNIC_WQE_SIGNALED)
		rnic_pace_urgent(&tx->pace);
	rnic_read_out_push(&qp->readq, &r);
}

/* Carry out an operation that sends nothing. */
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

/* Check the work request in tx->wqe and begin its message, if it sends one. */
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
		begin_message(tx, RNIC_TX_WQE, get_send_opcode(wqe), wqe->len);
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
 * True if qp->sent has room for one more work request. A program that does not wait for
 * completions may have posted more than fit. If completing does not make room, Reads are
 * outstanding, and their responses lead here again.
 */
static bool has_sent_room(struct rnic_qp *qp)
{
	if (qp->sent_tail - qp->sent_head >= qp->sq.size)
		rnic_sent_complete(qp);
	return qp->sent_tail - qp->sent_head < qp->sq.size;
}

/* Take work requests until one begins a message. */
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
		/* Leave it to the flush, for which a consumer that drains the queue waits. */
		if (rnic_qp_state(qp) == IB_QPS_ERR)
			return false;
		if (must_wait(qp)) {
			/* ORD is 0, so no Read can be sent on this connection. */
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
 * rnic_tx_next() - choose the next message and prepare its header
 * @qp:	queue pair, socket locked, no message begun
 *
 * An RTR comes first. Then responses and work requests take turns.
 *
 * Return: false if there is nothing to send now.
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

/*
 * End the connection, because the source of a Read is gone since its Request was checked. The
 * Terminate shows the Request, advanced to where the response ends (RFC 5040 section 4.8). Not
 * inline, because a kernel may zero its stack first, for each part of a response.
 */
static noinline void fail_response(struct rnic_qp *qp, enum rnic_mr_fault fault)
{
	struct ddp_seg seg = {
		.opcode = RDMAP_READ_REQ, .qn = DDP_QN_READ_REQ, .last = true,
		.msn = rnic_read_in_msn(&qp->readq),
	};
	const struct rnic_read_in *r = rnic_read_in_head(&qp->readq);
	struct rnic_tx *tx = &qp->tx;
	u32 sent = r->len - tx->left;
	u8 hdr[DDP_HDR_MAX];

	seg.read.sink_stag = r->sink_stag;
	seg.read.sink_to = r->sink_to + sent;
	seg.read.size = tx->left;
	seg.read.src_stag = r->src_stag;
	seg.read.src_to = r->src_to + sent;
	ddp_build(&seg, hdr);
	tx->msg = RNIC_TX_NONE;
	rnic_qp_fail_peer(qp, rnic_read_error(fault), hdr, sizeof(hdr), sizeof(hdr));
}

/* Copy the next @n bytes of a Read Response to @dst. */
static int copy_response(struct rnic_qp *qp, void *dst, u32 n)
{
	const struct rnic_read_in *r = rnic_read_in_head(&qp->readq);
	u64 from = r->src_to + qp->tx.off;
	enum rnic_mr_fault fault = RNIC_MR_ACCESS;

	/* The consumer may have taken the right away since the Request. */
	if (READ_ONCE(qp->access) & IB_ACCESS_REMOTE_READ)
		fault = rnic_mr_get(&qp->mem, r->src_stag, from, n, IB_ACCESS_REMOTE_READ);
	if (!fault) {
		if (!rnic_mr_is_wild(qp->mem.mr, IB_ACCESS_REMOTE_READ))
			rnic_mr_read(qp->mem.mr, from, dst, n);
		else if (rnic_mr_read_wild(from, dst, n))
			fault = RNIC_MR_BOUNDS;
	}
	if (fault) {
		fail_response(qp, fault);
		return -EACCES;
	}
	return 0;
}

/* Copy the next @n bytes of a work request to @dst. */
static int copy_wqe(struct rnic_qp *qp, void *dst, u32 n)
{
	struct rnic_tx *tx = &qp->tx;
	int ret;

	if (tx->wqe.flags & RNIC_WQE_INLINE) {
		memcpy(dst, tx->wqe.inline_data + tx->off, n);
		return 0;
	}
	ret = rnic_sgl_copy_from(&qp->mem, &tx->sgl, dst, n);
	if (ret)
		fail_wqe(qp, IB_WC_LOC_PROT_ERR);
	return ret;
}

/**
 * rnic_tx_payload() - copy the next payload bytes of the message
 * @qp:	queue pair with a message begun
 * @dst:	their place in an FPDU
 * @n:	number of bytes
 *
 * Leaves the access to the memory open, for the next call.
 *
 * Return: 0. A negative errno if the memory may not be read, or no longer; then the message and
 * the connection have ended.
 */
int rnic_tx_payload(struct rnic_qp *qp, void *dst, u32 n)
{
	return qp->tx.msg == RNIC_TX_RESPONSE ? copy_response(qp, dst, n) : copy_wqe(qp, dst, n);
}

/**
 * rnic_tx_done() - end the message after its last FPDU was encoded
 * @qp:	queue pair
 */
void rnic_tx_done(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	rnic_stat_inc(qp->dev, RNIC_STAT_TX_MSG + tx->seg.opcode);
	if (!tx->seg.tagged)
		tx->msn[tx->seg.qn]++;
	/* A Read is done after its response has arrived. */
	if (tx->msg == RNIC_TX_WQE && tx->seg.opcode != RDMAP_READ_REQ)
		rnic_sent_done(qp, tx->slot, IB_WC_SUCCESS);
	else if (tx->msg == RNIC_TX_RESPONSE)
		rnic_read_in_pop(&qp->readq);
	tx->msg = RNIC_TX_NONE;
}

/**
 * rnic_tx_idle() - test for an idle sending side
 * @qp:	queue pair, socket locked
 *
 * Return: true if an agreed RTR was sent, all posted work requests and all Reads of the peer were
 * carried out, and TCP has all their bytes.
 */
bool rnic_tx_idle(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	return !tx->rtr && tx->msg == RNIC_TX_NONE && !tx->waits && tx->chunk.fill == tx->sent &&
	       !rnic_reads_out(&qp->readq) && !rnic_reads_in(&qp->readq) &&
	       !rnic_sq_pending(&qp->sq);
}

/**
 * rnic_tx_waiting() - test for a work request that is not begun
 * @qp:	queue pair, socket locked
 *
 * Return: true if there is one. It may wait for outstanding Reads.
 */
bool rnic_tx_waiting(struct rnic_qp *qp)
{
	return qp->tx.waits || rnic_sq_pending(&qp->sq);
}
