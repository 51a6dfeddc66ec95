// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The contract with iw_cm, which answers a wrong event with BUG():
 *
 *	connect() returned 0   exactly one CONNECT_REPLY, good or bad; after a
 *			       good one exactly one CLOSE
 *	accept() returned 0    exactly one ESTABLISHED, then exactly one CLOSE
 *	either returned -errno no event at all
 *
 * Every event is sent with ep->lock held, and the queue pair's worker can report
 * the end of a connection only with that lock, so the order is kept. An event
 * only queues work in iw_cm: none of its callbacks run here.
 *
 * An iw_cm_id is referenced from connect() or accept() until its last event. A
 * request that waits for the consumer is known to iw_cm by a number only, see
 * rnic_ep_publish().
 */
#include <net/sock.h>
#include <rdma/ib_addr.h>
#include <rdma/iw_cm.h>

#include "conn/ep.h"
#include "conn/listen.h"
#include "conn/rdmacm.h"
#include "core/dev.h"

/* iw_cm_event has one byte for each of these. */
static u8 clamp_u8(u32 val)
{
	return min_t(u32, val, U8_MAX);
}

/**
 * rnic_cm_put_id() - iw_cm hears no more of it
 * @ep:	endpoint with @cm_id, @lock held
 */
void rnic_cm_put_id(struct rnic_ep *ep)
{
	ep->cm_id->rem_ref(ep->cm_id);
	ep->cm_id = NULL;
}

/* A depth the peer left to its consumer says nothing about a limit. */
static u8 convert_depth(u16 depth)
{
	return clamp_u8(depth == MPA_DEPTH_ULP ? RNIC_MAX_RD_ATOM : depth);
}

/* The peer may take its time to send the Request, and the address may have moved. */
static bool is_address_in_place(struct rnic_ep *ep, const struct sockaddr_storage *local)
{
	/* The listener's rdma_cm_id may be gone. */
	struct rdma_dev_addr at = { .net = sock_net(ep->conn.s.sock->sk) };

	return !rdma_translate_ip((const struct sockaddr *)local, &at) &&
	       rnic_rdmacm_finds(ep->dev, &at);
}

/**
 * rnic_cm_request() - a good Request arrived: ask the consumer
 * @ep:	endpoint, published, @lock held; @ep->peer_pd is its Private Data, no more
 *	than iw_cm's event can tell
 *
 * Return: 0, or -errno when iw_cm does not take it, or the address has moved.
 */
int rnic_cm_request(struct rnic_ep *ep)
{
	struct iw_cm_id *cm_id = ep->listener->cm_id;
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.provider_data = (void *)(unsigned long)ep->id,
		.private_data = (void *)ep->peer_pd,
		.private_data_len = ep->req.pd_len,
		.ird = RNIC_MAX_RD_ATOM,
		.ord = RNIC_MAX_RD_ATOM,
	};
	int ret;

	lockdep_assert_held(&ep->lock);
	if (ep->req.enhanced) {
		ev.ird = convert_depth(ep->req.ird);
		ev.ord = convert_depth(ep->req.ord);
	}
	ret = rnic_sock_addrs(&ep->conn.s, &ev.local_addr, &ev.remote_addr);
	if (!ret && !is_address_in_place(ep, &ev.local_addr))
		return -EADDRNOTAVAIL;
	if (!ret)
		ret = cm_id->event_handler(cm_id, &ev);
	if (ret)
		rnic_stat_inc(ep->dev, RNIC_STAT_BACKLOG_OVERFLOW);
	return ret;
}

/* The addresses of the sockets, or those that were asked for if there is none. */
static void set_addrs(struct rnic_ep *ep, struct iw_cm_event *ev)
{
	if (ep->conn.s.sock && !rnic_sock_addrs(&ep->conn.s, &ev->local_addr, &ev->remote_addr))
		return;
	ev->local_addr = ep->cm_id->m_local_addr;
	ev->remote_addr = ep->cm_id->m_remote_addr;
}

/*
 * The depths of CONNECT_REPLY and ESTABLISHED are those of this end: its IRD in @ird, its
 * ORD in @ord. siw and irdma report them so, and the kernel's SMB Direct relies on it for
 * each iWARP device, though rdma_get_cm_event(3) has it the other way round. As CONNECT_REPLY
 * comes from the responder, the IRD is what the responder will have outstanding, and the
 * ORD what it will serve.
 */

/**
 * rnic_cm_reply() - the initiator's startup is over
 * @ep:		endpoint, @lock held; @ep->rep is the Reply if there was one (its
 *		revision is not 0), @ep->peer_pd its Private Data
 * @status:	0, or why it failed
 */
void rnic_cm_reply(struct rnic_ep *ep, int status)
{
	const struct mpa_frame *rep = &ep->rep;
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.ird = clamp_u8(ep->agreed.ird),
		.ord = clamp_u8(ep->agreed.ord),
	};

	lockdep_assert_held(&ep->lock);
	if (!ep->cm_id)
		return;
	if (rep->rev) {
		ev.private_data = (void *)ep->peer_pd;
		ev.private_data_len = rep->pd_len;
	}
	if (rep->enhanced) {
		ev.ird = convert_depth(rep->ord);
		ev.ord = convert_depth(rep->ird);
	}
	set_addrs(ep, &ev);
	if (ep->cm_id->event_handler(ep->cm_id, &ev)) {
		/* No memory for a copy: better without than not at all. */
		ev.private_data_len = 0;
		ep->cm_id->event_handler(ep->cm_id, &ev);
	}
	if (status)
		rnic_cm_put_id(ep);
}

/**
 * rnic_cm_established() - the startup was accepted
 * @ep:		endpoint, @lock held
 *
 * Also while the RtR frame is due. iw_cm answers a consumer that accepts or rejects a
 * second time before this event by BUG(), so the peer has no say in when it comes.
 */
void rnic_cm_established(struct rnic_ep *ep)
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

/**
 * rnic_cm_close() - the connection is over
 * @ep:	endpoint, @lock held
 */
void rnic_cm_close(struct rnic_ep *ep)
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
