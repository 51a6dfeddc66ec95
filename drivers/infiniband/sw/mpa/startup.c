// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The startup exchange, carried out (RFC 5044 section 7.1).
 *
 * Socket events, deadlines and those who end an endpoint only queue ep->work.
 * There, in a port's work, and in calls of iw_cm's, with ep->lock held:
 *
 *	happened()	what has happened, from what the socket shows
 *	mpa_step()	what that means: the table in wire/machine.c
 *	carry_out()	the actions, in order
 *	enter()		the next state
 *
 * One deadline covers the whole startup (NEG-35), a nearer one the peer's Request. It
 * also bounds how long a Request waits for the consumer, so a Request that iw_cm dropped
 * is not kept.
 */
#include <linux/bitops.h>
#include <linux/slab.h>
#include <wire/ddp.h>

#include "dev.h"
#include "ep.h"
#include "qp.h"
#include "stream.h"

/* Actions. Each returns 0, or -errno when it could not be done. */

static int do_request(struct rnic_ep *ep, int status)
{
	return rnic_frame_send(ep, &ep->req, ep->pd);
}

/*
 * RFC 6581 section 10: without the enhancements. The deadline goes on. The socket is the
 * caller's, and only he can make one, so it is used again.
 */
static int do_retry(struct rnic_ep *ep, int status)
{
	ep->own.rev = 1;
	mpa_request(&ep->req, &ep->own, ep->pd_len);
	return rnic_cm_connect_again(ep);
}

static int do_ask(struct rnic_ep *ep, int status)
{
	int ret = rnic_room_ask(ep);

	if (ret)
		rnic_stat_inc(ep->dev, RNIC_STAT_BACKLOG_OVERFLOW);
	else
		ret = rnic_ep_publish(ep);
	return ret ? ret : rnic_cm_request(ep);
}

static int do_rtr(struct rnic_ep *ep, int status)
{
	struct mpa_frame f;

	mpa_rtr_frame(&f, &ep->req, &ep->rep);
	return rnic_frame_send(ep, &f, NULL);
}

/*
 * Since it is attached the queue pair may set a deadline for its close. That of the
 * startup goes on while the RtR frame is due.
 */
static int do_attach(struct rnic_ep *ep, int status)
{
	if (ep->agreed.rtr_frame)
		ep->have = 0;
	else
		rnic_ep_disarm(ep);
	return rnic_qp_attach(ep->qp, ep, &ep->agreed, false);
}

static int do_attach_open(struct rnic_ep *ep, int status)
{
	rnic_ep_disarm(ep);
	return rnic_qp_attach(ep->qp, ep, &ep->agreed, true);
}

/*
 * The peer may think it is connected, and a queue pair that is attached is not
 * taken back: it ends the connection, which the consumer is told.
 */
static int do_reply(struct rnic_ep *ep, int status)
{
	/* The next caller may see the Reply, and expect the place. */
	rnic_room_leave(ep);
	if (rnic_frame_send(ep, &ep->rep, ep->pd))
		rnic_qp_lost(ep->qp, ep);
	return 0;
}

/*
 * With the consumer's Private Data if it was the consumer who rejected. What TCP has of it
 * arrives, however long that takes: without it the caller would take us for an old peer.
 * A peer could have many that linger, so they are counted.
 */
static int do_reject(struct rnic_ep *ep, int status)
{
	ep->own.ird = RNIC_MAX_RD_ATOM;
	ep->own.ord = 0;
	mpa_respond(&ep->rep, &ep->agreed, &ep->req, &ep->own, true, status ? 0 : ep->pd_len);
	ep->graceful = !rnic_frame_send(ep, &ep->rep, ep->pd);
	ep->last_words = true;
	rnic_room_rejected(ep);
	return 0;
}

/* No queue pair has the stream yet: the Terminate is its first and last FPDU. */
static int do_terminate(struct rnic_ep *ep, int status)
{
	u8 buf[RNIC_TERM_ROOM];
	struct rdmap_term term;
	struct mpa_tx mpa;

	mpa_tx_init(&mpa, ep->agreed.tx_markers, ep->agreed.crc);
	rdmap_term_init(&term, ep->fault, NULL, 0, 0);
	ep->last_words = true;
	if (!rnic_sock_send(&ep->s, buf, rnic_tx_terminate(&mpa, &term, buf)))
		rnic_stat_inc(ep->dev, RNIC_STAT_TX_MSG + RDMAP_TERMINATE);
	return 0;
}

static int do_tell(struct rnic_ep *ep, int status)
{
	if (ep->initiator)
		rnic_cm_reply(ep, status);
	else
		rnic_cm_established(ep);
	return 0;
}

static int do_close(struct rnic_ep *ep, int status)
{
	rnic_cm_close(ep);
	return 0;
}

/* Unless TCP has all, and goes on with it by itself: see linger.c. */
static int do_abort(struct rnic_ep *ep, int status)
{
	if (!ep->graceful || ep->tail_len)
		rnic_sock_abort(&ep->s);
	return 0;
}

static int (*const actions[MPA_ACTIONS])(struct rnic_ep *ep, int status) = {
	[MPA_DO_REQUEST]	= do_request,
	[MPA_DO_RETRY]		= do_retry,
	[MPA_DO_ASK]		= do_ask,
	[MPA_DO_RTR]		= do_rtr,
	[MPA_DO_ATTACH]		= do_attach,
	[MPA_DO_ATTACH_OPEN]	= do_attach_open,
	[MPA_DO_REJECT]		= do_reject,
	[MPA_DO_TERMINATE]	= do_terminate,
	[MPA_DO_TELL]		= do_tell,
	[MPA_DO_REPLY]		= do_reply,
	[MPA_DO_CLOSE]		= do_close,
	[MPA_DO_ABORT]		= do_abort,
};

/* In the order of their numbers; the first that fails is the last. */
static int carry_out(struct rnic_ep *ep, unsigned long todo, int status)
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

/* Which counter an event moves during the startup, if any. */
static void count(struct rnic_ep *ep, enum mpa_event event)
{
	switch (event) {
	case MPA_ON_ACCEPT:
		/* Not through while the RtR frame is due: see rx_rtr_frame(). */
		if (ep->agreed.rtr_frame)
			break;
		fallthrough;
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
		break;
	default:
		rnic_stat_inc(ep->dev, RNIC_STAT_STARTUPS_FAILED);
	}
}

static void enter(struct rnic_ep *ep, enum mpa_state state)
{
	WRITE_ONCE(ep->state, state);
	switch (state) {
	case MPA_WAIT_CONSUMER:
		rnic_ep_reported(ep);
		break;
	case MPA_OPERATING:
		rnic_ep_operate(ep);
		break;
	case MPA_LINGER:
		rnic_ep_over(ep);
		rnic_linger_start(ep);
		break;
	case MPA_DONE:
		rnic_ep_done(ep);
		break;
	default:
		break;
	}
}

/**
 * rnic_startup() - do what an event demands
 * @ep:		endpoint, @lock held; the caller has a reference of its own
 * @event:	the event
 * @status:	what to tell the consumer: 0, or why it failed
 *
 * What cannot be carried out becomes a local error, code 5 where there is a
 * Terminate to carry it (P2P-41). No table row for that has an action that fails.
 *
 * Return: 0; -EINVAL when the event means nothing now; also another -errno when it
 * became a local error.
 */
int rnic_startup(struct rnic_ep *ep, enum mpa_event event, int status)
{
	const struct mpa_step *step = mpa_step(ep->state, event);
	int ret;

	lockdep_assert_held(&ep->lock);
	if (!step)
		return -EINVAL;
	ret = carry_out(ep, step->actions, status);
	if (ret) {
		ep->fault = WIRE_MPA_LOCAL;
		rnic_startup(ep, MPA_ON_LOCAL_ERROR, ret);
		return ret;
	}
	if (ep->state < MPA_OPERATING)
		count(ep, event);
	enter(ep, step->next);
	return 0;
}

/*
 * iw_cm's events have one octet for the length of Private Data. What its consumer
 * could not be given makes the frame an improper one (NEG-17).
 */
static bool too_much(const struct mpa_frame *f)
{
	return f->pd_len > U8_MAX;
}

/* What has happened? Each returns the event, and sets the status to tell. */

static enum mpa_event tcp_progress(struct rnic_ep *ep, int *status)
{
	*status = -ECONNREFUSED;
	if (rnic_sock_established(&ep->s))
		return MPA_ON_TCP_UP;
	if (!rnic_sock_peer_closed(&ep->s) && !rnic_sock_error(&ep->s))
		return MPA_ON_NOTHING;
	/* Also a peer that accepted and closed before we looked. */
	if (rnic_sock_error(&ep->s))
		*status = rnic_sock_error(&ep->s);
	return MPA_ON_TCP_FAILED;
}

/*
 * A peer that knows revision 1 only closes on an enhanced Request, before it has
 * said anything (P2P-46, P2P-47).
 */
static enum mpa_event stream_ended(struct rnic_ep *ep, int err, int *status)
{
	*status = err;
	if (ep->state == MPA_WAIT_REPLY && ep->req.enhanced && !ep->have &&
	    (err == -ECONNRESET || err == -EPIPE))
		return MPA_ON_OLD_PEER;
	return MPA_ON_CLOSED;
}

static enum mpa_event reply_arrived(struct rnic_ep *ep, int *status)
{
	if (mpa_frame_parse(&ep->rep, ep->frame, MPA_REPLY, &ep->peer_pd) ||
	    too_much(&ep->rep)) {
		memset(&ep->rep, 0, sizeof(ep->rep));
		return MPA_ON_BAD_FRAME;
	}
	if (ep->rep.reject) {
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
 * rnic_startup_early() - did anything arrive before our Reply?
 * @ep:		endpoint whose Request was received, @lock held
 * @status:	set to what that means
 *
 * Return: MPA_ON_NOTHING, as it should be (DUAL-07), or what it was.
 */
enum mpa_event rnic_startup_early(struct rnic_ep *ep, int *status)
{
	*status = -ECONNRESET;
	if (rnic_sock_unread(&ep->s))
		return MPA_ON_OCTETS;
	return rnic_sock_peer_closed(&ep->s) ? MPA_ON_CLOSED : MPA_ON_NOTHING;
}

static enum mpa_event request_arrived(struct rnic_ep *ep, int *status)
{
	enum mpa_event early = rnic_startup_early(ep, status);

	if (mpa_frame_parse(&ep->req, ep->frame, MPA_REQUEST, &ep->peer_pd) ||
	    too_much(&ep->req) || !mpa_request_acceptable(&ep->req, &ep->own))
		return MPA_ON_BAD_FRAME;
	return early ? early : MPA_ON_REQUEST;
}

static const struct {
	enum mpa_kind kind;
	enum mpa_event (*arrived)(struct rnic_ep *ep, int *status);
} due[MPA_STATES] = {
	[MPA_WAIT_REPLY]	= { MPA_REPLY, reply_arrived },
	[MPA_WAIT_REQUEST]	= { MPA_REQUEST, request_arrived },
};

static enum mpa_event frame_progress(struct rnic_ep *ep, int *status)
{
	bool closed;
	int ret, err;

	rnic_sock_lock(&ep->s);
	ret = rnic_frame_read(ep, due[ep->state].kind);
	if (ret > 0)
		rnic_sock_charge(&ep->s);
	closed = rnic_sock_peer_closed(&ep->s);
	err = rnic_sock_error(&ep->s);
	rnic_sock_unlock(&ep->s);
	*status = -EPROTO;
	if (ret < 0)
		return MPA_ON_BAD_FRAME;
	if (ret)
		return due[ep->state].arrived(ep, status);
	if (closed || err)
		return stream_ended(ep, err ? err : -ECONNRESET, status);
	return MPA_ON_NOTHING;
}

static enum mpa_event happened(struct rnic_ep *ep, int *status)
{
	switch (ep->state) {
	case MPA_CONNECTING:
		return tcp_progress(ep, status);
	case MPA_WAIT_REPLY:
	case MPA_WAIT_REQUEST:
		return frame_progress(ep, status);
	case MPA_WAIT_CONSUMER:
		return rnic_startup_early(ep, status);
	case MPA_OPERATING:
		rnic_qp_kick(ep->qp);	/* it knows best, its deadline too */
		return MPA_ON_NOTHING;
	case MPA_LINGER:
		return rnic_linger_on(ep);
	default:
		return MPA_ON_NOTHING;
	}
}

/*
 * Did somebody end it, or time? (For how long it lingers depends on what comes.)
 *
 * Return: yes, and it has.
 */
static bool cut_short(struct rnic_ep *ep)
{
	enum mpa_event cut = READ_ONCE(ep->cut);

	if (cut && cut != MPA_ON_EVICTED && !rnic_startup(ep, cut, -ECONNABORTED))
		return true;
	return ep->state != MPA_LINGER && rnic_ep_expired(ep) &&
	       !rnic_startup(ep, MPA_ON_TIME_OVER, -ETIMEDOUT);
}

/**
 * rnic_startup_look() - what has happened to an endpoint, and what that demands
 * @ep:	endpoint; the caller has a reference
 *
 * Context: rnic_startup_wq.
 */
void rnic_startup_look(struct rnic_ep *ep)
{
	unsigned int noio = rnic_ep_lock(ep);
	enum mpa_event event;
	int status = 0;

	if (!cut_short(ep)) {
		event = happened(ep, &status);
		/* Who has to give way is heard before. */
		if (!event)
			event = READ_ONCE(ep->cut);
		if (event)
			rnic_startup(ep, event, status);
	}
	rnic_ep_unlock(ep, noio);
}

/* The work of an endpoint. */
void rnic_startup_work(struct work_struct *work)
{
	struct rnic_ep *ep = container_of(work, struct rnic_ep, work);

	rnic_startup_look(ep);
	rnic_ep_put(ep);
}
