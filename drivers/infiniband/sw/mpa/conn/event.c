// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The contract with iw_cm, which answers a wrong event with BUG():
 *
 *	connect() returned 0   exactly one CONNECT_REPLY, good or bad; after a
 *			       good one exactly one CLOSE
 *	accept() returned 0    exactly one ESTABLISHED, then exactly one CLOSE
 *	either returned -errno no event at all
 *
 * ep->lock is held for every event, which keeps their order. An event only queues work in
 * iw_cm; none of its callbacks run here.
 *
 * The endpoint has a reference to its iw_cm_id from connect() or accept() until the last event.
 * iw_cm knows a request that waits for the consumer by its id only, see rnic_ep_publish().
 */
#include <net/sock.h>
#include <rdma/ib_addr.h>
#include <rdma/iw_cm.h>

#include "conn/ep.h"
#include "conn/listen.h"
#include "conn/rdmacm.h"
#include "core/dev.h"

/* The depths in struct iw_cm_event are u8. */
static u8 clamp_u8(u32 val)
{
	return min_t(u32, val, U8_MAX);
}

/**
 * rnic_cm_put_id() - drop the iw_cm_id; no event follows
 * @ep:	endpoint with @cm_id, @lock held
 *
 * Context: process.
 */
void rnic_cm_put_id(struct rnic_ep *ep)
{
	ep->cm_id->rem_ref(ep->cm_id);
	ep->cm_id = NULL;
}

/* A peer that leaves the depth to its consumer states no limit. */
static u8 convert_depth(u16 depth)
{
	return clamp_u8(depth == MPA_DEPTH_ULP ? RNIC_MAX_RD_ATOM : depth);
}

/* The address may have moved to another device before the Request arrived. */
static bool is_address_in_place(struct rnic_ep *ep, const struct sockaddr_storage *local)
{
	/* The listener's rdma_cm_id may be gone. */
	struct rdma_dev_addr at = { .net = sock_net(ep->conn.s.sock->sk) };

	return !rdma_translate_ip((const struct sockaddr *)local, &at) &&
	       rnic_rdmacm_finds(ep->dev, &at);
}

/*
 * Set the peer's Private Data, if there is some. iw_cm copies it only then, and kernel consumers
 * look at the pointer alone.
 */
static void set_private_data(struct rnic_ep *ep, const struct mpa_frame *f, struct iw_cm_event *ev)
{
	if (!f->pd_len)
		return;
	ev->private_data = (void *)ep->peer_pd;
	ev->private_data_len = f->pd_len;
}

/*
 * Report CONNECT_REQUEST of a published endpoint. @ep->peer_pd has at most 255 bytes.
 *
 * iw_cm has as many work entries for a listener as its backlog has places. An entry is free again
 * when iw_cm's one worker begins to handle the event.
 *
 * Return: 0; 1 if iw_cm has no work entry or no memory now; -EADDRNOTAVAIL if the address has
 * moved; -ENOTCONN if TCP is gone.
 */
static int report_request(struct rnic_ep *ep)
{
	struct iw_cm_id *cm_id = ep->listener->cm_id;
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.provider_data = (void *)(unsigned long)ep->id,
		.ird = RNIC_MAX_RD_ATOM,
		.ord = RNIC_MAX_RD_ATOM,
	};
	int ret;

	lockdep_assert_held(&ep->lock);
	set_private_data(ep, &ep->req, &ev);
	if (ep->req.enhanced) {
		ev.ird = convert_depth(ep->req.ird);
		ev.ord = convert_depth(ep->req.ord);
	}
	ret = rnic_sock_addrs(&ep->conn.s, &ev.local_addr, &ev.remote_addr);
	if (ret)
		return ret;
	if (!is_address_in_place(ep, &ev.local_addr))
		return -EADDRNOTAVAIL;
	return cm_id->event_handler(cm_id, &ev) ? 1 : 0;
}

/* Set the socket's addresses, or without a socket those of the cm_id. */
static void set_addrs(struct rnic_ep *ep, struct iw_cm_event *ev)
{
	if (ep->conn.s.sock && !rnic_sock_addrs(&ep->conn.s, &ev->local_addr, &ev->remote_addr))
		return;
	ev->local_addr = ep->cm_id->m_local_addr;
	ev->remote_addr = ep->cm_id->m_remote_addr;
}

/*
 * rdma_cm raises UNREACHABLE for -ETIMEDOUT, REJECTED for a refusal or a reset, and CONNECT_ERROR
 * for all else. NFS connects again without a pause after CONNECT_ERROR, so a router or firewall
 * that says that it cannot reach the peer must not cause that one.
 */
static int convert_status(int status)
{
	switch (status) {
	case -EACCES:	/* ICMPv6 "prohibited" */
	case -EHOSTUNREACH:
	case -EHOSTDOWN:
	case -ENETUNREACH:
	case -ENETDOWN:
		return -ETIMEDOUT;
	default:
		return status;
	}
}

/*
 * The depths of CONNECT_REPLY and ESTABLISHED are those of this end: its IRD in @ird, its
 * ORD in @ord. siw and irdma report them so, and the kernel's SMB Direct relies on it for
 * each iWARP device, though rdma_get_cm_event(3) has it the other way round. As CONNECT_REPLY
 * comes from the responder, the IRD is what the responder will have outstanding, and the
 * ORD what it will serve.
 */

/* Report CONNECT_REPLY. If there was a Reply, its revision is not 0. */
static void report_reply(struct rnic_ep *ep, int status)
{
	const struct mpa_frame *rep = &ep->rep;
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = convert_status(status),
		.ird = clamp_u8(ep->agreed.ird),
		.ord = clamp_u8(ep->agreed.ord),
	};

	lockdep_assert_held(&ep->lock);
	if (!ep->cm_id)
		return;
	if (rep->rev)
		set_private_data(ep, rep, &ev);
	if (rep->enhanced) {
		ev.ird = convert_depth(rep->ord);
		ev.ord = convert_depth(rep->ird);
	}
	set_addrs(ep, &ev);
	if (ep->cm_id->event_handler(ep->cm_id, &ev)) {
		/* iw_cm has no memory for the Private Data: report without it. */
		ev.private_data = NULL;
		ev.private_data_len = 0;
		ep->cm_id->event_handler(ep->cm_id, &ev);
	}
	if (status)
		rnic_cm_put_id(ep);
}

/*
 * Report ESTABLISHED, without waiting for an RtR frame, because iw_cm calls BUG() if the consumer
 * accepts or rejects again before this event, and the peer must not control that time.
 */
static void report_established(struct rnic_ep *ep)
{
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_ESTABLISHED,
		.ird = clamp_u8(ep->agreed.ird),
		.ord = clamp_u8(ep->agreed.ord),
	};

	lockdep_assert_held(&ep->lock);
	set_addrs(ep, &ev);
	ep->cm_id->event_handler(ep->cm_id, &ev);
}

static void report_start(struct rnic_ep *ep, int status)
{
	if (ep->initiator)
		report_reply(ep, status);
	else
		report_established(ep);
}

static void report_close(struct rnic_ep *ep)
{
	struct iw_cm_event ev = { .event = IW_CM_EVENT_CLOSE };

	lockdep_assert_held(&ep->lock);
	if (!ep->cm_id)
		return;
	ev.local_addr = ep->cm_id->m_local_addr;
	ev.remote_addr = ep->cm_id->m_remote_addr;
	ep->cm_id->event_handler(ep->cm_id, &ev);
	rnic_cm_put_id(ep);
}

const struct rnic_ep_ops rnic_cm_ops = {
	.request	= report_request,
	.started	= report_start,
	.closed		= report_close,
};
