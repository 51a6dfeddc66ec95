// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints: one TCP connection from its first packet to its last. Here: the
 * object, who can find it, its deadline, and what each state needs of it. How
 * it gets from state to state is in startup.c, its end in linger.c; in between
 * the queue pair owns the stream, see io.c.
 *
 * Lifetime. The base reference is dropped in rnic_ep_done(), after the socket
 * was unhooked, so no callback can come any more. The last reference closes the
 * socket and takes the endpoint off the device's list, which is what a device
 * that goes away waits for.
 *
 * Whoever ends an endpoint from outside holds none of its locks: it leaves an
 * event in ep->cut and has the work run.
 */
#include <linux/slab.h>

#include "dev.h"
#include "ep.h"
#include "listen.h"
#include "qp.h"

/* The last reference went. Context: process. */
void rnic_ep_free(struct kref *ref)
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

/* Have the work run. Any context; the base reference or another one is held. */
void rnic_ep_kick(struct rnic_ep *ep)
{
	rnic_ep_get(ep);
	if (!queue_work(rnic_startup_wq, &ep->work))
		rnic_ep_put(ep);
}

/* rnic_sock_event_fn of a startup and of a lingering socket. sk_callback_lock is held. */
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

/* The queue pair's own worker ends it from now on, or nobody needs to. */
static void leave_qp(struct rnic_ep *ep)
{
	spin_lock_bh(&ep->dev->cm.ep_lock);
	list_del_init(&ep->of_qp);
	spin_unlock_bh(&ep->dev->cm.ep_lock);
}

static void drop_qp(struct rnic_ep *ep)
{
	leave_qp(ep);
	if (ep->qp)
		rnic_qp_rem_ref(&ep->qp->ibqp);
	WRITE_ONCE(ep->qp, NULL);
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
 * rnic_ep_reported() - the consumer was asked, and has what is left of the startup's time
 * @ep:	endpoint, @lock held
 */
void rnic_ep_reported(struct rnic_ep *ep)
{
	long left = ep->until - jiffies;

	/* The peer was heard in time after all. */
	cmpxchg(&ep->cut, MPA_ON_EVICTED, MPA_ON_NOTHING);
	rnic_ep_arm(ep, left > 0 ? jiffies_to_msecs(left) : 0);
}

/* No startup frame is due any more, and iw_cm has the peer's Private Data. */
static void drop_frame(struct rnic_ep *ep)
{
	kfree(ep->frame);
	ep->frame = NULL;
	ep->peer_pd = NULL;
}

/**
 * rnic_ep_operate() - Full Operation: socket events go to the queue pair
 * @ep:	endpoint with @qp attached, @lock held; iw_cm was told
 *
 * What arrived before was reported to us, and is looked at once.
 */
void rnic_ep_operate(struct rnic_ep *ep)
{
	rnic_room_leave(ep);
	leave_qp(ep);
	/* Else an RtR frame is due, and rnic_ep_opened() follows. */
	if (ep->initiator || !ep->agreed.rtr_frame)
		drop_frame(ep);
	unpublish(ep);
	rnic_sock_redirect(&ep->s, rnic_qp_sock_event);
	rnic_qp_begin(ep->qp, ep);
}

/**
 * rnic_ep_opened() - the RtR frame that was due has come
 * @ep:	endpoint
 *
 * Context: any; the caller holds a reference.
 */
void rnic_ep_opened(struct rnic_ep *ep)
{
	drop_frame(ep);
	rnic_ep_disarm(ep);
}

/**
 * rnic_ep_over() - no consumer and no queue pair any more
 * @ep:	endpoint, @lock held
 */
void rnic_ep_over(struct rnic_ep *ep)
{
	unpublish(ep);
	drop_qp(ep);
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
	if (ep->s.sock)
		rnic_sock_unhook(&ep->s);
	rnic_ep_disarm(ep);
	rnic_room_leave(ep);
	rnic_ep_over(ep);
	rnic_linger_end(ep);
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
	struct rnic_ep *ep = kzalloc(sizeof(*ep), RNIC_GFP);

	if (!ep)
		return NULL;
	ep->frame = kmalloc(MPA_FRAME_MAX, RNIC_GFP);
	if (!ep->frame) {
		kfree(ep);
		return NULL;
	}
	kref_init(&ep->ref);
	mutex_init(&ep->lock);
	INIT_WORK(&ep->work, rnic_startup_work);
	INIT_DELAYED_WORK(&ep->timer, expire);
	INIT_LIST_HEAD(&ep->of_qp);
	ep->dev = dev;
	ep->initiator = initiator;
	ep->state = initiator ? MPA_CONNECTING : MPA_WAIT_REQUEST;
	ep->own.crc = READ_ONCE(dev->set.crc);
	ep->own.markers = READ_ONCE(dev->set.markers);
	ep->own.rev = READ_ONCE(dev->set.rev);
	ep->own.rtr = READ_ONCE(dev->set.rtr);
	ep->own.rtr_frame = READ_ONCE(dev->set.rtr_frame);
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
			      &ep->dev->cm.next_id, RNIC_GFP);
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

/* Any context; the base reference or another one is held. */
static void cut(struct rnic_ep *ep, enum mpa_event event)
{
	WRITE_ONCE(ep->cut, event);
	rnic_ep_kick(ep);
}

/**
 * rnic_ep_join_qp() - from now on who destroys the queue pair ends the startup
 * @ep:	endpoint with @qp, @lock held
 */
void rnic_ep_join_qp(struct rnic_ep *ep)
{
	spin_lock_bh(&ep->dev->cm.ep_lock);
	list_add_tail(&ep->of_qp, &ep->qp->startups);
	spin_unlock_bh(&ep->dev->cm.ep_lock);
}

/**
 * rnic_ep_cut_qp() - end the startups for a queue pair that goes away
 * @qp:	queue pair
 *
 * They end in rnic_startup_look(). Does not wait.
 *
 * Context: process.
 */
void rnic_ep_cut_qp(struct rnic_qp *qp)
{
	struct rnic_ep *ep;

	spin_lock_bh(&qp->dev->cm.ep_lock);
	list_for_each_entry(ep, &qp->startups, of_qp)
		cut(ep, MPA_ON_CONSUMER_GONE);
	spin_unlock_bh(&qp->dev->cm.ep_lock);
}

/**
 * rnic_ep_cut_listener() - end what a listener's consumer was not asked about
 * @l:	listener, which has no port any more
 *
 * As rnic_ep_cut_qp(). One that was evicted ends by itself.
 *
 * Context: process.
 */
void rnic_ep_cut_listener(struct rnic_listener *l)
{
	struct rnic_ep *ep;

	spin_lock_bh(&l->dev->cm.ep_lock);
	list_for_each_entry(ep, &l->silent.eps, place.node[RNIC_CROWD_LISTENER])
		cut(ep, MPA_ON_CONSUMER_GONE);
	spin_unlock_bh(&l->dev->cm.ep_lock);
}

/* One after the other to the end of the list. Return: there was one not yet told. */
static bool kill_next(struct rnic_dev *dev)
{
	struct rnic_ep *ep;
	bool held = false;

	spin_lock_bh(&dev->cm.ep_lock);
	ep = list_first_entry_or_null(&dev->cm.eps, struct rnic_ep, node);
	if (ep && READ_ONCE(ep->cut) != MPA_ON_DEVICE_GONE) {
		list_move_tail(&ep->node, &dev->cm.eps);
		WRITE_ONCE(ep->cut, MPA_ON_DEVICE_GONE);
		held = kref_get_unless_zero(&ep->ref);
	} else {
		ep = NULL;
	}
	spin_unlock_bh(&dev->cm.ep_lock);
	if (held) {
		rnic_ep_kick(ep);
		rnic_ep_put(ep);
	}
	return ep;
}

/**
 * rnic_ep_kill_all() - end what is left on a device, and wait for it
 * @dev:	device without queue pairs and listeners
 *
 * Context: process.
 */
void rnic_ep_kill_all(struct rnic_dev *dev)
{
	while (kill_next(dev))
		;
	wait_event(dev->cm.idle, list_empty_careful(&dev->cm.eps));
	/* Whoever emptied the list may still hold the lock. */
	spin_lock_bh(&dev->cm.ep_lock);
	spin_unlock_bh(&dev->cm.ep_lock);
}
