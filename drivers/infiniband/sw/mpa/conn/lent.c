// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints on connections that programs lend (RFC 5044 section 7.1.5): how they start, and what a
 * program answers. From the first frame on they are as all others (startup.c). After a reject, TCP
 * is the program's again. After any other end it is gone.
 */
#include <rdma/ib_addr.h>

#include "conn/ep.h"
#include "conn/lent.h"
#include "conn/rdmacm.h"
#include "core/dev.h"
#include "core/wq.h"
#include "qp/qp.h"
#include "tcp/stream.h"
#include "tcp/ulp.h"

/* The program has closed the connection, or does not have an endpoint yet. */

static int ask_nobody(struct rnic_ep *ep)
{
	return -ECONNABORTED;
}

static void tell_nobody(struct rnic_ep *ep, int status)
{
}

static void leave_nobody(struct rnic_ep *ep)
{
}

static const struct rnic_ep_ops nobody = {
	.request	= ask_nobody,
	.started	= tell_nobody,
	.closed		= leave_nobody,
	.over		= leave_nobody,
};

/* The device must be the one that rdma_cm would find for the connection's address. */
static int check_device(struct rnic_dev *dev, struct rnic_sock *s)
{
	struct net *net = sock_net(s->sock->sk);
	struct rdma_dev_addr at = { .net = net };
	struct sockaddr_storage local, remote;
	int ret;

	if (!net_eq(dev->net, net))
		return -EADDRNOTAVAIL;
	ret = rnic_sock_addrs(s, &local, &remote);
	if (!ret && (rdma_translate_ip((struct sockaddr *)&local, &at) ||
		     !rnic_rdmacm_finds(dev, &at)))
		ret = -EADDRNOTAVAIL;
	return ret;
}

static int begin_initiator(struct rnic_ep *ep, const struct rnic_lent_start *start)
{
	int ret;

	rnic_ep_set_depths(ep, start->ird, start->ord);
	mpa_request(&ep->req, &ep->own, start->pd_len);
	ret = rnic_ep_set_pd(ep, &ep->req, start->pd, start->pd_len);
	if (ret)
		return ret;
	/* TCP may take a part of the Request. */
	ep->stays = false;
	return rnic_startup(ep, MPA_ON_TCP_UP, 0);
}

/*
 * The events are hooked, so the Request that the last streaming message brings about is seen. If
 * TCP took a part of the message, nobody can use the stream any more.
 */
static int begin_responder(struct rnic_ep *ep, struct rnic_ulp *u,
			   const struct rnic_lent_start *start)
{
	int ret;

	if (start->last_len) {
		ret = rnic_ulp_send(u, start->last, start->last_len);
		if (ret < 0)
			return ret;
		if (ret != start->last_len) {
			ep->stays = false;
			return -EPIPE;
		}
	}
	rnic_startup_await_peer(ep);
	return 0;
}

static int begin(struct rnic_ep *ep, struct rnic_ulp *u, const struct rnic_lent_start *start)
{
	int ret;

	ret = rnic_sock_borrow(&ep->conn.s, u, rnic_ep_sock_event);
	if (ret)
		return ret;
	ret = check_device(ep->dev, &ep->conn.s);
	if (ret)
		return ret;
	rnic_ep_join_qp(ep);
	if (!rnic_qp_is_free(ep->conn.qp))
		return -EINVAL;
	ret = start->initiator ? begin_initiator(ep, start) : begin_responder(ep, u, start);
	/* The peer may have closed, or sent something, before the events were hooked. */
	if (!ret)
		rnic_conn_kick(&ep->conn);
	return ret;
}

/**
 * rnic_lent_start() - start MPA on a program's connection
 * @dev:	device of the queue pair
 * @u:		the connection, taken
 * @start:	what the program asks for
 *
 * If this fails, the program has the connection as before. But TCP is gone if it could not take
 * all of the Request or of the last streaming message. @start->ops gets no event.
 *
 * Context: process.
 * Return: the endpoint with a reference, or an error pointer: -EINVAL if the queue pair is not in
 * INIT, -EADDRNOTAVAIL if the device does not carry the connection, or another.
 */
struct rnic_ep *rnic_lent_start(struct rnic_dev *dev, struct rnic_ulp *u,
				const struct rnic_lent_start *start)
{
	struct rnic_ep *ep = rnic_ep_new(dev, start->initiator, &nobody, rnic_lent_wq,
					 rnic_startup_work, RNIC_GFP);
	unsigned int noio;
	int ret;

	if (!ep) {
		rnic_qp_rem_ref(start->ibqp);
		return ERR_PTR(-ENOMEM);
	}
	rnic_ep_get(ep);
	noio = rnic_ep_lock(ep);
	WRITE_ONCE(ep->conn.qp, rnic_qp(start->ibqp));
	ep->stays = true;
	ret = begin(ep, u, start);
	if (!ret) {
		ep->ops = start->ops;
		ep->owner = start->owner;
		ep->stays = false;
	} else if (ep->state != MPA_DONE) {
		rnic_startup(ep, MPA_ON_CONSUMER_GONE, ret);
	}
	rnic_ep_unlock(ep, noio);
	if (!ret)
		return ep;
	rnic_ep_put(ep);
	return ERR_PTR(ret);
}

/**
 * rnic_lent_accept() - accept a Request
 * @ep:		the endpoint
 * @ird:	inbound RDMA Reads
 * @ord:	outbound RDMA Reads
 * @pd:		Private Data
 * @pd_len:	bytes of it
 *
 * Context: process.
 * Return: 0; -EINVAL if no Request waits; -EINVAL or -ENOMEM for the Private Data, and the Request
 * still waits; -ECONNABORTED if the peer ended the startup; or the -errno of the attach, after
 * which the peer has a reject. That is -EINVAL for a queue pair that cannot be used.
 */
int rnic_lent_accept(struct rnic_ep *ep, u16 ird, u16 ord, const void *pd, u16 pd_len)
{
	unsigned int noio = rnic_ep_lock(ep);
	enum mpa_event event;
	int status, ret = -EINVAL;

	if (ep->state != MPA_WAIT_CONSUMER)
		goto unlock;
	event = rnic_startup_early(ep, &status);
	if (event) {
		rnic_startup(ep, event, status);
		ret = -ECONNABORTED;
		goto unlock;
	}
	rnic_ep_set_depths(ep, ird, ord);
	mpa_respond(&ep->rep, &ep->agreed, &ep->req, &ep->own, false, pd_len);
	ret = rnic_ep_set_pd(ep, &ep->rep, pd, pd_len);
	if (!ret)
		ret = rnic_startup(ep, ep->agreed.rtr_frame ? MPA_ON_ACCEPT_RTR : MPA_ON_ACCEPT, 0);
unlock:
	rnic_ep_unlock(ep, noio);
	return ret;
}

/**
 * rnic_lent_reject() - reject a Request
 * @ep:		the endpoint
 * @pd:		Private Data
 * @pd_len:	bytes of it
 *
 * The program has the connection again when this returns 0.
 *
 * Context: process.
 * Return: 0; -errno of the send, and the connection ends; or see rnic_lent_accept().
 */
int rnic_lent_reject(struct rnic_ep *ep, const void *pd, u16 pd_len)
{
	unsigned int noio = rnic_ep_lock(ep);
	int ret = -EINVAL;

	if (ep->state != MPA_WAIT_CONSUMER)
		goto unlock;
	mpa_respond(&ep->rep, &ep->agreed, &ep->req, &ep->own, true, pd_len);
	ret = rnic_ep_set_pd(ep, &ep->rep, pd, pd_len);
	if (!ret)
		ret = rnic_startup(ep, MPA_ON_REJECT, 0);
	if (!ret && !ep->stays)
		ret = ep->status;
unlock:
	rnic_ep_unlock(ep, noio);
	return ret;
}

/**
 * rnic_lent_close() - the program closes the connection
 * @ep:		the endpoint; the caller has a reference
 * @ibqp:	set to the queue pair, with a reference, if it has the stream or had it just now;
 *		else NULL
 *
 * A startup ends. The consumer gets no event any more.
 *
 * Context: process.
 * Return: true if the endpoint keeps the connection and closes it later.
 */
bool rnic_lent_close(struct rnic_ep *ep, struct ib_qp **ibqp)
{
	unsigned int noio = rnic_ep_lock(ep);
	bool kept = ep->conn.s.owner == RNIC_SOCK_LENT;

	*ibqp = NULL;
	if (kept) {
		rnic_sock_keep(&ep->conn.s);
		ep->ops = &nobody;
		ep->stays = false;
		if (ep->state == MPA_OPERATING || ep->state == MPA_WAIT_RTR) {
			*ibqp = &ep->conn.qp->ibqp;
			rnic_qp_get(ep->conn.qp);
		} else if (ep->state != MPA_LINGER) {
			rnic_startup(ep, MPA_ON_CONSUMER_GONE, -ECONNABORTED);
		}
	}
	rnic_ep_unlock(ep, noio);
	return kept;
}
