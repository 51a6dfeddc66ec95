// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * From TCP's receive queue to memory and completions.
 *
 * The caller of rnic_rx_run() holds the socket lock. run_pass() takes FPDU after FPDU:
 *
 *	pull_fpdu()		wire/mpa.c verifies the unread bytes up to the FPDU's last
 *	ddp_parse()		converts the header to host order, checks what needs no state
 *	ddp_rx_check()		checks that MSN and MO are those of the next segment
 *	handle_segment()	calls rx_send(), rx_write(), rx_read_request(),
 *				rx_read_response() or rx_terminate()
 *	ddp_rx_accept()		moves MSN and MO on
 *
 * The bytes of an FPDU stay in the receive queue until it is complete and its CRC is right.
 * Then its handler checks rights and bounds, copies the payload from the queue to its
 * destination, piece by piece, and completes the message with its last segment. If the FPDU
 * is one piece, pull_fpdu() has its address. Otherwise pull_payload() walks the queue again.
 *
 * At its end a pass consumes the bytes of all FPDUs that it handled. TCP then wakes us when
 * the rest of the next FPDU is there, because the pass tells it how many bytes are missing.
 * The next pass continues behind the rx->mpa.seen bytes of that FPDU that are verified.
 *
 * A Send that finds no receive stays in the receive queue for a while (rnr.c). The next pass
 * begins with it.
 *
 * A handler returns an enum wire_err. rnic_qp_fail_peer() counts it and ends the connection with a
 * Terminate. No later FPDU is handled (ERR-09); the connection drops its bytes.
 */

#include "core/dev.h"
#include "mem/mr.h"
#include "qp/priv.h"
#include "qp/srq.h"
#include "qp/trace.h"
#include "tcp/stream.h"
#include "wire/place.h"

/* Bytes that a pass handles before the worker lets others run */
#define RX_BUDGET	(1024 * 1024)
/* Bytes after which a pass ends its access to memory and makes upcalls */
#define RX_HOLD		(64 * 1024)

/**
 * struct pass - one run over the receive queue
 * @qp:		queue pair
 * @s:		socket
 * @at:		position behind the current piece
 * @data:	the next byte of the current piece
 * @len:	bytes left in the current piece
 * @fpdu:	position of the current FPDU
 * @whole:	its first byte if it is one piece, or NULL
 * @done:	bytes of the FPDUs handled
 * @held:	@done when the access to memory began that may be going on
 * @fpdus:	number of FPDUs accepted
 * @payload:	bytes of payload in them
 */
struct pass {
	struct rnic_qp *qp;
	struct rnic_sock *s;
	struct rnic_cursor at;
	const u8 *data;
	u32 len;
	struct rnic_cursor fpdu;
	const u8 *whole;
	u32 done;
	u32 held;
	u32 fpdus;
	u32 payload;
};

/**
 * struct payload - payload of one FPDU on its way to memory
 * @p:		the pass
 * @off:	offset of the next byte in the ULPDU
 * @place:	the piece of memory that is being written
 */
struct payload {
	struct pass *p;
	u32 off;
	struct ddp_place place;
};

static void init_payload(struct payload *pl, struct pass *p, u32 off)
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
static enum wire_err place_tagged(struct pass *p, const struct ddp_seg *seg, u32 stag, u64 to,
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
static enum wire_err rx_send(struct pass *p, const struct ddp_seg *seg)
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

static enum wire_err rx_write(struct pass *p, const struct ddp_seg *seg)
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
static enum wire_err rx_read_response(struct pass *p, const struct ddp_seg *seg)
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

static enum wire_err handle_segment(struct pass *p, const struct ddp_seg *seg)
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

/* Handle a valid FPDU. From the first on this side may send, also a Terminate for it (NEG-30). */
static enum wire_err rx_fpdu(struct pass *p)
{
	struct rnic_qp *qp = p->qp;
	struct rnic_rx *rx = &qp->rx;
	struct ddp_seg *seg = &rx->seg;
	enum wire_err err;

	qp->tx.open = true;
	err = ddp_parse(seg, rx->mpa.hdr, rx->mpa.hdr_len, rx->mpa.ulpdu_len);
	if (!err)
		err = ddp_rx_check(&rx->ddp, seg);
	if (!err)
		err = handle_segment(p, seg);
	if (err || rx->rnr)
		return err;
	ddp_rx_accept(&rx->ddp, seg);
	rx->first = false;
	rnic_pace_heard(&qp->tx.pace);
	p->fpdus++;
	p->payload += seg->len;
	if (seg->last)
		rnic_stat_inc(qp->dev, RNIC_STAT_RX_MSG + seg->opcode);
	return WIRE_OK;
}

/* End the access to memory, for which deregistration waits. */
static void end_access(struct pass *p)
{
	rnic_mr_put(&p->qp->mem);
	p->held = p->done;
}

/* Verify the unread bytes up to the last of the current FPDU. */
static enum mpa_rx_verdict pull_fpdu(struct pass *p)
{
	struct mpa_rx *mpa = &p->qp->rx.mpa;
	enum mpa_rx_verdict verdict;
	const u8 *data;
	u32 used;

	do {
		if (!p->len)
			p->len = rnic_sock_next(p->s, &p->at, &p->data);
		if (!p->len)
			return MPA_RX_MORE;
		data = p->data;
		verdict = mpa_rx_feed(mpa, data, p->len, &used);
		p->data += used;
		p->len -= used;
	} while (verdict == MPA_RX_MORE);
	p->whole = used == mpa->size ? data : NULL;
	return verdict;
}

/* Go on behind the current FPDU. */
static void finish_fpdu(struct pass *p)
{
	struct mpa_rx *mpa = &p->qp->rx.mpa;

	p->done += mpa->size;
	rnic_cursor_set(&p->fpdu, p->at.skb, p->fpdu.seq + mpa->size);
	mpa_rx_next(mpa);
	if (p->done - p->held > RX_HOLD) {
		end_access(p);
		rnic_qp_tell(p->qp);
	}
}

/*
 * Handle FPDU after FPDU until no whole one is left, one fails or must wait, or RX_BUDGET is used
 * up. One that waits is verified already.
 */
static void handle_fpdus(struct pass *p)
{
	struct rnic_qp *qp = p->qp;
	const struct mpa_rx *mpa = &qp->rx.mpa;
	enum mpa_rx_verdict verdict;
	enum wire_err err;

	while (p->done < RX_BUDGET) {
		verdict = qp->rx.rnr ? MPA_RX_FPDU : pull_fpdu(p);
		if (verdict == MPA_RX_MORE)
			return;
		err = verdict == MPA_RX_FAILED ? mpa->failed : rx_fpdu(p);
		if (err)
			rnic_qp_fail_peer(qp, err, mpa->hdr, mpa->hdr_len, mpa->ulpdu_len);
		if (rnic_qp_failed(qp) || qp->rx.rnr)
			return;
		finish_fpdu(p);
	}
}

/* Add what the pass accepted to the device's counters, once, as count_sent() does (tx.c). */
static void count_received(const struct pass *p)
{
	if (!p->fpdus)
		return;
	rnic_stat_add(p->qp->dev, RNIC_STAT_RX_FPDUS, p->fpdus);
	rnic_stat_add(p->qp->dev, RNIC_STAT_RX_BYTES, p->payload);
}

static bool run_pass(struct rnic_qp *qp, struct rnic_sock *s)
{
	struct pass p = { .qp = qp, .s = s };
	struct mpa_rx *mpa = &qp->rx.mpa;

	rnic_sock_rewind(s, &p.fpdu, 0);
	rnic_sock_rewind(s, &p.at, mpa->seen);
	handle_fpdus(&p);
	end_access(&p);
	count_received(&p);
	rnic_sock_consume(s, p.done);
	if (!rnic_qp_failed(qp) && p.done < RX_BUDGET) {
		rnic_sock_want(s, mpa->seen + mpa_rx_missing(mpa));
		qp->rx.eof = !qp->rx.rnr && rnic_sock_peer_closed(s) &&
			     rnic_sock_unread(s) <= mpa->seen;
	}
	rnic_qp_tell(qp);
	return !rnic_qp_failed(qp) && p.done >= RX_BUDGET;
}

/**
 * rnic_rx_run() - handle the FPDUs that have arrived
 * @qp:	queue pair, attached
 * @s:	its socket, locked
 *
 * Handles all unread bytes, so data that TCP reports meanwhile wakes nobody (@looking).
 *
 * Context: process or softirq.
 * Return: true if RX_BUDGET is used up, and the caller must call again.
 */
bool rnic_rx_run(struct rnic_qp *qp, struct rnic_sock *s)
{
	bool again;

	rnic_sock_assert_locked(s);
	if (rnic_qp_failed(qp))
		return false;
	qp->looking = true;
	again = run_pass(qp, s);
	qp->looking = false;
	return again;
}
