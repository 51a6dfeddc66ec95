// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The options of SOL_MPA: a program starts an MPA stream on a TCP connection that it uses already
 * (RFC 5044 section 7.1.5), answers a Request, and learns what became of it.
 *
 * tcp/ulp.c has the socket, conn/lent.c the endpoint. This file has what the program sees, a
 * struct mpa_status that the endpoint's events change.
 */
#include <linux/file.h>
#include <linux/slab.h>
#include <rdma/rdma_mpa.h>

#include "conn/ep.h"
#include "conn/lent.h"
#include "device.h"
#include "lend.h"
#include "qp/qp.h"
#include "tcp/ulp.h"
#include "verbs.h"

#define LAST_MAX	(64 << 10)

/**
 * struct lend - a connection with the protocol
 * @u:		the connection
 * @calls:	serializes the options that are set
 * @lock:	protects what follows
 * @ep:		the endpoint, with a reference, while the driver has the stream
 * @over:	the driver does not have the stream any more
 * @news:	@status has changed since the program read it
 * @status:	what the program reads
 */
struct lend {
	struct rnic_ulp *u;
	struct mutex calls; /* see above */
	spinlock_t lock; /* see above */
	struct rnic_ep *ep;
	bool over;
	bool news;
	struct mpa_status status;
};

/* Events of the endpoint */

static void set_status(struct lend *l, enum mpa_stream_state state, int err)
{
	lockdep_assert_held(&l->lock);
	l->status.state = state;
	l->status.error = -err;
	l->news = true;
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
	spin_unlock_bh(&l->lock);
	rnic_ulp_wake(l->u);
	return 0;
}

static u8 find_flags(const struct mpa_agreed *a)
{
	return (a->crc ? MPA_STREAM_CRC : 0) | (a->tx_markers ? MPA_STREAM_TX_MARKERS : 0) |
	       (a->rx_markers ? MPA_STREAM_RX_MARKERS : 0);
}

/* The program learns of a failure when it has TCP again, or TCP is gone: tell_over(). */
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
	}
	spin_unlock_bh(&l->lock);
	rnic_ulp_wake(l->u);
}

static void tell_close(struct rnic_ep *ep)
{
	struct lend *l = ep->owner;

	spin_lock_bh(&l->lock);
	set_status(l, MPA_STREAM_CLOSED, 0);
	spin_unlock_bh(&l->lock);
	rnic_ulp_wake(l->u);
}

/* Once @ep is NULL and the lock free, the program's close() may free the struct. */
static void tell_over(struct rnic_ep *ep)
{
	struct lend *l = ep->owner;
	struct rnic_ep *had;

	rnic_ulp_give_back(l->u);
	spin_lock_bh(&l->lock);
	if (l->status.state < MPA_STREAM_ESTABLISHED)
		set_status(l, ep->stays ? MPA_STREAM_REJECTED : MPA_STREAM_FAILED, ep->status);
	rnic_ulp_wake(l->u);
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

/* Options */

/* Copy bytes of the program. Return: them, NULL if there are none, or an error pointer. */
static void *copy_bytes(u64 from, u32 len, u32 max)
{
	if (len > max)
		return ERR_PTR(-EINVAL);
	return len ? memdup_user(u64_to_user_ptr(from), len) : NULL;
}

static bool has_endpoint(struct lend *l)
{
	bool ret;

	spin_lock_bh(&l->lock);
	ret = l->ep;
	spin_unlock_bh(&l->lock);
	return ret;
}

static int begin_stream(struct lend *l, struct rnic_dev *dev, const struct rnic_lent_start *start)
{
	struct rnic_ep *ep;
	int ret;

	/* tell_over() may have given the stream back already. */
	ret = has_endpoint(l) ? -EBUSY : rnic_ulp_take(l->u);
	if (ret) {
		rnic_qp_rem_ref(start->ibqp);
		return ret;
	}
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

static bool is_good_start(const struct mpa_start *s)
{
	if (s->reserved)
		return false;
	if (s->role == MPA_INITIATOR)
		return !s->last_len;
	return s->role == MPA_RESPONDER && !s->private_data_len && !s->ird && !s->ord;
}

static int find_qp_and_begin(struct lend *l, const struct mpa_start *s,
			     struct rnic_lent_start *start)
{
	struct file *verbs = fget(s->verbs_fd);
	struct rnic_dev *dev;
	int ret;

	if (!verbs)
		return -EBADF;
	dev = rnic_dev_find_qp(verbs, s->qp_num, &start->ibqp);
	fput(verbs);
	if (!dev)
		return -EPERM;
	ret = begin_stream(l, dev, start);
	rnic_dev_put(dev);
	return ret;
}

static int set_start(struct lend *l, sockptr_t val, unsigned int len)
{
	struct rnic_lent_start start = { .ops = &lend_ops, .owner = l };
	struct mpa_start s;
	int ret;

	if (len != sizeof(s))
		return -EINVAL;
	if (copy_from_sockptr(&s, val, sizeof(s)))
		return -EFAULT;
	if (!is_good_start(&s))
		return -EINVAL;
	start.initiator = s.role == MPA_INITIATOR;
	start.ird = s.ird;
	start.ord = s.ord;
	start.pd_len = s.private_data_len;
	start.last_len = s.last_len;
	start.pd = copy_bytes(s.private_data, s.private_data_len, MPA_PRIVATE_DATA_MAX);
	if (IS_ERR(start.pd))
		return PTR_ERR(start.pd);
	start.last = copy_bytes(s.last, s.last_len, LAST_MAX);
	ret = PTR_ERR_OR_ZERO(start.last);
	if (!ret) {
		ret = find_qp_and_begin(l, &s, &start);
		kfree(start.last);
	}
	kfree(start.pd);
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

static int set_answer(struct lend *l, sockptr_t val, unsigned int len, bool accept)
{
	struct mpa_answer a;
	struct rnic_ep *ep;
	void *pd;
	int ret;

	if (len != sizeof(a))
		return -EINVAL;
	if (copy_from_sockptr(&a, val, sizeof(a)))
		return -EFAULT;
	if (a.reserved || (!accept && (a.ird || a.ord)))
		return -EINVAL;
	ep = get_endpoint(l);
	if (!ep)
		return -EINVAL;
	pd = copy_bytes(a.private_data, a.private_data_len, MPA_PRIVATE_DATA_MAX);
	ret = PTR_ERR_OR_ZERO(pd);
	if (!ret) {
		ret = accept ? rnic_lent_accept(ep, a.ird, a.ord, pd, a.private_data_len) :
			       rnic_lent_reject(ep, pd, a.private_data_len);
		kfree(pd);
	}
	rnic_ep_put(ep);
	return ret;
}

static int set_option(struct rnic_ulp *u, int option, sockptr_t val, unsigned int len)
{
	struct lend *l = u->owner;
	int ret;

	mutex_lock(&l->calls);
	switch (option) {
	case MPA_START:
		ret = set_start(l, val, len);
		break;
	case MPA_ACCEPT:
	case MPA_REJECT:
		ret = set_answer(l, val, len, option == MPA_ACCEPT);
		break;
	default:
		ret = -ENOPROTOOPT;
	}
	mutex_unlock(&l->calls);
	return ret;
}

static int read_option(struct rnic_ulp *u, int option, char __user *val, int __user *len)
{
	struct lend *l = u->owner;
	struct mpa_status *status;
	int room, ret = 0;

	if (option != MPA_STATUS)
		return -ENOPROTOOPT;
	if (get_user(room, len))
		return -EFAULT;
	if (room < (int)sizeof(*status))
		return -EINVAL;
	status = kmalloc(sizeof(*status), GFP_KERNEL);
	if (!status)
		return -ENOMEM;
	spin_lock_bh(&l->lock);
	*status = l->status;
	l->news = false;
	spin_unlock_bh(&l->lock);
	if (put_user((int)sizeof(*status), len) || copy_to_user(val, status, sizeof(*status)))
		ret = -EFAULT;
	kfree(status);
	return ret;
}

static __poll_t poll_events(struct rnic_ulp *u)
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

static int init_connection(struct rnic_ulp *u)
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

/* End as rdma_disconnect() does: the device sends what was posted, then FIN. */
static void disconnect_qp(struct ib_qp *ibqp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD };

	rnic_modify_qp(ibqp, &attr, IB_QP_STATE, NULL);
	rnic_qp_rem_ref(ibqp);
}

static bool close_connection(struct rnic_ulp *u)
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
	if (ibqp)
		disconnect_qp(ibqp);
	rnic_ep_put(ep);
	return kept;
}

static void free_connection(struct rnic_ulp *u)
{
	kfree(u->owner);
}

static const struct rnic_ulp_user lend_user = {
	.init		= init_connection,
	.set		= set_option,
	.get		= read_option,
	.poll		= poll_events,
	.close		= close_connection,
	.release	= free_connection,
};

/**
 * rnic_lend_init() - offer the protocol "mpa" to programs
 *
 * Context: process.
 * Return: 0 or -errno.
 */
int rnic_lend_init(void)
{
	return rnic_ulp_register(&lend_user);
}

/**
 * rnic_lend_exit() - undo rnic_lend_init()
 *
 * Context: process.
 */
void rnic_lend_exit(void)
{
	rnic_ulp_unregister();
}
