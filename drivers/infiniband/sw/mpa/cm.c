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
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
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

/*
 * iw_cm does not tell who its caller is, so this reads what iw_cm keeps for it. The caller
 * is rdma_cm: it alone calls iw_cm_connect(), iw_cm_accept() and iw_cm_listen(), and what it
 * leaves there is a struct rdma_id_private, which begins with the struct rdma_cm_id. A
 * consumer that came to iw_cm without rdma_cm would have to be told apart here; there never
 * was one.
 */
static const struct rdma_cm_id *rdma_id(const struct iw_cm_id *cm_id)
{
	return cm_id->context;
}

/**
 * rnic_cm_net() - the namespace of the program that connects or listens
 * @cm_id:	what iw_cm made for it, within iw_connect or iw_create_listen
 *
 * Return: the namespace; the program's reference holds it.
 */
struct net *rnic_cm_net(const struct iw_cm_id *cm_id)
{
	return rdma_id(cm_id)->route.addr.dev_addr.net;
}

/**
 * rnic_cm_finds() - is it the device that rdma_cm will find for a local address?
 * @dev:	the device
 * @at:		what rdma_translate_ip() says of the address
 *
 * Kernels before 6.6 look for its GID only, so a VLAN without a device of its own is served
 * by its parent's.
 *
 * Context: process.
 * Return: true if it is, as of now.
 */
bool rnic_cm_finds(struct rnic_dev *dev, struct rdma_dev_addr *at)
{
	union ib_gid gid, wanted;

	/* One that lost its interface may have its index still. */
	if (!rcu_access_pointer(dev->ndev))
		return false;
	if (dev->ifindex == at->bound_dev_if)
		return true;
	rdma_addr_get_sgid(at, &wanted);
	return !rdma_query_gid(&dev->ibdev, 1, 0, &gid) && !memcmp(&gid, &wanted, sizeof(gid));
}

/* The peer may take its time to send the Request, and the address may have moved. */
static bool is_in_place(struct rnic_ep *ep, const struct sockaddr_storage *local)
{
	/* The listener's rdma_cm_id may be gone. */
	struct rdma_dev_addr at = { .net = sock_net(ep->s.sock->sk) };

	return !rdma_translate_ip((const struct sockaddr *)local, &at) &&
	       rnic_cm_finds(ep->dev, &at);
}

/**
 * rnic_cm_request() - a good Request arrived: ask the consumer
 * @ep:	endpoint, published, @lock held; @ep->peer_pd is its Private Data, no more
 *	than iw_cm's event can tell
 *
 * Return: 0, or -errno when iw_cm does not take it, or the address has moved.
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
	if (!ret && !is_in_place(ep, &ev.local_addr))
		return -EADDRNOTAVAIL;
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

/*
 * The depths of CONNECT_REPLY and ESTABLISHED are those of this end: its IRD in @ird, its
 * ORD in @ord. siw and irdma report them so, and the kernel's SMB Direct relies on it for
 * each iWARP device, though rdma_get_cm_event(3) has it the other way round. As CONNECT_REPLY
 * comes from the responder, the IRD is what the responder will have outstanding, and the
 * ORD what it will serve.
 */

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
		.ird = clamp_u8(ep->agreed.ird),
		.ord = clamp_u8(ep->agreed.ord),
	};

	lockdep_assert_held(&ep->lock);
	if (!ep->cm_id)
		return;
	if (rep->rev) {
		ev.private_data = (void *)ep->peer_pd;
		ev.private_data_len = rep->pd_len;
	}
	if (rep->enhanced) {
		ev.ird = peer_depth(rep->ord);
		ev.ord = peer_depth(rep->ird);
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
		.ird = clamp_u8(ep->agreed.ird),
		.ord = clamp_u8(ep->agreed.ord),
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

/* Return: 0, or -errno and no socket. */
static int start_tcp(struct rnic_ep *ep)
{
	struct net_device *ndev = rnic_dev_netdev(ep->dev);
	struct iw_cm_id *cm_id = ep->cm_id;
	int ret;

	if (!ndev)
		return -ENODEV;
	ret = rnic_sock_connect(&ep->s, ndev, &cm_id->m_local_addr, &cm_id->m_remote_addr,
				cm_id->tos_set ? cm_id->tos : -1, rnic_ep_sock_event);
	if (!ret)
		rnic_sock_keepalive(&ep->s, READ_ONCE(ep->dev->set.keepalive_s));
	dev_put(ndev);
	return ret;
}

/**
 * rnic_cm_owner() - whose service it is that a listener is a part of
 * @cm_id:	what iw_cm made, within iw_create_listen or while it listens
 * @all:	rdma_cm asks all devices for its address
 *
 * rdma_cm asks each device with an id of its own then. The context of such an id is the
 * program's id, which outlives it.
 *
 * Return: the program's id; only to be compared.
 */
const void *rnic_cm_owner(const struct iw_cm_id *cm_id, bool all)
{
	const struct rdma_cm_id *id = rdma_id(cm_id);

	return all ? id->context : id;
}

/**
 * rnic_cm_has_connections() - does the service of a listener have connections?
 * @cm_id:	what iw_cm made, within iw_create_listen
 *
 * Return: false for datagrams, which iWARP has not.
 */
bool rnic_cm_has_connections(const struct iw_cm_id *cm_id)
{
	const struct rdma_cm_id *id = rdma_id(cm_id);

	return id->ps != RDMA_PS_UDP && id->qp_type != IB_QPT_UD;
}

/* Beside the number of an endpoint in provider_data: rdma_cm has the request. */
#define ASKED	BIT(31)

/* rdma_cm's handler of requests, the same for each listener. */
static iw_cm_handler ask_rdma_cm;

/* Takes the place of ask_rdma_cm(). From now on the request will be answered. */
static int ask_counted(struct iw_cm_id *cm_id, struct iw_cm_event *ev)
{
	unsigned long id = (unsigned long)cm_id->provider_data;

	atomic_inc(&rnic_dev(cm_id->device)->cm.asked);
	cm_id->provider_data = (void *)(id | ASKED);
	return READ_ONCE(ask_rdma_cm)(cm_id, ev);
}

/**
 * rnic_cm_count_requests() - count what rdma_cm is asked and did not answer yet
 * @cm_id:	a listener
 *
 * The iw_cm_id of a request names our device and holds no reference to it. rdma_cm takes care
 * of that as long as it has given the request to the same device, which it looks up anew: an
 * address that moves at this moment leads it to another one, and then the answer comes at any
 * time after our device is gone. iw_cm may drop what we report, so the count begins in the
 * handler that it calls.
 */
void rnic_cm_count_requests(struct iw_cm_id *cm_id)
{
	WRITE_ONCE(ask_rdma_cm, cm_id->cm_handler);
	cm_id->cm_handler = ask_counted;
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
	ep->pd = kmemdup(pd, len, RNIC_GFP);
	if (!ep->pd)
		return -ENOMEM;
	ep->pd_len = len;
	return 0;
}

/* iterate_fd() calls it. The file of a device that ib_uverbs opened has @ufile for its data. */
static int is_file_of(const void *ufile, struct file *file, unsigned int fd)
{
	return file->private_data == ufile;
}

/*
 * May @cm_id connect @qp? rdma_cm names a queue pair by a number, and a program can make up
 * any. A kernel consumer's queue pair belongs to its own id, of which rdma_cm knows it. A
 * program's belongs to whoever has the program's open device: its threads, and a child that
 * inherited it. rdma_cm calls us in the program's own context.
 */
static bool may_connect(const struct iw_cm_id *cm_id, const struct rnic_qp *qp)
{
	const struct ib_uobject *user = qp->ibqp.pd->uobject;

	if (!user)
		return rdma_id(cm_id)->qp == &qp->ibqp;
	return iterate_fd(current->files, 0, is_file_of, user->ufile);
}

static int take_qp(struct rnic_ep *ep, const struct iw_cm_id *cm_id, u32 qpn)
{
	struct rnic_qp *qp = find_qp(ep->dev, qpn);

	if (!qp)
		return -EINVAL;
	if (!may_connect(cm_id, qp)) {
		rnic_qp_rem_ref(&qp->ibqp);
		return -EPERM;
	}
	WRITE_ONCE(ep->qp, qp);
	return 0;
}

/* What both sides need: a frame that holds the Private Data, and a queue pair. */
static int prepare(struct rnic_ep *ep, const struct iw_cm_id *cm_id, const struct mpa_frame *f,
		   const struct iw_cm_conn_param *param)
{
	int ret;

	if (!pd_fits(f))
		return -EINVAL;
	ret = take_qp(ep, cm_id, param->qpn);
	if (ret)
		return ret;
	return set_pd(ep, param->private_data, param->private_data_len);
}

static int connect(struct rnic_ep *ep, const struct iw_cm_conn_param *param)
{
	int ret;

	set_depths(ep, param);
	mpa_request(&ep->req, &ep->own, param->private_data_len);
	ret = prepare(ep, ep->cm_id, &ep->req, param);
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
 * Context: process, the caller's own.
 * Return: 0 when TCP is on its way, -EPERM when the queue pair is somebody else's, another
 * -errno otherwise.
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
	ret = prepare(ep, cm_id, &ep->rep, param);
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

/*
 * The endpoint that is answered, with a reference, or NULL when it is gone. Its device may be
 * gone with it: nothing but the struct is there then, and that no longer than the count.
 */
static struct rnic_ep *find_answered(struct iw_cm_id *cm_id)
{
	unsigned long id = (unsigned long)xchg(&cm_id->provider_data, NULL);
	struct rnic_dev *dev = rnic_dev(cm_id->device);
	struct rnic_ep *ep = rnic_ep_find(dev, id & ~ASKED);

	if (id & ASKED && atomic_dec_and_test(&dev->cm.asked))
		wake_up_var(&dev->cm.asked);
	return ep;
}

/**
 * rnic_cm_accept() - ib_device_ops.iw_accept
 * @cm_id:	made by iw_cm for the request
 * @param:	queue pair, depths, Private Data
 *
 * When it fails the peer is told by a rejecting Reply: iw_cm takes no other
 * answer from the consumer after that.
 *
 * Context: process, the caller's own.
 * Return: 0, or -errno (-ECONNABORTED: the peer or the deadline was faster; -EPERM: the
 * queue pair is somebody else's).
 */
int rnic_cm_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct rnic_ep *ep = find_answered(cm_id);
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
	struct rnic_ep *ep = find_answered(cm_id);
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
	atomic_set(&dev->cm.asked, 0);
	rnic_room_init(dev);
	xa_init_flags(&dev->cm.requests, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	init_waitqueue_head(&dev->cm.idle);
}

/* After its last user is gone. Context: process. */
void rnic_cm_dev_gone(struct rnic_dev *dev)
{
	rnic_ep_kill_all(dev);
	xa_destroy(&dev->cm.requests);
}

/**
 * rnic_cm_dev_is_held() - may the device be called after it is gone?
 * @dev:	the device
 *
 * Return: true while rdma_cm has a request of the device's.
 */
bool rnic_cm_dev_is_held(const struct rnic_dev *dev)
{
	return atomic_read(&dev->cm.asked);
}

/**
 * rnic_cm_dev_release() - wait until nobody can call a device any more
 * @dev:	the device, not registered any more
 *
 * Context: process. Mostly nobody can.
 */
void rnic_cm_dev_release(struct rnic_dev *dev)
{
	wait_var_event(&dev->cm.asked, !rnic_cm_dev_is_held(dev));
}
