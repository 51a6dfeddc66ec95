// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 7.2, since when __ethtool_get_link_ksettings() takes the lock of the network device. */
#include <linux/ethtool.h>

static inline int probe(struct net_device *ndev, struct ethtool_link_ksettings *ks)
{
	return netif_get_link_ksettings(ndev, ks);
}
