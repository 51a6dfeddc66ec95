// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening: TCP sockets that devices share.
 *
 * For a wildcard address rdma_cm listens on every device. TCP allows one socket for that, and
 * a socket bound to its network device would refuse connections from this host, because they
 * arrive over lo. So the devices of the program's namespace share one socket. A new connection
 * goes to the device that rdma_cm will find for its local address. A listener of a device in
 * another namespace has no socket. Each VRF in the namespace has a socket of its own.
 *
 * A listening socket belongs to one id of a program. rdma_cm has a table of ports for each of
 * its port spaces, and TCP has one table. A second program that asks for the port, from any
 * port space, gets -EADDRINUSE from TCP, because it needs a socket of its own.
 *
 * Lifetime. A listening socket lives from its first to its last listener; listen_lock is held
 * at both ends. A listener lives until it stops listening and each of its connections was
 * accepted, or is gone.
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

/* Delay before another accept after one failed, in jiffies. */
#define ACCEPT_AGAIN	msecs_to_jiffies(100)
/* Most connections that one run of the work accepts. */
#define ACCEPTS		16
/* Most full sockets that one free place wakes. */
#define RETRIES		16

/**
 * struct rnic_lsock - a TCP socket that listens
 * @node:	entry in lsocks
 * @net:	namespace; the socket holds it
 * @vrf:	index of its VRF, or 0
 * @owner:	the program's id, see rnic_rdmacm_owner()
 * @addr:	address and port, possibly a wildcard
 * @v6only:	an IPv6 wildcard without IPv4
 * @s:		socket
 * @work:	accepts
 * @full:	listener of the first pending connection, if its device has no room; else NULL
 * @retry_delay: jiffies until @work retries, when @full or after a failed accept
 * @listeners:	struct rnic_listener of each device
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
	struct rnic_listener *full;
	long retry_delay;
	struct list_head listeners;
};

/*
 * Serializes opening and closing of sockets, because an open must not fail on the address of a
 * socket that is being closed. accept_pending() does not take it, because closing waits for
 * that work.
 */
static DEFINE_MUTEX(listen_lock);
static LIST_HEAD(lsocks);
/* Protects lsocks, and the listeners and @full of each. */
static DEFINE_MUTEX(lsocks_lock);
/* Number of full sockets; under lsocks_lock. */
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
 * True if rdma_cm listens for this address on every device, in all namespaces. If one device
 * returns an error, the program's listen fails as a whole.
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
 * Choose the listener whose device rdma_cm will find for @local, because the program cannot
 * accept on another device, and rdma_cm would not notice its removal. rdma_cm looks the
 * address up without an interface, even if several have it (link-local addresses) and the
 * server is bound to one. If the first interface with the address is not the server's, the
 * server gets no connections. If it would find several devices, those of a VLAN and of its parent,
 * it takes the one that we choose, because it tries that one first (rnic_rdmacm_set_port()).
 *
 * Return: the listener with a reference, or NULL.
 */
static struct rnic_listener *choose_listener(struct rnic_lsock *ls,
					     const struct sockaddr_storage *local)
{
	struct rdma_dev_addr at = { .net = ls->net };
	struct rnic_listener *l, *found = NULL;

	lockdep_assert_held(&lsocks_lock);
	if (rdma_translate_ip((const struct sockaddr *)local, &at))
		return NULL;
	list_for_each_entry(l, &ls->listeners, node)
		if (rnic_rdmacm_finds(l->dev, &at) &&
		    (!found || l->dev->ifindex == at.bound_dev_if))
			found = l;
	if (found)
		kref_get(&found->ref);
	return found;
}

/*
 * Create an endpoint, before the connection is accepted. Do not wait for memory, because the
 * startups of all programs would: the listener's program decides how full its memory cgroup is.
 *
 * Return: the endpoint with its base reference, or NULL without memory.
 */
static struct rnic_ep *create_endpoint(struct rnic_lsock *ls, struct rnic_listener *l)
{
	struct mem_cgroup *old = set_active_memcg(compat_sock_memcg(ls->s.sock->sk));
	struct rnic_ep *ep = rnic_ep_new(l->dev, false, &rnic_cm_ops, rnic_startup_wq,
					 rnic_startup_work,
					 GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN);

	set_active_memcg(old);
	return ep;
}

/* Give an endpoint its connection, a reference to @l, and the caller a reference. */
static void begin_endpoint(struct rnic_ep *ep, struct rnic_listener *l, const struct rnic_sock *s,
			   const struct sockaddr_storage *remote)
{
	struct rnic_settings *set = &l->dev->set;

	rnic_ep_get(ep);
	mutex_lock(&ep->lock);
	WRITE_ONCE(ep->listener, l);
	ep->conn.s = *s;
	rnic_sock_keepalive(&ep->conn.s, READ_ONCE(set->keepalive_s));
	rnic_sock_hook(&ep->conn.s, rnic_conn_sock_event);
	rnic_conn_arm(&ep->conn, rnic_room_request_time(set));
	rnic_room_enter(ep, remote);
	mutex_unlock(&ep->lock);
}

/* @l: listener of the first pending connection if its device has no room, else NULL */
static void set_full(struct rnic_lsock *ls, struct rnic_listener *l)
{
	if (l && !ls->full)
		rnic_stat_inc(l->dev, RNIC_STAT_PENDING_OVERFLOW);
	full_lsocks += !!l - !!ls->full;
	ls->full = l;
	rnic_room_await(full_lsocks ? &retry_work : NULL);
}

/* Look now, because what the first pending connection waits for may have changed. */
static void retry_lsock(struct rnic_lsock *ls)
{
	lockdep_assert_held(&lsocks_lock);
	mod_delayed_work(rnic_startup_wq, &ls->work, 0);
}

/*
 * Accept the first pending connection for its device. If the device has no room, leave it and
 * those behind it in TCP's queue until a startup ends, and without memory for a while. If we
 * accepted and closed it, the peer would conclude that we know revision 1 only (P2P-47). Close one
 * that no device of ours is for.
 *
 * Return: the endpoint with a reference; NULL if the connection was closed; -EAGAIN if none is
 * pending, and TCP will report the next; -EBUSY if there is no room, or BPF has put the
 * connection into a sockmap; another -errno.
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
	/* Now, so that a startup that ends after this has looked for room queues the work. */
	rnic_room_await(&retry_work);
	wait = l ? rnic_room_make(l, &remote) : 0;
	set_full(ls, wait ? l : NULL);
	ls->retry_delay = wait ? wait : ACCEPT_AGAIN;
	ret = wait ? -EBUSY : 0;
	if (!ret && l) {
		ep = create_endpoint(ls, l);
		ret = ep ? 0 : -ENOMEM;
	}
	if (!ret)
		ret = rnic_sock_accept(&ls->s, &s);
	if (!ret && ep) {
		begin_endpoint(ep, l, &s, &remote);
		return ep;
	}
	if (ep)
		rnic_ep_put(ep);
	rnic_sock_close(&s);
	if (l)
		rnic_listener_put(l);
	return ERR_PTR(ret);
}

/*
 * Leave out the sockets whose program or user has its share of the places. Those that get a turn go
 * to the end of the list, because the sockets of a device share its room. There are RETRIES of them
 * at most, because a user may have thousands, and startups wait for each turn. The others have
 * theirs at the next free place, or when their timer expires. One whose timer does not run has it.
 */
static void retry_full_lsocks(struct work_struct *work)
{
	struct rnic_lsock *ls, *next;
	LIST_HEAD(retried);
	int n = 0;

	mutex_lock(&lsocks_lock);
	list_for_each_entry_safe(ls, next, &lsocks, node) {
		if (!ls->full || !timer_pending(&ls->work.timer) || !rnic_room_may_ask(ls->full))
			continue;
		retry_lsock(ls);
		list_move_tail(&ls->node, &retried);
		if (++n == RETRIES)
			break;
	}
	list_splice_tail(&retried, &lsocks);
	mutex_unlock(&lsocks_lock);
}

/* Return: 0 if more connections may be pending, else the -errno of accept_next(). */
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
		/* Events before the socket was hooked were not reported. */
		rnic_startup_look(ep);
		rnic_ep_put(ep);
	}
	return 0;
}

/*
 * The work of a listening socket. It does no I/O, like the startups: see rnic_ep_lock(). It
 * stops after ACCEPTS connections, so that startups run and closing does not wait long.
 *
 * If accept fails, mostly without memory, or there is no room, the work queues itself again,
 * because TCP reports new connections only. A socket that was killed (ss -K) has no pending
 * connection.
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
	return rnic_rdmacm_owner(cm_id, is_asked_of_all(&cm_id->local_addr));
}

/* Find the owner's socket. Skip one that was killed, because it gets no connections. */
static struct rnic_lsock *find_lsock(struct net *net, int vrf, const struct iw_cm_id *cm_id)
{
	const void *owner = find_owner(cm_id);
	struct rnic_lsock *ls;

	list_for_each_entry(ls, &lsocks, node)
		if (net_eq(ls->net, net) && ls->vrf == vrf && ls->owner == owner &&
		    same_addr(&ls->addr, &cm_id->local_addr) &&
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
	ls->addr = cm_id->local_addr;
	ls->v6only = cm_id->afonly;
	INIT_LIST_HEAD(&ls->listeners);
	INIT_DELAYED_WORK(&ls->work, accept_pending);
	ret = rnic_sock_listen(&ls->s, net, vrf, &ls->addr, ls->v6only,
			       cm_id->tos_set ? cm_id->tos : -1, backlog);
	if (ret) {
		kfree(ls);
		return ERR_PTR(ret);
	}
	return ls;
}

/* Accept on a new socket, which has a listener: without one, connections would be closed. */
static void begin_accepting(struct rnic_lsock *ls)
{
	rnic_sock_redirect(&ls->s, queue_accept);
	queue_accept(&ls->s, RNIC_SOCK_DATA);
}

/* The socket is off the list. lsocks_lock is not held, because accept_pending() takes it. */
static void close_lsock(struct rnic_lsock *ls)
{
	rnic_sock_unhook(&ls->s);
	cancel_delayed_work_sync(&ls->work);
	rnic_sock_close(&ls->s);
	kfree(ls);
}

static void add_listener(struct rnic_lsock *ls, struct rnic_listener *l)
{
	lockdep_assert_held(&lsocks_lock);
	l->ls = ls;
	list_add_tail(&l->node, &ls->listeners);
	/* The first pending connection may be for this device. */
	if (ls->full)
		retry_lsock(ls);
}

static void remove_listener(struct rnic_listener *l)
{
	struct rnic_lsock *ls = l->ls;
	bool last;

	mutex_lock(&listen_lock);
	mutex_lock(&lsocks_lock);
	list_del(&l->node);
	if (ls->full == l) {
		set_full(ls, NULL);
		retry_lsock(ls);
	}
	last = list_empty(&ls->listeners);
	if (last)
		list_del(&ls->node);
	mutex_unlock(&lsocks_lock);
	if (last)
		close_lsock(ls);
	mutex_unlock(&listen_lock);
}

/*
 * The program's task opens the socket without lsocks_lock, for which the startups of all programs
 * wait, because that takes its time, and the task may have a low priority.
 */
static int open_listener(struct rnic_listener *l, struct net *net, int vrf, int backlog)
{
	struct rnic_lsock *ls;
	bool is_new;

	mutex_lock(&listen_lock);
	mutex_lock(&lsocks_lock);
	ls = find_lsock(net, vrf, l->cm_id);
	mutex_unlock(&lsocks_lock);
	is_new = !ls;
	if (is_new)
		ls = open_lsock(net, vrf, l->cm_id, backlog);
	if (IS_ERR(ls))
		goto unlock;
	mutex_lock(&lsocks_lock);
	if (is_new)
		list_add_tail(&ls->node, &lsocks);
	add_listener(ls, l);
	mutex_unlock(&lsocks_lock);
	if (is_new)
		begin_accepting(ls);
unlock:
	mutex_unlock(&listen_lock);
	return PTR_ERR_OR_ZERO(ls);
}

/* True if a socket outside of VRFs gets the connections that arrive in them. */
static bool hears_vrfs(const struct net *net)
{
#ifdef CONFIG_NET_L3_MASTER_DEV
	return READ_ONCE(net->ipv4.sysctl_tcp_l3mdev_accept);
#else
	return false;
#endif
}

/*
 * Choose the VRF to listen in. The address of an interface exists in its VRF only, and
 * 127.0.0.1 in none.
 */
static int choose_vrf(struct net_device *ndev, const struct sockaddr_storage *addr)
{
	if (rnic_addr_is_loopback(addr) || (is_asked_of_all(addr) && hears_vrfs(dev_net(ndev))))
		return 0;
	return l3mdev_master_ifindex(ndev);
}

/*
 * Open no socket for datagrams, on a device that lost its interface or has nothing to do with
 * that of the address, or in another namespace than the program's. rdma_cm looks addresses up in
 * the program's namespace, so it would not know connections of another one, and the port may be
 * in use there.
 *
 * While a device is registered, or moves to another namespace, rdma_cm adds its existing listeners
 * to it. Ignore errors then, because rdma_cm would drop the device for all programs if one port is
 * in use.
 */
static int start_listening(struct rnic_listener *l, struct net_device *ndev, int backlog)
{
	struct net *net = rnic_rdmacm_net(l->cm_id);
	bool all = is_asked_of_all(&l->cm_id->local_addr);
	int ret;

	if (!rnic_rdmacm_has_connections(l->cm_id))
		return all ? 0 : -EOPNOTSUPP;
	if (!ndev || !net_eq(dev_net(ndev), net) || !rnic_rdmacm_is_right(l->cm_id, l->dev))
		return all ? 0 : -ENODEV;
	ret = open_listener(l, net, choose_vrf(ndev, &l->cm_id->local_addr), backlog);
	return all && rnic_dev_is_enabled_here(l->dev) ? 0 : ret;
}

/**
 * rnic_cm_create_listen() - ib_device_ops.iw_create_listen
 * @cm_id:	receives the requests
 * @backlog:	the program's; TCP's accept queue has as many places at least, if this is the first
 *		listener of a socket
 *
 * Context: process.
 * Return: 0 or -errno; -EADDRINUSE if the port is in use.
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
	l->asked_of = rnic_room_find_user(dev);
	rnic_crowd_init(&l->silent);
	/* Before a request can come */
	rnic_rdmacm_count_requests(cm_id);
	rnic_rdmacm_set_port(cm_id);
	ndev = rnic_dev_netdev(dev);
	ret = start_listening(l, ndev, backlog);
	dev_put(ndev);
	if (ret) {
		kfree(l);
		return ret;
	}
	cm_id->add_ref(cm_id);
	cm_id->provider_data = l;
	return 0;
}

/**
 * rnic_cm_destroy_listen() - ib_device_ops.iw_destroy_listen
 * @cm_id:	the listener's
 *
 * Ends the connections that iw_cm does not know yet. iw_cm may drop the event of a connection
 * that was reported just now; the startup deadline ends that one.
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
