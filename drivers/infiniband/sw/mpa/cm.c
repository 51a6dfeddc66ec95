// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The contract with iw_cm, which answers a wrong event with BUG():
 *
 *	connect() returned 0   exactly one CONNECT_REPLY, good or bad; after a
 *			       good one exactly one CLOSE
 *	accept() returned 0    exactly one ESTABLISHED, then exactly one CLOSE
 *	either returned -errno no event at all
 *
 * Every event is sent with ep->lock held, and the queue pair's worker can report
 * the end of a connection only with that lock, so the order is kept. An event
 * only queues work in iw_cm: none of its callbacks run here.
 *
 * An iw_cm_id is referenced from connect() or accept() until its last event. A
 * request that waits for the consumer is known to iw_cm by a number only, see
 * rnic_ep_publish().
 */
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "cm.h"
#include "dev.h"
#include "ep.h"
#include "listen.h"
#include "qp.h"

/* iw_cm_event has one octet for each of these. */
static u8 clamp_u8(u32 val)
{
	return min_t(u32, val, U8_MAX);
}

static void put_cm_id(struct rnic_ep *ep)
{
	ep->cm_id->rem_ref(ep->cm_id);
	ep->cm_id = NULL;
}

/* A depth the peer left to its consumer says nothing about a limit. */
static u8 peer_depth(u16 depth)
{
	return clamp_u8(depth == MPA_DEPTH_ULP ? RNIC_MAX_RD_ATOM : depth);
}

/**
 * rnic_cm_request() - a good Request arrived: ask the consumer
 * @ep:	endpoint, published, @lock held; @ep->peer_pd is its Private Data, no more
 *	than iw_cm's event can tell
 *
 * Return: 0, or -errno when iw_cm does not take it.
 */
int rnic_cm_request(struct rnic_ep *ep)
{
	struct iw_cm_id *cm_id = ep->listener->cm_id;
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.provider_data = (void *)(unsigned long)ep->id,
		.private_data = (void *)ep->peer_pd,
		.private_data_len = ep->req.pd_len,
		.ird = RNIC_MAX_RD_ATOM,
		.ord = RNIC_MAX_RD_ATOM,
	};
	int ret;

	lockdep_assert_held(&ep->lock);
	if (ep->req.enhanced) {
		ev.ird = peer_depth(ep->req.ird);
		ev.ord = peer_depth(ep->req.ord);
	}
	ret = rnic_sock_addrs(&ep->s, &ev.local_addr, &ev.remote_addr);
	if (!ret)
		ret = cm_id->event_handler(cm_id, &ev);
	if (ret)
		rnic_stat_inc(ep->dev, RNIC_STAT_BACKLOG_OVERFLOW);
	return ret;
}

/* The addresses of the sockets, or those that were asked for if there is none. */
static void set_addrs(struct rnic_ep *ep, struct iw_cm_event *ev)
{
	if (ep->s.sock && !rnic_sock_addrs(&ep->s, &ev->local_addr, &ev->remote_addr))
		return;
	ev->local_addr = ep->cm_id->m_local_addr;
	ev->remote_addr = ep->cm_id->m_remote_addr;
}

/**
 * rnic_cm_reply() - the initiator's startup is over
 * @ep:		endpoint, @lock held; @ep->rep is the Reply if there was one (its
 *		revision is not 0), @ep->peer_pd its Private Data
 * @status:	0, or why it failed
 */
void rnic_cm_reply(struct rnic_ep *ep, int status)
{
	const struct mpa_frame *rep = &ep->rep;
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.ird = clamp_u8(ep->agreed.ord),
		.ord = clamp_u8(ep->agreed.ird),
	};

	lockdep_assert_held(&ep->lock);
	if (!ep->cm_id)
		return;
	if (rep->rev) {
		ev.private_data = (void *)ep->peer_pd;
		ev.private_data_len = rep->pd_len;
	}
	if (rep->enhanced) {
		ev.ird = peer_depth(rep->ird);
		ev.ord = peer_depth(rep->ord);
	}
	set_addrs(ep, &ev);
	if (ep->cm_id->event_handler(ep->cm_id, &ev)) {
		/* No memory for a copy: better without than not at all. */
		ev.private_data_len = 0;
		ep->cm_id->event_handler(ep->cm_id, &ev);
	}
	if (status)
		put_cm_id(ep);
}

/**
 * rnic_cm_established() - the startup was accepted
 * @ep:		endpoint, @lock held
 *
 * Also while the RtR frame is due. iw_cm answers a consumer that accepts or rejects a
 * second time before this event by BUG(), so the peer has no say in when it comes.
 */
void rnic_cm_established(struct rnic_ep *ep)
{
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_ESTABLISHED,
		.ird = clamp_u8(ep->agreed.ord),
		.ord = clamp_u8(ep->agreed.ird),
	};

	lockdep_assert_held(&ep->lock);
	set_addrs(ep, &ev);
	ep->cm_id->event_handler(ep->cm_id, &ev);
}

/**
 * rnic_cm_close() - the connection is over
 * @ep:	endpoint, @lock held
 */
void rnic_cm_close(struct rnic_ep *ep)
{
	struct iw_cm_event ev = { .event = IW_CM_EVENT_CLOSE };

	lockdep_assert_held(&ep->lock);
	if (!ep->cm_id)
		return;
	ev.local_addr = ep->cm_id->m_local_addr;
	ev.remote_addr = ep->cm_id->m_remote_addr;
	ep->cm_id->event_handler(ep->cm_id, &ev);
	put_cm_id(ep);
}

static void take_cm_id(struct rnic_ep *ep, struct iw_cm_id *cm_id)
{
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
}

/* iw_cm holds a reference of its own on the queue pair during these calls. */
static struct rnic_qp *find_qp(struct rnic_dev *dev, u32 qpn)
{
	struct ib_qp *ibqp = rnic_qp_find(&dev->ibdev, qpn);

	if (!ibqp)
		return NULL;
	rnic_qp_add_ref(ibqp);
	return rnic_qp(ibqp);
}

static void set_depths(struct rnic_ep *ep, const struct iw_cm_conn_param *param)
{
	ep->own.ird = min_t(u32, param->ird, RNIC_MAX_RD_ATOM);
	ep->own.ord = min_t(u32, param->ord, RNIC_MAX_RD_ATOM);
}

/**
 * rnic_cm_net() - the namespace of the program that connects or listens
 * @cm_id:	what iw_cm made for it, within iw_connect or iw_create_listen
 *
 * iw_cm does not tell it, so this reads what iw_cm keeps for its caller. That caller is
 * rdma_cm: it alone calls iw_cm_connect() and iw_cm_listen(), and what it leaves there is a
 * struct rdma_id_private, which begins with the struct rdma_cm_id. A consumer that came to
 * iw_cm without rdma_cm would have to be told apart here; there never was one.
 *
 * Return: the namespace; the program's reference holds it.
 */
struct net *rnic_cm_net(const struct iw_cm_id *cm_id)
{
	const struct rdma_cm_id *id = cm_id->context;

	return id->route.addr.dev_addr.net;
}

/* Return: 0, or -errno and no socket. */
static int start_tcp(struct rnic_ep *ep)
{
	struct net_device *ndev = rnic_dev_netdev(ep->dev);
	struct iw_cm_id *cm_id = ep->cm_id;
	int ret;

	if (!ndev)
		return -ENODEV;
	ret = rnic_sock_connect(&ep->s, dev_net(ndev), &cm_id->m_local_addr,
				&cm_id->m_remote_addr, cm_id->tos_set ? cm_id->tos : -1,
				rnic_ep_sock_event);
	if (!ret)
		rnic_sock_keepalive(&ep->s, READ_ONCE(ep->dev->set.keepalive_s));
	dev_put(ndev);
	return ret;
}

/**
 * rnic_cm_connect_again() - let TCP connect once more
 * @ep:	endpoint with @cm_id, @lock held; its connection is over
 *
 * Return: 0, or -errno.
 */
int rnic_cm_connect_again(struct rnic_ep *ep)
{
	return rnic_sock_reconnect(&ep->s, &ep->cm_id->m_remote_addr);
}

static bool pd_fits(const struct mpa_frame *f)
{
	return f->pd_len <= MPA_PD_MAX - (f->enhanced ? sizeof(struct mpa_enhanced) : 0);
}

static int set_pd(struct rnic_ep *ep, const void *pd, u16 len)
{
	if (!len)
		return 0;
	ep->pd = kmemdup(pd, len, GFP_KERNEL);
	if (!ep->pd)
		return -ENOMEM;
	ep->pd_len = len;
	return 0;
}

/* What both sides need: a frame that holds the Private Data, and a queue pair. */
static int prepare(struct rnic_ep *ep, const struct mpa_frame *f,
		   const struct iw_cm_conn_param *param)
{
	if (!pd_fits(f))
		return -EINVAL;
	WRITE_ONCE(ep->qp, find_qp(ep->dev, param->qpn));
	if (!ep->qp)
		return -EINVAL;
	return set_pd(ep, param->private_data, param->private_data_len);
}

static int connect(struct rnic_ep *ep, const struct iw_cm_conn_param *param)
{
	int ret;

	set_depths(ep, param);
	mpa_request(&ep->req, &ep->own, param->private_data_len);
	ret = prepare(ep, &ep->req, param);
	if (ret)
		return ret;
	rnic_ep_join_qp(ep);
	if (!rnic_qp_is_free(ep->qp))
		return -EINVAL;
	/* To 127.0.0.1 rdma_cm takes any device, and that would be another host's. */
	if (!net_eq(ep->dev->net, rnic_cm_net(ep->cm_id)))
		return -EADDRNOTAVAIL;
	return start_tcp(ep);
}

/**
 * rnic_cm_connect() - ib_device_ops.iw_connect
 * @cm_id:	whom to tell
 * @param:	queue pair, depths, Private Data
 *
 * Context: process.
 * Return: 0 when TCP is on its way, -errno otherwise.
 */
int rnic_cm_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct rnic_ep *ep = rnic_ep_new(rnic_dev(cm_id->device), true);
	unsigned int noio;
	int ret;

	if (!ep)
		return -ENOMEM;
	rnic_ep_get(ep);
	noio = rnic_ep_lock(ep);
	take_cm_id(ep, cm_id);
	ret = connect(ep, param);
	if (ret) {
		put_cm_id(ep);
		rnic_startup(ep, MPA_ON_LOCAL_ERROR, ret);
	} else {
		/* TCP may be through already, which was reported then. */
		rnic_ep_arm(ep, READ_ONCE(ep->dev->set.startup_timeout_ms));
	}
	rnic_ep_unlock(ep, noio);
	rnic_ep_put(ep);
	return ret;
}

static int accept_request(struct rnic_ep *ep, struct iw_cm_id *cm_id,
			  const struct iw_cm_conn_param *param)
{
	enum mpa_event event;
	int status, ret;

	if (ep->state != MPA_WAIT_CONSUMER)
		return -ECONNABORTED;
	event = rnic_startup_early(ep, &status);
	if (event) {
		rnic_startup(ep, event, status);
		return -ECONNABORTED;
	}
	set_depths(ep, param);
	mpa_respond(&ep->rep, &ep->agreed, &ep->req, &ep->own, false, param->private_data_len);
	ret = prepare(ep, &ep->rep, param);
	if (ret) {
		rnic_startup(ep, MPA_ON_LOCAL_ERROR, ret);
		return ret;
	}
	rnic_ep_join_qp(ep);
	take_cm_id(ep, cm_id);
	ret = rnic_startup(ep, MPA_ON_ACCEPT, 0);
	if (ret)
		put_cm_id(ep);
	return ret;
}

static struct rnic_ep *requested_ep(struct iw_cm_id *cm_id)
{
	return rnic_ep_find(rnic_dev(cm_id->device), (unsigned long)cm_id->provider_data);
}

/**
 * rnic_cm_accept() - ib_device_ops.iw_accept
 * @cm_id:	made by iw_cm for the request
 * @param:	queue pair, depths, Private Data
 *
 * When it fails the peer is told by a rejecting Reply: iw_cm takes no other
 * answer from the consumer after that.
 *
 * Context: process.
 * Return: 0, or -errno (-ECONNABORTED: the peer or the deadline was faster).
 */
int rnic_cm_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct rnic_ep *ep = requested_ep(cm_id);
	unsigned int noio;
	int ret;

	if (!ep)
		return -ECONNABORTED;
	noio = rnic_ep_lock(ep);
	ret = accept_request(ep, cm_id, param);
	rnic_ep_unlock(ep, noio);
	rnic_ep_put(ep);
	return ret;
}

/**
 * rnic_cm_reject() - ib_device_ops.iw_reject
 * @cm_id:	made by iw_cm for the request
 * @pd:		Private Data for the peer
 * @pd_len:	octets of it
 *
 * Context: process.
 * Return: 0, also when the request is gone.
 */
int rnic_cm_reject(struct iw_cm_id *cm_id, const void *pd, u8 pd_len)
{
	struct rnic_ep *ep = requested_ep(cm_id);
	unsigned int noio;

	if (!ep)
		return 0;
	noio = rnic_ep_lock(ep);
	if (ep->state == MPA_WAIT_CONSUMER) {
		set_pd(ep, pd, pd_len);	/* better without than not at all */
		rnic_startup(ep, MPA_ON_REJECT, 0);
	}
	rnic_ep_unlock(ep, noio);
	rnic_ep_put(ep);
	return 0;
}

/* Before the device is registered. */
void rnic_cm_dev_init(struct rnic_dev *dev)
{
	spin_lock_init(&dev->cm.ep_lock);
	INIT_LIST_HEAD(&dev->cm.eps);
	rnic_room_init(dev);
	xa_init_flags(&dev->cm.requests, XA_FLAGS_ALLOC1);
	init_waitqueue_head(&dev->cm.idle);
}

/* After its last user is gone. Context: process. */
void rnic_cm_dev_gone(struct rnic_dev *dev)
{
	rnic_ep_kill_all(dev);
	xa_destroy(&dev->cm.requests);
}
