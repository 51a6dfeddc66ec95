// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints: one TCP connection from its first packet to its last. This file has the object,
 * its lookup, and the ways to end it from outside. startup.c moves it from state to state, and
 * linger.c ends it; in between the queue pair owns the stream.
 *
 * Lifetime. The startup unhooks the socket and then drops the base reference in MPA_DONE. When
 * the last reference is dropped, the endpoint leaves the device's list. Device removal waits
 * for that list to become empty.
 *
 * To end an endpoint from outside, without its locks, store an event in ep->cut and queue its
 * work.
 */
#include <linux/slab.h>
#include <rdma/iw_cm.h>

#include "conn/ep.h"
#include "conn/listen.h"
#include "core/dev.h"
#include "qp/qp.h"

/* The socket is closed. */
static void free_endpoint(struct rnic_conn *conn)
{
	struct rnic_ep *ep = container_of(conn, struct rnic_ep, conn);
	struct rnic_dev *dev = ep->dev;

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

/**
 * rnic_ep_trylock() - lock an endpoint as rnic_ep_lock() does, if nobody has it locked
 * @ep:		endpoint; the caller has a reference
 * @noio:	set for rnic_ep_unlock()
 *
 * Context: process.
 * Return: false if another task has it locked, which queues the endpoint's work after that.
 */
bool rnic_ep_trylock(struct rnic_ep *ep, unsigned int *noio)
{
	if (!mutex_trylock(&ep->lock)) {
		/* Store before trying once more. Pairs with rnic_ep_unlock(). */
		xchg(&ep->missed, 1);
		if (!mutex_trylock(&ep->lock))
			return false;
	}
	/*
	 * Read the value that this overwrites, because then the coming look sees the event of the
	 * look that stored it.
	 */
	xchg(&ep->missed, 0);
	*noio = memalloc_noio_save();
	return true;
}

/**
 * rnic_ep_unlock() - unlock an endpoint
 * @ep:		endpoint; the caller has a reference
 * @noio:	of rnic_ep_lock() or rnic_ep_trylock()
 *
 * Context: process.
 */
void rnic_ep_unlock(struct rnic_ep *ep, unsigned int noio)
{
	memalloc_noio_restore(noio);
	mutex_unlock(&ep->lock);
	/* Unlock before reading @missed. Pairs with rnic_ep_trylock(). */
	smp_mb();
	if (READ_ONCE(ep->missed))
		rnic_conn_kick(&ep->conn);
}

/**
 * rnic_ep_sock_event() - rnic_sock_event_fn of startup and linger: run the work
 * @s:		socket of an endpoint
 * @event:	unused; the work finds out
 *
 * While a task has the endpoint locked, leaves it to that task to queue the work, because the work
 * could not get the lock.
 *
 * Context: sk_callback_lock read-held, softirqs off.
 */
void rnic_ep_sock_event(struct rnic_sock *s, enum rnic_sock_event event)
{
	struct rnic_ep *ep = container_of(s, struct rnic_ep, conn.s);

	if (mutex_is_locked(&ep->lock)) {
		/* Store before looking once more. Pairs with rnic_ep_unlock(). */
		xchg(&ep->missed, 1);
		if (mutex_is_locked(&ep->lock))
			return;
	}
	rnic_conn_kick(&ep->conn);
}

/**
 * rnic_ep_leave_qp() - undo rnic_ep_join_qp()
 * @ep:	endpoint, @lock held
 *
 * From now on the queue pair's worker ends the connection.
 *
 * Context: process.
 */
void rnic_ep_leave_qp(struct rnic_ep *ep)
{
	spin_lock_bh(&ep->dev->cm.ep_lock);
	list_del_init(&ep->of_qp);
	spin_unlock_bh(&ep->dev->cm.ep_lock);
}

static void drop_qp(struct rnic_ep *ep)
{
	rnic_ep_leave_qp(ep);
	if (ep->conn.qp)
		rnic_qp_rem_ref(&ep->conn.qp->ibqp);
	WRITE_ONCE(ep->conn.qp, NULL);
}

static void free_listener(struct kref *ref)
{
	struct rnic_listener *l = container_of(ref, struct rnic_listener, ref);

	l->cm_id->rem_ref(l->cm_id);
	kfree(l);
}

/**
 * rnic_listener_put() - drop a reference to a listener
 * @l:	listener
 *
 * Context: process, because the last reference may free the cm_id.
 */
void rnic_listener_put(struct rnic_listener *l)
{
	kref_put(&l->ref, free_listener);
}

static void drop_listener(struct rnic_ep *ep)
{
	if (ep->listener)
		rnic_listener_put(ep->listener);
	WRITE_ONCE(ep->listener, NULL);
}

/**
 * rnic_ep_unpublish() - drop the request id known to iw_cm, and the listener reference
 * @ep:	endpoint, @lock held
 *
 * Context: process.
 */
void rnic_ep_unpublish(struct rnic_ep *ep)
{
	if (ep->id)
		xa_erase(&ep->dev->cm.requests, ep->id);
	ep->id = 0;
	drop_listener(ep);
}

/**
 * rnic_ep_drop_frame() - free the frame buffer
 * @ep:	endpoint in Full Operation, @lock held; iw_cm has a copy of the peer's Private Data, if
 *	there was some
 *
 * Context: process.
 */
void rnic_ep_drop_frame(struct rnic_ep *ep)
{
	kfree(ep->frame);
	ep->frame = NULL;
	ep->peer_pd = NULL;
}

/**
 * rnic_ep_over() - drop the listener and the queue pair
 * @ep:	endpoint, @lock held
 *
 * Context: process.
 */
void rnic_ep_over(struct rnic_ep *ep)
{
	rnic_ep_unpublish(ep);
	drop_qp(ep);
}

/**
 * rnic_ep_new() - create an endpoint and add it to the device's list
 * @dev:	device
 * @initiator:	true to connect, false for an accepted connection
 * @ops:	its consumer
 * @wq:		queue of its work
 * @look:	its work
 * @gfp:	how to allocate it
 *
 * Context: process.
 * Return: the endpoint with its base reference, or NULL.
 */
struct rnic_ep *rnic_ep_new(struct rnic_dev *dev, bool initiator, const struct rnic_ep_ops *ops,
			    struct workqueue_struct *wq, work_func_t look, gfp_t gfp)
{
	struct rnic_ep *ep = kzalloc(sizeof(*ep), gfp);

	if (!ep)
		return NULL;
	ep->frame = kmalloc(MPA_FRAME_MAX, gfp);
	if (!ep->frame) {
		kfree(ep);
		return NULL;
	}
	rnic_conn_init(&ep->conn, wq, look, free_endpoint);
	mutex_init(&ep->lock);
	INIT_LIST_HEAD(&ep->of_qp);
	ep->dev = dev;
	ep->initiator = initiator;
	ep->ops = ops;
	ep->state = initiator ? MPA_CONNECTING : MPA_WAIT_REQUEST;
	ep->own.crc = READ_ONCE(dev->set.crc);
	ep->own.markers = READ_ONCE(dev->set.markers);
	ep->own.rev = READ_ONCE(dev->set.revision);
	ep->own.rtr = READ_ONCE(dev->set.rtr);
	ep->own.rtr_frame = READ_ONCE(dev->set.rtr_frame);
	ep->own.ird_max = RNIC_MAX_RD_ATOM;
	ep->until = jiffies + msecs_to_jiffies(READ_ONCE(dev->set.startup_timeout_ms) +
					       READ_ONCE(dev->set.accept_timeout_ms));
	spin_lock_bh(&dev->cm.ep_lock);
	list_add_tail(&ep->node, &dev->cm.eps);
	spin_unlock_bh(&dev->cm.ep_lock);
	return ep;
}

/**
 * rnic_ep_set_depths() - take the depths of the consumer
 * @ep:	endpoint, @lock held
 * @ird:	inbound RDMA Reads
 * @ord:	outbound RDMA Reads
 *
 * Context: process.
 */
void rnic_ep_set_depths(struct rnic_ep *ep, u32 ird, u32 ord)
{
	ep->own.ird = min_t(u32, ird, RNIC_MAX_RD_ATOM);
	ep->own.ord = min_t(u32, ord, RNIC_MAX_RD_ATOM);
}

/**
 * rnic_ep_set_pd() - take the Private Data of the consumer
 * @ep:		endpoint, @lock held
 * @f:		the frame that will have it
 * @pd:		the Private Data
 * @len:	bytes of it
 *
 * Context: process.
 * Return: 0; -EINVAL if the frame cannot hold it; -ENOMEM.
 */
int rnic_ep_set_pd(struct rnic_ep *ep, const struct mpa_frame *f, const void *pd, u16 len)
{
	if (f->pd_len > MPA_PD_MAX - (f->enhanced ? sizeof(struct mpa_enhanced) : 0))
		return -EINVAL;
	if (!len)
		return 0;
	ep->pd = kmemdup(pd, len, RNIC_GFP);
	if (!ep->pd)
		return -ENOMEM;
	ep->pd_len = len;
	return 0;
}

/**
 * rnic_ep_publish() - allocate the request id for iw_cm
 * @ep:	endpoint, @lock held
 *
 * iw_cm gets an id instead of a pointer, because it silently drops the event if the listener
 * goes away, and the deadline may end the endpoint at any time.
 *
 * Context: process.
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
 * rnic_ep_find() - find the endpoint of a request id
 * @dev:	device
 * @id:		request id
 *
 * Context: process.
 * Return: the endpoint with a reference, or NULL if it is gone.
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

/* Context: any; the endpoint has its base reference, or the caller has one. */
static void cut_endpoint(struct rnic_ep *ep, enum mpa_event event)
{
	WRITE_ONCE(ep->cut, event);
	rnic_conn_kick(&ep->conn);
}

/**
 * rnic_ep_join_qp() - let destruction of the queue pair end the startup
 * @ep:	endpoint with @conn.qp, @lock held
 *
 * Context: process.
 */
void rnic_ep_join_qp(struct rnic_ep *ep)
{
	spin_lock_bh(&ep->dev->cm.ep_lock);
	list_add_tail(&ep->of_qp, &ep->conn.qp->startups);
	spin_unlock_bh(&ep->dev->cm.ep_lock);
}

/**
 * rnic_ep_cut_qp() - end the startups of a queue pair that is being destroyed
 * @qp:	queue pair
 *
 * Does not wait; rnic_startup_look() ends them.
 *
 * Context: process.
 */
void rnic_ep_cut_qp(struct rnic_qp *qp)
{
	struct rnic_ep *ep;

	spin_lock_bh(&qp->dev->cm.ep_lock);
	list_for_each_entry(ep, &qp->startups, of_qp)
		cut_endpoint(ep, MPA_ON_CONSUMER_GONE);
	spin_unlock_bh(&qp->dev->cm.ep_lock);
}

/**
 * rnic_ep_cut_listener() - end the startups that rdma_cm does not know
 * @l:	listener, without its socket
 *
 * Does not wait. An evicted startup ends by itself, or is refused in rnic_room_ask(). A peer whose
 * Request has arrived gets an answer.
 *
 * Context: process.
 */
void rnic_ep_cut_listener(struct rnic_listener *l)
{
	struct rnic_ep *ep;

	spin_lock_bh(&l->dev->cm.ep_lock);
	WRITE_ONCE(l->gone, true);
	list_for_each_entry(ep, &l->silent.eps, place.node[RNIC_CROWD_LISTENER])
		cut_endpoint(ep, MPA_ON_CONSUMER_GONE);
	list_for_each_entry(ep, &l->asked.eps, place.node[RNIC_CROWD_LISTENER])
		rnic_conn_kick(&ep->conn);
	spin_unlock_bh(&l->dev->cm.ep_lock);
}

/* Move the next endpoint to the end of the list and end it. Return: true if there was one. */
static bool kill_next_endpoint(struct rnic_dev *dev)
{
	struct rnic_ep *ep;
	bool held = false;

	spin_lock_bh(&dev->cm.ep_lock);
	ep = list_first_entry_or_null(&dev->cm.eps, struct rnic_ep, node);
	if (ep && READ_ONCE(ep->cut) != MPA_ON_DEVICE_GONE) {
		list_move_tail(&ep->node, &dev->cm.eps);
		WRITE_ONCE(ep->cut, MPA_ON_DEVICE_GONE);
		held = kref_get_unless_zero(&ep->conn.ref);
	} else {
		ep = NULL;
	}
	spin_unlock_bh(&dev->cm.ep_lock);
	if (held) {
		rnic_conn_kick(&ep->conn);
		rnic_ep_put(ep);
	}
	return ep;
}

/**
 * rnic_ep_kill_all() - end all endpoints of a device, and wait for them
 * @dev:	device without queue pairs and listeners
 *
 * Context: process.
 */
void rnic_ep_kill_all(struct rnic_dev *dev)
{
	while (kill_next_endpoint(dev))
		;
	wait_event(dev->cm.idle, list_empty_careful(&dev->cm.eps));
	/* free_endpoint() may still hold the lock. */
	spin_lock_bh(&dev->cm.ep_lock);
	spin_unlock_bh(&dev->cm.ep_lock);
}
