// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA streams on TCP connections that programs use already (RFC 5044 section 7.1.5): how one is
 * started and answered, and what its user learns.
 *
 * tcp/ulp.c has the socket, conn/lent.c the endpoint. This file has what the user sees, a
 * struct mpa_status that the endpoint's events change. The user is a program, through options of
 * its socket (lend_user.c), or a kernel consumer (lend_kernel.c).
 */
#include <linux/slab.h>
#include <rdma/rdma_mpa.h>

#include "conn/ep.h"
#include "conn/lent.h"
#include "lend.h"
#include "qp/qp.h"
#include "tcp/ulp.h"
#include "verbs.h"

/**
 * struct lend - a connection with the protocol
 * @u:		the connection
 * @calls:	serializes starts and answers
 * @lock:	protects what follows
 * @ep:		the endpoint, with a reference, while the driver has the stream
 * @over:	the driver does not have the stream any more
 * @news:	@status has changed since the user read it
 * @status:	what the user reads
 * @event:	called for news, with @lock held, or NULL
 * @context:	for @event
 */
struct lend {
	struct rnic_ulp *u;
	struct mutex calls; /* see above */
	spinlock_t lock; /* see above */
	struct rnic_ep *ep;
	bool over;
	bool news;
	struct mpa_status status;
	void (*event)(void *context);
	void *context;
};

/* Events of the endpoint */

static void set_status(struct lend *l, enum mpa_stream_state state, int err)
{
	lockdep_assert_held(&l->lock);
	l->status.state = state;
	l->status.error = -err;
	l->news = true;
}

static void tell_user(struct lend *l)
{
	lockdep_assert_held(&l->lock);
	rnic_ulp_wake(l->u);
	if (l->event)
		l->event(l->context);
}

static void take_frame(struct lend *l, const struct mpa_frame *f, const u8 *pd)
{
	lockdep_assert_held(&l->lock);
	l->status.revision = f->rev;
	l->status.private_data_len = f->pd_len;
	memcpy(l->status.private_data, pd, f->pd_len);
}

static int tell_request(struct rnic_ep *ep)
{
	struct lend *l = ep->owner;

	spin_lock_bh(&l->lock);
	set_status(l, MPA_STREAM_REQUESTED, 0);
	take_frame(l, &ep->req, ep->peer_pd);
	l->status.ird = ep->req.enhanced ? ep->req.ird : RNIC_MAX_RD_ATOM;
	l->status.ord = ep->req.enhanced ? ep->req.ord : RNIC_MAX_RD_ATOM;
	tell_user(l);
	spin_unlock_bh(&l->lock);
	return 0;
}

static u8 find_flags(const struct mpa_agreed *a)
{
	return (a->crc ? MPA_STREAM_CRC : 0) | (a->tx_markers ? MPA_STREAM_TX_MARKERS : 0) |
	       (a->rx_markers ? MPA_STREAM_RX_MARKERS : 0);
}

/* The user learns of a failure when it has TCP again, or TCP is gone: tell_over(). */
static void tell_start(struct rnic_ep *ep, int status)
{
	struct lend *l = ep->owner;

	spin_lock_bh(&l->lock);
	if (ep->initiator && ep->rep.rev)
		take_frame(l, &ep->rep, ep->peer_pd);
	if (!status) {
		set_status(l, MPA_STREAM_ESTABLISHED, 0);
		l->status.ird = ep->agreed.ird;
		l->status.ord = ep->agreed.ord;
		l->status.flags = find_flags(&ep->agreed);
		tell_user(l);
	}
	spin_unlock_bh(&l->lock);
}

static void tell_close(struct rnic_ep *ep)
{
	struct lend *l = ep->owner;

	spin_lock_bh(&l->lock);
	set_status(l, MPA_STREAM_CLOSED, 0);
	tell_user(l);
	spin_unlock_bh(&l->lock);
}

/* Once @ep is NULL and the lock free, the user's close() may free the struct. */
static void tell_over(struct rnic_ep *ep)
{
	struct lend *l = ep->owner;
	struct rnic_ep *had;

	rnic_ulp_give_back(l->u);
	spin_lock_bh(&l->lock);
	if (l->status.state < MPA_STREAM_ESTABLISHED)
		set_status(l, ep->stays ? MPA_STREAM_REJECTED : MPA_STREAM_FAILED, ep->status);
	tell_user(l);
	had = l->ep;
	l->ep = NULL;
	l->over = true;
	spin_unlock_bh(&l->lock);
	/* The caller has a reference, too. */
	if (had)
		rnic_ep_put(had);
}

static const struct rnic_ep_ops lend_ops = {
	.request	= tell_request,
	.started	= tell_start,
	.closed		= tell_close,
	.over		= tell_over,
};

/* Starts and answers */

static int begin_stream(struct lend *l, struct rnic_dev *dev, const struct rnic_lent_start *start)
{
	struct rnic_ep *ep;

	spin_lock_bh(&l->lock);
	memset(&l->status, 0, sizeof(l->status));
	l->status.state = MPA_STREAM_STARTING;
	l->over = false;
	l->news = false;
	spin_unlock_bh(&l->lock);
	ep = rnic_lent_start(dev, l->u, start);
	if (IS_ERR(ep)) {
		spin_lock_bh(&l->lock);
		l->status.state = MPA_STREAM_PLAIN;
		spin_unlock_bh(&l->lock);
		rnic_ulp_give_back(l->u);
		/* Bytes that came meanwhile woke nobody. */
		rnic_ulp_wake(l->u);
		return PTR_ERR(ep);
	}
	spin_lock_bh(&l->lock);
	if (!l->over)
		swap(l->ep, ep);
	spin_unlock_bh(&l->lock);
	if (ep)
		rnic_ep_put(ep);
	return 0;
}

static bool has_endpoint(struct lend *l)
{
	bool ret;

	spin_lock_bh(&l->lock);
	ret = l->ep;
	spin_unlock_bh(&l->lock);
	return ret;
}

static int take_and_begin(struct lend *l, struct rnic_dev *dev, const struct rnic_lent_start *start,
			  void (*event)(void *context), void *context)
{
	int ret;

	lockdep_assert_held(&l->calls);
	/* tell_over() may have given the stream back already. */
	ret = has_endpoint(l) ? -EBUSY : rnic_ulp_take(l->u);
	if (ret) {
		rnic_qp_rem_ref(start->ibqp);
		return ret;
	}
	spin_lock_bh(&l->lock);
	l->event = event;
	l->context = context;
	spin_unlock_bh(&l->lock);
	return begin_stream(l, dev, start);
}

/**
 * rnic_lend_start() - start MPA on a connection
 * @u:		the connection
 * @dev:	device of the queue pair, registered
 * @start:	what the user asks for; this sets its consumer
 * @event:	called for each change of the status until the user has closed the connection, or
 *		NULL; a spin lock is held
 * @context:	for @event
 *
 * Context: process. Takes over the reference to the queue pair, also if it fails.
 * Return: 0, or see rnic_ulp_take() and rnic_lent_start().
 */
int rnic_lend_start(struct rnic_ulp *u, struct rnic_dev *dev, struct rnic_lent_start *start,
		    void (*event)(void *context), void *context)
{
	struct lend *l = u->owner;
	int ret;

	start->ops = &lend_ops;
	start->owner = l;
	mutex_lock(&l->calls);
	ret = take_and_begin(l, dev, start, event, context);
	mutex_unlock(&l->calls);
	return ret;
}

/* Return: the endpoint with a reference, or NULL. */
static struct rnic_ep *get_endpoint(struct lend *l)
{
	struct rnic_ep *ep;

	spin_lock_bh(&l->lock);
	ep = l->ep ? rnic_ep_get(l->ep) : NULL;
	spin_unlock_bh(&l->lock);
	return ep;
}

/**
 * rnic_lend_answer() - accept or reject the peer's Request
 * @u:		the connection
 * @accept:	accept
 * @a:		depths, which only an accept has, and the number of bytes of Private Data
 * @pd:		the Private Data
 *
 * Context: process.
 * Return: 0, or see rnic_lent_accept().
 */
int rnic_lend_answer(struct rnic_ulp *u, bool accept, const struct mpa_answer *a, const void *pd)
{
	struct lend *l = u->owner;
	struct rnic_ep *ep;
	int ret = -EINVAL;

	mutex_lock(&l->calls);
	ep = get_endpoint(l);
	if (ep) {
		ret = accept ? rnic_lent_accept(ep, a->ird, a->ord, pd, a->private_data_len) :
			       rnic_lent_reject(ep, pd, a->private_data_len);
		rnic_ep_put(ep);
	}
	mutex_unlock(&l->calls);
	return ret;
}

/* What the user sees */

/**
 * rnic_lend_status() - read the status; nothing is new after this
 * @u:		the connection
 * @status:	filled in
 *
 * Context: process.
 */
void rnic_lend_status(struct rnic_ulp *u, struct mpa_status *status)
{
	struct lend *l = u->owner;

	spin_lock_bh(&l->lock);
	*status = l->status;
	l->news = false;
	spin_unlock_bh(&l->lock);
}

/**
 * rnic_lend_poll() - find the events for poll()
 * @u:	the connection
 *
 * Context: process.
 * Return: EPOLLIN if the status is new, EPOLLHUP if the stream has ended and TCP is gone.
 */
__poll_t rnic_lend_poll(struct rnic_ulp *u)
{
	struct lend *l = u->owner;
	__poll_t events = 0;

	spin_lock_bh(&l->lock);
	if (l->news)
		events |= EPOLLIN | EPOLLRDNORM;
	if (l->status.state == MPA_STREAM_FAILED || l->status.state == MPA_STREAM_CLOSED)
		events |= EPOLLHUP;
	spin_unlock_bh(&l->lock);
	return events;
}

/* The connection */

/**
 * rnic_lend_open() - a connection has the protocol now
 * @u:	the connection
 *
 * Context: process, socket locked.
 * Return: 0 or -ENOMEM.
 */
int rnic_lend_open(struct rnic_ulp *u)
{
	struct lend *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);

	if (!l)
		return -ENOMEM;
	mutex_init(&l->calls);
	spin_lock_init(&l->lock);
	l->u = u;
	u->owner = l;
	return 0;
}

/**
 * rnic_lend_close() - the user closes the connection
 * @u:	the connection
 *
 * Context: process.
 * Return: true if the driver keeps the connection and closes it later.
 */
bool rnic_lend_close(struct rnic_ulp *u)
{
	struct lend *l = u->owner;
	struct rnic_ep *ep = get_endpoint(l), *had;
	struct ib_qp *ibqp;
	bool kept;

	if (!ep)
		return false;
	kept = rnic_lent_close(ep, &ibqp);
	if (kept) {
		spin_lock_bh(&l->lock);
		had = l->ep;
		l->ep = NULL;
		spin_unlock_bh(&l->lock);
		if (had)
			rnic_ep_put(had);
	}
	if (ibqp) {
		/* As rdma_disconnect(): the device sends what was posted, then FIN. */
		rnic_qp_close(ibqp, &ep->conn);
		rnic_qp_rem_ref(ibqp);
	}
	rnic_ep_put(ep);
	return kept;
}

/**
 * rnic_lend_free() - the connection does not have the protocol any more
 * @u:	the connection
 *
 * Context: any.
 */
void rnic_lend_free(struct rnic_ulp *u)
{
	kfree(u->owner);
}
