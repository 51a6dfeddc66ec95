// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sending: encode work requests into FPDUs and pass them to TCP.
 *
 * rnic_tx_run() runs under the socket lock, in the startup, a doorbell, the worker or a softirq.
 * It repeats these steps until nothing is left to send or TCP is full:
 *
 *	rnic_tx_next()	   choose the next message: RTR, Read Response or work request (tx_msg.c)
 *	encode_segment()   encode an FPDU into the chunk: header, payload, CRC
 *	push_chunk()	   pass the pages of the chunk to TCP by reference
 *
 * The chunk has one FPDU behind the other, so TCP gets many in one call. The payload is copied
 * once, and the CRC is computed over the copy, because the user may change the memory at any
 * time. The bytes between tx->sent and tx->chunk.fill were not passed to TCP yet. The last
 * tx->held bytes of them may wait for more (hold.c). When TCP has all bytes, the chunk goes back
 * to the stock (chunk.c), so an idle connection keeps none.
 *
 * Segments. FPDUs fill TCP segments exactly, so TCP and the NIC cut the stream between FPDUs.
 * tx->seg_used is the number of bytes in the current segment. If a message begins in the middle
 * of a segment, its first FPDU fills the rest. If no FPDU fills the rest, rnic_sock_cut() begins a
 * new segment. That happens if the rest is below 136 bytes, and with Markers also for the last 4
 * bytes of a segment that would end just behind one.
 */
#include <linux/mm.h>

#include "core/dev.h"
#include "mem/mr.h"
#include "qp/priv.h"
#include "qp/trace.h"
#include "tcp/stream.h"

/* FPDUs for segments above this size go into big chunks. */
#define BIG_EMSS	16384

enum encode { SEG_ENCODED, CHUNK_FULL, CUT_DUE, TX_ERROR };

static u8 *chunk_end(struct rnic_tx *tx)
{
	return (u8 *)page_address(tx->chunk.page) + tx->chunk.fill;
}

/* Return: bytes for FPDUs. Room for a Terminate is kept in reserve. */
static u32 chunk_room(const struct rnic_tx *tx)
{
	u32 room = tx->chunk.page ? tx->chunk.size - tx->chunk.fill : 0;

	return room > RNIC_TERM_ROOM ? room - RNIC_TERM_ROOM : 0;
}

/*
 * Replace the chunk, all of which TCP has, by one that has room for @size bytes or is empty. An
 * allocation may sleep, so the access to memory ends before it.
 */
static bool new_chunk(struct rnic_qp *qp, u32 size, gfp_t gfp)
{
	struct rnic_tx *tx = &qp->tx;
	bool big = tx->emss > BIG_EMSS, got;

	do {
		got = rnic_chunk_take(&tx->chunk, big);
		if (!got) {
			rnic_mr_put(&qp->mem);
			got = rnic_chunk_alloc(&tx->chunk, big, gfp);
		}
	} while (got && tx->chunk.fill && chunk_room(tx) < size);
	tx->sent = tx->chunk.fill;
	return got;
}

/* Give the chunk back if TCP has all of it. The next sender on this CPU appends to it. */
static void drop_chunk(struct rnic_tx *tx)
{
	if (tx->sent == tx->chunk.fill)
		rnic_chunk_put(&tx->chunk);
}

/* Return: bytes in the last segment of @len. Avoids the slow division in the common case. */
static u32 rest_in_segment(u32 len, u32 emss)
{
	return len < emss ? len : len % emss;
}

/* Write a header with a Marker inside. Not inline, because a kernel may zero its stack first. */
static noinline void put_header_in_pieces(struct rnic_tx *tx)
{
	u8 hdr[DDP_HDR_MAX];

	mpa_tx_put(&tx->mpa, hdr, ddp_build(&tx->seg, hdr));
}

/* Build the header in place, unless a Marker interrupts it. */
static void put_header(struct rnic_tx *tx, u32 len)
{
	u32 room;
	u8 *at = mpa_tx_at(&tx->mpa, &room);

	if (room < len)
		put_header_in_pieces(tx);
	else
		mpa_tx_wrote(&tx->mpa, ddp_build(&tx->seg, at));
}

/* Encode an FPDU of @n payload bytes at the end of the chunk, which has the room. */
static enum encode encode_fpdu(struct rnic_qp *qp, u32 hdr_len, u32 n)
{
	struct rnic_tx *tx = &qp->tx;
	u32 done, part;

	tx->seg.last = n == tx->left;
	if (!tx->seg.tagged) {
		tx->seg.msn = tx->msn[tx->seg.qn];
		tx->seg.mo = tx->off;
	}
	mpa_tx_begin(&tx->mpa, chunk_end(tx), hdr_len + n);
	put_header(tx, hdr_len);
	for (done = 0; done < n; done += part) {
		u8 *at = mpa_tx_at(&tx->mpa, &part);

		part = min(n - done, part);
		if (rnic_tx_payload(qp, at, part))
			return TX_ERROR;
		mpa_tx_wrote(&tx->mpa, part);
		tx->off += part;
	}
	trace_rnic_fpdu_sent(&qp->ibqp, &tx->seg, n);
	part = mpa_tx_end(&tx->mpa);
	tx->chunk.fill += part;
	tx->seg_used = rest_in_segment(tx->seg_used + part, tx->emss);
	tx->left -= n;
	tx->seg.to += n;
	tx->fpdus++;
	tx->payload += n;
	if (tx->seg.last)
		rnic_tx_done(qp);
	return SEG_ENCODED;
}

/*
 * Choose the ULPDU length of the next FPDU if @want bytes are left to send: all of them, or as
 * many as fill the rest of the segment at this position between Markers (SEG-06). In a whole
 * segment that is at least MULPDU (SEG-01 to SEG-04). The rest of a segment gets no part of a
 * message if the part is below 128 bytes (SEG-05).
 *
 * Return: the length, 0 if the FPDU must begin a new segment.
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

/* Encode one more FPDU, if it may follow those in the chunk. */
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
	if (size > chunk_room(tx)) {
		if (tx->chunk.fill != tx->sent)
			return CHUNK_FULL;
		if (!new_chunk(qp, size, rnic_sock_gfp(s)))
			return CHUNK_FULL;
		if (size > chunk_room(tx))
			ulpdu = mpa_ulpdu_fit(tx->mpa.pos, chunk_room(tx), markers);
	}
	return encode_fpdu(qp, hdr_len, ulpdu - hdr_len);
}

/*
 * Return: true if @budget bytes were sent since @start. Half of the next FPDU counts too, so that
 * a small budget does not begin an FPDU as large as those of loopback.
 */
static bool sent_enough(const struct rnic_tx *tx, u32 start, u32 budget)
{
	u32 next = tx->msg == RNIC_TX_NONE ? 0 : min(tx->left, tx->emss);

	return tx->mpa.pos - start + next / 2 >= budget;
}

/*
 * Encode until the chunk is full, a new segment must begin (@cut), @limit bytes are reached or
 * nothing is left.
 *
 * Return: true if there is more to send behind these FPDUs.
 */
static bool fill_chunk(struct rnic_qp *qp, struct rnic_sock *s, u32 limit, bool *cut)
{
	struct rnic_tx *tx = &qp->tx;
	u32 start = tx->mpa.pos;

	*cut = false;
	for (;;) {
		/* Look for a message first, because TCP waits if it is told that more follows. */
		if (tx->msg == RNIC_TX_NONE && !rnic_tx_next(qp))
			return false;
		if (sent_enough(tx, start, limit))
			return true;
		switch (encode_segment(qp, s)) {
		case SEG_ENCODED:
			break;
		case CHUNK_FULL:
			return true;
		case CUT_DUE:
			*cut = true;
			return true;
		case TX_ERROR:
			return false;
		}
	}
}

/* Return: true if TCP took all of the chunk but the held bytes. */
static bool push_chunk(struct rnic_qp *qp, struct rnic_sock *s, bool more)
{
	struct rnic_tx *tx = &qp->tx;
	u32 end = tx->chunk.fill - tx->held;
	int ret;

	while (tx->sent < end) {
		ret = rnic_sock_push(s, tx->chunk.page, tx->sent, end - tx->sent, more);
		if (ret < 0 && ret != -EAGAIN)
			tx->broken = true;
		if (ret <= 0)
			return false;
		tx->sent += ret;
	}
	return true;
}

/*
 * Set tx->emss and tx->seg_used for the next FPDU.
 *
 * Return: false if TCP is full.
 */
static bool measure_segment(struct rnic_qp *qp, struct rnic_sock *s)
{
	u32 emss = max_t(u32, rnic_sock_emss(s), MPA_MULPDU_MIN);
	struct rnic_tx *tx = &qp->tx;

	if (emss != tx->emss) {
		/* The queued FPDUs fit the old size, so begin a new segment (SEG-18). */
		tx->held = 0;
		if (!push_chunk(qp, s, false))
			return false;
		rnic_sock_cut(s);
	}
	tx->emss = emss;
	tx->seg_used = rest_in_segment(rnic_sock_seg_used(s, emss) + tx->held, emss);
	return true;
}

/*
 * Add what a run encoded to the device's counters. A run does it once, because adding to a counter
 * of this CPU turns interrupts off on some architectures.
 */
static void count_sent(struct rnic_qp *qp)
{
	struct rnic_tx *tx = &qp->tx;

	if (!tx->fpdus)
		return;
	rnic_stat_add(qp->dev, RNIC_STAT_TX_FPDUS, tx->fpdus);
	rnic_stat_add(qp->dev, RNIC_STAT_TX_BYTES, tx->payload);
	tx->fpdus = 0;
	tx->payload = 0;
}

/* Return: true if TCP lacks memory, and no acknowledgment will make it report space. */
static bool is_starved(const struct rnic_tx *tx, const struct rnic_sock *s)
{
	return tx->sent != tx->chunk.fill - tx->held && !tx->broken && rnic_sock_all_acked(s);
}

/**
 * rnic_tx_run() - send until nothing is left, TCP is full or the budget is used
 * @qp:	queue pair, attached
 * @s:	its socket, locked
 * @budget: bytes to send, so that others may run then; may be exceeded by an FPDU
 * @hold: bytes that do not fill a segment may be held
 *
 * Context: process or softirq.
 * Return: true if the caller must arrange for another call, because the budget is used or there
 * was no memory. Otherwise everything was sent or is held until the timer expires, or
 * RNIC_SOCK_SPACE or an incoming FPDU causes the next call.
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
	while (more && !again && push_chunk(qp, s, false) && rnic_sock_room(s) &&
	       measure_segment(qp, s)) {
		more = fill_chunk(qp, s, budget, &cut);
		rnic_mr_put(&qp->mem);
		tx->held = hold ? rnic_hold(qp, tx->mpa.pos - start, more) : 0;
		if (!push_chunk(qp, s, more))
			break;
		if (cut)
			rnic_sock_cut(s);
		/* The budget is used, or there is no memory for a chunk. */
		again = more && (sent_enough(tx, start, budget) || !tx->chunk.page);
	}
	count_sent(qp);
	rnic_sent_complete(qp);
	again |= is_starved(tx, s);
	drop_chunk(tx);
	rnic_qp_tell(qp);
	return again;
}

/**
 * rnic_tx_terminate() - write the FPDU of a Terminate
 * @mpa:	FPDU encoder of the stream
 * @term:	the Terminate
 * @at:		buffer of at least RNIC_TERM_ROOM bytes
 *
 * Return: number of bytes written.
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

	if (!tx->chunk.page && !new_chunk(qp, RNIC_TERM_ROOM, rnic_sock_gfp(s)))
		return;
	tx->chunk.fill += rnic_tx_terminate(&tx->mpa, &tx->term, chunk_end(tx));
	WRITE_ONCE(qp->term_tx, rnic_term_word(&tx->term));
	rnic_stat_inc(qp->dev, RNIC_STAT_TX_MSG + RDMAP_TERMINATE);
}

/**
 * rnic_tx_finish() - send a Terminate if one is due, and as much of the chunk as TCP takes
 * @qp:	queue pair whose connection ends
 * @s:	its socket, locked
 *
 * The Terminate is the last FPDU of the stream, so a message that has begun stays incomplete.
 */
void rnic_tx_finish(struct rnic_qp *qp, struct rnic_sock *s)
{
	qp->tx.held = 0;
	if (qp->tx.term_due)
		encode_terminate(qp, s);
	qp->tx.term_due = false;
	push_chunk(qp, s, false);
}
