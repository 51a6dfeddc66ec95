// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What iw_cm does not tell of its caller, and has to be found out about rdma_cm: whose
 * program it is, whose queue pair, in which namespace, and which requests it has not answered
 * yet. All that relies on rdma_cm's own structs is here.
 */
#include <linux/fdtable.h>
#include <linux/fs.h>
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
 * iw_cm does not tell who its caller is, so this reads what iw_cm keeps for it. The caller
 * is rdma_cm: it alone calls iw_cm_connect(), iw_cm_accept() and iw_cm_listen(), and what it
 * leaves there is a struct rdma_id_private, which begins with the struct rdma_cm_id. A
 * consumer that came to iw_cm without rdma_cm would have to be told apart here; there never
 * was one.
 */
static const struct rdma_cm_id *get_rdma_id(const struct iw_cm_id *cm_id)
{
	return cm_id->context;
}

/**
 * rnic_rdmacm_net() - the namespace of the program that connects or listens
 * @cm_id:	what iw_cm made for it, within iw_connect or iw_create_listen
 *
 * Return: the namespace; the program's reference holds it.
 */
struct net *rnic_rdmacm_net(const struct iw_cm_id *cm_id)
{
	return get_rdma_id(cm_id)->route.addr.dev_addr.net;
}

/**
 * rnic_rdmacm_finds() - is it the device that rdma_cm will find for a local address?
 * @dev:	the device
 * @at:		what rdma_translate_ip() says of the address
 *
 * Kernels before 6.6 look for its GID only, so a VLAN without a device of its own is served
 * by its parent's.
 *
 * Context: process.
 * Return: true if it is, as of now.
 */
bool rnic_rdmacm_finds(struct rnic_dev *dev, struct rdma_dev_addr *at)
{
	union ib_gid gid, wanted;

	/* One that lost its interface may have its index still. */
	if (!rcu_access_pointer(dev->ndev))
		return false;
	if (dev->ifindex == at->bound_dev_if)
		return true;
	rdma_addr_get_sgid(at, &wanted);
	return !rdma_query_gid(&dev->ibdev, 1, 0, &gid) && !memcmp(&gid, &wanted, sizeof(gid));
}

/* iterate_fd() calls it. The file of a device that ib_uverbs opened has @ufile for its data. */
static int is_file_of(const void *ufile, struct file *file, unsigned int fd)
{
	return file->private_data == ufile;
}

/**
 * rnic_rdmacm_owns() - does a queue pair belong to the caller?
 * @cm_id:	what iw_cm made for it, within iw_connect or iw_accept
 * @ibqp:	the queue pair
 *
 * rdma_cm names a queue pair by a number, and a program can make up any. A kernel consumer's
 * queue pair belongs to its own id, of which rdma_cm knows it. A program's belongs to whoever
 * has the program's open device: its threads, and a child that inherited it. rdma_cm calls us
 * in the program's own context.
 *
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
 * rnic_rdmacm_owner() - whose service it is that a listener is a part of
 * @cm_id:	what iw_cm made, within iw_create_listen or while it listens
 * @all:	rdma_cm asks all devices for its address
 *
 * rdma_cm asks each device with an id of its own then. The context of such an id is the
 * program's id, which outlives it.
 *
 * Return: the program's id; only to be compared.
 */
const void *rnic_rdmacm_owner(const struct iw_cm_id *cm_id, bool all)
{
	const struct rdma_cm_id *id = get_rdma_id(cm_id);

	return all ? id->context : id;
}

/**
 * rnic_rdmacm_has_connections() - does the service of a listener have connections?
 * @cm_id:	what iw_cm made, within iw_create_listen
 *
 * Return: false for datagrams, which iWARP has not.
 */
bool rnic_rdmacm_has_connections(const struct iw_cm_id *cm_id)
{
	const struct rdma_cm_id *id = get_rdma_id(cm_id);

	return id->ps != RDMA_PS_UDP && id->qp_type != IB_QPT_UD;
}

/* Beside the number of an endpoint in provider_data: rdma_cm has the request. */
#define ASKED	BIT(31)

/* rdma_cm's handler of requests, the same for each listener. */
static iw_cm_handler ask_rdma_cm;

/* Takes the place of ask_rdma_cm(). From now on the request will be answered. */
static int count_request(struct iw_cm_id *cm_id, struct iw_cm_event *ev)
{
	unsigned long id = (unsigned long)cm_id->provider_data;

	atomic_inc(&rnic_dev(cm_id->device)->cm.asked);
	cm_id->provider_data = (void *)(id | ASKED);
	return READ_ONCE(ask_rdma_cm)(cm_id, ev);
}

/**
 * rnic_rdmacm_count_requests() - count what rdma_cm is asked and did not answer yet
 * @cm_id:	a listener
 *
 * The iw_cm_id of a request names our device and holds no reference to it. rdma_cm takes care
 * of that as long as it has given the request to the same device, which it looks up anew: an
 * address that moves at this moment leads it to another one, and then the answer comes at any
 * time after our device is gone. iw_cm may drop what we report, so the count begins in the
 * handler that it calls.
 */
void rnic_rdmacm_count_requests(struct iw_cm_id *cm_id)
{
	WRITE_ONCE(ask_rdma_cm, cm_id->cm_handler);
	cm_id->cm_handler = count_request;
}

/**
 * rnic_rdmacm_find_answered() - rdma_cm answers a request
 * @cm_id:	made by iw_cm for the request
 *
 * The device may be gone with the endpoint. Nothing but its struct is there then, and that no
 * longer than the count of rnic_rdmacm_count_requests(), which this ends.
 *
 * Context: process.
 * Return: the endpoint with a reference, or NULL when it is gone.
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
