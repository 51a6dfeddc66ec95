// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * From TCP's receive queue to messages.
 *
 * The caller of rnic_rx_run() holds the socket lock. run_pass() takes FPDU after FPDU:
 *
 *	pull_fpdu()		wire/mpa.c verifies the unread bytes up to the FPDU's last
 *	ddp_parse()		converts the header to host order, checks what needs no state
 *	ddp_rx_check()		checks that MSN and MO are those of the next segment
 *	rnic_rx_segment()	does what the segment says (rx_msg.c)
 *	ddp_rx_accept()		moves MSN and MO on
 *
 * The bytes of an FPDU stay in the receive queue until it is complete and its CRC is right. If it
 * is one piece, pull_fpdu() has its address. Otherwise the copy to memory walks the queue again.
 *
 * At its end a pass consumes the bytes of all FPDUs that it handled. TCP then wakes us when
 * the rest of the next FPDU is there, because the pass tells it how many bytes are missing.
 * The next pass continues behind the rx->mpa.seen bytes of that FPDU that are verified.
 *
 * A Send that finds no receive stays in the receive queue for a while (rnr.c). The next pass
 * begins with it.
 *
 * rnic_qp_fail_peer() counts the error of a bad FPDU and ends the connection with a Terminate. No
 * later FPDU is handled (ERR-09); the connection drops its bytes.
 */

#include "core/dev.h"
#include "mem/mr.h"
#include "qp/priv.h"
#include "tcp/stream.h"

/* Bytes that a pass handles before the worker lets others run */
#define RX_BUDGET	(1024 * 1024)
/* Bytes after which a pass ends its access to memory and makes upcalls */
#define RX_HOLD		(64 * 1024)

/* Handle a valid FPDU. From the first on this side may send, also a Terminate for it (NEG-30). */
static enum wire_err rx_fpdu(struct rnic_pass *p)
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
		err = rnic_rx_segment(p, seg);
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

/* Add what was accepted to the device's counters, in one step as count_sent() does (tx.c). */
static void count_received(struct rnic_pass *p)
{
	if (!p->fpdus)
		return;
	rnic_stat_add(p->qp->dev, RNIC_STAT_RX_FPDUS, p->fpdus);
	rnic_stat_add(p->qp->dev, RNIC_STAT_RX_BYTES, p->payload);
	p->fpdus = 0;
	p->payload = 0;
}

/* End the access to memory, for which deregistration waits. Count before the upcalls. */
static void end_burst(struct rnic_pass *p)
{
	rnic_mr_put(&p->qp->mem);
	p->held = p->done;
	count_received(p);
}

/* Verify the unread bytes up to the last of the current FPDU. */
static enum mpa_rx_verdict pull_fpdu(struct rnic_pass *p)
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
static void finish_fpdu(struct rnic_pass *p)
{
	struct mpa_rx *mpa = &p->qp->rx.mpa;

	p->done += mpa->size;
	rnic_cursor_set(&p->fpdu, p->at.skb, p->fpdu.seq + mpa->size);
	mpa_rx_next(mpa);
	if (p->done - p->held > RX_HOLD) {
		end_burst(p);
		rnic_qp_tell(p->qp);
	}
}

/*
 * Handle FPDU after FPDU until no whole one is left, one fails or must wait, or RX_BUDGET is used
 * up. One that waits is verified already.
 */
static void handle_fpdus(struct rnic_pass *p)
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

static bool run_pass(struct rnic_qp *qp, struct rnic_sock *s)
{
	struct rnic_pass p = { .qp = qp, .s = s };
	struct mpa_rx *mpa = &qp->rx.mpa;

	rnic_sock_rewind(s, &p.fpdu, 0);
	rnic_sock_rewind(s, &p.at, mpa->seen);
	handle_fpdus(&p);
	end_burst(&p);
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
