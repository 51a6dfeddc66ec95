// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.2. */
#include <net/net_namespace.h>

static inline void probe(struct net *net, netns_tracker *tracker)
{
	__netns_tracker_free(net, tracker, false);
}
