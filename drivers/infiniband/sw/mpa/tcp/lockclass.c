// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Lockdep classes of the driver's sockets. All kernel sockets share one class, so lockdep
 * would mix the locks that one RDMA consumer holds around our socket lock with the locks that
 * another consumer takes inside its own kernel sockets, and report deadlocks that cannot
 * happen.
 *
 * sock_lock_init_class_and_name() cannot be used. It initializes the spinlock, which a softirq
 * may hold on an accepted socket, and it makes the socket pin the module until TCP frees it.
 */
#include <linux/lockdep.h>
#include <net/sock.h>

#include "tcp/lockclass.h"

#ifdef CONFIG_DEBUG_LOCK_ALLOC
/* The socket lock and its spinlock, for IPv4 and IPv6 */
static struct lock_class_key sk_keys[2], slock_keys[2];

static const char * const sk_names[] = {
	"sk_lock-AF_INET-RDMA-MPA", "sk_lock-AF_INET6-RDMA-MPA"
};

static const char * const slock_names[] = {
	"slock-AF_INET-RDMA-MPA", "slock-AF_INET6-RDMA-MPA"
};

/* A softirq may take the spinlock at any time, so change its class while holding it. */
static void set_classes(struct sock *sk, const struct lockdep_map *lock,
			const struct lockdep_map *slock)
{
	spin_lock_bh(&sk->sk_lock.slock);
	lock_set_class(&sk->sk_lock.slock.dep_map, slock->name, slock->key, 0, _THIS_IP_);
	lockdep_init_map(&sk->sk_lock.dep_map, lock->name, lock->key, 0);
	spin_unlock_bh(&sk->sk_lock.slock);
}

/**
 * rnic_lockclass_set() - give a socket's locks the driver's classes
 * @s:	a new or just accepted socket
 *
 * Context: process, socket lock not held by anybody.
 */
void rnic_lockclass_set(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;
	bool v6 = sk->sk_family == AF_INET6;
	struct lockdep_map lock = { .name = sk_names[v6], .key = &sk_keys[v6] };
	struct lockdep_map slock = { .name = slock_names[v6], .key = &slock_keys[v6] };

	s->kernels_lock = sk->sk_lock.dep_map;
	s->kernels_slock = sk->sk_lock.slock.dep_map;
	set_classes(sk, &lock, &slock);
}

/**
 * rnic_lockclass_release() - release a socket and restore the classes of its locks
 * @s:	an unhooked socket
 *
 * TCP may keep the socket for minutes, in which the module may be unloaded and its classes with
 * it.
 *
 * Context: process, socket lock not held.
 */
void rnic_lockclass_release(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	sock_hold(sk);
	sock_release(s->sock);
	set_classes(sk, &s->kernels_lock, &s->kernels_slock);
	sock_put(sk);
}
#endif
