/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue pairs.
 *
 * The socket lock of its connection protects a queue pair's data path (tx, rx, readq, sent).
 * The startup takes it when it hands the stream over. After that the worker, doorbells and three
 * softirqs take it: TCP's receive softirq, the timer that sends held messages, and the tasklet
 * that sends for kernel consumers. Without a connection only the worker uses the data path.
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
 * struct rnic_sent - a work request that was taken from the send queue and is not completed
 * @id:		work request id
 * @op:		operation
 * @signaled:	complete it in the CQ even if it succeeds
 * @done:	was carried out, or failed
 * @status:	result, valid if @done
 * @len:	bytes of the message
 * @inval:	STag to invalidate after the Read (RNIC_OP_READ_INV)
 *
 * Work requests complete in the order of posting, so a Send that is done may wait for a Read that
 * was posted before it.
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
 * enum rnic_tx_msg - kind of the message being sent
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
 * @chunk:	chunk into which FPDUs are encoded, or none
 * @sent:	end of the bytes in it that TCP has
 * @held:	bytes at the end of the chunk that are held (hold.c)
 * @held_until:	time at which the timer sends them
 * @pace:	state of the decisions when to send
 * @posts:	rnic_qp.posts at the last look for something to send
 * @broken:	TCP refused bytes, because the connection is gone
 * @emss:	segment size, a multiple of 4
 * @seg_used:	bytes in the segment that the next FPDU joins
 * @open:	FPDUs may be sent (NEG-30)
 * @rtr:	RTR type still to be sent, MPA_RTR_* or 0
 * @token:	sink STag of each Read Request
 * @sink:	sink offset of the next Read Request
 * @term_due:	@term must be sent as the last message
 * @term:	the Terminate
 * @msn:	next MSN by queue
 * @msg:	kind of the message being sent
 * @responded:	the last message was a response, so a work request has its turn
 * @wqe:	the work request taken last
 * @waits:	@wqe was taken but its message has not begun; it may wait for outstanding Reads
 * @slot:	place of @wqe in rnic_qp.sent
 * @seg:	header of the next segment
 * @sgl:	payload of a work request
 * @left:	payload bytes not yet encoded
 * @off:	payload bytes encoded
 * @fpdus:	FPDUs that are not in the device's counters yet
 * @payload:	bytes of payload in them
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
	u32 token;
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
	u32 left;
	u32 off;
	u32 fpdus;
	u32 payload;
};

/**
 * struct rnic_rx - receiving side of a connection
 * @mpa:	FPDU verifier
 * @ddp:	order state
 * @seg:	header of the segment being handled
 * @rtr:	RTR types that the first FPDU may have, set of MPA_RTR_*
 * @first:	no FPDU was accepted yet
 * @rwqe:	receive of the message being received
 * @have_rwqe:	@rwqe was taken
 * @sgl:	position in @rwqe
 * @receives:	receives taken
 * @rnr:	the current FPDU is verified and begins a Send, which waits for a receive
 * @rnr_since:	time in jiffies when that began
 * @rnr_wait:	longest time of it, in jiffies
 * @eof:	the peer's FIN was reached
 * @part_at:	stream position behind the bytes that had arrived when the consumer closed; from
 *		there on the position itself
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
	u32 receives;
	bool rnr;
	unsigned long rnr_since;
	unsigned long rnr_wait;
	bool eof;
	u32 part_at;
};

/**
 * struct rnic_qp - a queue pair
 * @ibqp:	what ib_core sees; allocated and freed by it
 * @dev:	device
 * @user:	the user whose share it is of; INVALID_UID for a kernel consumer
 * @refs:	one until it is destroyed, and those of iw_cm, endpoints and rnic_modify_qp()
 * @idle:	completed when @refs is 0
 * @lock:	protects @state, @conn, @life, @closed and writes to @access; BH off
 * @state:	see rnic_modify_qp()
 * @startups:	endpoints that start a connection for it, under the device's ep_lock
 * @conn:	connection, with a reference, or NULL; cleared with the socket locked too, so it
 *		stays while that is locked
 * @life:	see life.h; changed by rnic_qp_try_move(), from RNIC_ATTACHED on with the socket
 *		locked too
 * @closed:	the consumer closed the connection
 * @moved:	bytes acknowledged and received when the deadline of a close was set, or -1
 *		without one
 * @until:	in jiffies, latest end of a close; set with @moved
 * @work:	the worker
 * @hold:	timer that sends the held bytes (@tx.held)
 * @soft:	tasklet that sends for a kernel consumer if a wake-up of the worker does not pay
 * @posts:	number of calls by which kernel consumers posted sends, under @sq_lock
 * @again:	timer that looks for receives, because user space posts them without a doorbell: of
 *		a queue pair in error, or while a Send waits; or for room in a CQ
 * @unlocked:	wakes the worker when the socket lock is released, if it found it taken
 * @active:	time in jiffies when a queue pair in error last had a receive to flush, or of the
 *		last system call
 * @scq:	CQ of the send queue
 * @rcq:	CQ of the receive queue
 * @srq:	shared receive queue, or NULL
 * @waiter:	entry in the list of queue pairs that wait for a receive of @srq
 * @sq_lock:	serialises kernel producers of @sq; interrupts off
 * @rq_lock:	serialises kernel producers of @rq; interrupts off
 * @sq:		send queue
 * @rq:		receive queue, not used with @srq
 * @access:	IB_ACCESS_* the peer may use
 * @ird:	inbound Reads agreed on, for rnic_query_qp()
 * @ord:	outbound Reads agreed on, likewise
 * @cap:	capabilities as granted
 * @sent:	work requests taken and not completed, a ring of @sq.size
 * @sent_head:	oldest of @sent, free running
 * @sent_tail:	next free of @sent, free running
 * @failed:	a work request of the send queue failed, so those behind it are flushed
 * @mem:	memory of its protection domain
 * @readq:	RDMA Reads
 * @tx:		sending side
 * @rx:		receiving side
 * @bulk:	the worker sends, so doorbells need not (bulk.c)
 * @looking:	the data path is reading the socket, so data that TCP reports needs no wake-up
 * @due:	TCP reported data meanwhile
 * @event:	async event to raise when the connection is taken down, or -1
 * @last_wqe:	the worker raised IB_EVENT_QP_LAST_WQE_REACHED
 * @term_rx:	rnic_term_word() of the Terminate that the last connection received, or 0
 * @term_tx:	likewise of the one that it sent
 */
struct rnic_qp {
	struct ib_qp ibqp;
	struct rnic_dev *dev;
	kuid_t user;
	refcount_t refs;
	struct completion idle;
	spinlock_t lock; /* see above */
	enum ib_qp_state state;
	struct list_head startups;
	struct rnic_conn *conn;
	enum rnic_life life;
	bool closed;
	s64 moved;
	unsigned long until;
	struct work_struct work;
	struct hrtimer hold;
	struct tasklet_struct soft;
	u32 posts;
	struct timer_list again;
	struct wait_queue_entry unlocked;
	unsigned long active;
	struct rnic_cq *scq;
	struct rnic_cq *rcq;
	struct rnic_srq *srq;
	struct list_head waiter;
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
	bool last_wqe;
	u32 term_rx;
	u32 term_tx;
};

/* Take one more reference, which rnic_qp_rem_ref() drops. Unlike rnic_qp_add_ref() it does so. */
static inline void rnic_qp_get(struct rnic_qp *qp)
{
	refcount_inc(&qp->refs);
}

/* Return: layer, type and code of a Terminate in one word, which is not 0. */
static inline u32 rnic_term_word(const struct rdmap_term *term)
{
	return 1U << 16 | term->layer << 12 | term->etype << 8 | term->code;
}

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

/**
 * rnic_qp_open() - allow the queue pair to send FPDUs
 * @qp:	queue pair that is attached, and whose startup has the stream
 */
static inline void rnic_qp_open(struct rnic_qp *qp)
{
	qp->tx.open = true;
}

/* state.c */
struct ib_qp *rnic_qp_find(struct ib_device *ibdev, int qpn);
void rnic_qp_add_ref(struct ib_qp *ibqp);
void rnic_qp_rem_ref(struct ib_qp *ibqp);
void rnic_qp_kick(struct rnic_qp *qp);
bool rnic_qp_try_move(struct rnic_qp *qp, enum rnic_move move);
void rnic_qp_move(struct rnic_qp *qp, enum rnic_move move);
void rnic_qp_error(struct rnic_qp *qp);
void rnic_qp_lost(struct rnic_qp *qp, const struct rnic_conn *conn);
struct rnic_conn *rnic_qp_conn(struct rnic_qp *qp);

/* attach.c */
bool rnic_qp_is_free(struct rnic_qp *qp);
int rnic_qp_attach(struct rnic_qp *qp, struct rnic_conn *conn, const struct mpa_agreed *agreed,
		   bool open);

/* worker.c */
void rnic_qp_work(struct work_struct *work);
void rnic_qp_again(struct timer_list *timer);
int rnic_qp_unlocked(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key);
void rnic_qp_await_worker(struct rnic_qp *qp);
void rnic_qp_look(struct rnic_qp *qp);
void rnic_qp_close_sends(struct rnic_qp *qp);

/* softirq.c */
void rnic_qp_begin(struct rnic_qp *qp, struct rnic_conn *conn);
void rnic_qp_sock_event(struct rnic_sock *s, enum rnic_sock_event event);
enum hrtimer_restart rnic_hold_over(struct hrtimer *timer);
void rnic_post_soft(struct tasklet_struct *tasklet);

/* post.c */
int rnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int rnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

/* complete.c */
void rnic_qp_discard(struct rnic_qp *qp);

/* tx.c */
#define RNIC_TERM_ROOM	128	/* bytes of the FPDU of the longest Terminate, with Markers */
u32 rnic_tx_terminate(struct mpa_tx *mpa, const struct rdmap_term *term, u8 *at);

#endif
