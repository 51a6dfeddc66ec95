// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The startup machine's driver (RFC 5044 section 7.1).
 *
 * Socket events, deadlines and rnic_ep_cut_*() only queue the endpoint's work (watch.c). That
 * work, a listener's work, iw_cm's operations and the reset of a queue pair hold ep->lock and run:
 *
 *	find_event()		reads the event from the socket (watch.c)
 *	mpa_step()		looks the event up in the table of wire/machine.c
 *	carry_out_actions()	carries out the row's actions, in order
 *	enter_state()		enters the row's next state
 *
 * ep->until bounds the whole startup (NEG-35): startup_timeout_ms for the peer and
 * accept_timeout_ms for the responder's program. Within it each wait has a deadline
 * (enter_state()), which also ends a Request whose event iw_cm dropped.
 */
#include <linux/bitops.h>
#include <rdma/iw_cm.h>

#include "conn/ep.h"
#include "core/dev.h"
#include "qp/qp.h"
#include "qp/trace.h"
#include "tcp/stream.h"
#include "tcp/ulp.h"
#include "wire/ddp.h"

/* Time until iw_cm is asked again, because it tells nobody that it has a free work entry. */
#define ASK_AGAIN_MS	10

/* Actions. Each returns 0 or -errno. */

static int do_request(struct rnic_ep *ep, int status)
{
	return rnic_frame_send(ep, &ep->req, ep->pd);
}

/*
 * Retry without the enhancements (RFC 6581 section 10). ep->until stays. Reuse the socket,
 * because only the program's own task can create one with its uid, label and cgroups.
 */
static int do_retry(struct rnic_ep *ep, int status)
{
	ep->own.rev = 1;
	mpa_request(&ep->req, &ep->own, ep->pd_len);
	return rnic_sock_reconnect(&ep->conn.s, &ep->cm_id->m_remote_addr);
}

/* The time of the consumer begins when the Request arrives. */
static void set_answer_time(struct rnic_ep *ep)
{
	u32 ms = READ_ONCE(ep->dev->set.accept_timeout_ms);

	ep->answer_by = jiffies + msecs_to_jiffies(ms);
	if (time_after(ep->answer_by, ep->until))
		ep->answer_by = ep->until;
}

/* Get the place and the request id with which a listener's program can be asked. */
static int prepare_to_ask(struct rnic_ep *ep)
{
	int ret = rnic_room_ask(ep);

	/* The Request arrived before the eviction took effect. */
	cmpxchg(&ep->cut, MPA_ON_EVICTED, MPA_ON_NOTHING);
	return ret ? ret : rnic_ep_publish(ep);
}

/* Return: as for all actions; 1 to be tried again. */
static int ask_listener(struct rnic_ep *ep)
{
	int ret = 0;

	if (!ep->id)
		ret = prepare_to_ask(ep);
	else if (time_after_eq(jiffies, ep->answer_by))
		ret = -EBUSY;
	if (!ret)
		ret = rnic_room_has_turn(ep) ? ep->ops->request(ep) : 1;
	if (!ret)
		rnic_room_end_turn(ep);
	if (ret == -EBUSY)
		rnic_stat_inc(ep->dev, RNIC_STAT_BACKLOG_OVERFLOW);
	return ret;
}

static int do_ask(struct rnic_ep *ep, int status)
{
	if (ep->state == MPA_WAIT_REQUEST)
		set_answer_time(ep);
	return ep->listener ? ask_listener(ep) : ep->ops->request(ep);
}

static int do_rtr(struct rnic_ep *ep, int status)
{
	struct mpa_frame f;

	mpa_rtr_frame(&f, &ep->req, &ep->rep);
	return rnic_frame_send(ep, &f, NULL);
}

static int do_attach(struct rnic_ep *ep, int status)
{
	ep->have = 0;
	return rnic_qp_attach(ep->conn.qp, &ep->conn, &ep->agreed, false);
}

static int do_attach_open(struct rnic_ep *ep, int status)
{
	return rnic_qp_attach(ep->conn.qp, &ep->conn, &ep->agreed, true);
}

static int do_open(struct rnic_ep *ep, int status)
{
	rnic_qp_open(ep->conn.qp);
	return 0;
}

static int do_lose(struct rnic_ep *ep, int status)
{
	rnic_qp_lost(ep->conn.qp, &ep->conn);
	return 0;
}

/*
 * If sending fails, the queue pair ends the connection and the consumer gets CLOSE, because the
 * queue pair is attached already and the peer may have got the Reply.
 */
static int do_reply(struct rnic_ep *ep, int status)
{
	/* Leave first, because the peer may see the Reply and connect again at once. */
	rnic_room_leave(ep);
	if (rnic_frame_send(ep, &ep->rep, ep->pd))
		rnic_qp_lost(ep->conn.qp, &ep->conn);
	return 0;
}

/*
 * Send the rejecting Reply, with Private Data if the consumer rejected. @graceful lets TCP
 * deliver it, because without it the peer would conclude that we know revision 1 only. The
 * endpoint keeps a place while it lingers, because a peer could create many.
 */
static int do_reject(struct rnic_ep *ep, int status)
{
	int ret;

	ep->own.ird = RNIC_MAX_RD_ATOM;
	ep->own.ord = 0;
	mpa_respond(&ep->rep, &ep->agreed, &ep->req, &ep->own, true, status ? 0 : ep->pd_len);
	ret = rnic_frame_send(ep, &ep->rep, ep->pd);
	ep->conn.graceful = !ret;
	ep->conn.last_words = true;
	if (!rnic_sock_is_foreign(&ep->conn.s)) {
		rnic_room_rejected(ep);
		return 0;
	}
	ep->stays = !ret;
	/* TCP did not take the consumer's own reject. */
	if (ret && !status)
		ep->status = ret;
	return 0;
}

/* No queue pair has the stream yet, so the Terminate is its first and last FPDU. */
static int do_terminate(struct rnic_ep *ep, int status)
{
	u8 buf[RNIC_TERM_ROOM];
	struct rdmap_term term;
	struct mpa_tx mpa;

	mpa_tx_init(&mpa, ep->agreed.tx_markers, ep->agreed.crc);
	rdmap_term_init(&term, ep->fault, NULL, 0, 0);
	trace_rnic_error(&ep->conn.qp->ibqp, &term, true);
	ep->conn.last_words = true;
	if (!rnic_sock_send(&ep->conn.s, buf, rnic_tx_terminate(&mpa, &term, buf)))
		rnic_stat_inc(ep->dev, RNIC_STAT_TX_MSG + RDMAP_TERMINATE);
	return 0;
}

static int do_tell(struct rnic_ep *ep, int status)
{
	ep->ops->started(ep, status);
	return 0;
}

static int do_close(struct rnic_ep *ep, int status)
{
	ep->ops->closed(ep);
	return 0;
}

/* Reset, unless TCP has all bytes of a graceful close: see linger.c. */
static int do_abort(struct rnic_ep *ep, int status)
{
	if (!ep->conn.graceful || ep->conn.tail_len)
		rnic_sock_abort(&ep->conn.s);
	return 0;
}

static int (*const actions[MPA_ACTIONS])(struct rnic_ep *ep, int status) = {
	[MPA_DO_REQUEST]	= do_request,
	[MPA_DO_RETRY]		= do_retry,
	[MPA_DO_ASK]		= do_ask,
	[MPA_DO_RTR]		= do_rtr,
	[MPA_DO_ATTACH]		= do_attach,
	[MPA_DO_ATTACH_OPEN]	= do_attach_open,
	[MPA_DO_OPEN]		= do_open,
	[MPA_DO_LOSE]		= do_lose,
	[MPA_DO_REJECT]		= do_reject,
	[MPA_DO_TERMINATE]	= do_terminate,
	[MPA_DO_TELL]		= do_tell,
	[MPA_DO_REPLY]		= do_reply,
	[MPA_DO_CLOSE]		= do_close,
	[MPA_DO_ABORT]		= do_abort,
};

/* Carry out actions in the order of their numbers, up to the first that fails. */
static int carry_out_actions(struct rnic_ep *ep, unsigned long todo, int status)
{
	unsigned int action;
	int ret;

	for_each_set_bit(action, &todo, MPA_ACTIONS) {
		ret = actions[action](ep, status);
		if (ret)
			return ret;
	}
	return 0;
}

/* Count an event of the startup. */
static void count_event(struct rnic_ep *ep, enum mpa_event event)
{
	switch (event) {
	case MPA_ON_ACCEPT:
	case MPA_ON_RTR:
	case MPA_ON_ACCEPTED:
	case MPA_ON_ACCEPTED_RTR:
		rnic_stat_inc(ep->dev, RNIC_STAT_STARTUPS_OK);
		break;
	case MPA_ON_REJECTED:
	case MPA_ON_REJECT:
		rnic_stat_inc(ep->dev, RNIC_STAT_STARTUPS_REJECTED);
		break;
	case MPA_ON_OLD_PEER:
		rnic_stat_inc(ep->dev, RNIC_STAT_STARTUPS_FALLBACK);
		break;
	case MPA_ON_TIME_OVER:
		rnic_stat_inc(ep->dev, RNIC_STAT_STARTUPS_TIMEOUT);
		break;
	case MPA_ON_EVICTED:
		rnic_stat_inc(ep->dev, RNIC_STAT_STARTUPS_EVICTED);
		break;
	case MPA_ON_TCP_UP:
	case MPA_ON_REQUEST:
	case MPA_ON_BUSY:
	case MPA_ON_ACCEPT_RTR:
		break;
	default:
		rnic_stat_inc(ep->dev, RNIC_STAT_STARTUPS_FAILED);
	}
}

/**
 * rnic_startup_await_peer() - set the deadline of a wait for the peer alone
 * @ep:	endpoint that waits for TCP, the Request on a lent connection, the rest of a Reply or the
 *	RtR frame; @lock held
 *
 * Context: process.
 */
void rnic_startup_await_peer(struct rnic_ep *ep)
{
	rnic_conn_extend(&ep->conn, READ_ONCE(ep->dev->set.startup_timeout_ms), ep->until);
}

/*
 * The peer replies when its program has answered, so wait for the rest of the startup's time. A
 * peer that has our settings rejects before that is over. check_frame() sets a nearer deadline
 * when the Reply has begun, because the peer sends the rest of it without its program.
 */
static void await_reply(struct rnic_ep *ep)
{
	rnic_conn_extend(&ep->conn, U32_MAX, ep->until);
}

/* Only the first of those that wait asks again; its end wakes the next one. */
static void await_turn(struct rnic_ep *ep)
{
	if (rnic_room_has_turn(ep))
		rnic_conn_arm(&ep->conn, ASK_AGAIN_MS);
	else
		rnic_conn_extend(&ep->conn, U32_MAX, ep->answer_by);
}

static void await_consumer(struct rnic_ep *ep)
{
	rnic_conn_extend(&ep->conn, U32_MAX, ep->answer_by);
}

/*
 * Enter Full Operation: send socket events to the queue pair, which is attached. iw_cm has the
 * event. rnic_qp_begin() processes bytes that arrived before, and may set a deadline.
 */
static void begin_operation(struct rnic_ep *ep)
{
	rnic_conn_disarm(&ep->conn);
	rnic_room_leave(ep);
	rnic_ep_leave_qp(ep);
	rnic_ep_drop_frame(ep);
	rnic_ep_unpublish(ep);
	rnic_sock_redirect(&ep->conn.s, rnic_qp_sock_event);
	rnic_qp_begin(ep->conn.qp, &ep->conn);
}

/* The program that lent the connection reads and writes again, or learns that TCP is gone. */
static void return_connection(struct rnic_ep *ep)
{
	if (!ep->stays && !rnic_sock_finished(&ep->conn.s))
		rnic_sock_abort(&ep->conn.s);
	rnic_sock_return(&ep->conn.s);
	ep->ops->over(ep);
}

/*
 * End the endpoint: drop its events, deadline and base reference. The caller has a reference of
 * its own. Dropping the last one closes the socket; unread bytes make TCP reset the connection
 * then, which is right for a startup that failed.
 */
static void finish_endpoint(struct rnic_ep *ep)
{
	if (ep->conn.s.sock)
		rnic_sock_unhook(&ep->conn.s);
	rnic_conn_disarm(&ep->conn);
	rnic_room_leave(ep);
	rnic_ep_over(ep);
	rnic_conn_drop_tail(&ep->conn);
	if (ep->conn.s.owner == RNIC_SOCK_LENT)
		return_connection(ep);
	rnic_ep_put(ep);
}

/*
 * Have the first turn here, because the work would cost a wake-up. At the end that closes second,
 * the first turn is the last, too.
 */
static void begin_linger(struct rnic_ep *ep)
{
	enum mpa_event event;

	rnic_ep_over(ep);
	/* No consumer is left to go away, and an eviction keeps an earlier event. */
	cmpxchg(&ep->cut, MPA_ON_CONSUMER_GONE, MPA_ON_NOTHING);
	rnic_linger_start(ep);
	event = rnic_linger_on(ep);
	/* This turn may be the answer to the eviction, too. */
	if (!event)
		event = READ_ONCE(ep->cut);
	if (event)
		rnic_startup(ep, event, 0);
}

static void enter_state(struct rnic_ep *ep, enum mpa_state state)
{
	WRITE_ONCE(ep->state, state);
	switch (state) {
	case MPA_CONNECTING:
		rnic_startup_await_peer(ep);
		break;
	case MPA_WAIT_REPLY:
		await_reply(ep);
		break;
	case MPA_ASK_AGAIN:
		await_turn(ep);
		break;
	case MPA_WAIT_CONSUMER:
		await_consumer(ep);
		break;
	case MPA_WAIT_RTR:
		rnic_startup_await_peer(ep);
		rnic_ep_unpublish(ep);
		break;
	case MPA_OPERATING:
		begin_operation(ep);
		break;
	case MPA_LINGER:
		begin_linger(ep);
		break;
	case MPA_DONE:
		finish_endpoint(ep);
		break;
	default:
		break;
	}
}

/**
 * rnic_startup() - apply an event to the startup machine
 * @ep:		endpoint, @lock held; the caller has a reference of its own
 * @event:	the event
 * @status:	status for the consumer: 0 or -errno
 *
 * An action that fails becomes a local error, with code 5 if the row has a Terminate (P2P-41).
 * The actions of the rows for local errors do not fail. do_ask() may become MPA_ON_BUSY instead.
 *
 * Context: process.
 * Return: 0; -EINVAL if the state has no row for the event; the -errno of an action that
 * failed.
 */
int rnic_startup(struct rnic_ep *ep, enum mpa_event event, int status)
{
	const struct mpa_step *step = mpa_step(ep->state, event);
	enum mpa_state next;
	int ret;

	lockdep_assert_held(&ep->lock);
	if (!step)
		return -EINVAL;
	if (ep->state < MPA_OPERATING)
		ep->status = status;
	ret = carry_out_actions(ep, step->actions, status);
	if (ret > 0)
		return rnic_startup(ep, MPA_ON_BUSY, 0);
	if (ret) {
		ep->fault = WIRE_MPA_LOCAL;
		rnic_startup(ep, MPA_ON_LOCAL_ERROR, ret);
		return ret;
	}
	if (ep->state < MPA_OPERATING)
		count_event(ep, event);
	/* A lent connection is not closed after a reject (NEG-24, NEG-28). */
	next = step->next == MPA_LINGER && ep->stays ? MPA_DONE : step->next;
	trace_rnic_state(&ep->dev->ibdev, ep->conn.qp ? &ep->conn.qp->ibqp : NULL,
			 ep->conn.s.sock, ep->initiator, ep->state, event, next,
			 step->actions & BIT(MPA_DO_TELL) ? status : 0);
	enter_state(ep, next);
	return 0;
}
