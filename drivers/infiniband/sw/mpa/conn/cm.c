// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * iw_cm's operations connect, accept and reject, and the connection manager's part in the life
 * of a device. event.c reports to iw_cm.
 */
#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include <rdma/iw_cm.h>

#include "conn/cm.h"
#include "conn/ep.h"
#include "conn/rdmacm.h"
#include "core/dev.h"
#include "core/wq.h"
#include "qp/qp.h"

static void take_cm_id(struct rnic_ep *ep, struct iw_cm_id *cm_id)
{
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
}

/* Return: 0, or -errno and no socket. */
static int start_tcp(struct rnic_ep *ep)
{
	struct net_device *ndev = rnic_dev_netdev(ep->dev);
	struct iw_cm_id *cm_id = ep->cm_id;
	int ret = -ENODEV;

	if (!ndev || !rnic_rdmacm_is_right(cm_id, ep->dev))
		goto put_ndev;
	ret = rnic_sock_connect(&ep->conn.s, rnic_rdmacm_net(cm_id), ndev, &cm_id->local_addr,
				&cm_id->m_remote_addr, cm_id->tos_set ? cm_id->tos : -1,
				rnic_ep_sock_event);
	if (!ret)
		rnic_sock_keepalive(&ep->conn.s, READ_ONCE(ep->dev->set.keepalive_s));
put_ndev:
	dev_put(ndev);
	return ret;
}

static int take_qp(struct rnic_ep *ep, const struct iw_cm_id *cm_id, u32 qpn)
{
	struct ib_qp *ibqp = rnic_qp_find(&ep->dev->ibdev, qpn);

	if (!ibqp)
		return -EINVAL;
	if (!rnic_rdmacm_owns(cm_id, ibqp)) {
		rnic_qp_rem_ref(ibqp);
		return -EPERM;
	}
	WRITE_ONCE(ep->conn.qp, rnic_qp(ibqp));
	return 0;
}

/* Take what both sides need: the Private Data, if the frame can hold it, and a queue pair. */
static int prepare_endpoint(struct rnic_ep *ep, const struct iw_cm_id *cm_id,
			    const struct mpa_frame *f, const struct iw_cm_conn_param *param)
{
	int ret = take_qp(ep, cm_id, param->qpn);

	return ret ? ret : rnic_ep_set_pd(ep, f, param->private_data, param->private_data_len);
}

/*
 * Of what the port mapper says take the peer's port only, because any process may answer in its
 * place (SECURITY.rst). Our own ports are not mapped (IW_F_NO_PORT_MAP).
 */
static void take_mapped_port(struct iw_cm_id *cm_id)
{
	/* sin6_port is in the same place. */
	__be16 port = ((struct sockaddr_in *)&cm_id->m_remote_addr)->sin_port;

	cm_id->m_remote_addr = cm_id->remote_addr;
	((struct sockaddr_in *)&cm_id->m_remote_addr)->sin_port = port;
}

static int begin_connect(struct rnic_ep *ep, const struct iw_cm_conn_param *param)
{
	int ret;

	take_mapped_port(ep->cm_id);
	rnic_ep_set_depths(ep, param->ird, param->ord);
	mpa_request(&ep->req, &ep->own, param->private_data_len);
	ret = prepare_endpoint(ep, ep->cm_id, &ep->req, param);
	if (ret)
		return ret;
	rnic_ep_join_qp(ep);
	if (!rnic_qp_is_free(ep->conn.qp))
		return -EINVAL;
	/* For 127.0.0.1 rdma_cm may choose a device of another namespace. */
	if (!net_eq(ep->dev->net, rnic_rdmacm_net(ep->cm_id)))
		return -EADDRNOTAVAIL;
	return start_tcp(ep);
}

/**
 * rnic_cm_connect() - ib_device_ops.iw_connect
 * @cm_id:	receives the events
 * @param:	queue pair, depths, Private Data
 *
 * Context: process, the program's own.
 * Return: 0 if TCP is connecting, -EPERM if the queue pair belongs to another program, another
 * -errno otherwise.
 */
int rnic_cm_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct rnic_ep *ep = rnic_ep_new(rnic_dev(cm_id->device), true, &rnic_cm_ops,
					 rnic_startup_wq, rnic_startup_work, RNIC_GFP);
	unsigned int noio;
	int ret;

	if (!ep)
		return -ENOMEM;
	rnic_ep_get(ep);
	noio = rnic_ep_lock(ep);
	take_cm_id(ep, cm_id);
	ret = begin_connect(ep, param);
	if (ret) {
		rnic_cm_put_id(ep);
		rnic_startup(ep, MPA_ON_LOCAL_ERROR, ret);
	} else {
		/* TCP may be connected already; the event has queued our work then. */
		rnic_startup_await_peer(ep);
	}
	rnic_ep_unlock(ep, noio);
	rnic_ep_put(ep);
	return ret;
}

static int accept_request(struct rnic_ep *ep, struct iw_cm_id *cm_id,
			  const struct iw_cm_conn_param *param)
{
	enum mpa_event event;
	int status, ret;

	if (ep->state != MPA_WAIT_CONSUMER)
		return -ECONNABORTED;
	event = rnic_startup_early(ep, &status);
	if (event) {
		rnic_startup(ep, event, status);
		return -ECONNABORTED;
	}
	rnic_ep_set_depths(ep, param->ird, param->ord);
	mpa_respond(&ep->rep, &ep->agreed, &ep->req, &ep->own, false, param->private_data_len);
	ret = prepare_endpoint(ep, cm_id, &ep->rep, param);
	if (ret) {
		rnic_startup(ep, MPA_ON_LOCAL_ERROR, ret);
		return ret;
	}
	rnic_ep_join_qp(ep);
	take_cm_id(ep, cm_id);
	ret = rnic_startup(ep, ep->agreed.rtr_frame ? MPA_ON_ACCEPT_RTR : MPA_ON_ACCEPT, 0);
	if (ret)
		rnic_cm_put_id(ep);
	return ret;
}

/**
 * rnic_cm_accept() - ib_device_ops.iw_accept
 * @cm_id:	made by iw_cm for the request
 * @param:	queue pair, depths, Private Data
 *
 * On failure the peer gets a rejecting Reply, because iw_cm accepts no other answer from the
 * consumer after that.
 *
 * Context: process, the program's own.
 * Return: 0, or -errno: -ECONNABORTED if the peer or the deadline ended the startup, -EPERM if
 * the queue pair belongs to another program.
 */
int rnic_cm_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct rnic_ep *ep = rnic_rdmacm_find_answered(cm_id);
	unsigned int noio;
	int ret;

	if (!ep)
		return -ECONNABORTED;
	noio = rnic_ep_lock(ep);
	ret = accept_request(ep, cm_id, param);
	rnic_ep_unlock(ep, noio);
	rnic_ep_put(ep);
	return ret;
}

/**
 * rnic_cm_reject() - ib_device_ops.iw_reject
 * @cm_id:	made by iw_cm for the request
 * @pd:		Private Data for the peer
 * @pd_len:	bytes of @pd
 *
 * Context: process.
 * Return: 0, also if the request is gone.
 */
int rnic_cm_reject(struct iw_cm_id *cm_id, const void *pd, u8 pd_len)
{
	struct rnic_ep *ep = rnic_rdmacm_find_answered(cm_id);
	unsigned int noio;

	if (!ep)
		return 0;
	noio = rnic_ep_lock(ep);
	if (ep->state == MPA_WAIT_CONSUMER) {
		/* Without memory, send none. */
		rnic_ep_set_pd(ep, &ep->rep, pd, pd_len);
		rnic_startup(ep, MPA_ON_REJECT, 0);
	}
	rnic_ep_unlock(ep, noio);
	rnic_ep_put(ep);
	return 0;
}

/**
 * rnic_cm_dev_init() - initialize the connection manager's part of a device
 * @dev:	the device, not registered yet
 *
 * Context: process.
 */
void rnic_cm_dev_init(struct rnic_dev *dev)
{
	spin_lock_init(&dev->cm.ep_lock);
	INIT_LIST_HEAD(&dev->cm.eps);
	atomic_set(&dev->cm.asked, 0);
	rnic_room_init(dev);
	xa_init_flags(&dev->cm.requests, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	init_waitqueue_head(&dev->cm.idle);
}

/**
 * rnic_cm_dev_gone() - end what is left of the connection manager on a device
 * @dev:	the device, without queue pairs and listeners
 *
 * Context: process; waits for the endpoints.
 */
void rnic_cm_dev_gone(struct rnic_dev *dev)
{
	rnic_ep_kill_all(dev);
	xa_destroy(&dev->cm.requests);
}

/**
 * rnic_cm_dev_is_held() - test for requests that rdma_cm has not answered
 * @dev:	the device; its answer may come after unregistration
 *
 * Context: any.
 * Return: true if there are any.
 */
bool rnic_cm_dev_is_held(const struct rnic_dev *dev)
{
	return atomic_read(&dev->cm.asked);
}

/**
 * rnic_cm_dev_release() - wait until rdma_cm has answered all requests
 * @dev:	the device, unregistered
 *
 * Context: process.
 */
void rnic_cm_dev_release(struct rnic_dev *dev)
{
	wait_var_event(&dev->cm.asked, !rnic_cm_dev_is_held(dev));
}
