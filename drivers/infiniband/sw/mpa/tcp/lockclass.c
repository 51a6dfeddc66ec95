// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Lockdep classes of the driver's sockets. All kernel sockets share one class, so lockdep
 * would mix the locks that one RDMA consumer holds around our socket lock with the locks that
 * another consumer takes inside its own kernel sockets, and report deadlocks that cannot
 * happen.
 *
 * The spinlock inside the socket lock keeps the kernel's class. A softirq may take it at any time,
 * and lockdep reads the class before it takes the spinlock, so the class must not change while the
 * socket is in use. It needs no class of ours, because nobody can take a consumer's mutex with a
 * spinlock held.
 *
 * sock_lock_init_class_and_name() cannot be used. It initializes the spinlock, which a softirq
 * may hold on an accepted socket, and it makes the socket pin the module until TCP frees it.
 */
#include <linux/lockdep.h>
#include <net/sock.h>

#include "tcp/lockclass.h"

#ifdef CONFIG_DEBUG_LOCK_ALLOC
/* For IPv4 and IPv6 */
static struct lock_class_key sk_keys[2];
static const char * const sk_names[] = {
	"sk_lock-AF_INET-RDMA-MPA", "sk_lock-AF_INET6-RDMA-MPA"
};

/**
 * rnic_lockclass_set() - give a socket's lock the driver's class
 * @s:	a new or just accepted socket
 *
 * Context: process, socket lock not held by anybody.
 */
void rnic_lockclass_set(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;
	bool v6 = sk->sk_family == AF_INET6;

	s->kernels_lock = sk->sk_lock.dep_map;
	lockdep_set_class_and_name(&sk->sk_lock, &sk_keys[v6], sk_names[v6]);
}

/**
 * rnic_lockclass_release() - release a socket and restore the class of its lock
 * @s:	an unhooked socket
 *
 * TCP may keep the socket for minutes, in which the module may be unloaded and its class with
 * it.
 *
 * Context: process, socket lock not held.
 */
void rnic_lockclass_release(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	sock_hold(sk);
	sock_release(s->sock);
	lockdep_set_class_and_name(&sk->sk_lock, s->kernels_lock.key, s->kernels_lock.name);
	sock_put(sk);
}
#endif
