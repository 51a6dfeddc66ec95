/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Declarations for the files of this folder: the parts of the data path.
 */
#ifndef _RNIC_QP_PRIV_H
#define _RNIC_QP_PRIV_H

#include "qp/qp.h"
#include "tcp/stream.h"

/*
 * Bytes that a softirq receives or sends, or a doorbell sends, before it leaves the rest to the
 * worker: enough for 4 KiB and headers.
 */
#define RNIC_INLINE_MAX	8192
/* Bytes that the worker sends before it lets others run */
#define RNIC_WORK_MAX	(1024 * 1024)

/* Return: true if the data path has ended the connection. Socket locked. */
static inline bool rnic_qp_failed(const struct rnic_qp *qp)
{
	return rnic_qp_life(qp) == RNIC_FAILED;
}

/*
 * Return: true if the worker has to look whether the connection is over. In SQD, and after the
 * peer's FIN, it waits until all is sent. Socket locked.
 */
static inline bool rnic_qp_is_ending(const struct rnic_qp *qp)
{
	return rnic_qp_failed(qp) || rnic_qp_state(qp) != IB_QPS_RTS || qp->rx.eof;
}

/* Return: true if posted work requests may still be sent. Socket locked. */
static inline bool rnic_qp_sends(const struct rnic_qp *qp)
{
	return rnic_qp_life(qp) == RNIC_RUNNING && rnic_qp_state(qp) != IB_QPS_ERR;
}

/**
 * rnic_sent_done() - set the result of a work request
 * @qp:		queue pair; the caller holds its data path
 * @slot:	from rnic_sent_add()
 * @status:	the result; ignored if there is one already
 */
static inline void rnic_sent_done(struct rnic_qp *qp, u32 slot, enum ib_wc_status status)
{
	struct rnic_sent *sent = &qp->sent[slot];

	if (sent->done)
		return;
	sent->done = true;
	sent->status = status;
}

/**
 * rnic_bulk_is_on() - test whether the worker sends
 * @qp:	queue pair to which a work request was posted just now
 *
 * Context: any.
 * Return: true if it does; it will find the work request.
 */
static inline bool rnic_bulk_is_on(const struct rnic_qp *qp)
{
	/* Store the work request before reading @bulk. Pairs with rnic_bulk_work(). */
	smp_mb();
	return READ_ONCE(qp->bulk);
}

/* state.c */
void rnic_qp_stop(struct rnic_qp *qp);
void rnic_qp_fail(struct rnic_qp *qp, enum wire_err err);
void rnic_qp_fail_peer(struct rnic_qp *qp, enum wire_err err, const u8 *ulpdu, u32 have, u32 len);
enum wire_err rnic_tagged_error(enum rnic_mr_fault fault);
enum wire_err rnic_read_error(enum rnic_mr_fault fault);
void rnic_qp_wake_startup(struct rnic_qp *qp);
bool rnic_qp_must_flush(struct rnic_qp *qp);

/* softirq.c, doorbell.c */
bool rnic_receive_backlog(struct rnic_qp *qp, struct rnic_conn *conn);
void rnic_qp_doorbell(struct rnic_qp *qp);

/* complete.c */
u32 rnic_sent_add(struct rnic_qp *qp, const struct rnic_wqe *wqe);
void rnic_sent_complete(struct rnic_qp *qp);
void rnic_recv_complete(struct rnic_qp *qp, enum ib_wc_status status, u32 len, u32 inval_stag,
			bool invalidated, bool solicited);
void rnic_qp_tell(struct rnic_qp *qp);
bool rnic_qp_flush(struct rnic_qp *qp);

/* hold.c */
/* Longest time that bytes are held; NICs delay their interrupts by as much */
#define RNIC_HOLD_NS	(150 * NSEC_PER_USEC)
u32 rnic_hold(struct rnic_qp *qp, u32 encoded, bool more);

static inline void rnic_hold_start(struct rnic_qp *qp, ktime_t when)
{
	hrtimer_start(&qp->hold, when, HRTIMER_MODE_ABS_SOFT);
}

/* bulk.c */
bool rnic_post_work(struct rnic_qp *qp, struct rnic_sock *s);
bool rnic_post_now(struct rnic_qp *qp, struct rnic_sock *s);
bool rnic_bulk_doorbell(struct rnic_qp *qp, struct rnic_sock *s);
bool rnic_bulk_work(struct rnic_qp *qp, struct rnic_sock *s);
void rnic_bulk_stop(struct rnic_qp *qp);

/* tx.c */
bool rnic_tx_run(struct rnic_qp *qp, struct rnic_sock *s, u32 budget, bool hold);
void rnic_tx_finish(struct rnic_qp *qp, struct rnic_sock *s);

/* tx_msg.c */
bool rnic_tx_next(struct rnic_qp *qp);
int rnic_tx_payload(struct rnic_qp *qp, void *dst, u32 n);
void rnic_tx_done(struct rnic_qp *qp);
bool rnic_tx_idle(struct rnic_qp *qp);
bool rnic_tx_waiting(struct rnic_qp *qp);

/* rnr.c */
void rnic_receive_fail(struct rnic_qp *qp, enum ib_wc_status status);
int rnic_receive_take(struct rnic_qp *qp);
bool rnic_receive_await(struct rnic_qp *qp);

/**
 * struct rnic_pass - one run over the receive queue
 * @qp:		queue pair
 * @s:		socket
 * @at:		position behind the current piece
 * @data:	the next byte of the current piece
 * @len:	bytes left in the current piece
 * @fpdu:	position of the current FPDU
 * @whole:	its first byte if it is one piece, or NULL
 * @done:	bytes of the FPDUs handled
 * @held:	@done when the access to memory began that may be going on
 * @fpdus:	FPDUs accepted that are not in the device's counters yet
 * @payload:	bytes of payload in them
 */
struct rnic_pass {
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

/* rx_msg.c */
enum wire_err rnic_rx_segment(struct rnic_pass *p, const struct ddp_seg *seg);

/* rx.c */
bool rnic_rx_run(struct rnic_qp *qp, struct rnic_sock *s);

#endif /* _RNIC_QP_PRIV_H */
