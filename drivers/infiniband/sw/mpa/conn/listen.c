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
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <rdma/iw_cm.h>

#include "conn/accept.h"
#include "conn/ep.h"
#include "conn/listen.h"
#include "conn/rdmacm.h"
#include "core/dev.h"
#include "tcp/stream.h"

/*
 * Protects lsocks. Serializes opening and closing of sockets, because an open must not fail on the
 * address of a socket that is being closed. accept_pending() does not take it, because closing
 * waits for that work.
 */
static DEFINE_MUTEX(listen_lock);
static LIST_HEAD(lsocks);

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

static const void *find_owner(const struct iw_cm_id *cm_id)
{
	return rnic_rdmacm_owner(cm_id, is_asked_of_all(&cm_id->local_addr));
}

/* Find the owner's socket. Skip one that was killed, because it gets no connections. */
static struct rnic_lsock *find_lsock(struct net *net, int vrf, const struct iw_cm_id *cm_id)
{
	const void *owner = find_owner(cm_id);
	struct rnic_lsock *ls;

	lockdep_assert_held(&listen_lock);
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
	rnic_accept_init(ls);
	ret = rnic_sock_listen(&ls->s, net, vrf, &ls->addr, ls->v6only,
			       cm_id->tos_set ? cm_id->tos : -1, backlog);
	if (ret) {
		kfree(ls);
		return ERR_PTR(ret);
	}
	return ls;
}

/*
 * The program's task opens and closes the socket. That takes its time, and the task may have a low
 * priority, so startups never wait for listen_lock.
 */
static void remove_listener(struct rnic_listener *l)
{
	struct rnic_lsock *ls = l->ls;

	mutex_lock(&listen_lock);
	if (rnic_accept_remove(ls, l)) {
		list_del(&ls->node);
		rnic_accept_stop(ls);
		rnic_sock_close(&ls->s);
		kfree(ls);
	}
	mutex_unlock(&listen_lock);
}

static int open_listener(struct rnic_listener *l, struct net *net, int vrf, int backlog)
{
	struct rnic_lsock *ls;
	bool is_new;

	mutex_lock(&listen_lock);
	ls = find_lsock(net, vrf, l->cm_id);
	is_new = !ls;
	if (is_new)
		ls = open_lsock(net, vrf, l->cm_id, backlog);
	if (IS_ERR(ls))
		goto unlock;
	l->ls = ls;
	rnic_accept_add(ls, l);
	if (is_new) {
		list_add_tail(&ls->node, &lsocks);
		rnic_accept_begin(ls);
	}
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

/*
 * Count the listener in the share of the program's user. Do not count those that the
 * administrator's task adds while the device is added or moved, because they may be anybody's.
 */
static int charge_listener(struct rnic_listener *l)
{
	if (rnic_dev_is_enabled_here(l->dev))
		return 0;
	l->share = rnic_share_get(l->dev);
	if (!l->share)
		return -ENOMEM;
	if (rnic_dev_charge(l->dev, RNIC_OBJ_LISTENER, l->share))
		return 0;
	rnic_share_put(l->dev, l->share);
	return -ENOMEM;
}

static void uncharge_listener(struct rnic_listener *l)
{
	if (!l->share)
		return;
	rnic_dev_uncharge(l->dev, RNIC_OBJ_LISTENER, l->share);
	rnic_share_put(l->dev, l->share);
}

/**
 * rnic_cm_create_listen() - ib_device_ops.iw_create_listen
 * @cm_id:	receives the requests
 * @backlog:	the program's; TCP's accept queue has as many places at least, if this is the first
 *		listener of a socket
 *
 * Context: process.
 * Return: 0 or -errno; -EADDRINUSE if the port is in use; -ENOMEM if the user has its share.
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
	ret = charge_listener(l);
	if (ret)
		goto free_listener;
	l->asked_of = rnic_room_find_user(dev);
	rnic_crowd_init(&l->silent);
	rnic_crowd_init(&l->asked);
	rnic_crowd_init(&l->turns);
	/* Before a request can come */
	rnic_rdmacm_count_requests(cm_id);
	rnic_rdmacm_set_port(cm_id);
	ndev = rnic_dev_netdev(dev);
	ret = start_listening(l, ndev, backlog);
	dev_put(ndev);
	if (ret)
		goto uncharge;
	cm_id->add_ref(cm_id);
	cm_id->provider_data = l;
	return 0;

uncharge:
	uncharge_listener(l);
free_listener:
	kfree(l);
	return ret;
}

/**
 * rnic_cm_destroy_listen() - ib_device_ops.iw_destroy_listen
 * @cm_id:	the listener's
 *
 * Ends the connections that rdma_cm does not know yet, because iw_cm drops their events.
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
	uncharge_listener(l);
	cm_id->provider_data = NULL;
	rnic_listener_put(l);
	return 0;
}
