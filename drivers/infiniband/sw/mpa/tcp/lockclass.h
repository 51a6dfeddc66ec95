/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Lockdep classes of the driver's sockets.
 */
#ifndef _RNIC_LOCKCLASS_H
#define _RNIC_LOCKCLASS_H

#include <linux/net.h>

#include "tcp/sock.h"

#ifdef CONFIG_DEBUG_LOCK_ALLOC
void rnic_lockclass_set(struct rnic_sock *s);
void rnic_lockclass_release(struct rnic_sock *s);
#else
static inline void rnic_lockclass_set(struct rnic_sock *s)
{
}

static inline void rnic_lockclass_release(struct rnic_sock *s)
{
	sock_release(s->sock);
}
#endif

#endif
