// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages that arrive: check each segment, place its payload, and complete the message.
 *
 * rx.c gives each segment of a valid FPDU to rnic_rx_segment(), in order, under the socket lock. A
 * handler checks rights and bounds, copies the payload from TCP's receive queue to its destination,
 * piece by piece, and completes the message with its last segment. It returns an enum wire_err, for
 * which rx.c ends the connection.
 */
#include "core/dev.h"
#include "mem/mr.h"
#include "qp/priv.h"
#include "qp/srq.h"
#include "qp/trace.h"
#include "tcp/stream.h"
#include "wire/place.h"

/**
 * struct payload - payload of one FPDU on its way to memory
 * @p:		the pass
 * @off:	offset of the next byte in the ULPDU
 * @place:	the piece of memory that is being written
 */
struct payload {
	struct rnic_pass *p;
	u32 off;
	struct ddp_place place;
};

static void init_payload(struct payload *pl, struct rnic_pass *p, u32 off)
{
	pl->p = p;
	pl->off = off;
}

/*
 * Place @n bytes at offset @wire of an FPDU of several pieces. noinline, because few small
 * messages need it.
 */
static noinline int pull_payload(struct payload *pl, u32 wire, u32 n)
{
	struct rnic_cursor at = pl->p->fpdu;
	const u8 *data;
	u32 piece;

	at.seq += wire;
	for (; n; n -= piece) {
		piece = min(n, rnic_sock_next(pl->p->s, &at, &data));
		/* A reader of the program's that slept when MPA started took them (streams.rst). */
		if (!piece)
			return -EFAULT;
		ddp_place_add(&pl->place, data, piece);
	}
	return 0;
}

/* Add the next @n payload bytes, without Markers, to the piece of memory that was begun. */
static int place_next(struct payload *pl, u32 n)
{
	const u8 *whole = pl->p->whole;
	u32 part, wire;

	for (; n; pl->off += part, n -= part) {
		part = min(n, mpa_ulpdu_span(&pl->p->qp->rx.mpa, pl->off, &wire));
		if (whole)
			ddp_place_add(&pl->place, whole + wire, part);
		else if (pull_payload(pl, wire, part))
			return -EFAULT;
	}
	return 0;
}

/* Place the next @n payload bytes at @addr in a region. */
static int copy_payload(struct payload *pl, const struct rnic_mr *mr, u64 addr, u32 n)
{
	u32 part;

	for (; n; addr += part, n -= part) {
		part = n;
		ddp_place_begin(&pl->place, rnic_mr_at(mr, addr, &part));
		if (place_next(pl, part))
			return -EFAULT;
		ddp_place_end(&pl->place);
	}
	return 0;
}

/* Place bytes at kernel addresses that the peer chose, through a buffer. */
static noinline int copy_payload_wild(struct payload *pl, u64 addr, u32 n)
{
	u8 buf[128] __aligned(sizeof(u64));
	u32 part;

	for (; n; addr += part, n -= part) {
		part = min_t(u32, n, sizeof(buf) - (addr & (sizeof(buf) - 1)));
		ddp_place_begin(&pl->place, buf);
		if (place_next(pl, part))
			return -EFAULT;
		ddp_place_end(&pl->place);
		if (rnic_mr_write_wild(addr, buf, part))
			return -EFAULT;
	}
	return 0;
}

/* Place tagged payload at @to in the region of @stag. Empty payload needs no region. */
static enum wire_err place_tagged(struct rnic_pass *p, const struct ddp_seg *seg, u32 stag, u64 to,
				  int access)
{
	struct rnic_qp *qp = p->qp;
	enum rnic_mr_fault fault;
	struct payload pl;

	if (!seg->len)
		return WIRE_OK;
	fault = rnic_mr_get(&qp->mem, stag, to, seg->len, access);
	if (fault)
		return rnic_tagged_error(fault);
	init_payload(&pl, p, seg->hdr_len);
	if (rnic_mr_is_wild(qp->mem.mr, access))
		return copy_payload_wild(&pl, to, seg->len) ? WIRE_DDP_T_BOUNDS : WIRE_OK;
	return copy_payload(&pl, qp->mem.mr, to, seg->len) ? WIRE_DDP_LOCAL : WIRE_OK;
}

static enum wire_err complete_send(struct rnic_qp *qp, const struct ddp_seg *seg)
{
	bool solicited = seg->opcode == RDMAP_SEND_SE || seg->opcode == RDMAP_SEND_SE_INV;
	bool inval = seg->opcode == RDMAP_SEND_INV || seg->opcode == RDMAP_SEND_SE_INV;

	if (inval && rnic_mr_invalidate(&qp->mem, seg->stag, true))
		return WIRE_RDMAP_NOINVAL;
	rnic_recv_complete(qp, IB_WC_SUCCESS, seg->mo + seg->len, seg->stag, inval, solicited);
	return WIRE_OK;
}

/* Place the next @n payload bytes in the receive. */
static int fill_receive(struct rnic_qp *qp, u32 n, struct payload *pl)
{
	u32 piece;
	u64 addr;

	for (; n; n -= piece) {
		piece = rnic_sgl_next(&qp->mem, &qp->rx.sgl, IB_ACCESS_LOCAL_WRITE, &addr, n);
		if (!piece)
			return -EACCES;
		if (copy_payload(pl, qp->mem.mr, addr, piece))
			return -EFAULT;
	}
	return 0;
}

/* Do so in the protection domain of the queue that the receive comes from. */
static int place_send(struct rnic_qp *qp, u32 n, struct payload *pl)
{
	struct ib_pd *own = qp->mem.pd;
	int ret;

	if (qp->srq)
		qp->mem.pd = qp->srq->ibsrq.pd;
	ret = fill_receive(qp, n, pl);
	qp->mem.pd = own;
	return ret;
}

/* Place a segment of a Send in the oldest receive, or set @rnr and leave it for later. */
static enum wire_err rx_send(struct rnic_pass *p, const struct ddp_seg *seg)
{
	struct rnic_qp *qp = p->qp;
	struct rnic_rx *rx = &qp->rx;
	int taken = rx->have_rwqe ? 1 : rnic_receive_take(qp);
	struct payload pl;

	if (taken < 0)
		return WIRE_DDP_LOCAL;
	if (!taken) {
		if (rnic_receive_await(qp))
			return WIRE_OK;
		rnic_stat_inc(qp->dev, RNIC_STAT_RX_NO_RECEIVE);
		return WIRE_DDP_U_NOBUF;
	}
	if (seg->len > rx->sgl.left) {
		rnic_receive_fail(qp, IB_WC_LOC_LEN_ERR);
		return WIRE_DDP_U_TOOLONG;
	}
	init_payload(&pl, p, seg->hdr_len);
	if (place_send(qp, seg->len, &pl)) {
		rnic_receive_fail(qp, IB_WC_LOC_PROT_ERR);
		return WIRE_DDP_LOCAL;
	}
	return seg->last ? complete_send(qp, seg) : WIRE_OK;
}

static enum wire_err rx_write(struct rnic_pass *p, const struct ddp_seg *seg)
{
	if (seg->len && !(READ_ONCE(p->qp->access) & IB_ACCESS_REMOTE_WRITE))
		return WIRE_RDMAP_ACCESS;
	return place_tagged(p, seg, seg->stag, seg->to, IB_ACCESS_REMOTE_WRITE);
}

/* Check the rights for the whole message. copy_response() checks them again. */
static enum wire_err rx_read_request(struct rnic_qp *qp, const struct ddp_seg *seg)
{
	struct rnic_read_in r = {
		.sink_stag = seg->read.sink_stag,
		.sink_to = seg->read.sink_to,
		.len = seg->read.size,
		.src_stag = seg->read.src_stag,
		.src_to = seg->read.src_to,
	};
	enum rnic_mr_fault fault;

	if (r.len) {
		if (!(READ_ONCE(qp->access) & IB_ACCESS_REMOTE_READ))
			return WIRE_RDMAP_ACCESS;
		fault = rnic_mr_get(&qp->mem, r.src_stag, r.src_to, r.len, IB_ACCESS_REMOTE_READ);
		if (fault)
			return rnic_read_error(fault);
	}
	return rnic_read_in_push(&qp->readq, &r) ? WIRE_OK : WIRE_DDP_U_NOBUF;
}

static void complete_read(struct rnic_qp *qp, const struct rnic_read_out *r)
{
	enum ib_wc_status status = IB_WC_SUCCESS;
	u32 inval;

	if (r->slot != RNIC_NO_SLOT) {
		inval = qp->sent[r->slot].inval;
		if (inval && rnic_mr_invalidate(&qp->mem, inval, false)) {
			rnic_qp_fail(qp, WIRE_RDMAP_LOCAL);
			status = IB_WC_LOC_PROT_ERR;
		}
		rnic_sent_done(qp, r->slot, status);
	}
	rnic_read_out_pop(&qp->readq);
	rnic_sent_complete(qp);
}

/* Place a segment of a response, which must continue the oldest outstanding Read. */
static enum wire_err rx_read_response(struct rnic_pass *p, const struct ddp_seg *seg)
{
	struct rnic_qp *qp = p->qp;
	struct rnic_read_out *r = rnic_read_out_head(&qp->readq);
	enum wire_err err;

	if (!r)
		return WIRE_RDMAP_OPCODE;
	if (seg->len || r->len) {
		if (seg->stag != qp->tx.token)
			return WIRE_DDP_T_STAG;
		if (seg->to != r->sink + r->got || seg->len > r->len - r->got)
			return WIRE_DDP_T_BOUNDS;
	}
	if (seg->last != (r->got + seg->len == r->len))
		return WIRE_DDP_T_BOUNDS;
	err = place_tagged(p, seg, r->stag, r->to + r->got, IB_ACCESS_LOCAL_WRITE);
	if (err) {
		/* The consumer has taken the sink away. */
		if (r->slot != RNIC_NO_SLOT)
			rnic_sent_done(qp, r->slot, IB_WC_LOC_PROT_ERR);
		return err;
	}
	r->got += seg->len;
	if (seg->last)
		complete_read(qp, r);
	return WIRE_OK;
}

/* Return: the Read that a Terminate is about, the oldest if it names none of ours, or NULL. */
static struct rnic_read_out *find_failed_read(struct rnic_readq *rq, const struct rdmap_term *term)
{
	struct rnic_read_out *r = NULL;
	u32 msn;

	if (!rdmap_term_about_read(term))
		return NULL;
	if (rdmap_term_read(term, &msn))
		r = rnic_read_out_find(rq, msn);
	return r ?: rnic_read_out_head(rq);
}

/*
 * End the connection, because the peer sent a Terminate. If that is about one of our Reads, the
 * Read fails (RFC 5040 section 5.4). All other work requests are flushed.
 */
static void rx_terminate(struct rnic_qp *qp, const struct ddp_seg *seg)
{
	const struct mpa_rx *mpa = &qp->rx.mpa;
	const struct rnic_read_out *r;
	struct rdmap_term term = {};
	enum ib_wc_status status = IB_WC_REM_OP_ERR;
	enum wire_err err;

	/* A counter for each error; that of WIRE_OK counts those that we do not know. */
	static_assert(RNIC_STAT_RX_TERM + WIRE_ERR_MAX - 1 == RNIC_STAT_RX_TERM_LAST);
	rdmap_term_parse(&term, mpa->hdr + seg->hdr_len, mpa->hdr_len - seg->hdr_len);
	trace_rnic_error(&qp->ibqp, &term, false);
	err = wire_err_find(term.layer, term.etype, term.code);
	rnic_stat_inc(qp->dev, RNIC_STAT_RX_TERM + err);
	WRITE_ONCE(qp->term_rx, rnic_term_word(&term));
	r = find_failed_read(&qp->readq, &term);
	if (r && r->slot != RNIC_NO_SLOT) {
		if (term.layer == TERM_LAYER_RDMAP && term.etype == TERM_RDMAP_PROTECTION)
			status = IB_WC_REM_ACCESS_ERR;
		rnic_sent_done(qp, r->slot, status);
	}
	qp->event = IB_EVENT_QP_FATAL;
	rnic_qp_stop(qp);
}

/*
 * The first FPDU of an initiator in the peer-to-peer model may be an RTR, a message without data
 * that the consumer must not see (RFC 6581 section 9.2). It would see a Send only.
 */
static bool is_rtr_send(const struct rnic_rx *rx, const struct ddp_seg *seg)
{
	return rx->first && rx->rtr & MPA_RTR_SEND && seg->opcode == RDMAP_SEND &&
	       seg->last && !seg->len;
}

/**
 * rnic_rx_segment() - do what a segment says
 * @p:	the pass, at an FPDU that is valid and the next in order
 * @seg:	its header
 *
 * Context: process or softirq, socket locked.
 * Return: WIRE_OK, also with rnic_rx.rnr set, which leaves the segment for a later call; or the
 * error that ends the connection.
 */
enum wire_err rnic_rx_segment(struct rnic_pass *p, const struct ddp_seg *seg)
{
	if (!p->qp->rx.rnr)
		trace_rnic_fpdu_received(&p->qp->ibqp, seg);
	switch (seg->opcode) {
	case RDMAP_WRITE:
		return rx_write(p, seg);
	case RDMAP_READ_REQ:
		return rx_read_request(p->qp, seg);
	case RDMAP_READ_RESP:
		return rx_read_response(p, seg);
	case RDMAP_TERMINATE:
		rx_terminate(p->qp, seg);
		return WIRE_OK;
	default:
		return is_rtr_send(&p->qp->rx, seg) ? WIRE_OK : rx_send(p, seg);
	}
}
