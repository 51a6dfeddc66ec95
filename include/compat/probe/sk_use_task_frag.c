// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.2; stable 6.1 has it since 6.1.191 or .192, Debian's 6.1.0-55. */
#include <net/sock.h>

static inline void probe(struct sock *sk)
{
	sk->sk_use_task_frag = false;
}
