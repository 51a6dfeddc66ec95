// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints: the MPA startup exchange (RFC 5044 section 7.1) and the end of a
 * connection. In between the queue pair owns the stream, see io.c.
 *
 * Socket events only queue ep->work; everything is done there, or in a call of
 * iw_cm's, under ep->lock.
 *
 *	initiator  CONNECTING -> WAIT_REPLY ----------\
 *						       > OPERATING -> LINGER -> DONE
 *	responder  WAIT_REQUEST -> REQUESTED ---------/
 *
 * One deadline covers the whole startup (NEG-35). It also bounds how long a
 * Request waits for the consumer, so a Request that iw_cm dropped is not kept.
 *
 * Lingering. A connection is not simply released: with unread octets in the
 * queue TCP would answer with a reset, and the peer would lose the Terminate or
 * the last data. So the last octets are pushed, FIN follows, what still arrives
 * is read and dropped, and when the peer closes too, or after LINGER_MS, the
 * socket goes.
 *
 * Lifetime. The base reference is dropped in rnic_ep_done(), after the socket
 * was unhooked, so no callback can come any more. The last reference closes the
 * socket and takes the endpoint off the device's list, which is what a device
 * that goes away waits for.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "dev.h"
#include "ep.h"
#include "listen.h"
#include "qp.h"

/* How long the peer may take to close after we did. */
#define LINGER_MS	2000


static void ep_free(struct kref *ref)
{
	struct rnic_ep *ep = container_of(ref, struct rnic_ep, ref);
	struct rnic_dev *dev = ep->dev;

	rnic_sock_close(&ep->s);
	kfree(ep->frame);
	kfree(ep->pd);
	/* The device may be gone as soon as the list is empty and unlocked. */
	spin_lock_bh(&dev->cm.ep_lock);
	list_del(&ep->node);
	if (list_empty(&dev->cm.eps))
		wake_up_all(&dev->cm.idle);
	spin_unlock_bh(&dev->cm.ep_lock);
	kfree(ep);
}

struct rnic_ep *rnic_ep_get(struct rnic_ep *ep)
{
	kref_get(&ep->ref);
	return ep;
}

/* Context: process. */
void rnic_ep_put(struct rnic_ep *ep)
{
	kref_put(&ep->ref, ep_free);
}

/* Have the work run. Any context; the base reference or another one is held. */
void rnic_ep_kick(struct rnic_ep *ep)
{
	rnic_ep_get(ep);
	if (!queue_work(rnic_wq, &ep->work))
		rnic_ep_put(ep);
}

void rnic_ep_sock_event(struct rnic_sock *s, enum rnic_sock_event event)
{
	rnic_ep_kick(container_of(s, struct rnic_ep, s));
}

/**
 * rnic_ep_arm() - set the deadline
 * @ep:	endpoint
 * @ms:	from now
 */
void rnic_ep_arm(struct rnic_ep *ep, u32 ms)
{
	WRITE_ONCE(ep->deadline, (jiffies + msecs_to_jiffies(ms)) | 1);
	rnic_ep_get(ep);
	/* A little later, so that the deadline has passed for sure. */
	if (mod_delayed_work(rnic_wq, &ep->timer, msecs_to_jiffies(ms) + 2))
		rnic_ep_put(ep);
}

/* Has the deadline passed? */
bool rnic_ep_expired(const struct rnic_ep *ep)
{
	unsigned long deadline = READ_ONCE(ep->deadline);

	return deadline && time_after_eq(jiffies, deadline);
}

/* No deadline any more. */
void rnic_ep_disarm(struct rnic_ep *ep)
{
	WRITE_ONCE(ep->deadline, 0);
	if (cancel_delayed_work(&ep->timer))
		rnic_ep_put(ep);
}

static void expire(struct work_struct *work)
{
	struct rnic_ep *ep = container_of(work, struct rnic_ep, timer.work);

	rnic_ep_kick(ep);
	rnic_ep_put(ep);
}

static void not_pending(struct rnic_ep *ep)
{
	if (ep->pending)
		atomic_dec(&ep->dev->cm.pending);
	ep->pending = false;
}

static void drop_qp(struct rnic_ep *ep)
{
	if (ep->qp)
		rnic_qp_rem_ref(&ep->qp->ibqp);
	ep->qp = NULL;
}

static void drop_tail(struct rnic_ep *ep)
{
	if (ep->tail)
		put_page(ep->tail);
	ep->tail = NULL;
	ep->tail_len = 0;
}

static void drop_listener(struct rnic_ep *ep)
{
	if (ep->listener)
		rnic_listener_put(ep->listener);
	WRITE_ONCE(ep->listener, NULL);
}

/* iw_cm does not know it any more, or it does not know iw_cm's question. */
static void unpublish(struct rnic_ep *ep)
{
	if (ep->id)
		xa_erase(&ep->dev->cm.requests, ep->id);
	ep->id = 0;
	drop_listener(ep);
}

/**
 * rnic_ep_done() - the end: no event, no deadline, no base reference
 * @ep:	endpoint, @lock held; the caller has a reference of its own
 *
 * The socket itself goes with the last reference: unread octets make TCP reset
 * the connection then, which is right for a startup that failed.
 */
void rnic_ep_done(struct rnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (ep->state == RNIC_EP_DONE)
		return;
	ep->state = RNIC_EP_DONE;
	if (ep->s.sock)
		rnic_sock_unhook(&ep->s);
	rnic_ep_disarm(ep);
	not_pending(ep);
	unpublish(ep);
	drop_qp(ep);
	drop_tail(ep);
	rnic_ep_put(ep);
}

/**
 * rnic_ep_linger() - send what is left, close, wait for the peer to close
 * @ep:	endpoint, @lock held
 */
void rnic_ep_linger(struct rnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	ep->state = RNIC_EP_LINGER;
	not_pending(ep);
	unpublish(ep);
	rnic_ep_disarm(ep);
	rnic_ep_arm(ep, LINGER_MS);
	rnic_ep_kick(ep);
}

/**
 * rnic_ep_operate() - Full Operation: socket events go to the queue pair
 * @ep:	endpoint with @qp attached, @lock held; iw_cm was told. The deadline was
 *	disarmed before: since it is attached @qp may set one for its close.
 *
 * What arrived before is looked at once, since it was reported to us.
 */
void rnic_ep_operate(struct rnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	ep->state = RNIC_EP_OPERATING;
	not_pending(ep);
	unpublish(ep);
	rnic_sock_redirect(&ep->s, rnic_qp_sock_event);
	rnic_qp_kick(ep->qp);
}

/**
 * rnic_ep_closed() - the queue pair gives the connection back
 * @ep:		endpoint; the caller holds a reference, and no socket lock
 * @tail:	pages with octets that must still be sent, taken over; or NULL
 * @off:	first of them
 * @len:	how many
 *
 * Context: the queue pair's worker.
 */
void rnic_ep_closed(struct rnic_ep *ep, struct page *tail, u32 off, u32 len)
{
	mutex_lock(&ep->lock);
	rnic_sock_redirect(&ep->s, rnic_ep_sock_event);
	drop_qp(ep);
	ep->tail = tail;
	ep->tail_off = off;
	ep->tail_len = len;
	rnic_cm_close(ep);
	rnic_ep_linger(ep);
	mutex_unlock(&ep->lock);
}

static bool push_tail(struct rnic_ep *ep)
{
	int ret = 1;

	rnic_sock_lock(&ep->s);
	while (ep->tail_len && ret > 0) {
		ret = rnic_sock_push(&ep->s, ep->tail, ep->tail_off, ep->tail_len, false);
		if (ret > 0) {
			ep->tail_off += ret;
			ep->tail_len -= ret;
		}
	}
	rnic_sock_want(&ep->s, 1);
	rnic_sock_consume(&ep->s, rnic_sock_unread(&ep->s));
	rnic_sock_unlock(&ep->s);
	return !ep->tail_len || (ret < 0 && ret != -EAGAIN);
}

static void linger(struct rnic_ep *ep)
{
	if (rnic_ep_expired(ep)) {
		rnic_sock_abort(&ep->s);
		rnic_ep_done(ep);
		return;
	}
	if (!push_tail(ep))
		return;
	drop_tail(ep);
	rnic_sock_shut(&ep->s);
	if (rnic_sock_peer_closed(&ep->s))
		rnic_ep_done(ep);
}

static void startup_failed(struct rnic_ep *ep, int err, enum rnic_stat stat)
{
	rnic_stat_inc(ep->dev, stat);
	if (ep->initiator)
		rnic_cm_reply(ep, err, NULL, NULL);
	rnic_ep_done(ep);
}

/**
 * rnic_ep_send_frame() - send a startup frame
 * @ep:	endpoint, @lock held
 * @f:	the frame
 * @pd:	Private Data of @f->pd_len octets
 *
 * Return: 0 or -errno.
 */
int rnic_ep_send_frame(struct rnic_ep *ep, const struct mpa_frame *f, const void *pd)
{
	u8 *buf;
	u32 len;
	int ret;

	buf = kmalloc(MPA_FRAME_MAX, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	len = mpa_frame_build(f, pd, buf);
	ret = len ? rnic_sock_send(&ep->s, buf, len) : -EINVAL;
	kfree(buf);
	return ret;
}

static void connecting(struct rnic_ep *ep)
{
	int ret;

	if (rnic_sock_established(&ep->s)) {
		ret = rnic_ep_send_frame(ep, &ep->req, ep->pd);
		if (ret)
			startup_failed(ep, ret, RNIC_STAT_STARTUPS_FAILED);
		else
			ep->state = RNIC_EP_WAIT_REPLY;
	} else if (rnic_sock_peer_closed(&ep->s) || rnic_sock_error(&ep->s)) {
		/* Also a peer that accepted and closed before we looked. */
		ret = rnic_sock_error(&ep->s);
		startup_failed(ep, ret ? ret : -ECONNREFUSED, RNIC_STAT_STARTUPS_FAILED);
	}
}

/*
 * Read the frame that is due, never beyond it: what follows is the consumer's.
 *
 * Return: 1 when it is complete, 0 when more must arrive, -errno.
 */
static int gather(struct rnic_ep *ep)
{
	enum wire_err err;
	u32 need;
	int ret;

	for (;;) {
		need = mpa_frame_need(ep->frame, ep->have, ep->initiator, &err);
		if (err)
			return -EPROTO;
		if (ep->have == need)
			return 1;
		ret = rnic_sock_recv(&ep->s, ep->frame + ep->have, need - ep->have);
		if (ret == -EAGAIN)
			return 0;
		if (ret <= 0)
			return ret ? ret : -ECONNRESET;
		ep->have += ret;
	}
}

static void reply_arrived(struct rnic_ep *ep)
{
	struct mpa_frame rep;
	enum wire_err err;
	const u8 *pd;
	int ret;

	if (mpa_frame_parse(&rep, ep->frame, true, &pd)) {
		startup_failed(ep, -EPROTO, RNIC_STAT_STARTUPS_FAILED);
		return;
	}
	if (rep.reject) {
		rnic_stat_inc(ep->dev, RNIC_STAT_STARTUPS_REJECTED);
		rnic_cm_reply(ep, -ECONNREFUSED, &rep, pd);
		drop_qp(ep);
		rnic_ep_linger(ep);
		return;
	}
	err = mpa_conclude(&ep->agreed, &ep->own, &ep->req, &rep);
	rnic_ep_disarm(ep);
	ret = rnic_qp_attach(ep->qp, ep, &ep->agreed, true);
	if (ret) {
		startup_failed(ep, ret, RNIC_STAT_STARTUPS_FAILED);
		return;
	}
	if (err) {
		/* The queue pair sends the Terminate and gives the rest back. */
		rnic_stat_inc(ep->dev, RNIC_STAT_STARTUPS_FAILED);
		rnic_cm_reply(ep, -EPROTO, &rep, NULL);
		rnic_qp_refuse(ep->qp, ep, err);
	} else {
		rnic_stat_inc(ep->dev, RNIC_STAT_STARTUPS_OK);
		rnic_cm_reply(ep, 0, &rep, pd);
	}
	rnic_ep_operate(ep);
}

/* Nothing may arrive before our Reply (DUAL-07). */
static void requested(struct rnic_ep *ep)
{
	if (rnic_sock_peer_closed(&ep->s) || rnic_sock_unread(&ep->s))
		startup_failed(ep, -ECONNRESET, RNIC_STAT_STARTUPS_FAILED);
}

static void request_arrived(struct rnic_ep *ep)
{
	const u8 *pd;

	if (mpa_frame_parse(&ep->req, ep->frame, false, &pd) ||
	    !mpa_request_acceptable(&ep->req, &ep->own) || rnic_ep_publish(ep)) {
		startup_failed(ep, -EPROTO, RNIC_STAT_STARTUPS_FAILED);
		return;
	}
	ep->state = RNIC_EP_REQUESTED;
	requested(ep);
	if (ep->state == RNIC_EP_REQUESTED)
		rnic_cm_request(ep, pd);
	drop_listener(ep);
}

/*
 * A peer that knows revision 1 only closes on an enhanced Request: ask again
 * without the enhancements (RFC 6581 section 10). The deadline goes on.
 *
 * Return: the second attempt is on its way.
 */
static bool fall_back(struct rnic_ep *ep, int err)
{
	if (!ep->initiator || ep->own.rev < 2 || ep->have)
		return false;
	if (err != -ECONNRESET && err != -EPIPE)
		return false;
	rnic_sock_close(&ep->s);
	ep->own.rev = 1;
	mpa_request(&ep->req, &ep->own, ep->pd_len);
	ep->state = RNIC_EP_CONNECTING;
	if (rnic_cm_start_connect(ep))
		return false;
	rnic_stat_inc(ep->dev, RNIC_STAT_STARTUPS_FALLBACK);
	rnic_ep_kick(ep);
	return true;
}

static void startup_receive(struct rnic_ep *ep)
{
	int ret = gather(ep);

	if (ret < 0 && fall_back(ep, ret))
		return;
	if (ret < 0)
		startup_failed(ep, ret, RNIC_STAT_STARTUPS_FAILED);
	else if (ret && ep->initiator)
		reply_arrived(ep);
	else if (ret)
		request_arrived(ep);
}

static void step(struct rnic_ep *ep)
{
	if (rnic_ep_expired(ep) && ep->state < RNIC_EP_OPERATING) {
		startup_failed(ep, -ETIMEDOUT, RNIC_STAT_STARTUPS_TIMEOUT);
		return;
	}
	switch (ep->state) {
	case RNIC_EP_CONNECTING:
		connecting(ep);
		break;
	case RNIC_EP_WAIT_REPLY:
	case RNIC_EP_WAIT_REQUEST:
		startup_receive(ep);
		break;
	case RNIC_EP_REQUESTED:
		requested(ep);
		break;
	case RNIC_EP_OPERATING:
		rnic_qp_kick(ep->qp);
		break;
	case RNIC_EP_LINGER:
		linger(ep);
		break;
	case RNIC_EP_DONE:
		break;
	}
}

static void ep_work(struct work_struct *work)
{
	struct rnic_ep *ep = container_of(work, struct rnic_ep, work);

	mutex_lock(&ep->lock);
	step(ep);
	mutex_unlock(&ep->lock);
	rnic_ep_put(ep);
}

/**
 * rnic_ep_new() - an endpoint, on the device's list
 * @dev:	device
 * @initiator:	we connect
 *
 * Context: process.
 * Return: the endpoint with its base reference, or NULL.
 */
struct rnic_ep *rnic_ep_new(struct rnic_dev *dev, bool initiator)
{
	struct rnic_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return NULL;
	ep->frame = kmalloc(MPA_FRAME_MAX, GFP_KERNEL);
	if (!ep->frame) {
		kfree(ep);
		return NULL;
	}
	kref_init(&ep->ref);
	mutex_init(&ep->lock);
	INIT_WORK(&ep->work, ep_work);
	INIT_DELAYED_WORK(&ep->timer, expire);
	ep->dev = dev;
	ep->initiator = initiator;
	ep->state = initiator ? RNIC_EP_CONNECTING : RNIC_EP_WAIT_REQUEST;
	ep->own.crc = READ_ONCE(dev->set.crc);
	ep->own.markers = READ_ONCE(dev->set.markers);
	ep->own.rev = READ_ONCE(dev->set.rev);
	ep->own.rtr = READ_ONCE(dev->set.rtr);
	ep->own.ird_max = RNIC_MAX_RD_ATOM;
	spin_lock_bh(&dev->cm.ep_lock);
	list_add_tail(&ep->node, &dev->cm.eps);
	spin_unlock_bh(&dev->cm.ep_lock);
	return ep;
}

/**
 * rnic_ep_publish() - give a Request a name that iw_cm can call it by
 * @ep:	endpoint, @lock held
 *
 * iw_cm may drop the event without a word when the listener goes away. It never
 * holds a pointer, so the deadline can end the endpoint at any time.
 *
 * Return: 0 or -errno.
 */
int rnic_ep_publish(struct rnic_ep *ep)
{
	int ret;

	ret = xa_alloc_cyclic(&ep->dev->cm.requests, &ep->id, ep, XA_LIMIT(1, INT_MAX),
			      &ep->dev->cm.next_id, GFP_KERNEL);
	return ret < 0 ? ret : 0;
}

/**
 * rnic_ep_find() - the endpoint that iw_cm means
 * @dev:	device
 * @id:		its name
 *
 * Return: the endpoint with a reference, or NULL when it is gone.
 */
struct rnic_ep *rnic_ep_find(struct rnic_dev *dev, u32 id)
{
	struct rnic_ep *ep;

	xa_lock(&dev->cm.requests);
	ep = xa_load(&dev->cm.requests, id);
	if (ep)
		rnic_ep_get(ep);	/* published: the base reference is there */
	xa_unlock(&dev->cm.requests);
	return ep;
}

/* Have the next ep_work() find that its time is over. */
static void expire_now(struct rnic_ep *ep)
{
	WRITE_ONCE(ep->deadline, (jiffies - 2) | 1);
	rnic_ep_kick(ep);
}

/* Is it a startup for a queue pair or from a listener that goes away? */
static bool is_startup_of(const struct rnic_ep *ep, const struct rnic_qp *qp,
			  const struct rnic_listener *l)
{
	enum rnic_ep_state state = READ_ONCE(ep->state);

	if (l)
		return state == RNIC_EP_WAIT_REQUEST && READ_ONCE(ep->listener) == l;
	return state < RNIC_EP_OPERATING && READ_ONCE(ep->qp) == qp;
}

static struct rnic_ep *next_startup_of(struct rnic_dev *dev, const struct rnic_qp *qp,
				       const struct rnic_listener *l)
{
	struct rnic_ep *ep;

	spin_lock_bh(&dev->cm.ep_lock);
	list_for_each_entry(ep, &dev->cm.eps, node) {
		if (is_startup_of(ep, qp, l) && !rnic_ep_expired(ep) &&
		    kref_get_unless_zero(&ep->ref)) {
			spin_unlock_bh(&dev->cm.ep_lock);
			return ep;
		}
	}
	spin_unlock_bh(&dev->cm.ep_lock);
	return NULL;
}

/**
 * rnic_ep_cut_short() - end startups that nobody waits for any more
 * @dev:	device
 * @qp:		those of this queue pair, when @l is NULL
 * @l:		those of this listener that its consumer was not asked about
 *
 * They end in ep_work(), as if their time was over. Does not wait.
 *
 * Context: process.
 */
void rnic_ep_cut_short(struct rnic_dev *dev, const struct rnic_qp *qp,
		       const struct rnic_listener *l)
{
	struct rnic_ep *ep;

	while ((ep = next_startup_of(dev, qp, l))) {
		expire_now(ep);
		rnic_ep_put(ep);
	}
}

static struct rnic_ep *next_alive(struct rnic_dev *dev)
{
	struct rnic_ep *ep;

	spin_lock_bh(&dev->cm.ep_lock);
	list_for_each_entry(ep, &dev->cm.eps, node) {
		if (!ep->killed && kref_get_unless_zero(&ep->ref)) {
			ep->killed = true;
			spin_unlock_bh(&dev->cm.ep_lock);
			return ep;
		}
	}
	spin_unlock_bh(&dev->cm.ep_lock);
	return NULL;
}

/**
 * rnic_ep_kill_all() - end what is left on a device, and wait for it
 * @dev:	device without queue pairs and listeners
 *
 * Context: process.
 */
void rnic_ep_kill_all(struct rnic_dev *dev)
{
	struct rnic_ep *ep;

	while ((ep = next_alive(dev))) {
		expire_now(ep);
		rnic_ep_put(ep);
	}
	wait_event(dev->cm.idle, list_empty_careful(&dev->cm.eps));
	/* Whoever emptied the list may still hold the lock. */
	spin_lock_bh(&dev->cm.ep_lock);
	spin_unlock_bh(&dev->cm.ep_lock);
}
