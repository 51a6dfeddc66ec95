// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The work of an endpoint: derive the next event from the socket, the deadline and ep->cut, and
 * pass it to startup.c.
 */

#include "conn/ep.h"
#include "conn/listen.h"
#include "core/dev.h"
#include "qp/qp.h"
#include "tcp/stream.h"

/*
 * True if iw_cm's event, with a u8 for the length, cannot pass the Private Data on. Such a frame
 * is improper (NEG-17).
 */
static bool has_too_much_pd(const struct rnic_ep *ep, const struct mpa_frame *f)
{
	return !rnic_sock_is_foreign(&ep->conn.s) && f->pd_len > U8_MAX;
}

/* Each of these returns an event, and sets the consumer's status. */

static enum mpa_event check_tcp(struct rnic_ep *ep, int *status)
{
	*status = -ECONNREFUSED;
	if (rnic_sock_established(&ep->conn.s))
		return MPA_ON_TCP_UP;
	if (!rnic_sock_peer_closed(&ep->conn.s) && !rnic_sock_error(&ep->conn.s))
		return MPA_ON_NOTHING;
	/* The peer may also have accepted and closed before this work ran. */
	if (rnic_sock_error(&ep->conn.s))
		*status = rnic_sock_error(&ep->conn.s);
	return MPA_ON_TCP_FAILED;
}

/*
 * A peer that knows revision 1 only closes on an enhanced Request without sending a byte
 * (P2P-46, P2P-47). Only the program can replace a connection that it lent.
 */
static enum mpa_event judge_stream_end(struct rnic_ep *ep, int err, int *status)
{
	*status = err;
	if (ep->state == MPA_WAIT_REPLY && ep->req.enhanced && !ep->have &&
	    !rnic_sock_is_foreign(&ep->conn.s) && (err == -ECONNRESET || err == -EPIPE))
		return MPA_ON_OLD_PEER;
	return MPA_ON_CLOSED;
}

static enum mpa_event handle_reply(struct rnic_ep *ep, int *status)
{
	if (mpa_frame_parse(&ep->rep, ep->frame, MPA_REPLY, &ep->peer_pd) ||
	    has_too_much_pd(ep, &ep->rep)) {
		memset(&ep->rep, 0, sizeof(ep->rep));
		return MPA_ON_BAD_FRAME;
	}
	if (ep->rep.reject) {
		ep->stays = rnic_sock_is_foreign(&ep->conn.s);
		*status = -ECONNREFUSED;
		return MPA_ON_REJECTED;
	}
	ep->fault = mpa_conclude(&ep->agreed, &ep->own, &ep->req, &ep->rep);
	if (ep->fault)
		return MPA_ON_UNMATCHED;
	*status = 0;
	return ep->agreed.rtr_frame ? MPA_ON_ACCEPTED_RTR : MPA_ON_ACCEPTED;
}

/**
 * rnic_startup_early() - check that nothing arrived before our Reply
 * @ep:		endpoint whose Request was received, @lock held
 * @status:	set to the consumer's status if something did
 *
 * Context: process.
 * Return: MPA_ON_NOTHING, which is right (DUAL-07), or the event that arrived.
 */
enum mpa_event rnic_startup_early(struct rnic_ep *ep, int *status)
{
	bool unread = rnic_sock_unread(&ep->conn.s);

	*status = unread ? -EPROTO : -ECONNRESET;
	if (unread)
		return MPA_ON_BYTES;
	return rnic_sock_peer_closed(&ep->conn.s) ? MPA_ON_CLOSED : MPA_ON_NOTHING;
}

static enum mpa_event handle_request(struct rnic_ep *ep, int *status)
{
	enum mpa_event early = rnic_startup_early(ep, status);

	if (mpa_frame_parse(&ep->req, ep->frame, MPA_REQUEST, &ep->peer_pd) ||
	    has_too_much_pd(ep, &ep->req) || !mpa_request_acceptable(&ep->req, &ep->own))
		return MPA_ON_BAD_FRAME;
	return early ? early : MPA_ON_REQUEST;
}

static enum mpa_event handle_rtr(struct rnic_ep *ep, int *status)
{
	struct mpa_frame f;
	const u8 *pd;

	return mpa_frame_parse(&f, ep->frame, MPA_RTR, &pd) ? MPA_ON_BAD_FRAME : MPA_ON_RTR;
}

static const struct {
	enum mpa_kind kind;
	enum mpa_event (*arrived)(struct rnic_ep *ep, int *status);
} due[MPA_STATES] = {
	[MPA_WAIT_REPLY]	= { MPA_REPLY, handle_reply },
	[MPA_WAIT_REQUEST]	= { MPA_REQUEST, handle_request },
	[MPA_WAIT_RTR]		= { MPA_RTR, handle_rtr },
};

static enum mpa_event check_frame(struct rnic_ep *ep, int *status)
{
	u32 had = ep->have;
	bool closed;
	int ret, err;

	rnic_sock_lock(&ep->conn.s);
	ret = rnic_frame_read(ep, due[ep->state].kind);
	if (ret > 0)
		rnic_sock_charge(&ep->conn.s);
	closed = rnic_sock_peer_closed(&ep->conn.s);
	err = rnic_sock_error(&ep->conn.s);
	rnic_sock_unlock(&ep->conn.s);
	*status = -EPROTO;
	if (ret < 0)
		return MPA_ON_BAD_FRAME;
	if (ret)
		return due[ep->state].arrived(ep, status);
	/* TCP goes on after an error that does not close the connection (IP_RECVERR). */
	if (closed)
		return judge_stream_end(ep, err ? err : -ECONNRESET, status);
	/* The Reply has begun, so the peer's program has answered. */
	if (ep->state == MPA_WAIT_REPLY && !had && ep->have)
		rnic_startup_await_peer(ep);
	return MPA_ON_NOTHING;
}

/*
 * Wait for the RtR frame of the 2007 proposal (HIST-16). The queue pair is attached, so its
 * consumer may end the wait. A consumer that closes does not, because requests posted before
 * still wait for the frame.
 */
static enum mpa_event check_rtr(struct rnic_ep *ep, int *status)
{
	if (rnic_qp_state(ep->conn.qp) == IB_QPS_ERR)
		return MPA_ON_CONSUMER_GONE;
	return check_frame(ep, status);
}

/* The queue pair owns the stream and its deadline until it ends. */
static enum mpa_event check_operation(struct rnic_ep *ep)
{
	if (!rnic_conn_ended(&ep->conn)) {
		rnic_qp_kick(ep->conn.qp);
		return MPA_ON_NOTHING;
	}
	rnic_sock_redirect(&ep->conn.s, rnic_ep_sock_event);
	return MPA_ON_ENDED;
}

/* True if the listener is gone and iw_cm drops the Request, or was never asked. */
static bool is_request_lost(const struct rnic_ep *ep)
{
	return ep->listener && READ_ONCE(ep->listener->gone) && !READ_ONCE(ep->known);
}

/* In MPA_ASK_AGAIN the deadline is a time to ask the consumer, which fails if it is too late. */
static enum mpa_event check_consumer(struct rnic_ep *ep, int *status)
{
	enum mpa_event early = rnic_startup_early(ep, status);

	if (early)
		return early;
	*status = -ECONNABORTED;
	if (is_request_lost(ep))
		return MPA_ON_LOCAL_ERROR;
	if (ep->state != MPA_ASK_AGAIN)
		return MPA_ON_NOTHING;
	if (!rnic_conn_expired(&ep->conn) && !rnic_room_has_turn(ep))
		return MPA_ON_NOTHING;
	/* So that rnic_conn_extend() sets a new one. */
	rnic_conn_disarm(&ep->conn);
	return MPA_ON_REQUEST;
}

static enum mpa_event find_event(struct rnic_ep *ep, int *status)
{
	switch (ep->state) {
	case MPA_CONNECTING:
		return check_tcp(ep, status);
	case MPA_WAIT_REPLY:
	case MPA_WAIT_REQUEST:
		return check_frame(ep, status);
	case MPA_ASK_AGAIN:
	case MPA_WAIT_CONSUMER:
		return check_consumer(ep, status);
	case MPA_WAIT_RTR:
		return check_rtr(ep, status);
	case MPA_OPERATING:
		return check_operation(ep);
	case MPA_LINGER:
		return rnic_linger_on(ep);
	default:
		return MPA_ON_NOTHING;
	}
}

/*
 * Apply ep->cut. An eviction is applied after events of the socket.
 *
 * Return: true if the endpoint was ended.
 */
static bool handle_cut(struct rnic_ep *ep)
{
	enum mpa_event cut = READ_ONCE(ep->cut);

	return cut && cut != MPA_ON_EVICTED && !rnic_startup(ep, cut, -ECONNABORTED);
}

/*
 * Apply the deadline if nothing but the end of the stream has arrived: a frame that arrived in time
 * counts if the work runs late. rnic_linger_on() tests the deadline of MPA_LINGER, because progress
 * moves it. In MPA_ASK_AGAIN and MPA_OPERATING it means something else, and mpa_step() has no row
 * for MPA_ON_TIME_OVER.
 *
 * Return: true if the endpoint was ended.
 */
static bool handle_deadline(struct rnic_ep *ep, enum mpa_event event)
{
	return (!event || event == MPA_ON_CLOSED) && ep->state != MPA_LINGER &&
	       rnic_conn_expired(&ep->conn) && !rnic_startup(ep, MPA_ON_TIME_OVER, -ETIMEDOUT);
}

static void apply_next_event(struct rnic_ep *ep)
{
	enum mpa_event event;
	int status = 0;

	lockdep_assert_held(&ep->lock);
	if (handle_cut(ep))
		return;
	event = find_event(ep, &status);
	if (handle_deadline(ep, event))
		return;
	/* An eviction comes last, because the Request may have arrived. */
	if (!event)
		event = READ_ONCE(ep->cut);
	if (event)
		rnic_startup(ep, event, status);
}

/**
 * rnic_startup_look() - derive the next event of an endpoint and apply it
 * @ep:	endpoint; the caller has a reference
 *
 * Does not wait for ep->lock, because the startups of all programs would: a program's task that
 * has it may wait for memory, or its cgroup may have used up its time on the processor.
 *
 * Context: rnic_startup_wq; the queue pair's worker when that took the connection down; rnic_wq
 * when it lingers; always rnic_lent_wq for a lent connection.
 */
void rnic_startup_look(struct rnic_ep *ep)
{
	unsigned int noio;

	if (!rnic_ep_trylock(ep, &noio))
		return;
	apply_next_event(ep);
	rnic_ep_unlock(ep, noio);
}

/**
 * rnic_startup_await_look() - look at an endpoint in the caller
 * @conn:	the endpoint's; the caller has a reference
 *
 * Waits for ep->lock, so the look has happened when this returns.
 *
 * Context: process, a program's task.
 */
void rnic_startup_await_look(struct rnic_conn *conn)
{
	struct rnic_ep *ep = container_of(conn, struct rnic_ep, conn);
	unsigned int noio = rnic_ep_lock(ep);

	apply_next_event(ep);
	rnic_ep_unlock(ep, noio);
}

/**
 * rnic_startup_work() - the work of an endpoint
 * @work:	its conn.work; a reference is dropped
 *
 * The queue pair's worker calls this when it has taken down a connection that was not lent
 * (rnic_conn_end()), and @work may run in rnic_startup_wq or rnic_wq at the same time. Each turn
 * has a reference of its own, and the one that finds ep->lock held leaves its look to a third.
 *
 * Context: as for rnic_startup_look().
 */
void rnic_startup_work(struct work_struct *work)
{
	struct rnic_ep *ep = container_of(work, struct rnic_ep, conn.work);

	rnic_startup_look(ep);
	rnic_ep_put(ep);
}
