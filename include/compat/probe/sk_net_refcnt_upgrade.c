// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.14, and stable 6.12 and 6.13. */
#include <net/sock.h>

static inline void probe(struct sock *sk)
{
	sk_net_refcnt_upgrade(sk);
}
