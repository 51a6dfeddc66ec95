// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.10. Before, sysctl_max_skb_frags is a variable of its own. */
#include <net/hotdata.h>

static inline int probe(void)
{
	return net_hotdata.sysctl_max_skb_frags;
}
