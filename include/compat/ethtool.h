/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a network device says of its link.
 */
#ifndef _COMPAT_ETHTOOL_H
#define _COMPAT_ETHTOOL_H

#include <linux/ethtool.h>

/*
 * __ethtool_get_link_ksettings() for a notifier of NETDEV_UP, _DOWN or _CHANGE. Network
 * devices may have a lock of their own, which that takes and these notifiers are called with.
 */
#ifdef COMPAT_HAS_netif_get_link_ksettings
#define compat_notifier_link_ksettings netif_get_link_ksettings
#else
#define compat_notifier_link_ksettings __ethtool_get_link_ksettings
#endif

#endif /* _COMPAT_ETHTOOL_H */
