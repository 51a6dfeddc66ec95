// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Creation and removal of devices.
 *
 * Creation allocates the device, attaches the network device, adds it to the list of all
 * devices, and registers it. "rdma link delete", unregistration of the network device (queued
 * by link.c) and module exit all make ib_core call dealloc_driver(), when no operation of ours
 * runs and all objects are gone.
 *
 * The struct stays in the list until the next creation or module exit reaps it, and not before
 * rdma_cm has answered all its requests: see rnic_rdmacm_count_requests(). Reaping calls
 * ib_unregister_device() once more, because that returns only after the task that removed the
 * device has left our code, and so makes unloading safe. ib_unregister_driver() would do the
 * same, but also removes siw's devices, because the user ABI makes us share its driver id.
 */
#include <linux/mutex.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/siw-abi.h>
#include <compat/verbs.h>

#include "conn/cm.h"
#include "device.h"
#include "mem/mr.h"
#include "qp/cq.h"
#include "qp/qp.h"
#include "qp/srq.h"
#include "ring/ring.h"
#include "verbs.h"

COMPAT_REG_USER_MR(reg_user_mr, rnic_reg_user_mr)

/* All devices. Taken inside RTNL; not held across calls to ib_core. */
static DEFINE_MUTEX(devs_lock);
static LIST_HEAD(devs);

/* Find the device of a network device. */
static struct rnic_dev *find_dev(const struct net_device *ndev)
{
	struct rnic_dev *dev;

	lockdep_assert_held(&devs_lock);
	list_for_each_entry(dev, &devs, node)
		if (rcu_access_pointer(dev->ndev) == ndev)
			return dev;
	return NULL;
}

/*
 * True if another device has the same GID or node GUID, as with interfaces of one MAC. rdma_cm
 * before 6.6 takes the first device with a GID, and librdmacm the first with a node GUID.
 */
static bool has_twin(const struct rnic_dev *dev)
{
	const struct rnic_dev *other;

	lockdep_assert_held(&devs_lock);
	list_for_each_entry(other, &devs, node)
		if (other != dev && rcu_access_pointer(other->ndev) &&
		    (other->ibdev.node_guid == dev->ibdev.node_guid ||
		     !memcmp(&other->gid, &dev->gid, sizeof(dev->gid))))
			return true;
	return false;
}

/**
 * rnic_dev_address_event() - update the GID after a change of the MAC
 * @dev:	the device, registered; the caller has a reference
 *
 * The new GID differs from those of our other devices. ib_core is told only if there is a new one,
 * because the device is without a GID for a moment then, and rdma_cm does not find it.
 *
 * Context: process, RTNL held.
 */
void rnic_dev_address_event(struct rnic_dev *dev)
{
	union ib_gid old = dev->gid;
	u32 salt = 0;

	if (!rnic_port_take_gid(dev))
		return;
	mutex_lock(&devs_lock);
	while (has_twin(dev) && rnic_port_set_apart(dev, ++salt))
		;
	mutex_unlock(&devs_lock);
	if (memcmp(&old, &dev->gid, sizeof(old)))
		rnic_port_tell_gid(dev);
}

/**
 * rnic_dev_find_netdev() - find the device of a network device
 * @ndev:	the network device
 *
 * Context: process.
 * Return: the device, which stays registered until rnic_dev_put(), or NULL.
 */
struct rnic_dev *rnic_dev_find_netdev(const struct net_device *ndev)
{
	struct rnic_dev *dev;

	mutex_lock(&devs_lock);
	dev = find_dev(ndev);
	if (dev && !ib_device_try_get(&dev->ibdev))
		dev = NULL;
	mutex_unlock(&devs_lock);
	return dev;
}

/**
 * rnic_dev_is_ours() - test for a device of this driver
 * @ibdev:	a device
 *
 * Context: any.
 * Return: true if it is.
 */
bool rnic_dev_is_ours(const struct ib_device *ibdev)
{
	return ibdev->ops.owner == THIS_MODULE;
}

/* Find a queue pair of the program that has an ib_uverbs file open. */
static struct ib_qp *find_qp_of(struct rnic_dev *dev, const struct file *verbs, u32 qpn)
{
	struct ib_qp *ibqp;

	if (!ib_device_try_get(&dev->ibdev))
		return NULL;
	ibqp = qpn <= INT_MAX ? rnic_qp_find(&dev->ibdev, qpn) : NULL;
	if (ibqp && ibqp->pd->uobject && ibqp->pd->uobject->ufile == verbs->private_data)
		return ibqp;
	if (ibqp)
		rnic_qp_rem_ref(ibqp);
	rnic_dev_put(dev);
	return NULL;
}

/**
 * rnic_dev_find_qp() - find a queue pair and its device
 * @verbs:	the ib_uverbs file with which it was created
 * @qpn:	its number
 * @ibqp:	set to the queue pair, with a reference
 *
 * Context: process.
 * Return: the device, which stays registered until rnic_dev_put(), or NULL.
 */
struct rnic_dev *rnic_dev_find_qp(const struct file *verbs, u32 qpn, struct ib_qp **ibqp)
{
	struct rnic_dev *dev, *found = NULL;

	mutex_lock(&devs_lock);
	list_for_each_entry(dev, &devs, node) {
		*ibqp = find_qp_of(dev, verbs, qpn);
		if (*ibqp) {
			found = dev;
			break;
		}
	}
	mutex_unlock(&devs_lock);
	return found;
}

/**
 * rnic_dev_put() - undo rnic_dev_find_netdev() or rnic_dev_find_qp()
 * @dev:	the device
 *
 * Context: any.
 */
void rnic_dev_put(struct rnic_dev *dev)
{
	ib_device_put(&dev->ibdev);
}

/*
 * The work that unregisters a device. Unlike ib_unregister_device_queued() it also works while
 * the device moves to another namespace or is being registered, because ib_core waits for both.
 */
static void unregister_dev(struct work_struct *work)
{
	struct rnic_dev *dev = container_of(work, struct rnic_dev, unregister);

	ib_unregister_device(&dev->ibdev);
	put_device(&dev->ibdev.dev);
}

/**
 * rnic_dev_forget_netdev() - remove the device of a network device that goes away
 * @ndev:	the network device
 *
 * Also detaches a device that is not registered yet; finish_registration() notices.
 *
 * Context: process, RTNL held.
 */
void rnic_dev_forget_netdev(const struct net_device *ndev)
{
	struct rnic_dev *dev;

	mutex_lock(&devs_lock);
	dev = find_dev(ndev);
	if (dev) {
		rnic_port_detach(dev);
		get_device(&dev->ibdev.dev);
		queue_work(system_long_wq, &dev->unregister);
	}
	mutex_unlock(&devs_lock);
}

/* Take a device out of the list: any, or one that can be reaped. */
static struct rnic_dev *unlist_dev(bool any)
{
	struct rnic_dev *dev, *found = NULL;

	mutex_lock(&devs_lock);
	list_for_each_entry(dev, &devs, node)
		if (any || (READ_ONCE(dev->dead) && !rnic_cm_dev_is_held(dev))) {
			list_del(&dev->node);
			found = dev;
			break;
		}
	mutex_unlock(&devs_lock);
	return found;
}

static void remove_devs(bool any)
{
	struct rnic_dev *dev;

	while ((dev = unlist_dev(any))) {
		ib_unregister_device(&dev->ibdev);
		rnic_cm_dev_release(dev);
		flush_work(&dev->unregister);
		flush_work(&dev->catch_up);
		put_device(&dev->ibdev.dev);
	}
}

/**
 * rnic_dev_remove_all() - remove all devices and wait until they are gone
 *
 * Context: process; module exit, after rnic_link_exit().
 */
void rnic_dev_remove_all(void)
{
	remove_devs(true);
}

/*
 * Free what an unregistered device owns. No operation of ours runs and no object is left.
 * ib_core frees the struct with its last reference.
 */
static void dealloc_driver(struct ib_device *ibdev)
{
	struct rnic_dev *dev = rnic_dev(ibdev);

	rtnl_lock();
	rnic_port_detach(dev);
	rtnl_unlock();
	rnic_cm_dev_gone(dev);
	WARN_ON(!xa_empty(&dev->shares));
	WARN_ON(!xa_empty(&dev->qps));
	xa_destroy(&dev->qps);
	rnic_mr_dev_exit(dev);
	free_percpu(dev->stats);
	WRITE_ONCE(dev->dead, true);
}

static ssize_t hca_type_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "rdma_mpa\n");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t board_id_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "software\n");
}
static DEVICE_ATTR_RO(board_id);

/*
 * The names of a card's model and board. Of monitoring programs, older ones report no RDMA device
 * of a host if one is without them.
 */
static struct attribute *identity_attrs[] = {
	&dev_attr_hca_type.attr,
	&dev_attr_board_id.attr,
	NULL
};

static const struct attribute_group identity_group = {
	.attrs = identity_attrs,
};

/*
 * The work that applies the network device's events that were lost, because nobody gets a reference
 * to a device that is not registered yet, or moves to another namespace.
 *
 * Add the files of the identity here, because ib_device_ops takes one group, which is that of the
 * settings. Their folder exists while ib_device_try_get() holds the device, and takes them along.
 */
static void catch_up(struct work_struct *work)
{
	struct rnic_dev *dev = container_of(work, struct rnic_dev, catch_up);

	rtnl_lock();
	if (ib_device_try_get(&dev->ibdev)) {
		if (!dev->identified)
			dev->identified = !sysfs_create_group(&dev->ibdev.dev.kobj,
							      &identity_group);
		rnic_port_rename_event(dev);
		rnic_dev_address_event(dev);
		rnic_port_link_catch_up(dev);
		ib_device_put(&dev->ibdev);
	}
	rtnl_unlock();
	put_device(&dev->ibdev.dev);
}

/*
 * ib_core enables the device: references to it can be had, and its clients see it next, in this
 * task (rnic_dev_is_enabled_here()).
 */
static int enable_driver(struct ib_device *ibdev)
{
	struct rnic_dev *dev = rnic_dev(ibdev);

	WRITE_ONCE(dev->enabler_start, current->start_time);
	WRITE_ONCE(dev->enabler, current);
	get_device(&ibdev->dev);
	if (!queue_work(system_long_wq, &dev->catch_up))
		put_device(&ibdev->dev);
	return 0;
}

static const struct ib_device_ops ib_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_SIW,
	.uverbs_abi_ver = SIW_ABI_VERSION,
	.device_group = &rnic_settings_group,
	.port_groups = rnic_port_groups,

	.query_device = rnic_query_device,
	.get_dev_fw_str = rnic_get_fw_str,
	.enable_driver = enable_driver,
	.dealloc_driver = dealloc_driver,
	.query_port = rnic_port_query,
	.query_gid = rnic_port_query_gid,
	.query_pkey = rnic_port_query_pkey,
	.get_port_immutable = rnic_port_immutable,
	.get_netdev = rnic_port_get_netdev,
	.alloc_hw_port_stats = rnic_stats_alloc_port,
	.get_hw_stats = rnic_stats_get,

	.alloc_ucontext = rnic_alloc_ucontext,
	.dealloc_ucontext = rnic_dealloc_ucontext,
	.disassociate_ucontext = rnic_disassociate_ucontext,
	.mmap = rnic_rmem_mmap,
	.mmap_free = rnic_rmem_mmap_free,
	.alloc_pd = rnic_alloc_pd,
	.dealloc_pd = rnic_dealloc_pd,

	.create_cq = rnic_create_cq,
	.destroy_cq = rnic_cq_destroy,
	.poll_cq = rnic_cq_poll,
	.req_notify_cq = rnic_cq_req_notify,

	.create_srq = rnic_create_srq,
	.modify_srq = rnic_srq_modify,
	.query_srq = rnic_srq_query,
	.destroy_srq = rnic_srq_destroy,
	.post_srq_recv = rnic_srq_post_recv,

	.create_qp = rnic_create_qp,
	.modify_qp = rnic_modify_qp,
	.query_qp = rnic_query_qp,
	.destroy_qp = rnic_destroy_qp,
	.fill_res_qp_entry = rnic_qp_show,
	.post_send = rnic_post_send,
	.post_recv = rnic_post_recv,

	.get_dma_mr = rnic_mr_get_dma,
	.reg_user_mr = reg_user_mr,
	.alloc_mr = rnic_mr_alloc,
	.map_mr_sg = rnic_mr_map_sg,
	.dereg_mr = rnic_mr_dereg,

	.iw_connect = rnic_cm_connect,
	.iw_accept = rnic_cm_accept,
	.iw_reject = rnic_cm_reject,
	.iw_create_listen = rnic_cm_create_listen,
	.iw_destroy_listen = rnic_cm_destroy_listen,
	.iw_add_ref = rnic_qp_add_ref,
	.iw_rem_ref = rnic_qp_rem_ref,
	.iw_get_qp = rnic_qp_find,

	INIT_RDMA_OBJ_SIZE(ib_cq, rnic_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, rnic_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, rnic_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, rnic_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rnic_ucontext, ibuc),
};

/* Allocate a device without a network device. */
static struct rnic_dev *alloc_dev(void)
{
	struct rnic_dev *dev = ib_alloc_device(rnic_dev, ibdev);
	struct ib_device *ibdev;

	if (!dev)
		return NULL;
	ibdev = &dev->ibdev;
	dev->stats = alloc_percpu(struct rnic_stats);
	if (!dev->stats)
		goto free_dev;
	if (rnic_mr_dev_init(dev))
		goto free_stats;
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	/* Interrupts off as for @qps, because lockdep has one class for the locks of both. */
	xa_init_flags(&dev->shares, XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	rnic_settings_init(&dev->set);
	rnic_cm_dev_init(dev);
	INIT_LIST_HEAD(&dev->node);
	INIT_WORK(&dev->unregister, unregister_dev);
	INIT_WORK(&dev->catch_up, catch_up);
	ibdev->node_type = RDMA_NODE_RNIC;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(ibdev->node_desc, "rdma_mpa software RNIC",
		sizeof(ibdev->node_desc));
	ib_set_device_ops(ibdev, &ib_ops);
	/* The provider rings the doorbell with this command. */
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND);
	return dev;

free_stats:
	free_percpu(dev->stats);
free_dev:
	ib_dealloc_device(&dev->ibdev);
	return NULL;
}

/* Attach the network device, with a GID and a node GUID that no other device has. */
static int attach_netdev(struct rnic_dev *dev, struct net_device *ndev)
{
	int ret = rnic_port_attach(dev, ndev);
	u32 salt = 0;

	while (!ret && has_twin(dev) && rnic_port_set_apart(dev, ++salt))
		rnic_port_set_guid(dev);
	return ret;
}

/* Attach and add to the list, unless the network device already has a device. */
static int enlist_dev(struct rnic_dev *dev, struct net_device *ndev)
{
	int ret = -EEXIST;

	rtnl_lock();
	/*
	 * Before devs_lock, because this takes the lock of the network device. One that is being
	 * unregistered may have lost the device below it, which it would ask.
	 */
	if (ndev->reg_state == NETREG_REGISTERED)
		rnic_port_take_speed(dev, ndev);
	mutex_lock(&devs_lock);
	if (!find_dev(ndev))
		ret = attach_netdev(dev, ndev);
	if (!ret) {
		get_device(&dev->ibdev.dev);
		list_add_tail(&dev->node, &devs);
	}
	mutex_unlock(&devs_lock);
	rtnl_unlock();
	return ret;
}

/*
 * RTNL makes sure that either rnic_dev_forget_netdev() finds the device registered, or this finds
 * it detached.
 */
static int finish_registration(struct rnic_dev *dev)
{
	int ret = 0;

	flush_work(&dev->catch_up);
	rtnl_lock();
	mutex_lock(&devs_lock);
	if (!rcu_access_pointer(dev->ndev))
		ret = -ENODEV;
	mutex_unlock(&devs_lock);
	rtnl_unlock();
	return ret;
}

/**
 * rnic_dev_create() - create a device on top of a network device
 * @name:	its name
 * @ndev:	the network device; the caller has a reference
 *
 * Context: process, RTNL not held.
 * Return: 0; -EEXIST if @ndev already has a device; -ENFILE of ib_core if the name is in use;
 * -ENODEV if @ndev is being unregistered; another -errno.
 */
int rnic_dev_create(const char *name, struct net_device *ndev)
{
	struct rnic_dev *dev;
	int ret;

	remove_devs(false);
	dev = alloc_dev();
	if (!dev)
		return -ENOMEM;
	ret = enlist_dev(dev, ndev);
	if (ret)
		goto dealloc;
	/* From here on other tasks may remove the device at any time. */
	get_device(&dev->ibdev.dev);
	compat_name_is_users(&dev->ibdev);
	ret = ib_register_device(&dev->ibdev, name, NULL);
	cmpxchg(&dev->enabler, current, NULL);	/* another task may move it already */
	if (ret) {
		put_device(&dev->ibdev.dev);
		goto dealloc;
	}
	ret = finish_registration(dev);
	if (ret)
		ib_unregister_device(&dev->ibdev);
	put_device(&dev->ibdev.dev);
	return ret;

dealloc:
	ib_dealloc_device(&dev->ibdev);
	return ret;
}

