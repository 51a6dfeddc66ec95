/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory cgroups, which a kernel may be built without.
 */
#ifndef _COMPAT_MEMCG_H
#define _COMPAT_MEMCG_H

#include <linux/sched/mm.h>
#include <net/sock.h>

/**
 * compat_sock_memcg() - the cgroup that a socket's memory is charged to
 * @sk:	the socket
 *
 * Return: the cgroup, which stays as long as the socket; NULL when it is not charged.
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
