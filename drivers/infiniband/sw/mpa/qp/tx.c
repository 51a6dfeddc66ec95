// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work requests to FPDUs to TCP.
 *
 * rnic_tx_run() is entered with the socket locked, by who finishes the startup, by the
 * task that rang the doorbell, by the worker, by the softirq that brought a small Read
 * Request, by that of the timer that ends a wait for company, or by the tasklet of a
 * consumer in the kernel. It goes round this loop until nothing is left to send or TCP is full:
 *
 *	rnic_tx_next()	   what to send next: RTR, Read Response, work request (tx_msg.c)
 *	encode_segment()   one FPDU into the image: header, payload, CRC
 *	push_image()	   the image's pages to TCP, by reference
 *
 * The image is a chunk of pages that FPDUs are encoded into one behind the
 * other, so the payload is copied once, the CRC runs over that copy (the user
 * may change his memory at any time), and TCP gets many FPDUs in one call. What
 * TCP did not take stays between tx->sent and tx->img.fill: that and the position in
 * the current message are all there is to resume from. Of that, tx->held bytes at the
 * end may be waiting for company (hold.c). When TCP took all, the chunk
 * goes back to the stock (chunk.c): an idle connection keeps none.
 *
 * Segments. FPDUs fill them exactly, so that TCP's own cutting, in software or in
 * the NIC, cuts between FPDUs. tx->seg_used follows how full the current segment
 * is: a message that begins in the middle of one has a first FPDU that fills the
 * rest. Where no FPDU fills it, what follows begins a new buffer of TCP's, see
 * rnic_sock_cut(). That is so for less than 136 bytes, and with Markers, when a
 * segment would end just behind one, for the last 4.
 */
#include <linux/mm.h>

#include "core/dev.h"
#include "mem/mr.h"
#include "qp/qp.h"
#include "qp/trace.h"
#include "tcp/stream.h"

/* Above it segments come in big chunks. */
#define BIG_EMSS	16384

enum encode { SEG_ENCODED, IMAGE_FULL, CUT_DUE, TX_ERROR };

static u8 *image_end(struct rnic_tx *tx)
{
	return (u8 *)page_address(tx->img.page) + tx->img.fill;
}

/* Room for a Terminate is always left. */
static u32 image_room(const struct rnic_tx *tx)
{
	u32 room = tx->img.page ? tx->img.size - tx->img.fill : 0;

	return room > RNIC_TERM_ROOM ? room - RNIC_TERM_ROOM : 0;
}

/*
 * All of the image is with TCP: go on in another chunk, with room for @size bytes,
 * or an empty one. To allocate may be to sleep, so the access to memory ends before.
 */
static bool new_chunk(struct rnic_qp *qp, u32 size, gfp_t gfp)
{
	struct rnic_tx *tx = &qp->tx;
	bool big = tx->emss > BIG_EMSS, got;

	do {
		got = rnic_chunk_take(&tx->img, big);
		if (!got) {
			rnic_mr_put(&qp->mem);
			got = rnic_chunk_alloc(&tx->img, big, gfp);
		}
	} while (got && tx->img.fill && image_room(tx) < size);
	tx->sent = tx->img.fill;
	return got;
}

/* Nothing is left to send: who sends next, here or elsewhere, may append. */
static void drop_chunk(struct rnic_tx *tx)
{
	if (tx->sent == tx->img.fill)
		rnic_chunk_put(&tx->img);
}

/* Bytes in the last segment of @len. (A division takes as long as much of what is here.) */
static u32 rest_in_segment(u32 len, u32 emss)
{
	return len < emss ? len : len % emss;
}

/* A Marker stands in it. (Not in line: what is on the stack may be zeroed first.) */
static noinline void put_header_in_pieces(struct rnic_tx *tx)
{
	u8 hdr[DDP_HDR_MAX];

	mpa_tx_put(&tx->mpa, hdr, ddp_build(&tx->seg, hdr));
}

/* Mostly it is made where it stays. */
static void put_header(struct rnic_tx *tx, u32 len)
{
	u32 room;
	u8 *at = mpa_tx_at(&tx->mpa, &room);

	if (room < len)
		put_header_in_pieces(tx);
	else
		mpa_tx_wrote(&tx->mpa, ddp_build(&tx->seg, at));
}

/* One FPDU of @n payload bytes at the end of the image, which has the room. */
static enum encode encode_fpdu(struct rnic_qp *qp, u32 hdr_len, u32 n)
{
	struct rnic_tx *tx = &qp->tx;
	u32 done, part;

	tx->seg.last = n == tx->left;
	if (!tx->seg.tagged) {
		tx->seg.msn = tx->msn[tx->seg.qn];
		tx->seg.mo = tx->off;
	}
	mpa_tx_begin(&tx->mpa, image_end(tx), hdr_len + n);
	put_header(tx, hdr_len);
	for (done = 0; done < n; done += part) {
		u8 *at = mpa_tx_at(&tx->mpa, &part);

		part = min(n - done, part);
		if (rnic_tx_payload(qp, at, part)) {
			rnic_tx_fault(qp);
			return TX_ERROR;
		}
		mpa_tx_wrote(&tx->mpa, part);
		tx->off += part;
	}
	trace_rnic_fpdu_sent(&qp->ibqp, &tx->seg, n);
	part = mpa_tx_end(&tx->mpa);
	tx->img.fill += part;
	tx->seg_used = rest_in_segment(tx->seg_used + part, tx->emss);
	tx->left -= n;
	tx->seg.to += n;
	rnic_stat_inc(qp->dev, RNIC_STAT_TX_FPDUS);
	rnic_stat_add(qp->dev, RNIC_STAT_TX_BYTES, n);
	if (tx->seg.last)
		rnic_tx_done(qp);
	return SEG_ENCODED;
}

/*
 * ULPDU of the next FPDU when @want bytes are left to send: all of them, or what
 * fits exactly, at this place between Markers, into the rest of the segment
 * (SEG-06). In a whole segment that is never less than MULPDU (SEG-01 to SEG-04);
 * in the rest of one it is not worth an FPDU below 128 (SEG-05).
 *
 * Return: its length, 0 when a new segment is due.
 */
static u32 next_ulpdu(const struct rnic_tx *tx, u64 want)
{
	bool markers = tx->mpa.markers;
	u32 fit = mpa_ulpdu_fit(tx->mpa.pos, tx->emss - tx->seg_used, markers);

	if (want > fit && !tx->seg_used)
		fit = max(fit, mpa_mulpdu(tx->emss, markers));
	if (want <= fit)
		return want;
	return fit >= MPA_MULPDU_MIN ? fit : 0;
}

/* One more FPDU, if it may follow the ones in the image. */
static enum encode encode_segment(struct rnic_qp *qp, struct rnic_sock *s)
{
	struct rnic_tx *tx = &qp->tx;
	bool markers = tx->mpa.markers;
	u32 hdr_len = rdmap_hdr_len(tx->seg.opcode);
	u32 ulpdu = next_ulpdu(tx, (u64)hdr_len + tx->left);
	u32 size;

	if (!ulpdu)
		return CUT_DUE;
	size = mpa_fpdu_size(tx->mpa.pos, ulpdu, markers);
	if (size > image_room(tx)) {
		if (tx->img.fill != tx->sent)
			return IMAGE_FULL;
		if (!new_chunk(qp, size, rnic_sock_gfp(s)))
			return IMAGE_FULL;
		if (size > image_room(tx))
			ulpdu = mpa_ulpdu_fit(tx->mpa.pos, image_room(tx), markers);
	}
	return encode_fpdu(qp, hdr_len, ulpdu - hdr_len);
}

/*
 * Was enough sent since @start? The next FPDU counts half, so that one as large as
 * those of lo is not begun by who may send only a little.
 */
static bool sent_enough(const struct rnic_tx *tx, u32 start, u32 budget)
{
	u32 next = tx->msg == RNIC_TX_NONE ? 0 : min(tx->left, tx->emss);

	return tx->mpa.pos - start + next / 2 >= budget;
}

/*
 * Encode until the image is full, a new segment is due, or nothing is left.
 *
 * Return: more is to be sent after this image.
 */
static bool fill_image(struct rnic_qp *qp, struct rnic_sock *s, u32 limit, bool *cut)
{
	struct rnic_tx *tx = &qp->tx;
	u32 start = tx->mpa.pos;

	*cut = false;
	for (;;) {
		/* First: were it said that more comes, TCP would wait for it. */
		if (tx->msg == RNIC_TX_NONE && !rnic_tx_next(qp))
			return false;
		if (sent_enough(tx, start, limit))
			return true;
		switch (encode_segment(qp, s)) {
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
}

/* Return: all of the image is with TCP, but for what is held. */
static bool push_image(struct rnic_qp *qp, struct rnic_sock *s, bool more)
{
	struct rnic_tx *tx = &qp->tx;
	u32 end = tx->img.fill - tx->held;
	int ret;

	while (tx->sent < end) {
		ret = rnic_sock_push(s, tx->img.page, tx->sent, end - tx->sent, more);
		if (ret < 0 && ret != -EAGAIN)
			tx->broken = true;
		if (ret <= 0)
			return false;
		tx->sent += ret;
	}
	return true;
}

/*
 * The segment size of this image, and how full the segment is that it continues.
 *
 * Return: false when TCP is full.
 */
static bool measure_segment(struct rnic_qp *qp, struct rnic_sock *s)
{
	u32 emss = max_t(u32, rnic_sock_emss(s), MPA_MULPDU_MIN);
	struct rnic_tx *tx = &qp->tx;

	if (emss != tx->emss) {
		/* What is queued was made for another size: begin anew (SEG-18). */
		tx->held = 0;
		if (!push_image(qp, s, false))
			return false;
		rnic_sock_cut(s);
	}
	tx->emss = emss;
	tx->seg_used = rest_in_segment(rnic_sock_seg_used(s, emss) + tx->held, emss);
	return true;
}

/* TCP took nothing for want of memory, and no acknowledgment will wake us. */
static bool is_starved(const struct rnic_tx *tx, const struct rnic_sock *s)
{
	return tx->sent != tx->img.fill - tx->held && !tx->broken && rnic_sock_all_acked(s);
}

/**
 * rnic_tx_run() - send what can be sent
 * @qp:	queue pair, attached
 * @s:	its socket, locked
 * @budget: bytes of FPDUs after which others shall run; an FPDU more is possible
 * @hold: what does not fill a segment may wait for company
 *
 * Context: process or softirq.
 * Return: true when it stopped for fairness only and wants to be called again;
 * else everything is sent or waits for company (the timer will come), or
 * RNIC_SOCK_SPACE or an incoming FPDU will tell.
 */
bool rnic_tx_run(struct rnic_qp *qp, struct rnic_sock *s, u32 budget, bool hold)
{
	struct rnic_tx *tx = &qp->tx;
	u32 start = tx->mpa.pos;
	bool more = true, again = false, cut;

	rnic_sock_assert_locked(s);
	if (!hold)
		tx->held = 0;
	rnic_pace_burst(&tx->pace, tx->msg == RNIC_TX_NONE);
	while (more && !again && push_image(qp, s, false) && rnic_sock_room(s) &&
	       measure_segment(qp, s)) {
		more = fill_image(qp, s, budget, &cut);
		rnic_mr_put(&qp->mem);
		tx->held = hold ? rnic_hold(qp, tx->mpa.pos - start, more) : 0;
		if (!push_image(qp, s, more))
			break;
		if (cut)
			rnic_sock_cut(s);
		/* Enough for now, or no memory for the moment. */
		again = more && (sent_enough(tx, start, budget) || !tx->img.page);
	}
	rnic_sent_complete(qp);
	again |= is_starved(tx, s);
	drop_chunk(tx);
	rnic_qp_tell(qp);
	return again;
}

/**
 * rnic_tx_terminate() - write a Terminate, the one message of its queue
 * @mpa:	FPDU encoder of the stream
 * @term:	what it says
 * @at:		room for RNIC_TERM_ROOM bytes
 *
 * Return: bytes written.
 */
u32 rnic_tx_terminate(struct mpa_tx *mpa, const struct rdmap_term *term, u8 *at)
{
	struct ddp_seg seg = {
		.opcode = RDMAP_TERMINATE, .qn = DDP_QN_TERMINATE, .msn = 1, .last = true,
	};
	u8 hdr[DDP_HDR_MAX], body[RDMAP_TERM_MAX];
	u32 hdr_len, len;

	hdr_len = ddp_build(&seg, hdr);
	len = rdmap_term_build(term, body);
	mpa_tx_begin(mpa, at, hdr_len + len);
	mpa_tx_put(mpa, hdr, hdr_len);
	mpa_tx_put(mpa, body, len);
	return mpa_tx_end(mpa);
}

static void encode_terminate(struct rnic_qp *qp, struct rnic_sock *s)
{
	struct rnic_tx *tx = &qp->tx;

	if (!tx->img.page && !new_chunk(qp, RNIC_TERM_ROOM, rnic_sock_gfp(s)))
		return;
	tx->img.fill += rnic_tx_terminate(&tx->mpa, &tx->term, image_end(tx));
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
	qp->tx.held = 0;
	if (qp->tx.term_due)
		encode_terminate(qp, s);
	qp->tx.term_due = false;
	push_image(qp, s, false);
}
