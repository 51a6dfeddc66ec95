// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Facts about rdma_cm that iw_cm does not pass on: the program, its namespace, the owner of a
 * queue pair, and the requests that are not answered yet. Only this file relies on rdma_cm's
 * own structs.
 */
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "conn/ep.h"
#include "conn/rdmacm.h"
#include "core/dev.h"

/*
 * The context of an iw_cm_id is a struct rdma_id_private, which begins with the struct
 * rdma_cm_id, because rdma_cm is the only consumer of iw_cm_connect(), iw_cm_accept() and
 * iw_cm_listen(). There never was another one; it would have to be told apart here.
 */
static const struct rdma_cm_id *get_rdma_id(const struct iw_cm_id *cm_id)
{
	return cm_id->context;
}

/**
 * rnic_rdmacm_net() - namespace of the program that connects or listens
 * @cm_id:	the program's, within iw_connect or iw_create_listen
 *
 * Context: process.
 * Return: the namespace; the program's reference holds it.
 */
struct net *rnic_rdmacm_net(const struct iw_cm_id *cm_id)
{
	return get_rdma_id(cm_id)->route.addr.dev_addr.net;
}

/* True if one of the interfaces is the other, or above it, as a VLAN or a bridge is. */
static bool share_cable(struct net_device *ndev, struct net_device *other)
{
	return ndev == other || netdev_has_upper_dev_all_rcu(ndev, other) ||
	       netdev_has_upper_dev_all_rcu(other, ndev);
}

static bool is_vlan_of(struct net_device *vlan, const struct net_device *parent)
{
	return is_vlan_dev(vlan) && vlan_dev_real_dev(vlan) == parent;
}

/* As rdma_cm compares since 6.6, and takes VLANs for their parents since 6.12. */
static bool are_alike(struct net_device *ndev, struct net_device *other)
{
	return ndev == other || is_vlan_of(other, ndev) || is_vlan_of(ndev, other);
}

static bool test_interfaces(const struct rnic_dev *dev, struct net *net, int ifindex,
			    bool (*test)(struct net_device *ndev, struct net_device *other))
{
	struct net_device *ndev, *other;
	bool ret;

	rcu_read_lock();
	ndev = rcu_dereference(dev->ndev);
	other = dev_get_by_index_rcu(net, ifindex);
	ret = ndev && other && test(ndev, other);
	rcu_read_unlock();
	return ret;
}

/**
 * rnic_rdmacm_is_right() - test whether rdma_cm chose a device that carries the connection
 * @cm_id:	the program's, within iw_connect or iw_create_listen
 * @dev:	the device
 *
 * rdma_cm before 6.6 knows interfaces by their MAC only, which one that has nothing to do with
 * the device may have too.
 *
 * Context: process.
 * Return: true if the interface that has the program's address, or leads to the peer, is the
 * device's, or above or below it; true if rdma_cm looked for none.
 */
bool rnic_rdmacm_is_right(const struct iw_cm_id *cm_id, const struct rnic_dev *dev)
{
	const struct rdma_dev_addr *at = &get_rdma_id(cm_id)->route.addr.dev_addr;

	return !at->bound_dev_if || test_interfaces(dev, at->net, at->bound_dev_if, share_cable);
}

/**
 * rnic_rdmacm_finds() - test whether rdma_cm will find a device for a local address
 * @dev:	the device
 * @at:		result of rdma_translate_ip() for the address
 *
 * rdma_cm before 6.6 compares GIDs. The interfaces above the device's that have its MAC have its
 * GID. Since 6.6 rdma_cm compares interfaces, and the cached GID of the device has one.
 *
 * Context: process.
 * Return: true if it finds @dev now.
 */
bool rnic_rdmacm_finds(struct rnic_dev *dev, struct rdma_dev_addr *at)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(&dev->ibdev, 1, 0);
	union ib_gid wanted;
	bool ret;

	if (IS_ERR(attr))
		return false;
	rdma_addr_get_sgid(at, &wanted);
	if (rcu_access_pointer(attr->ndev))
		ret = test_interfaces(dev, at->net, at->bound_dev_if, are_alike);
	else
		ret = test_interfaces(dev, at->net, at->bound_dev_if, share_cable) &&
		      !memcmp(&attr->gid, &wanted, sizeof(wanted));
	rdma_put_gid_attr(attr);
	return ret;
}

/* For iterate_fd(). An open ib_uverbs device has @ufile as private_data. */
static int is_file_of(const void *ufile, struct file *file, unsigned int fd)
{
	return file->private_data == ufile;
}

/**
 * rnic_rdmacm_owns() - test whether a queue pair belongs to the program
 * @cm_id:	the program's, within iw_connect or iw_accept
 * @ibqp:	the queue pair
 *
 * rdma_cm passes the number of a queue pair, which a program can make up. A kernel consumer's
 * queue pair belongs to the id that has it. A program's belongs to the tasks that have its
 * ib_uverbs file open: its threads, and children that inherited the file.
 *
 * Context: process, the program's own.
 * Return: true if it does.
 */
bool rnic_rdmacm_owns(const struct iw_cm_id *cm_id, const struct ib_qp *ibqp)
{
	const struct ib_uobject *user = ibqp->pd->uobject;

	if (!user)
		return get_rdma_id(cm_id)->qp == ibqp;
	return iterate_fd(current->files, 0, is_file_of, user->ufile);
}

/**
 * rnic_rdmacm_owner() - the program's id that a listener belongs to
 * @cm_id:	the listener's, within iw_create_listen or while it listens
 * @all:	rdma_cm listens for the address on all devices
 *
 * With @all rdma_cm has an internal id for each device. Its context is the program's id, which
 * outlives it.
 *
 * Context: process.
 * Return: the program's id, for comparison only.
 */
const void *rnic_rdmacm_owner(const struct iw_cm_id *cm_id, bool all)
{
	const struct rdma_cm_id *id = get_rdma_id(cm_id);

	return all ? id->context : id;
}

/**
 * rnic_rdmacm_has_connections() - test whether a listener is for connections
 * @cm_id:	the listener's, within iw_create_listen
 *
 * Context: process.
 * Return: false for datagrams, which iWARP does not have.
 */
bool rnic_rdmacm_has_connections(const struct iw_cm_id *cm_id)
{
	const struct rdma_cm_id *id = get_rdma_id(cm_id);

	return id->ps != RDMA_PS_UDP && id->qp_type != IB_QPT_UD;
}

/* Flag beside the request id in provider_data: rdma_cm has the request. */
#define ASKED	BIT(31)

/* rdma_cm's handler of requests, the same for all listeners. */
static iw_cm_handler ask_rdma_cm;

/*
 * Count a request, which keeps the device's struct from then on, tell its endpoint, and call
 * rdma_cm, which will answer it. Replaces ask_rdma_cm().
 */
static int count_request(struct iw_cm_id *cm_id, struct iw_cm_event *ev)
{
	unsigned long id = (unsigned long)cm_id->provider_data;
	struct rnic_dev *dev = rnic_dev(cm_id->device);
	struct rnic_ep *ep;

	atomic_inc(&dev->cm.asked);
	cm_id->provider_data = (void *)(id | ASKED);
	ep = rnic_ep_find(dev, id);
	if (ep) {
		WRITE_ONCE(ep->known, true);
		rnic_ep_put(ep);
	}
	return READ_ONCE(ask_rdma_cm)(cm_id, ev);
}

/**
 * rnic_rdmacm_count_requests() - count a listener's requests until rdma_cm answers them
 * @cm_id:	the listener's
 *
 * The iw_cm_id of a request points to our device without a reference. rdma_cm looks the device
 * up again by address. If the address moves at that moment, rdma_cm gives the request to
 * another device, and may answer after ours is gone. Counting begins in rdma_cm's handler,
 * because iw_cm may drop our event before that.
 *
 * Context: process.
 */
void rnic_rdmacm_count_requests(struct iw_cm_id *cm_id)
{
	WRITE_ONCE(ask_rdma_cm, cm_id->cm_handler);
	cm_id->cm_handler = count_request;
}

/**
 * rnic_rdmacm_set_port() - make rdma_cm try a listener's device first
 * @cm_id:	the listener's, within iw_create_listen
 *
 * rdma_cm looks the device of a request up, and tries the one that the request came from first,
 * by the port of the listener. It leaves the port out if it listens on all devices. Since 6.12 it
 * then takes the device of a VLAN for that of its parent, or the other way round, whichever was
 * made first.
 *
 * Context: process.
 */
void rnic_rdmacm_set_port(struct iw_cm_id *cm_id)
{
	struct rdma_cm_id *id = cm_id->context;

	id->port_num = 1;
}

/**
 * rnic_rdmacm_find_answered() - find the endpoint of a request that rdma_cm answers
 * @cm_id:	made by iw_cm for the request
 *
 * Ends the count of rnic_rdmacm_count_requests(). The device may be gone; only that count then
 * keeps its struct.
 *
 * Context: process.
 * Return: the endpoint with a reference, or NULL if it is gone.
 */
struct rnic_ep *rnic_rdmacm_find_answered(struct iw_cm_id *cm_id)
{
	unsigned long id = (unsigned long)xchg(&cm_id->provider_data, NULL);
	struct rnic_dev *dev = rnic_dev(cm_id->device);
	struct rnic_ep *ep = rnic_ep_find(dev, id & ~ASKED);

	if (id & ASKED && atomic_dec_and_test(&dev->cm.asked))
		wake_up_var(&dev->cm.asked);
	return ep;
}
