// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * "rdma link add <name> type mpa netdev <dev>", and events of network devices.
 */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

#include "device.h"

/* True if TCP works over this kind of network device. */
static bool is_suitable(const struct net_device *ndev)
{
	switch (ndev->type) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
	case ARPHRD_NONE:
		return true;
	default:
		return false;
	}
}

static int create_link(const char *name, struct net_device *ndev)
{
	if (!is_suitable(ndev)) {
		pr_warn_ratelimited("rdma_mpa: no RNIC on %s: type %u\n",
				    ndev->name, ndev->type);
		return -EINVAL;
	}
	return rnic_dev_create(name, ndev);
}

static struct rdma_link_ops link_ops = {
	.type = "mpa",
	.newlink = create_link,
};

static void send_event(const struct net_device *ndev, void (*event)(struct rnic_dev *dev))
{
	struct rnic_dev *dev = rnic_dev_find_netdev(ndev);

	if (!dev)
		return;
	event(dev);
	rnic_dev_put(dev);
}

/* Context: process, RTNL held. */
static int handle_netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		send_event(ndev, rnic_port_link_event);
		break;
	case NETDEV_CHANGEADDR:
		send_event(ndev, rnic_dev_address_event);
		break;
	case NETDEV_CHANGENAME:
		send_event(ndev, rnic_port_rename_event);
		break;
	case NETDEV_UNREGISTER:
		rnic_dev_forget_netdev(ndev);
		break;
	default:
		/* The MTU is read when it is needed. */
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = {
	.notifier_call = handle_netdev_event,
};

/**
 * rnic_link_init() - allow creation of devices, and register for network device events
 *
 * Context: process; module start.
 * Return: 0 or -errno.
 */
int rnic_link_init(void)
{
	int ret = register_netdevice_notifier(&netdev_nb);

	if (!ret)
		rdma_link_register(&link_ops);
	return ret;
}

/**
 * rnic_link_exit() - undo rnic_link_init(), and wait for creations and event handlers
 *
 * Context: process; module exit.
 */
void rnic_link_exit(void)
{
	rdma_link_unregister(&link_ops);
	unregister_netdevice_notifier(&netdev_nb);
}

MODULE_ALIAS_RDMA_LINK("mpa");
