/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory cgroups. A kernel may be built without them.
 */
#ifndef _COMPAT_MEMCG_H
#define _COMPAT_MEMCG_H

#include <linux/sched/mm.h>
#include <net/sock.h>

/**
 * compat_sock_memcg() - get the cgroup to which a socket's memory is charged
 * @sk:	the socket
 *
 * Return: the cgroup, valid as long as the socket; NULL if the memory is not charged.
 */
static inline struct mem_cgroup *compat_sock_memcg(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	return sk->sk_memcg;
#else
	return NULL;
#endif
}

#endif /* _COMPAT_MEMCG_H */
