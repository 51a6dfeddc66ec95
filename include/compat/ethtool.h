/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Link settings of network devices.
 */
#ifndef _COMPAT_ETHTOOL_H
#define _COMPAT_ETHTOOL_H

#include <linux/ethtool.h>

/*
 * __ethtool_get_link_ksettings() for a notifier of NETDEV_UP, _DOWN or _CHANGE. Newer kernels call
 * these notifiers with the instance lock of the network device held, which that function takes.
 */
#ifdef COMPAT_HAS_netif_get_link_ksettings
#define compat_notifier_link_ksettings netif_get_link_ksettings
#else
#define compat_notifier_link_ksettings __ethtool_get_link_ksettings
#endif

#endif /* _COMPAT_ETHTOOL_H */
