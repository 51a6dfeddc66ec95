/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Endpoints: one TCP connection from its first packet to its last.
 */
#ifndef _RNIC_EP_H
#define _RNIC_EP_H

#include <linux/mutex.h>
#include <linux/sched/mm.h>

#include "conn/room.h"
#include "tcp/conn.h"
#include "wire/machine.h"
#include "wire/startup.h"

struct iw_cm_id;
struct rnic_dev;
struct rnic_ep;
struct rnic_listener;
struct rnic_qp;

/**
 * struct rnic_ep_ops - consumer of an endpoint: iw_cm, or a program that lent the connection
 * @request:	a Request has arrived; 0, 1 if the consumer cannot be asked now, or -errno if it
 *		cannot be asked at all
 * @started:	the startup is over: 0 or -errno
 * @closed:	the connection has ended
 * @over:	the endpoint has returned a lent connection; nothing follows. NULL for iw_cm
 *
 * @lock is held for each.
 */
struct rnic_ep_ops {
	int (*request)(struct rnic_ep *ep);
	void (*started)(struct rnic_ep *ep, int status);
	void (*closed)(struct rnic_ep *ep);
	void (*over)(struct rnic_ep *ep);
};

/**
 * struct rnic_ep - an endpoint
 * @conn:	connection; the startup drops its reference in MPA_DONE
 * @node:	entry in the device's list
 * @cut:	MPA_ON_CONSUMER_GONE, _DEVICE_GONE or _EVICTED to end it from outside; no lock
 * @dev:	device, which waits for its list of endpoints to become empty
 * @lock:	protects what follows @missed; may be held when the socket lock is taken
 * @missed:	a look or an event found @lock held, so its holder queues the work; no lock
 * @state:	see wire/machine.h
 * @initiator:	true if we connected
 * @place:	a responder's until it is accepted or gone; under the device's ep_lock
 * @ops:	its consumer
 * @owner:	for @ops of a lent connection
 * @stays:	TCP stays, because the startup ended by a reject: on a lent connection
 * @status:	status of the startup's last event, for @ops->over
 * @cm_id:	receives events, with a reference; NULL before and after
 * @listener:	a responder's, with a reference, until accepted or over
 * @id:		request id known to iw_cm until accepted or rejected, else 0
 * @known:	rdma_cm has the Request; no lock
 * @of_qp:	entry in @conn.qp's list of startups, under the device's ep_lock
 * @own:	our offer
 * @req:	the Request sent or received
 * @rep:	the Reply sent or received
 * @agreed:	result of the negotiation
 * @fault:	error in a Terminate that ends the startup
 * @frame:	startup frame being received, NULL in Full Operation
 * @have:	bytes of it
 * @peer_pd:	the peer's Private Data, in @frame, valid with @req or @rep until Full
 *		Operation; goes with @frame
 * @pd:		our Private Data
 * @pd_len:	bytes of it
 * @answer_by:	in jiffies, when the consumer must have answered
 * @until:	in jiffies, latest end of the startup, later of lingering
 */
struct rnic_ep {
	struct rnic_conn conn;
	struct list_head node;
	enum mpa_event cut;
	struct rnic_dev *dev;
	struct mutex lock; /* see above */
	int missed;
	enum mpa_state state;
	bool initiator;
	struct rnic_place place;
	const struct rnic_ep_ops *ops;
	void *owner;
	bool stays;
	int status;
	struct iw_cm_id *cm_id;
	struct rnic_listener *listener;
	u32 id;
	bool known;
	struct list_head of_qp;
	struct mpa_offer own;
	struct mpa_frame req;
	struct mpa_frame rep;
	struct mpa_agreed agreed;
	enum wire_err fault;
	u8 *frame;
	u32 have;
	const u8 *peer_pd;
	void *pd;
	u16 pd_len;
	unsigned long answer_by;
	unsigned long until;
};

/*
 * Lock the endpoint and forbid I/O for allocations, because startups of rdma_cm's connections run
 * one at a time, and memory reclaim over a block device of ours may wait for one of them.
 */
static inline unsigned int rnic_ep_lock(struct rnic_ep *ep)
{
	mutex_lock(&ep->lock);
	return memalloc_noio_save();
}

static inline struct rnic_ep *rnic_ep_get(struct rnic_ep *ep)
{
	rnic_conn_get(&ep->conn);
	return ep;
}

/* Context: process; any when it is not the last reference. */
static inline void rnic_ep_put(struct rnic_ep *ep)
{
	rnic_conn_put(&ep->conn);
}

/* ep.c */
bool rnic_ep_trylock(struct rnic_ep *ep, unsigned int *noio);
void rnic_ep_unlock(struct rnic_ep *ep, unsigned int noio);
void rnic_ep_sock_event(struct rnic_sock *s, enum rnic_sock_event event);
struct rnic_ep *rnic_ep_new(struct rnic_dev *dev, bool initiator, const struct rnic_ep_ops *ops,
			    struct workqueue_struct *wq, work_func_t look, gfp_t gfp);
struct rnic_ep *rnic_ep_find(struct rnic_dev *dev, u32 id);
int rnic_ep_publish(struct rnic_ep *ep);
void rnic_ep_unpublish(struct rnic_ep *ep);
void rnic_ep_set_depths(struct rnic_ep *ep, u32 ird, u32 ord);
int rnic_ep_set_pd(struct rnic_ep *ep, const struct mpa_frame *f, const void *pd, u16 len);
void rnic_ep_join_qp(struct rnic_ep *ep);
void rnic_ep_leave_qp(struct rnic_ep *ep);
void rnic_ep_drop_frame(struct rnic_ep *ep);
void rnic_ep_over(struct rnic_ep *ep);
void rnic_ep_cut_qp(struct rnic_qp *qp);
void rnic_ep_cut_listener(struct rnic_listener *l);
void rnic_ep_kill_all(struct rnic_dev *dev);
void rnic_listener_put(struct rnic_listener *l);

/* startup.c */
void rnic_startup_await_peer(struct rnic_ep *ep);
int rnic_startup(struct rnic_ep *ep, enum mpa_event event, int status);

/* watch.c */
enum mpa_event rnic_startup_early(struct rnic_ep *ep, int *status);
void rnic_startup_look(struct rnic_ep *ep);
void rnic_startup_await_look(struct rnic_conn *conn);
void rnic_startup_work(struct work_struct *work);

/* frame.c */
int rnic_frame_send(struct rnic_ep *ep, const struct mpa_frame *f, const void *pd);
int rnic_frame_read(struct rnic_ep *ep, enum mpa_kind kind);

/* linger.c */
void rnic_linger_start(struct rnic_ep *ep);
enum mpa_event rnic_linger_on(struct rnic_ep *ep);

/* event.c: what an endpoint reports to iw_cm; @ep->lock held */
extern const struct rnic_ep_ops rnic_cm_ops;
void rnic_cm_put_id(struct rnic_ep *ep);

#endif
