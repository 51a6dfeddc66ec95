// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work requests to FPDUs to TCP.
 *
 * rnic_tx_run() is entered with the socket locked, by the task that rang the
 * doorbell or by the worker. It goes round this loop until nothing is left to
 * send or TCP is full:
 *
 *	next_message()	   what to send next: RTR, Read Response, work request
 *	begin_*()	   check it, fill in its header template
 *	encode_segment()   one FPDU into the image: header, payload, CRC
 *	push_image()	   the image's pages to TCP, by reference
 *
 * The image is a chunk of pages that FPDUs are encoded into one behind the
 * other, so the payload is copied once, the CRC runs over that copy (the user
 * may change his memory at any time), and TCP gets many FPDUs in one call. What
 * TCP did not take stays between tx->sent and tx->img.fill: that and the position in
 * the current message are all there is to resume from.
 *
 * Segments. FPDUs of a long message are exactly EMSS octets long, so that TCP's
 * own cutting, in software or in the NIC, cuts between FPDUs. tx->seg_used
 * follows how full the current segment is; an FPDU that does not fit into the
 * rest of it begins a new one, see rnic_sock_cut().
 *
 * A work request is done when its last octet was encoded: its memory is not
 * looked at again. It completes after the push, in order (rnic_sent_complete()).
 *
 * Errors of the consumer's own (bad SGE, bad STag) complete the work request
 * with their status and end the connection with a Terminate.
 */
#include <linux/mm.h>

#include "dev.h"
#include "mr.h"
#include "qp.h"

/* Octets encoded in one go before the worker lets others run. */
#define TX_BUDGET	(1024 * 1024)
/* Above it segments come in big chunks. */
#define BIG_EMSS	16384
/* Room that is always left in a chunk for a Terminate. */
#define TERM_ROOM	128

enum encode { SEG_ENCODED, IMAGE_FULL, CUT_DUE, TX_ERROR };

/* Nothing left to send: who sends next may append to the chunk. */
static void drop_chunk(struct rnic_tx *tx)
{
	if (tx->sent == tx->img.fill)
		rnic_chunk_put(&tx->img);
}

static u8 *image_end(struct rnic_tx *tx)
{
	return (u8 *)page_address(tx->img.page) + tx->img.fill;
}

static u32 image_room(const struct rnic_tx *tx)
{
	u32 room = tx->img.page ? tx->img.size - tx->img.fill : 0;

	return room > TERM_ROOM ? room - TERM_ROOM : 0;
}

/*
 * All of the image is with TCP: go on in another chunk, with room for @size octets,
 * or an empty one.
 */
static bool new_chunk(struct rnic_tx *tx, u32 size)
{
	bool got;

	do {
		got = rnic_chunk_get(&tx->img, tx->emss > BIG_EMSS);
	} while (got && tx->img.fill && image_room(tx) < size);
	tx->sent = tx->img.fill;
	return got;
}

/*
 * The consumer's own mistake: complete its work request with @status. The peer
 * is told that this end broke down.
 */
static enum encode local_error(struct rnic_qp *qp, enum ib_wc_status status)
{
	rnic_sent_done(qp, qp->tx.slot, status);
	qp->tx.msg = RNIC_TX_NONE;
	qp->tx.held = false;
	rnic_qp_fail(qp, WIRE_RDMAP_LOCAL, false);
	return TX_ERROR;
}

static void begin_message(struct rnic_tx *tx, enum rnic_tx_msg msg, enum rdmap_opcode opcode,
			  u32 len)
{
	tx->msg = msg;
	tx->left = len;
	tx->off = 0;
	memset(&tx->seg, 0, sizeof(tx->seg));
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

static enum ib_wc_status check_sgl(struct rnic_qp *qp, int access)
{
	struct rnic_tx *tx = &qp->tx;
	enum rnic_mr_fault fault;

	if (tx->wqe.flags & RNIC_WQE_INLINE)
		return IB_WC_SUCCESS;
	if (rnic_sgl_init(&tx->sgl, tx->wqe.sge, tx->wqe.num_sge))
		return IB_WC_LOC_LEN_ERR;
	if (rnic_sgl_check(qp->dev, qp->ibqp.pd, &tx->sgl, access, &fault))
		return IB_WC_LOC_PROT_ERR;
	return IB_WC_SUCCESS;
}

static enum rdmap_opcode send_opcode(const struct rnic_wqe *wqe)
{
	if (wqe->op == RNIC_OP_SEND_INV)
		return wqe->flags & RNIC_WQE_SOLICITED ? RDMAP_SEND_SE_INV : RDMAP_SEND_INV;
	return wqe->flags & RNIC_WQE_SOLICITED ? RDMAP_SEND_SE : RDMAP_SEND;
}

static void begin_read(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;
	const struct rnic_wqe *wqe = &tx->wqe;
	struct rnic_read_out r = {
		.slot = tx->slot,
		.stag = wqe->num_sge ? wqe->sge[0].lkey : 0,
		.to = wqe->num_sge ? wqe->sge[0].addr : 0,
		.len = wqe->len,
	};

	begin_message(tx, RNIC_TX_WQE, RDMAP_READ_REQ, 0);
	tx->seg.qn = DDP_QN_READ_REQ;
	tx->seg.read.sink_stag = r.stag;
	tx->seg.read.sink_to = r.to;
	tx->seg.read.size = r.len;
	tx->seg.read.src_stag = wqe->rkey;
	tx->seg.read.src_to = wqe->raddr;
	rnic_read_out_push(&qp->readq, &r);
}

/* Operations that put nothing on the wire. */
static bool local_operation(struct rnic_qp *qp)
{
	const struct rnic_wqe *wqe = &qp->tx.wqe;
	int ret;

	if (wqe->op == RNIC_OP_REG_MR)
		ret = rnic_mr_fastreg(qp->dev, qp->ibqp.pd, wqe->reg_mr, wqe->rkey, wqe->access);
	else
		ret = rnic_mr_invalidate(qp->dev, qp->ibqp.pd, wqe->rkey, false);
	if (ret) {
		local_error(qp, IB_WC_MW_BIND_ERR);
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
	bool read = wqe->op == RNIC_OP_READ || wqe->op == RNIC_OP_READ_INV;
	enum ib_wc_status status;

	tx->held = false;
	if (wqe->op == RNIC_OP_REG_MR || wqe->op == RNIC_OP_LOCAL_INV)
		return local_operation(qp);
	status = check_sgl(qp, read ? IB_ACCESS_LOCAL_WRITE : 0);
	if (status) {
		local_error(qp, status);
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
		begin_message(tx, RNIC_TX_WQE, send_opcode(wqe), wqe->len);
		tx->seg.stag = wqe->op == RNIC_OP_SEND_INV ? wqe->rkey : 0;
	}
	return true;
}

/* Must tx->wqe wait for outstanding Reads? */
static bool must_wait(const struct rnic_qp *qp)
{
	const struct rnic_wqe *wqe = &qp->tx.wqe;
	u32 out = rnic_reads_out(&qp->readq);

	if (wqe->flags & RNIC_WQE_FENCE && out)
		return true;
	return (wqe->op == RNIC_OP_READ || wqe->op == RNIC_OP_READ_INV) &&
	       out >= qp->readq.ord;
}

/*
 * Room for one more work request that is not completed? A user who does not wait
 * for completions may have posted more than that in one go; only outstanding
 * Reads, which come back here, may keep us from completing.
 */
static bool sent_room(struct rnic_qp *qp)
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

	while (tx->msg == RNIC_TX_NONE && !qp->closing) {
		if (!tx->held) {
			if (!sent_room(qp))
				return false;
			ret = rnic_sq_pop(&qp->sq, &tx->wqe);
			if (!ret && rnic_sq_pending(&qp->sq))
				continue;
			if (!ret)
				return false;
			tx->slot = rnic_sent_add(qp, &tx->wqe);
			tx->held = true;
			if (ret < 0) {
				rnic_stat_inc(qp->dev, RNIC_STAT_BAD_WQES);
				local_error(qp, IB_WC_LOC_QP_OP_ERR);
				return false;
			}
		}
		if (qp->readq.ord == 0 && must_wait(qp) && !rnic_reads_out(&qp->readq)) {
			/* No Read can ever be sent on this connection. */
			local_error(qp, IB_WC_LOC_QP_OP_ERR);
			return false;
		}
		if (must_wait(qp) || !begin_wqe(qp))
			return false;
	}
	return tx->msg != RNIC_TX_NONE;
}

static bool next_message(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;
	struct rnic_read_in *r;

	if (!tx->open || qp->closing)
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
	if (!r || qp->closing)
		return false;
	begin_response(qp, r);
	return true;
}

/* The next @n octets of a Read Response, to @dst. */
static enum rnic_mr_fault copy_response(struct rnic_qp *qp, void *dst, u32 n)
{
	struct rnic_tx *tx = &qp->tx;
	struct rnic_mem_iter it;
	enum rnic_mr_fault fault;
	struct rnic_mr *mr;
	size_t got;

	mr = rnic_mr_get(qp->dev, qp->ibqp.pd, tx->src, tx->src_to, n, IB_ACCESS_REMOTE_READ,
			 &fault);
	if (mr) {
		rnic_mr_iter(mr, tx->src_to, n, ITER_SOURCE, &it);
		got = copy_from_iter(dst, n, &it.iter);
		rnic_mr_put(mr);
		fault = got == n ? RNIC_MR_OK : RNIC_MR_BOUNDS;
		tx->src_to += n;
	}
	return fault;
}

/* The next @n payload octets of the message, to their place in the image. */
static enum rnic_mr_fault copy_payload(struct rnic_qp *qp, void *dst, u32 n)
{
	struct rnic_tx *tx = &qp->tx;
	enum rnic_mr_fault fault = RNIC_MR_OK;

	if (tx->msg == RNIC_TX_RESPONSE)
		return copy_response(qp, dst, n);
	if (tx->wqe.flags & RNIC_WQE_INLINE)
		memcpy(dst, tx->wqe.inline_data + tx->off, n);
	else
		rnic_sgl_copy_from(qp->dev, qp->ibqp.pd, &tx->sgl, dst, n, &fault);
	return fault;
}

/* Memory vanished under a message that has begun. */
static enum encode payload_fault(struct rnic_qp *qp)
{
	if (qp->tx.msg == RNIC_TX_WQE)
		return local_error(qp, IB_WC_LOC_PROT_ERR);
	qp->tx.msg = RNIC_TX_NONE;
	rnic_qp_fail(qp, WIRE_RDMAP_LOCAL, false);
	return TX_ERROR;
}

static void message_done(struct rnic_qp *qp)
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

/* One FPDU of @n payload octets at the end of the image, which has the room. */
static enum encode encode_fpdu(struct rnic_qp *qp, u32 hdr_len, u32 n)
{
	struct rnic_tx *tx = &qp->tx;
	u8 hdr[DDP_HDR_MAX];
	u32 done, part;

	tx->seg.last = n == tx->left;
	if (!tx->seg.tagged) {
		tx->seg.msn = tx->msn[tx->seg.qn];
		tx->seg.mo = tx->off;
	}
	mpa_tx_begin(&tx->mpa, image_end(tx), hdr_len + n);
	mpa_tx_put(&tx->mpa, hdr, ddp_build(&tx->seg, hdr));
	for (done = 0; done < n; done += part) {
		u8 *at = mpa_tx_at(&tx->mpa);

		part = min(n - done, mpa_tx_room(&tx->mpa));
		if (copy_payload(qp, at, part) != RNIC_MR_OK)
			return payload_fault(qp);
		mpa_tx_wrote(&tx->mpa, part);
		tx->off += part;
	}
	part = mpa_tx_end(&tx->mpa);
	tx->img.fill += part;
	tx->seg_used = (tx->seg_used + part) % tx->emss;
	tx->left -= n;
	tx->seg.to += n;
	rnic_stat_inc(qp->dev, RNIC_STAT_TX_FPDUS);
	rnic_stat_add(qp->dev, RNIC_STAT_TX_OCTETS, n);
	if (tx->seg.last)
		message_done(qp);
	return SEG_ENCODED;
}

/* How long the next FPDU is, and whether it may follow the ones in the image. */
static enum encode encode_segment(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;
	bool markers = tx->mpa.markers;
	u32 hdr_len = rdmap_hdr_len(tx->seg.opcode);
	u32 ulpdu = min_t(u64, (u64)hdr_len + tx->left, mpa_mulpdu(tx->emss, markers));
	u32 size = mpa_fpdu_size(tx->mpa.pos, ulpdu, markers);

	if (tx->seg_used && tx->seg_used + size > tx->emss)
		return CUT_DUE;
	if (size > image_room(tx)) {
		if (tx->img.fill != tx->sent)
			return IMAGE_FULL;
		if (!new_chunk(tx, size))
			return IMAGE_FULL;
		if (size > image_room(tx))
			ulpdu = mpa_ulpdu_fit(tx->mpa.pos, image_room(tx), markers);
	}
	return encode_fpdu(qp, hdr_len, ulpdu - hdr_len);
}

/*
 * Encode until the image is full, a new segment is due, or nothing is left.
 *
 * Return: more is to be sent after this image.
 */
static bool fill_image(struct rnic_qp *qp, u32 limit, bool *cut)
{
	struct rnic_tx *tx = &qp->tx;
	u32 start = tx->mpa.pos;

	*cut = false;
	while (tx->mpa.pos - start < limit) {
		if (tx->msg == RNIC_TX_NONE && !next_message(qp))
			return false;
		switch (encode_segment(qp)) {
		case SEG_ENCODED:
			break;
		case IMAGE_FULL:
			return true;
		case CUT_DUE:
			*cut = true;
			return true;
		case TX_ERROR:
			return false;
		}
	}
	return true;
}

/* Return: all of the image is with TCP. */
static bool push_image(struct rnic_qp *qp, struct rnic_sock *s, bool more)
{
	struct rnic_tx *tx = &qp->tx;
	int ret;

	while (tx->sent < tx->img.fill) {
		ret = rnic_sock_push(s, tx->img.page, tx->sent, tx->img.fill - tx->sent, more);
		if (ret < 0 && ret != -EAGAIN)
			tx->broken = true;
		if (ret <= 0)
			return false;
		tx->sent += ret;
	}
	return true;
}

/* TCP took nothing for want of memory, and no acknowledgment will wake us. */
static bool starved(const struct rnic_tx *tx, const struct rnic_sock *s)
{
	return tx->sent != tx->img.fill && !tx->broken && rnic_sock_all_acked(s);
}

/**
 * rnic_tx_run() - send what can be sent
 * @qp:	queue pair, attached
 * @s:	its socket, locked
 *
 * Context: process.
 * Return: true when it stopped for fairness only and wants to be called again;
 * else everything is sent, or RNIC_SOCK_SPACE or an incoming FPDU will tell.
 */
bool rnic_tx_run(struct rnic_qp *qp, struct rnic_sock *s)
{
	struct rnic_tx *tx = &qp->tx;
	u32 start = tx->mpa.pos;
	bool more = true, again = false, cut;

	rnic_sock_assert_locked(s);
	tx->emss = max_t(u32, rnic_sock_emss(s) & ~3U, MPA_MULPDU_MIN);
	if (rnic_sock_drained(s))
		tx->seg_used = 0;
	while (more && !again && push_image(qp, s, false) && rnic_sock_room(s)) {
		more = fill_image(qp, TX_BUDGET, &cut);
		if (!push_image(qp, s, more))
			break;
		if (cut) {
			rnic_sock_cut(s);
			tx->seg_used = 0;
		}
		/* Enough for now, or no memory for the moment. */
		again = more && (tx->mpa.pos - start > TX_BUDGET || !tx->img.page);
	}
	rnic_sent_complete(qp);
	again |= starved(tx, s);
	drop_chunk(tx);
	return again;
}

static void encode_terminate(struct rnic_qp *qp)
{
	struct ddp_seg seg = { .opcode = RDMAP_TERMINATE, .qn = DDP_QN_TERMINATE, .last = true };
	struct rnic_tx *tx = &qp->tx;
	u8 hdr[DDP_HDR_MAX], body[RDMAP_TERM_MAX];
	u32 hdr_len, len;

	if (!tx->img.page && !new_chunk(tx, TERM_ROOM))
		return;
	seg.msn = tx->msn[DDP_QN_TERMINATE];
	hdr_len = ddp_build(&seg, hdr);
	len = rdmap_term_build(&tx->term, body);
	mpa_tx_begin(&tx->mpa, image_end(tx), hdr_len + len);
	mpa_tx_put(&tx->mpa, hdr, hdr_len);
	mpa_tx_put(&tx->mpa, body, len);
	tx->img.fill += mpa_tx_end(&tx->mpa);
	rnic_stat_inc(qp->dev, RNIC_STAT_TX_MSG + RDMAP_TERMINATE);
}

/**
 * rnic_tx_finish() - the Terminate, if one is due, and what TCP still takes
 * @qp:	queue pair whose connection ends
 * @s:	its socket, locked
 *
 * The room for it is kept in every chunk. A message that is under way is left
 * incomplete: the Terminate is the last FPDU of the stream.
 */
void rnic_tx_finish(struct rnic_qp *qp, struct rnic_sock *s)
{
	if (qp->tx.term_due)
		encode_terminate(qp);
	qp->tx.term_due = false;
	push_image(qp, s, false);
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

	return tx->msg == RNIC_TX_NONE && !tx->held && tx->img.fill == tx->sent &&
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
	return qp->tx.held || rnic_sq_pending(&qp->sq);
}
