// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Up to Linux 6.4. Since 6.5 MSG_SPLICE_PAGES replaces it. */
#include <net/tcp.h>

static inline int probe(struct sock *sk, struct page *page)
{
	return tcp_sendpage_locked(sk, page, 0, 0, 0);
}
