// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The port: what our network device tells ib_core about.
 *
 * The reference. We hold the network device from attach to detach; detach comes
 * when the network device is unregistered or we are taken down, whichever is
 * first. Readers take their own reference under RCU: after its notifiers the
 * network stack waits for a grace period before it lets go of its own, so what
 * an RCU reader sees can still be held. ib_device_set_netdev() is not for us:
 * siw and rxe take any device found that way for their own.
 *
 * The GID. rdma_cm copies the first bytes of the network device's address
 * buffer and looks for a device with this GID: the MAC, then zeros. On kernels
 * before 6.6 that fails for devices without a MAC, lo and tunnels, since nobody
 * finds a GID of zeros. For these we put a tag of our own into the buffer, past
 * the address as far as the network stack is concerned (addr_len) but not
 * rdma_cm, and take it away on detach. It also keeps apart the lo of several
 * namespaces.
 */
#include <linux/if_arp.h>
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
 * Virtual devices have no speed: 10 Gb/s then. Caller holds RTNL, and the network device's own
 * lock if get wants it.
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

/* Loopback and tunnels have a carrier, or none to look at, when they are up. */
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

/* Stable from boot to boot, different on each machine and in each namespace. */
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

/* Readers do not hold RTNL. */
static void copy_gid(struct rnic_dev *dev, const struct net_device *ndev)
{
	spin_lock(&dev->gid_lock);
	memcpy(&dev->gid, ndev->dev_addr, sizeof(dev->gid));
	spin_unlock(&dev->gid_lock);
}

/**
 * rnic_port_set_guid() - name a device by its GID
 * @dev:	the device, not registered yet
 *
 * The name is the EUI-64 of the MAC, or the tag.
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
	guid[3] = 0xff;
	guid[4] = 0xfe;
	memcpy(guid + 5, mac + 3, 3);
}

/**
 * rnic_port_attach() - take a network device
 * @dev:	the device, not registered yet
 * @ndev:	the network device
 *
 * Caller holds RTNL.
 *
 * Return: 0, or -ENODEV when @ndev is on its way out.
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
	refresh_speed(dev, ndev, __ethtool_get_link_ksettings);
	dev->port_state = get_port_state(ndev);
	rcu_assign_pointer(dev->ndev, ndev);
	return 0;
}

/**
 * rnic_port_set_apart() - change a GID that another device has
 * @dev:	the device, with a network device
 * @salt:	not 0; another GID for each
 *
 * Caller holds RTNL.
 *
 * Return: false when that cannot be done.
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
 * rnic_port_detach() - let go of the network device, if we have one
 * @dev:	the device
 *
 * Caller holds RTNL.
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

static void dispatch_event(struct rnic_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = type,
	};

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
 * rnic_port_link_event() - the link may have gone up or down
 * @dev:	the device, registered; the caller has a reference
 *
 * Caller is a notifier of NETDEV_UP, NETDEV_DOWN or NETDEV_CHANGE: it holds RTNL, and the
 * network device's own lock if that has one.
 */
void rnic_port_link_event(struct rnic_dev *dev)
{
	refresh_link(dev, compat_notifier_link_ksettings);
}

/**
 * rnic_port_link_catch_up() - the link may have gone up or down unseen
 * @dev:	the device, registered; the caller has a reference
 *
 * Caller holds RTNL, and not the network device's own lock.
 */
void rnic_port_link_catch_up(struct rnic_dev *dev)
{
	refresh_link(dev, __ethtool_get_link_ksettings);
}

/**
 * rnic_port_take_gid() - the MAC changed, and the GID with it
 * @dev:	the device, registered; the caller has a reference
 *
 * The node GUID stays: it is the device's name for life. Caller holds RTNL.
 *
 * Return: false when there is no network device any more.
 */
bool rnic_port_take_gid(struct rnic_dev *dev)
{
	struct net_device *ndev = rtnl_dereference(dev->ndev);

	if (ndev)
		copy_gid(dev, ndev);
	return ndev;
}

/**
 * rnic_port_tell_gid() - report that the GID changed
 * @dev:	the device, registered; the caller has a reference
 *
 * Context: process.
 */
void rnic_port_tell_gid(struct rnic_dev *dev)
{
	dispatch_event(dev, IB_EVENT_GID_CHANGE);
}

/**
 * rnic_port_rename_event() - the network device has a new name
 * @dev:	the device
 *
 * Caller holds RTNL.
 */
void rnic_port_rename_event(struct rnic_dev *dev)
{
	struct net_device *ndev = rtnl_dereference(dev->ndev);

	if (ndev)
		strscpy(dev->ibdev.iw_ifname, ndev->name, IFNAMSIZ);
}

/**
 * rnic_port_query() - tell about the port
 * @ibdev:	the device
 * @port:	its port
 * @attr:	filled; zeroed or partly filled by ib_core
 *
 * Does not take RTNL.
 *
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
 * rnic_port_query_gid() - the GID rdma_cm will look for
 * @ibdev:	the device
 * @port:	its port
 * @index:	0
 * @gid:	filled
 *
 * Context: process. RTNL is not taken: ib_core asks with locks held that are taken inside
 * RTNL elsewhere.
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
 * rnic_port_query_pkey() - the default partition key
 * @ibdev:	the device
 * @port:	its port
 * @index:	0
 * @pkey:	filled
 *
 * iWARP knows no partitions, but rdma_cm asks for a key when it picks a device
 * for a loopback address.
 *
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
 * rnic_port_immutable() - what never changes about the port
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
 * rnic_port_get_netdev() - the network device, for ib_core
 * @ibdev:	the device
 * @port:	its port
 *
 * Return: as rnic_dev_netdev().
 */
struct net_device *rnic_port_get_netdev(struct ib_device *ibdev, u32 port)
{
	return rnic_dev_netdev(rnic_dev(ibdev));
}
