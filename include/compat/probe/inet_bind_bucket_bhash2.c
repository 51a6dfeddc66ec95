// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.8. Before, a bucket of the ports has the list of its sockets itself. */
#include <net/inet_hashtables.h>

static inline bool probe(struct inet_bind_bucket *tb)
{
	return hlist_empty(&tb->bhash2);
}
