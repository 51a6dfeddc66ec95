// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The port: attributes that ib_core gets from the network device.
 *
 * The reference. The device holds its network device from attach to detach, which happens when
 * either is unregistered. Readers take a reference of their own under RCU. That is safe,
 * because the network stack waits for a grace period between its notifiers and dropping its
 * own reference. We do not use ib_device_set_netdev(), because siw and rxe take any device
 * found that way for theirs.
 *
 * The GID. rdma_cm copies the first bytes of the network device's address buffer, the MAC and
 * then zeros, and searches a device with that GID. Before 6.6 that fails for lo and tunnels,
 * which have no MAC, because rdma_cm never finds a GID of zeros. So we write a tag into the
 * buffer behind the address, where rdma_cm reads it and the network stack does not (addr_len),
 * and clear it on detach. The tag also tells the lo of several namespaces apart.
 */
#include <linux/jhash.h>
#include <linux/rtnetlink.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>
#include <compat/ethtool.h>

#include "device.h"

/* Where the tag is in the GID: the interface id. */
#define TAG_OFFSET	8
#define TAG_SIZE	8
static_assert(TAG_OFFSET + TAG_SIZE == sizeof(union ib_gid));
static_assert(sizeof(union ib_gid) <= MAX_ADDR_LEN);

static const struct {
	u32 mbit;
	u16 speed;
	u8 width;
} speeds[] = {
	{ 2500, IB_SPEED_SDR, IB_WIDTH_1X },
	{ 5000, IB_SPEED_DDR, IB_WIDTH_1X },
	{ 10000, IB_SPEED_FDR10, IB_WIDTH_1X },
	{ 20000, IB_SPEED_DDR, IB_WIDTH_4X },
	{ 25000, IB_SPEED_EDR, IB_WIDTH_1X },
	{ 40000, IB_SPEED_FDR10, IB_WIDTH_4X },
	{ 56000, IB_SPEED_FDR, IB_WIDTH_4X },
	{ 100000, IB_SPEED_EDR, IB_WIDTH_4X },
	{ 200000, IB_SPEED_HDR, IB_WIDTH_4X },
	{ U32_MAX, IB_SPEED_NDR, IB_WIDTH_4X },
};

typedef int (*link_ksettings_fn)(struct net_device *ndev, struct ethtool_link_ksettings *ks);

/*
 * Virtual devices report no speed; assume 10 Gb/s. The caller holds RTNL, and the network device's
 * own lock if @get needs it.
 */
static void refresh_speed(struct rnic_dev *dev, struct net_device *ndev, link_ksettings_fn get)
{
	struct ethtool_link_ksettings ks;
	u32 mbit = SPEED_10000;
	int i = 0;

	if (!get(ndev, &ks) &&
	    ks.base.speed != (u32)SPEED_UNKNOWN && ks.base.speed)
		mbit = ks.base.speed;
	while (speeds[i].mbit < mbit)
		i++;
	WRITE_ONCE(dev->speed, speeds[i].speed);
	WRITE_ONCE(dev->width, speeds[i].width);
}

/**
 * rnic_port_take_speed() - set the speed of a new device
 * @dev:	the device
 * @ndev:	its network device, not attached yet
 *
 * Context: process, RTNL held, the network device's own lock not held.
 */
void rnic_port_take_speed(struct rnic_dev *dev, struct net_device *ndev)
{
	refresh_speed(dev, ndev, __ethtool_get_link_ksettings);
}

/* A running loopback is active without a carrier. Tunnels have a carrier while they run. */
static enum ib_port_state get_port_state(const struct net_device *ndev)
{
	if (!ndev || !netif_running(ndev))
		return IB_PORT_DOWN;
	if (ndev->flags & IFF_LOOPBACK || netif_carrier_ok(ndev))
		return IB_PORT_ACTIVE;
	return IB_PORT_DOWN;
}

static bool has_mac(const struct net_device *ndev)
{
	return ndev->addr_len && memchr_inv(ndev->dev_addr, 0, ndev->addr_len);
}

/* The tag is the same after a reboot, and differs between hosts and namespaces. */
static void make_tag(const struct net_device *ndev, u32 salt, u8 tag[TAG_SIZE])
{
	const char *node = init_utsname()->nodename;
	u32 hash = jhash(node, strlen(node), dev_net(ndev)->ns.inum + salt);

	tag[0] = 0x02;
	tag[1] = 'm';
	tag[2] = ndev->ifindex >> 8;
	tag[3] = ndev->ifindex;
	memcpy(&tag[4], &hash, sizeof(hash));
}

static bool set_tag(struct rnic_dev *dev, struct net_device *ndev, u32 salt)
{
	u8 tag[TAG_SIZE];

	ASSERT_RTNL();
	if (ndev->addr_len > TAG_OFFSET)
		return false;
	make_tag(ndev, salt, tag);
	dev_addr_mod(ndev, TAG_OFFSET, tag, sizeof(tag));
	dev->tagged = true;
	return true;
}

static void clear_tag(struct rnic_dev *dev, struct net_device *ndev)
{
	static const u8 none[TAG_SIZE];

	ASSERT_RTNL();
	if (dev->tagged)
		dev_addr_mod(ndev, TAG_OFFSET, none, sizeof(none));
	dev->tagged = false;
}

/* The lock is for readers, which do not hold RTNL. */
static void copy_gid(struct rnic_dev *dev, const struct net_device *ndev)
{
	spin_lock(&dev->gid_lock);
	memcpy(&dev->gid, ndev->dev_addr, sizeof(dev->gid));
	spin_unlock(&dev->gid_lock);
}

/**
 * rnic_port_set_guid() - derive the node GUID from the GID
 * @dev:	the device, not registered yet
 *
 * The GUID is made from the MAC, or is the tag. It is not the EUI-64, which other drivers take for
 * a device on the same interface, because NVMe and iSER find their device by the GUID alone.
 *
 * Context: process, RTNL held.
 */
void rnic_port_set_guid(struct rnic_dev *dev)
{
	u8 *guid = (u8 *)&dev->ibdev.node_guid;
	const u8 *mac = dev->gid.raw;

	if (dev->tagged) {
		memcpy(guid, &dev->gid.raw[TAG_OFFSET], TAG_SIZE);
		return;
	}
	memcpy(guid, mac, 3);
	guid[0] ^= 0x02;
	guid[3] = 'm';
	guid[4] = 'p';
	memcpy(guid + 5, mac + 3, 3);
}

/**
 * rnic_port_attach() - attach a network device
 * @dev:	the device, not registered yet
 * @ndev:	the network device
 *
 * Context: process, RTNL held.
 * Return: 0, or -ENODEV if @ndev is being unregistered.
 */
int rnic_port_attach(struct rnic_dev *dev, struct net_device *ndev)
{
	ASSERT_RTNL();
	if (ndev->reg_state != NETREG_REGISTERED)
		return -ENODEV;
	netdev_hold(ndev, &dev->ndev_tracker, GFP_KERNEL);
	dev->net = dev_net(ndev);
	dev->ifindex = ndev->ifindex;
	spin_lock_init(&dev->gid_lock);
	if (!has_mac(ndev))
		set_tag(dev, ndev, 0);
	copy_gid(dev, ndev);
	rnic_port_set_guid(dev);
	strscpy(dev->ibdev.iw_ifname, ndev->name, IFNAMSIZ);
	dev->port_state = get_port_state(ndev);
	rcu_assign_pointer(dev->ndev, ndev);
	return 0;
}

/**
 * rnic_port_set_apart() - change a GID that another device has
 * @dev:	the device, with a network device
 * @salt:	not 0; each value gives another GID
 *
 * Context: process, RTNL held.
 * Return: false if the network device's address leaves no space for a tag.
 */
bool rnic_port_set_apart(struct rnic_dev *dev, u32 salt)
{
	struct net_device *ndev = rtnl_dereference(dev->ndev);

	if (!set_tag(dev, ndev, salt))
		return false;
	copy_gid(dev, ndev);
	return true;
}

/**
 * rnic_port_detach() - detach the network device, if there is one
 * @dev:	the device
 *
 * Context: process, RTNL held.
 */
void rnic_port_detach(struct rnic_dev *dev)
{
	struct net_device *ndev = rtnl_dereference(dev->ndev);

	if (!ndev)
		return;
	RCU_INIT_POINTER(dev->ndev, NULL);
	clear_tag(dev, ndev);
	netdev_put(ndev, &dev->ndev_tracker);
}

/*
 * Report nothing while the network device is being unregistered. ib_core asks for the port's
 * attributes before it passes an event on, and cannot, because it asks the network device first;
 * it would log that. The end of the device, which follows, is reported anyway.
 */
static void dispatch_event(struct rnic_dev *dev, enum ib_event_type type)
{
	struct net_device *ndev = rtnl_dereference(dev->ndev);
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = type,
	};

	if (ndev && !ndev->dismantle)
		ib_dispatch_event(&event);
}

static void refresh_link(struct rnic_dev *dev, link_ksettings_fn get)
{
	struct net_device *ndev = rtnl_dereference(dev->ndev);
	enum ib_port_state state = get_port_state(ndev);

	if (ndev)
		refresh_speed(dev, ndev, get);
	if (state == dev->port_state)
		return;
	dev->port_state = state;
	dispatch_event(dev, state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE :
						IB_EVENT_PORT_ERR);
}

/**
 * rnic_port_link_event() - update the link state from a notifier
 * @dev:	the device, registered; the caller has a reference
 *
 * Context: a notifier of NETDEV_UP, NETDEV_DOWN or NETDEV_CHANGE, which holds RTNL, and the
 * network device's own lock if it has one.
 */
void rnic_port_link_event(struct rnic_dev *dev)
{
	refresh_link(dev, compat_notifier_link_ksettings);
}

/**
 * rnic_port_link_catch_up() - update the link state outside of a notifier
 * @dev:	the device, registered; the caller has a reference
 *
 * Context: process, RTNL held, the network device's own lock not held.
 */
void rnic_port_link_catch_up(struct rnic_dev *dev)
{
	refresh_link(dev, __ethtool_get_link_ksettings);
}

/**
 * rnic_port_take_gid() - update the GID after a change of the MAC
 * @dev:	the device, registered; the caller has a reference
 *
 * The node GUID does not change while the device exists.
 *
 * Context: process, RTNL held.
 * Return: false if the network device is detached.
 */
bool rnic_port_take_gid(struct rnic_dev *dev)
{
	struct net_device *ndev = rtnl_dereference(dev->ndev);

	if (ndev)
		copy_gid(dev, ndev);
	return ndev;
}

/**
 * rnic_port_tell_gid() - report a change of the GID to ib_core
 * @dev:	the device, registered; the caller has a reference
 *
 * Context: process, RTNL held.
 */
void rnic_port_tell_gid(struct rnic_dev *dev)
{
	dispatch_event(dev, IB_EVENT_GID_CHANGE);
}

/**
 * rnic_port_rename_event() - update the name of the network device
 * @dev:	the device
 *
 * Context: process, RTNL held.
 */
void rnic_port_rename_event(struct rnic_dev *dev)
{
	struct net_device *ndev = rtnl_dereference(dev->ndev);

	if (ndev)
		strscpy(dev->ibdev.iw_ifname, ndev->name, IFNAMSIZ);
}

/**
 * rnic_port_query() - ib_device_ops.query_port
 * @ibdev:	the device
 * @port:	its port
 * @attr:	filled in; zeroed or partly filled by ib_core
 *
 * Context: process; does not take RTNL.
 * Return: 0.
 */
int rnic_port_query(struct ib_device *ibdev, u32 port,
		    struct ib_port_attr *attr)
{
	struct rnic_dev *dev = rnic_dev(ibdev);
	struct net_device *ndev = rnic_dev_netdev(dev);

	attr->state = get_port_state(ndev);
	attr->phys_state = attr->state == IB_PORT_ACTIVE ?
			   IB_PORT_PHYS_STATE_LINK_UP :
			   IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = ib_mtu_int_to_enum(ndev ? READ_ONCE(ndev->mtu) : 0);
	attr->phys_mtu = ndev ? READ_ONCE(ndev->mtu) : 0;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = RNIC_MAX_MSG_SIZE;
	attr->max_vl_num = 1;
	attr->active_speed = READ_ONCE(dev->speed);
	attr->active_width = READ_ONCE(dev->width);
	dev_put(ndev);
	return 0;
}

/**
 * rnic_port_query_gid() - ib_device_ops.query_gid
 * @ibdev:	the device
 * @port:	its port
 * @index:	0
 * @gid:	filled in
 *
 * Context: process. Does not take RTNL, because ib_core holds locks that it takes inside RTNL
 * elsewhere.
 * Return: 0 or -EINVAL.
 */
int rnic_port_query_gid(struct ib_device *ibdev, u32 port, int index,
			union ib_gid *gid)
{
	struct rnic_dev *dev = rnic_dev(ibdev);

	if (index)
		return -EINVAL;
	spin_lock(&dev->gid_lock);
	*gid = dev->gid;
	spin_unlock(&dev->gid_lock);
	return 0;
}

/**
 * rnic_port_query_pkey() - ib_device_ops.query_pkey: the default partition key
 * @ibdev:	the device
 * @port:	its port
 * @index:	0
 * @pkey:	filled
 *
 * iWARP has no partitions, but rdma_cm needs a key to choose a device for a loopback address.
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int rnic_port_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

/**
 * rnic_port_immutable() - ib_device_ops.get_port_immutable
 * @ibdev:	the device
 * @port:	its port
 * @immutable:	filled
 *
 * Return: 0.
 */
int rnic_port_immutable(struct ib_device *ibdev, u32 port,
			struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/**
 * rnic_port_get_netdev() - ib_device_ops.get_netdev
 * @ibdev:	the device
 * @port:	its port
 *
 * Context: any.
 * Return: as rnic_dev_netdev().
 */
struct net_device *rnic_port_get_netdev(struct ib_device *ibdev, u32 port)
{
	return rnic_dev_netdev(rnic_dev(ibdev));
}
