// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening: TCP sockets that devices share.
 *
 * rdma_cm listens on a wildcard address once for every device. TCP has only one place for
 * that, and a socket bound to its network device would refuse connections to an own address,
 * because they come in over lo. So devices share one socket, and a new connection goes to the
 * device that rdma_cm will find for it: that of the network device that owns the local
 * address. The devices are those of one namespace, the program's. A listener of another
 * device has no socket. Each VRF in the namespace has a socket of its own.
 *
 * A listening socket belongs to one id of a program. rdma_cm keeps a table of ports for each
 * of its port spaces, and TCP has but one. A second program that asks for the port, from
 * whatever port space, gets TCP's answer, because a socket of its own finds the address in
 * use.
 *
 * Lifetime. A listening socket lives from its first to its last listener; both ends are under
 * listen_lock. A listener lives until it stops listening and the last connection that came
 * through it was reported or is gone.
 */
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <rdma/ib_addr.h>
#include <rdma/iw_cm.h>
#include <compat/memcg.h>

#include "conn/ep.h"
#include "conn/listen.h"
#include "conn/rdmacm.h"
#include "core/dev.h"
#include "core/wq.h"
#include "tcp/stream.h"

/* How long after a failed accept to try again. */
#define ACCEPT_AGAIN	msecs_to_jiffies(100)
/* Connections taken in one go. */
#define ACCEPTS		16

/**
 * struct rnic_lsock - a TCP socket that listens
 * @node:	entry in lsocks
 * @net:	namespace; the socket holds it
 * @vrf:	index of the VRF that it hears, or 0
 * @owner:	whose it is: see rnic_rdmacm_owner()
 * @addr:	address and port, possibly a wildcard
 * @v6only:	an IPv6 wildcard without IPv4
 * @s:		socket
 * @work:	accepts
 * @full:	connections wait in TCP, because the device of the first has no room
 * @retry_delay:	in jiffies, how long after that, or after a failed accept, to try again
 * @listeners:	devices
 */
struct rnic_lsock {
	struct list_head node;
	struct net *net;
	int vrf;
	const void *owner;
	struct sockaddr_storage addr;
	bool v6only;
	struct rnic_sock s;
	struct delayed_work work;
	bool full;
	long retry_delay;
	struct list_head listeners;
};

/*
 * Held from beginning to end of opening a socket and of closing one, so that nobody who opens
 * one finds its address taken by one that closes. accept_pending(), which closing waits for, does
 * not take it.
 */
static DEFINE_MUTEX(listen_lock);
static LIST_HEAD(lsocks);
/* Protects lsocks and the listeners of each. */
static DEFINE_MUTEX(lsocks_lock);
/* How many of them are full; under lsocks_lock. */
static unsigned int full_lsocks;

static void retry_full_lsocks(struct work_struct *work);
static DECLARE_WORK(retry_work, retry_full_lsocks);

static bool same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return a6->sin6_port == b6->sin6_port &&
		       a6->sin6_scope_id == b6->sin6_scope_id &&
		       ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
	return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}

/*
 * Is the device one of many that rdma_cm asks for this address? It asks them all,
 * in whatever namespace, and when one refuses the program hears nothing anywhere.
 */
static bool is_asked_of_all(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *v6 = (const void *)addr;
	__be32 v4 = ((const struct sockaddr_in *)addr)->sin_addr.s_addr;

	if (addr->ss_family == AF_INET6)
		return ipv6_addr_any(&v6->sin6_addr) || ipv6_addr_loopback(&v6->sin6_addr);
	return ipv4_is_zeronet(v4) || ipv4_is_loopback(v4);
}

/*
 * The listener for a connection to @local, with a reference, or NULL. It has to be the one
 * whose device rdma_cm will find: on another one nobody could accept, and rdma_cm would not
 * know when it goes. rdma_cm looks the address up without an interface, though it may be
 * that of several (link-local ones), and does so when the server has bound to one of them,
 * too. Where the first interface that has the address is not the server's, it hears
 * nothing.
 */
static struct rnic_listener *choose_listener(struct rnic_lsock *ls,
					     const struct sockaddr_storage *local)
{
	struct rdma_dev_addr at = { .net = ls->net };
	struct rnic_listener *l;

	lockdep_assert_held(&lsocks_lock);
	if (rdma_translate_ip((const struct sockaddr *)local, &at))
		return NULL;
	list_for_each_entry(l, &ls->listeners, node) {
		if (rnic_rdmacm_finds(l->dev, &at)) {
			kref_get(&l->ref);
			return l;
		}
	}
	return NULL;
}

static struct rnic_ep *create_responder(struct rnic_listener *l)
{
	struct rnic_ep *ep = rnic_ep_new(l->dev, false, rnic_startup_work);

	if (!ep)
		return NULL;
	WRITE_ONCE(ep->listener, l);
	return ep;
}

/*
 * An accepted connection becomes an endpoint of the device it is meant for.
 *
 * Return: the endpoint with a reference, or NULL: for want of memory.
 */
static struct rnic_ep *create_endpoint(struct rnic_lsock *ls, struct rnic_listener *l,
				       const struct rnic_sock *s,
				       const struct sockaddr_storage *remote)
{
	struct mem_cgroup *old = set_active_memcg(compat_sock_memcg(ls->s.sock->sk));
	struct rnic_settings *set = &l->dev->set;
	u32 all = READ_ONCE(set->startup_timeout_ms);
	struct rnic_ep *ep = create_responder(l);

	set_active_memcg(old);
	if (!ep)
		return NULL;
	rnic_ep_get(ep);
	mutex_lock(&ep->lock);
	ep->conn.s = *s;
	rnic_sock_keepalive(&ep->conn.s, READ_ONCE(set->keepalive_s));
	rnic_sock_hook(&ep->conn.s, rnic_conn_sock_event);
	ep->until = jiffies + msecs_to_jiffies(all);
	rnic_conn_arm(&ep->conn, min(all, READ_ONCE(set->request_timeout_ms)));
	rnic_room_enter(ep, remote);
	mutex_unlock(&ep->lock);
	return ep;
}

/* @busy: the device of the connection that waits first, which has no room; or NULL */
static void set_full(struct rnic_lsock *ls, struct rnic_dev *busy)
{
	if (!busy == !ls->full)
		return;
	ls->full = busy;
	full_lsocks += busy ? 1 : -1;
	rnic_room_await(full_lsocks ? &retry_work : NULL);
	if (busy)
		rnic_stat_inc(busy, RNIC_STAT_PENDING_OVERFLOW);
}

/*
 * Accept the connection that waits first, for the device it is meant for. When that has no
 * room it stays in TCP's queue, and others behind it, until a startup ends: were it accepted
 * and closed, the caller would take us for a peer that knows revision 1 only (P2P-47). One that
 * is for no device of ours is closed.
 *
 * Return: the endpoint with a reference; NULL when the connection was closed; -EAGAIN when
 * none waits, and TCP reports the next; -EBUSY without room, or for one in a sockmap; another
 * -errno.
 */
static struct rnic_ep *accept_next(struct rnic_lsock *ls)
{
	struct sockaddr_storage local, remote;
	struct rnic_ep *ep = NULL;
	struct rnic_sock s = {};
	struct rnic_listener *l;
	long wait;
	int ret;

	lockdep_assert_held(&lsocks_lock);
	ret = rnic_sock_peek(&ls->s, &local, &remote);
	if (ret) {
		set_full(ls, NULL);
		return ERR_PTR(ret);
	}
	l = choose_listener(ls, &local);
	wait = l ? rnic_room_make(l, &remote) : 0;
	set_full(ls, wait ? l->dev : NULL);
	ls->retry_delay = wait ? wait : ACCEPT_AGAIN;
	ret = wait ? -EBUSY : rnic_sock_accept(&ls->s, &s);
	if (!ret && l)
		ep = create_endpoint(ls, l, &s, &remote);
	if (ep)
		return ep;
	rnic_sock_close(&s);
	if (l)
		rnic_listener_put(l);
	return ERR_PTR(ret);
}

/* In turn, because the sockets of a device share its room. */
static void retry_full_lsocks(struct work_struct *work)
{
	struct rnic_lsock *ls;

	mutex_lock(&lsocks_lock);
	list_for_each_entry(ls, &lsocks, node)
		if (ls->full)
			mod_delayed_work(rnic_startup_wq, &ls->work, 0);
	list_rotate_left(&lsocks);
	mutex_unlock(&lsocks_lock);
}

/* Return: -errno why there is none any more, or 0 when there may be. */
static int accept_some(struct rnic_lsock *ls)
{
	struct rnic_ep *ep;
	int n;

	for (n = 0; n < ACCEPTS; n++) {
		mutex_lock(&lsocks_lock);
		ep = accept_next(ls);
		mutex_unlock(&lsocks_lock);
		if (IS_ERR(ep))
			return PTR_ERR(ep);
		if (!ep)
			continue;
		/* What came before the socket was hooked was reported to nobody. */
		rnic_startup_look(ep);
		rnic_ep_put(ep);
	}
	return 0;
}

/*
 * One of the startups, and like them without I/O: see rnic_ep_lock(). After a few
 * connections others have their turn, and closing need not wait for callers that are fast.
 *
 * When accept fails, mostly for want of memory, or there is no room, the connections
 * still wait and TCP tells of new ones only: come again for them. None waits on a socket
 * that was killed (ss -K).
 */
static void accept_pending(struct work_struct *work)
{
	struct rnic_lsock *ls = container_of(to_delayed_work(work), struct rnic_lsock, work);
	unsigned int noio = memalloc_noio_save();
	int ret = accept_some(ls);

	memalloc_noio_restore(noio);
	if (ret != -EAGAIN)
		queue_delayed_work(rnic_startup_wq, &ls->work, ret ? ls->retry_delay : 0);
}

static void queue_accept(struct rnic_sock *s, enum rnic_sock_event event)
{
	queue_delayed_work(rnic_startup_wq, &container_of(s, struct rnic_lsock, s)->work, 0);
}

static const void *find_owner(const struct iw_cm_id *cm_id)
{
	return rnic_rdmacm_owner(cm_id, is_asked_of_all(&cm_id->m_local_addr));
}

/* The owner's socket. One that was killed hears nothing any more. */
static struct rnic_lsock *find_lsock(struct net *net, int vrf, const struct iw_cm_id *cm_id)
{
	const void *owner = find_owner(cm_id);
	struct rnic_lsock *ls;

	list_for_each_entry(ls, &lsocks, node)
		if (net_eq(ls->net, net) && ls->vrf == vrf && ls->owner == owner &&
		    same_addr(&ls->addr, &cm_id->m_local_addr) &&
		    ls->v6only == cm_id->afonly && !rnic_sock_dead(&ls->s))
			return ls;
	return NULL;
}

static struct rnic_lsock *open_lsock(struct net *net, int vrf, struct iw_cm_id *cm_id, int backlog)
{
	struct rnic_lsock *ls = kzalloc(sizeof(*ls), RNIC_GFP);
	int ret;

	if (!ls)
		return ERR_PTR(-ENOMEM);
	ls->net = net;
	ls->vrf = vrf;
	ls->owner = find_owner(cm_id);
	ls->addr = cm_id->m_local_addr;
	ls->v6only = cm_id->afonly;
	INIT_LIST_HEAD(&ls->listeners);
	INIT_DELAYED_WORK(&ls->work, accept_pending);
	ret = rnic_sock_listen(&ls->s, net, vrf, &ls->addr, ls->v6only,
			       cm_id->tos_set ? cm_id->tos : -1, backlog, queue_accept);
	if (ret) {
		kfree(ls);
		return ERR_PTR(ret);
	}
	list_add_tail(&ls->node, &lsocks);
	return ls;
}

/* Off the list already. accept_pending() takes lsocks_lock: not held here. */
static void close_lsock(struct rnic_lsock *ls)
{
	rnic_sock_unhook(&ls->s);
	cancel_delayed_work_sync(&ls->work);
	rnic_sock_close(&ls->s);
	kfree(ls);
}

static int add_listener(struct rnic_listener *l, struct net *net, int vrf, int backlog)
{
	struct rnic_lsock *ls;

	lockdep_assert_held(&lsocks_lock);
	ls = find_lsock(net, vrf, l->cm_id);
	if (!ls)
		ls = open_lsock(net, vrf, l->cm_id, backlog);
	if (IS_ERR(ls))
		return PTR_ERR(ls);
	l->ls = ls;
	list_add_tail(&l->node, &ls->listeners);
	return 0;
}

static void remove_listener(struct rnic_listener *l)
{
	struct rnic_lsock *ls = l->ls;
	bool last;

	mutex_lock(&listen_lock);
	mutex_lock(&lsocks_lock);
	list_del(&l->node);
	last = list_empty(&ls->listeners);
	if (last) {
		set_full(ls, NULL);
		list_del(&ls->node);
	}
	mutex_unlock(&lsocks_lock);
	if (last)
		close_lsock(ls);
	mutex_unlock(&listen_lock);
}

static int open_listener(struct rnic_listener *l, struct net *net, int vrf, int backlog)
{
	unsigned int noio;
	int ret;

	mutex_lock(&listen_lock);
	/* The startups wait for lsocks_lock, and I/O may wait for a startup. */
	noio = memalloc_noio_save();
	mutex_lock(&lsocks_lock);
	ret = add_listener(l, net, vrf, backlog);
	mutex_unlock(&lsocks_lock);
	memalloc_noio_restore(noio);
	mutex_unlock(&listen_lock);
	return ret;
}

static bool is_loopback(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ipv6_addr_loopback(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return ipv4_is_loopback(((const struct sockaddr_in *)addr)->sin_addr.s_addr);
}

/* Does a socket outside of VRFs hear what comes in through them? */
static bool hears_vrfs(const struct net *net)
{
#ifdef CONFIG_NET_L3_MASTER_DEV
	return READ_ONCE(net->ipv4.sysctl_tcp_l3mdev_accept);
#else
	return false;
#endif
}

/*
 * The VRF to listen in, for a device whose interface is in one. An interface's address is
 * in its VRF only, 127.0.0.1 in none.
 */
static int choose_vrf(struct net_device *ndev, const struct sockaddr_storage *addr)
{
	if (is_loopback(addr) || (is_asked_of_all(addr) && hears_vrfs(dev_net(ndev))))
		return 0;
	return l3mdev_master_ifindex(ndev);
}

/*
 * No socket where nothing can be heard: for datagrams, on a device that lost its interface,
 * and in another namespace than the program's. The port may be taken there, the connections to
 * it are not ours, and rdma_cm, which looks up their addresses where the program is, would not
 * know them.
 *
 * A device that is being made takes up the services that there are. rdma_cm would do
 * without the device, for everybody, if one of them found its port taken.
 */
static int start_listening(struct rnic_listener *l, struct net_device *ndev, int backlog)
{
	struct net *net = rnic_rdmacm_net(l->cm_id);
	bool all = is_asked_of_all(&l->cm_id->m_local_addr);
	int ret;

	if (!rnic_rdmacm_has_connections(l->cm_id))
		return all ? 0 : -EOPNOTSUPP;
	if (!ndev || !net_eq(dev_net(ndev), net))
		return all ? 0 : -ENODEV;
	ret = open_listener(l, net, choose_vrf(ndev, &l->cm_id->m_local_addr), backlog);
	return all && rnic_dev_made_here(l->dev) ? 0 : ret;
}

/**
 * rnic_cm_create_listen() - ib_device_ops.iw_create_listen
 * @cm_id:	whom to tell of requests
 * @backlog:	TCP's, on the first listener of a socket
 *
 * Context: process.
 * Return: 0 or -errno; -EADDRINUSE when the port is taken.
 */
int rnic_cm_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct rnic_dev *dev = rnic_dev(cm_id->device);
	struct net_device *ndev;
	struct rnic_listener *l;
	int ret;

	l = kzalloc(sizeof(*l), RNIC_GFP);
	if (!l)
		return -ENOMEM;
	kref_init(&l->ref);
	l->dev = dev;
	l->cm_id = cm_id;
	rnic_crowd_init(&l->silent);
	ndev = rnic_dev_netdev(dev);
	ret = start_listening(l, ndev, backlog);
	dev_put(ndev);
	if (ret) {
		kfree(l);
		return ret;
	}
	cm_id->add_ref(cm_id);
	cm_id->provider_data = l;
	rnic_rdmacm_count_requests(cm_id);
	return 0;
}

/**
 * rnic_cm_destroy_listen() - ib_device_ops.iw_destroy_listen
 * @cm_id:	it
 *
 * Connections that were not reported yet are ended. Events of those that were
 * just now are dropped by iw_cm, and the startup deadline ends them.
 *
 * Context: process.
 * Return: 0.
 */
int rnic_cm_destroy_listen(struct iw_cm_id *cm_id)
{
	struct rnic_listener *l = cm_id->provider_data;

	if (l->ls)
		remove_listener(l);
	rnic_ep_cut_listener(l);
	cm_id->provider_data = NULL;
	rnic_listener_put(l);
	return 0;
}
