// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Accepting: a new TCP connection goes to the device that rdma_cm will find for its local address,
 * and becomes an endpoint there. Connections wait in TCP's queue while that device has no room.
 */
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <rdma/ib_addr.h>
#include <compat/memcg.h>

#include "conn/accept.h"
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

/* Protects the listeners and @full of each socket, and full_lsocks. */
static DEFINE_MUTEX(accept_lock);
static LIST_HEAD(full_lsocks);

static void retry_full_lsocks(struct work_struct *work);
static DECLARE_WORK(retry_work, retry_full_lsocks);

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

	lockdep_assert_held(&accept_lock);
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

/*
 * Give an endpoint its connection, a reference to @l, and the caller a reference. If BPF has the
 * connection by now, the first look ends it.
 */
static void begin_endpoint(struct rnic_ep *ep, struct rnic_listener *l, const struct rnic_sock *s,
			   const struct sockaddr_storage *remote)
{
	struct rnic_settings *set = &l->dev->set;
	unsigned int noio;

	rnic_ep_get(ep);
	noio = rnic_ep_lock(ep);
	WRITE_ONCE(ep->listener, l);
	ep->conn.s = *s;
	rnic_sock_keepalive(&ep->conn.s, READ_ONCE(set->keepalive_s));
	if (rnic_sock_hook(&ep->conn.s, rnic_ep_sock_event))
		WRITE_ONCE(ep->cut, MPA_ON_CONSUMER_GONE);
	rnic_conn_arm(&ep->conn, rnic_room_request_time(set));
	rnic_room_enter(ep, remote);
	rnic_ep_unlock(ep, noio);
}

/* @l: listener of the first pending connection if its device has no room, else NULL */
static void set_full(struct rnic_lsock *ls, struct rnic_listener *l)
{
	if (l && !ls->full) {
		rnic_stat_inc(l->dev, RNIC_STAT_PENDING_OVERFLOW);
		list_add_tail(&ls->full_node, &full_lsocks);
	} else if (!l && ls->full) {
		list_del(&ls->full_node);
	}
	ls->full = l;
	rnic_room_await(list_empty(&full_lsocks) ? NULL : &retry_work);
}

/* Look now, because what the first pending connection waits for may have changed. */
static void retry_lsock(struct rnic_lsock *ls)
{
	lockdep_assert_held(&accept_lock);
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

	lockdep_assert_held(&accept_lock);
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

	mutex_lock(&accept_lock);
	list_for_each_entry_safe(ls, next, &full_lsocks, full_node) {
		if (!timer_pending(&ls->work.timer) || !rnic_room_may_ask(ls->full))
			continue;
		retry_lsock(ls);
		list_move_tail(&ls->full_node, &retried);
		if (++n == RETRIES)
			break;
	}
	list_splice_tail(&retried, &full_lsocks);
	mutex_unlock(&accept_lock);
}

/* Return: 0 if more connections may be pending, else the -errno of accept_next(). */
static int accept_some(struct rnic_lsock *ls)
{
	struct rnic_ep *ep;
	int n;

	for (n = 0; n < ACCEPTS; n++) {
		mutex_lock(&accept_lock);
		ep = accept_next(ls);
		mutex_unlock(&accept_lock);
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

/**
 * rnic_accept_init() - prepare a listening socket for its listeners
 * @ls:	the socket
 *
 * Context: any.
 */
void rnic_accept_init(struct rnic_lsock *ls)
{
	INIT_LIST_HEAD(&ls->listeners);
	INIT_DELAYED_WORK(&ls->work, accept_pending);
}

/**
 * rnic_accept_begin() - accept on a new socket
 * @ls:	the socket, which has a listener: without one, connections would be closed
 *
 * Context: process.
 */
void rnic_accept_begin(struct rnic_lsock *ls)
{
	rnic_sock_redirect(&ls->s, queue_accept);
	queue_accept(&ls->s, RNIC_SOCK_DATA);
}

/**
 * rnic_accept_stop() - accept no more, and wait for the work
 * @ls:	the socket, which has no listener
 *
 * Context: process.
 */
void rnic_accept_stop(struct rnic_lsock *ls)
{
	rnic_sock_unhook(&ls->s);
	cancel_delayed_work_sync(&ls->work);
}

/**
 * rnic_accept_add() - add a listener to a socket
 * @ls:	the socket
 * @l:	the listener
 *
 * Context: process.
 */
void rnic_accept_add(struct rnic_lsock *ls, struct rnic_listener *l)
{
	mutex_lock(&accept_lock);
	list_add_tail(&l->node, &ls->listeners);
	/* The first pending connection may be for this device. */
	if (ls->full)
		retry_lsock(ls);
	mutex_unlock(&accept_lock);
}

/**
 * rnic_accept_remove() - remove a listener from a socket
 * @ls:	the socket
 * @l:	the listener, which gets no new endpoint after this
 *
 * Context: process.
 * Return: true if it was the last.
 */
bool rnic_accept_remove(struct rnic_lsock *ls, struct rnic_listener *l)
{
	bool last;

	mutex_lock(&accept_lock);
	list_del(&l->node);
	if (ls->full == l) {
		set_full(ls, NULL);
		retry_lsock(ls);
	}
	last = list_empty(&ls->listeners);
	mutex_unlock(&accept_lock);
	return last;
}
