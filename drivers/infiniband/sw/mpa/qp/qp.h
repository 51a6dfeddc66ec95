/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue pairs.
 *
 * The socket lock of its connection protects a queue pair's data path (tx, rx, readq, sent).
 * The startup takes it when it hands the stream over, and after that the worker, the task that
 * rings the doorbell, and three softirqs: the one that brings data, the timer that sends held
 * messages, and the tasklet that sends what the kernel posted. Without a connection the data
 * path is the worker's.
 */
#ifndef _RNIC_QP_H
#define _RNIC_QP_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "mem/mr.h"
#include "mem/sgl.h"
#include "qp/life.h"
#include "qp/pace.h"
#include "qp/readq.h"
#include "ring/ring.h"
#include "tcp/chunk.h"
#include "tcp/conn.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/startup.h"

struct rnic_cq;
struct rnic_dev;
struct rnic_srq;

/**
 * struct rnic_sent - a send queue work request between taken and completed
 * @id:		work request id
 * @op:		operation
 * @signaled:	complete it in the CQ even when it succeeds
 * @done:	may be completed when its turn comes
 * @status:	how it ended, valid when @done
 * @len:	bytes of the message
 * @inval:	STag to invalidate when a Read is complete (RNIC_OP_READ_INV)
 *
 * Completions go out in the order of posting, so a Send behind an outstanding
 * Read is done but waits.
 */
struct rnic_sent {
	u64 id;
	enum rnic_op op;
	bool signaled;
	bool done;
	enum ib_wc_status status;
	u32 len;
	u32 inval;
};

/**
 * enum rnic_tx_msg - what the sending side is in the middle of
 * @RNIC_TX_NONE:	nothing
 * @RNIC_TX_WQE:	a work request
 * @RNIC_TX_RESPONSE:	a Read Response
 * @RNIC_TX_RTR:	an RTR message (RFC 6581 section 9.2)
 */
enum rnic_tx_msg {
	RNIC_TX_NONE,
	RNIC_TX_WQE,
	RNIC_TX_RESPONSE,
	RNIC_TX_RTR,
};

/**
 * struct rnic_tx - sending side of a connection
 * @mpa:	FPDU encoder
 * @chunk:	chunk FPDUs are encoded into, or none
 * @sent:	how far it was handed to TCP
 * @held:	bytes at the end of the chunk that are held (hold.c)
 * @held_until:	when they have waited long enough
 * @pace:	what was learnt of the consumer
 * @posts:	rnic_qp.posts when somebody looked for something to send
 * @broken:	TCP said that there is no connection any more
 * @emss:	segment size of this burst, a multiple of 4
 * @seg_used:	bytes in the segment that the next FPDU would join
 * @open:	FPDUs may be sent (NEG-30)
 * @rtr:	RTR type still to be sent, MPA_RTR_* or 0
 * @sink:	offset that the next Read Request names for its sink
 * @term_due:	@term is to be sent as the last message
 * @term:	the Terminate
 * @msn:	next MSN by queue
 * @msg:	what is being sent
 * @responded:	that was a response, so a work request goes before the next one
 * @wqe:	the work request taken last
 * @waits:	@wqe is taken but must wait for outstanding Reads
 * @slot:	place of @wqe in rnic_qp.sent
 * @seg:	header of the next segment
 * @sgl:	payload of a work request
 * @src:	STag of a response's payload
 * @src_to:	offset there of the next byte
 * @left:	payload bytes not yet encoded
 * @off:	payload bytes encoded
 */
struct rnic_tx {
	struct mpa_tx mpa;
	struct rnic_chunk chunk;
	u32 sent;
	u32 held;
	ktime_t held_until;
	struct rnic_pace pace;
	u32 posts;
	bool broken;
	u32 emss;
	u32 seg_used;
	bool open;
	u8 rtr;
	u64 sink;
	bool term_due;
	struct rdmap_term term;
	u32 msn[DDP_QN_MAX];
	enum rnic_tx_msg msg;
	bool responded;
	struct rnic_wqe wqe;
	bool waits;
	u32 slot;
	struct ddp_seg seg;
	struct rnic_sgl sgl;
	u32 src;
	u64 src_to;
	u32 left;
	u32 off;
};

/**
 * struct rnic_rx - receiving side of a connection
 * @mpa:	FPDU verifier
 * @ddp:	order state
 * @seg:	header of the segment being handled
 * @rtr:	RTR types one of which the first FPDU may be, set of MPA_RTR_*
 * @first:	no FPDU was accepted yet
 * @rwqe:	receive of the message being received
 * @have_rwqe:	@rwqe is taken
 * @sgl:	position in @rwqe
 * @eof:	the peer's FIN was reached
 */
struct rnic_rx {
	struct mpa_rx mpa;
	struct ddp_rx ddp;
	struct ddp_seg seg;
	u8 rtr;
	bool first;
	struct rnic_rwqe rwqe;
	bool have_rwqe;
	struct rnic_sgl sgl;
	bool eof;
};

/**
 * struct rnic_qp - a queue pair
 * @ibqp:	what ib_core sees; allocated and freed by it
 * @dev:	device
 * @refs:	one for being there, one for each reference of iw_cm and the endpoint's
 * @idle:	completed when @refs is 0
 * @lock:	protects @state, @conn, @life and @parted; BH off
 * @state:	see rnic_qp_modify()
 * @startups:	endpoints that start a connection for it, under the device's ep_lock
 * @conn:	connection, with a reference, or NULL; cleared with the socket
 *		locked too, so whoever holds that may go on
 * @life:	see life.h; changed by rnic_qp_try_move(), from RNIC_ATTACHED on with the socket
 *		locked too
 * @parted:	the consumer closed, whatever came then
 * @moved:	bytes acknowledged and received when the deadline of a close was set, or -1
 *		without one
 * @work:	the worker
 * @hold:	sends what is held (@tx.held) when its time has come
 * @soft:	sends what a kernel consumer posted, when the worker is not worth it
 * @posts:	calls by which it did, under @sq_lock
 * @reflush:	wakes the worker of a user's queue pair in error, because receives are
 *		posted there without a doorbell
 * @active:	when a receive was last found there, or a system call came, in jiffies
 * @scq:	CQ of the send queue
 * @rcq:	CQ of the receive queue
 * @srq:	shared receive queue, or NULL
 * @sq_lock:	serialises kernel producers of @sq; interrupts off
 * @rq_lock:	serialises kernel producers of @rq; interrupts off
 * @sq:		send queue
 * @rq:		receive queue, not used with @srq
 * @access:	IB_ACCESS_* the peer may use
 * @ird:	inbound Reads agreed on, for rnic_qp_query()
 * @ord:	outbound Reads agreed on, likewise
 * @cap:	as granted
 * @sent:	work requests taken and not completed, a ring of @sq.size
 * @sent_head:	oldest of @sent, free running
 * @sent_tail:	next free of @sent, free running
 * @failed:	a completion of the send queue failed: those behind it are flushed
 * @mem:	memory of its protection domain
 * @readq:	RDMA Reads
 * @tx:		sending side
 * @rx:		receiving side
 * @bulk:	the worker sends, and doorbells leave it to it (bulk.c)
 * @looking:	the data path looks at all that is unread, so a report of TCP is no news
 * @due:	TCP reported data meanwhile
 * @event:	async event to raise when the connection is taken down, or -1
 * @told:	the worker raised IB_EVENT_QP_LAST_WQE_REACHED
 */
struct rnic_qp {
	struct ib_qp ibqp;
	struct rnic_dev *dev;
	refcount_t refs;
	struct completion idle;
	spinlock_t lock; /* see above */
	enum ib_qp_state state;
	struct list_head startups;
	struct rnic_conn *conn;
	enum rnic_life life;
	bool parted;
	s64 moved;
	struct work_struct work;
	struct hrtimer hold;
	struct tasklet_struct soft;
	u32 posts;
	struct delayed_work reflush;
	unsigned long active;
	struct rnic_cq *scq;
	struct rnic_cq *rcq;
	struct rnic_srq *srq;
	spinlock_t sq_lock; /* see above */
	spinlock_t rq_lock; /* see above */
	struct rnic_sq sq;
	struct rnic_rq rq;
	int access;
	u32 ird;
	u32 ord;
	struct ib_qp_cap cap;
	struct rnic_sent *sent;
	u32 sent_head;
	u32 sent_tail;
	bool failed;
	struct rnic_mem mem;
	struct rnic_readq readq;
	struct rnic_tx tx;
	struct rnic_rx rx;
	bool bulk;
	bool looking;
	bool due;
	int event;
	bool told;
};

static inline struct rnic_qp *rnic_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct rnic_qp, ibqp);
}

static inline enum ib_qp_state rnic_qp_state(const struct rnic_qp *qp)
{
	return READ_ONCE(qp->state);
}

static inline enum rnic_life rnic_qp_life(const struct rnic_qp *qp)
{
	return READ_ONCE(qp->life);
}

/* Has the data path ended the connection? Socket locked. */
static inline bool rnic_qp_failed(const struct rnic_qp *qp)
{
	return rnic_qp_life(qp) == RNIC_FAILED;
}

/* Is what was posted still to be sent? Socket locked. */
static inline bool rnic_qp_sends(const struct rnic_qp *qp)
{
	return rnic_qp_life(qp) == RNIC_RUNNING && rnic_qp_state(qp) != IB_QPS_ERR;
}

/**
 * rnic_sent_done() - a work request was carried out, or failed
 * @qp:		queue pair; its data path is the caller's
 * @slot:	from rnic_sent_add()
 * @status:	how it ended; the first word counts
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
 * rnic_bulk_is_on() - is the worker sending?
 * @qp:	queue pair to which something was posted just now
 *
 * Context: any.
 * Return: yes, and it will find what was posted.
 */
static inline bool rnic_bulk_is_on(const struct rnic_qp *qp)
{
	/* Post, then look: pairs with rnic_bulk_work(). */
	smp_mb();
	return READ_ONCE(qp->bulk);
}

/**
 * rnic_qp_open() - FPDUs may be sent from now on
 * @qp:	queue pair that is attached, and whose startup has the stream
 */
static inline void rnic_qp_open(struct rnic_qp *qp)
{
	qp->tx.open = true;
}

/*
 * Bytes that a softirq handles, either way, and a doorbell sends: 4 KiB and headers, or
 * two of them. The rest is the worker's.
 */
#define RNIC_INLINE_MAX	8192
/* Bytes that the worker, or a doorbell in its place, sends before others run. */
#define RNIC_WORK_MAX	(1024 * 1024)

/* state.c */
struct ib_qp *rnic_qp_find(struct ib_device *ibdev, int qpn);
void rnic_qp_add_ref(struct ib_qp *ibqp);
void rnic_qp_rem_ref(struct ib_qp *ibqp);
void rnic_qp_kick(struct rnic_qp *qp);
bool rnic_qp_try_move(struct rnic_qp *qp, enum rnic_move move);
void rnic_qp_move(struct rnic_qp *qp, enum rnic_move move);
void rnic_qp_error(struct rnic_qp *qp);
void rnic_qp_stop(struct rnic_qp *qp);
void rnic_qp_lost(struct rnic_qp *qp, const struct rnic_conn *conn);
void rnic_qp_fail(struct rnic_qp *qp, enum wire_err err, bool theirs);
struct rnic_conn *rnic_qp_conn(struct rnic_qp *qp);
void rnic_qp_wake_startup(struct rnic_qp *qp);
bool rnic_qp_must_flush(struct rnic_qp *qp);

/* attach.c: connection */
bool rnic_qp_is_free(struct rnic_qp *qp);
int rnic_qp_attach(struct rnic_qp *qp, struct rnic_conn *conn, const struct mpa_agreed *agreed,
		   bool open);

/* worker.c */
void rnic_qp_work(struct work_struct *work);
void rnic_qp_reflush(struct work_struct *work);
void rnic_qp_look(struct rnic_qp *qp);

/* softirq.c */
void rnic_qp_begin(struct rnic_qp *qp, struct rnic_conn *conn);
void rnic_qp_sock_event(struct rnic_sock *s, enum rnic_sock_event event);
bool rnic_receive_backlog(struct rnic_qp *qp, struct rnic_conn *conn);
enum hrtimer_restart rnic_hold_over(struct hrtimer *timer);
void rnic_post_soft(struct tasklet_struct *tasklet);

/* post.c, doorbell.c */
int rnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int rnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);
void rnic_qp_doorbell(struct rnic_qp *qp);

/* complete.c: completions of both queues */
u32 rnic_sent_add(struct rnic_qp *qp, const struct rnic_wqe *wqe);
void rnic_sent_complete(struct rnic_qp *qp);
void rnic_recv_complete(struct rnic_qp *qp, enum ib_wc_status status, u32 len, u32 inval_stag,
			bool invalidated, bool solicited);
void rnic_qp_tell(struct rnic_qp *qp);
void rnic_qp_flush(struct rnic_qp *qp);
void rnic_qp_discard(struct rnic_qp *qp);

/* hold.c */
/* Longest wait. NICs moderate their interrupts by as much. */
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
#define RNIC_TERM_ROOM	128	/* the longest Terminate as an FPDU, Markers too */
u32 rnic_tx_terminate(struct mpa_tx *mpa, const struct rdmap_term *term, u8 *at);
bool rnic_tx_run(struct rnic_qp *qp, struct rnic_sock *s, u32 budget, bool hold);
void rnic_tx_finish(struct rnic_qp *qp, struct rnic_sock *s);
/* tx_msg.c */
bool rnic_tx_next(struct rnic_qp *qp);
int rnic_tx_payload(struct rnic_qp *qp, void *dst, u32 n);
void rnic_tx_fault(struct rnic_qp *qp);
void rnic_tx_done(struct rnic_qp *qp);
bool rnic_tx_idle(struct rnic_qp *qp);
bool rnic_tx_waiting(struct rnic_qp *qp);

/* rx.c */
bool rnic_rx_run(struct rnic_qp *qp, struct rnic_sock *s);

#endif
