/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Endpoints: one TCP connection from its first packet to its last.
 */
#ifndef _RNIC_EP_H
#define _RNIC_EP_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>
#include <wire/machine.h>
#include <wire/startup.h>

#include "room.h"
#include "sock.h"

struct iw_cm_id;
struct page;
struct rnic_dev;
struct rnic_listener;
struct rnic_qp;

/**
 * struct rnic_ep - an endpoint
 * @ref:	references: one until DONE, one per queued work or armed timer, one
 *		of the queue pair, and short ones
 * @node:	entry in the device's list
 * @cut:	MPA_ON_CONSUMER_GONE, _DEVICE_GONE or _EVICTED once somebody ends it; no lock
 * @dev:	device; its list being empty is what lets it go
 * @s:		socket; closed with the last reference
 * @lock:	protects what follows; may be held when the socket lock is taken
 * @state:	see wire/machine.h
 * @initiator:	we connected
 * @work:	startup and lingering
 * @timer:	one deadline for the whole startup, later for closing
 * @deadline:	in jiffies, 0 when there is none; may be set without @lock
 * @place:	a responder's until it is accepted or gone; under the device's ep_lock
 * @cm_id:	whom to tell, with a reference; NULL before and after
 * @listener:	where it came from, with a reference, until it is accepted or over
 * @id:		how iw_cm names it until accepted or rejected; 0 when it does not
 * @qp:		queue pair, with a reference, while connecting or operating
 * @of_qp:	entry in @qp's list of startups, under the device's ep_lock
 * @own:	what we offered
 * @req:	the Request sent or received
 * @rep:	the Reply sent or received
 * @agreed:	outcome
 * @fault:	what a Terminate says that ends the startup
 * @frame:	startup frame being received, NULL when none is due any more; an RtR frame:
 *		under the socket lock
 * @have:	octets of it, likewise
 * @peer_pd:	the peer's Private Data, in @frame, valid with @req or @rep until Full
 *		Operation; goes with @frame
 * @pd:		our Private Data
 * @pd_len:	octets of it
 * @graceful:	the consumer closed, no error did, and no message was cut; set by the queue
 *		pair's worker before it gives the connection back
 * @last_words:	a Terminate or a reject was the last we said, which the peer shall hear;
 *		set as @graceful, or in the startup
 * @until:	in jiffies, when a responder's startup, later lingering, is over in any case
 * @tail:	pages with the last octets to send, with a reference, or NULL
 * @tail_off:	first of them
 * @tail_len:	how many
 */
struct rnic_ep {
	struct kref ref;
	struct list_head node;
	enum mpa_event cut;
	struct rnic_dev *dev;
	struct rnic_sock s;
	struct mutex lock; /* see above */
	enum mpa_state state;
	bool initiator;
	struct work_struct work;
	struct delayed_work timer;
	unsigned long deadline;
	struct rnic_place place;
	struct iw_cm_id *cm_id;
	struct rnic_listener *listener;
	u32 id;
	struct rnic_qp *qp;
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
	bool graceful;
	bool last_words;
	unsigned long until;
	struct page *tail;
	u32 tail_off;
	u32 tail_len;
};

/*
 * Without I/O while the lock is held: startups run one at a time, and what memory is
 * reclaimed by may wait for one of them.
 */
static inline unsigned int rnic_ep_lock(struct rnic_ep *ep)
{
	mutex_lock(&ep->lock);
	return memalloc_noio_save();
}

static inline void rnic_ep_unlock(struct rnic_ep *ep, unsigned int noio)
{
	memalloc_noio_restore(noio);
	mutex_unlock(&ep->lock);
}

static inline struct rnic_ep *rnic_ep_get(struct rnic_ep *ep)
{
	kref_get(&ep->ref);
	return ep;
}

/* ep.c */
struct rnic_ep *rnic_ep_new(struct rnic_dev *dev, bool initiator);
void rnic_ep_free(struct kref *ref);
void rnic_ep_kick(struct rnic_ep *ep);
void rnic_ep_sock_event(struct rnic_sock *s, enum rnic_sock_event event);
void rnic_ep_arm(struct rnic_ep *ep, u32 ms);
void rnic_ep_disarm(struct rnic_ep *ep);
bool rnic_ep_expired(const struct rnic_ep *ep);
void rnic_ep_opened(struct rnic_ep *ep);
struct rnic_ep *rnic_ep_find(struct rnic_dev *dev, u32 id);
int rnic_ep_publish(struct rnic_ep *ep);
void rnic_ep_join_qp(struct rnic_ep *ep);
void rnic_ep_cut_qp(struct rnic_qp *qp);
void rnic_ep_cut_listener(struct rnic_listener *l);
void rnic_ep_kill_all(struct rnic_dev *dev);

/* Context: process; any when it is not the last reference. */
static inline void rnic_ep_put(struct rnic_ep *ep)
{
	kref_put(&ep->ref, rnic_ep_free);
}

/* ep.c: what a state needs on entry; for startup.c, @ep->lock held */
void rnic_ep_reported(struct rnic_ep *ep);
void rnic_ep_operate(struct rnic_ep *ep);
void rnic_ep_over(struct rnic_ep *ep);
void rnic_ep_done(struct rnic_ep *ep);

/* startup.c */
int rnic_startup(struct rnic_ep *ep, enum mpa_event event, int status);
enum mpa_event rnic_startup_early(struct rnic_ep *ep, int *status);
void rnic_startup_look(struct rnic_ep *ep);
void rnic_startup_work(struct work_struct *work);

/* frame.c */
int rnic_frame_send(struct rnic_ep *ep, const struct mpa_frame *f, const void *pd);
int rnic_frame_read(struct rnic_ep *ep, enum mpa_kind kind);

/* linger.c */
void rnic_linger_start(struct rnic_ep *ep);
enum mpa_event rnic_linger_on(struct rnic_ep *ep);
void rnic_linger_end(struct rnic_ep *ep);
void rnic_ep_closed(struct rnic_ep *ep, struct page *tail, u32 off, u32 len);

/* cm.c: what an endpoint reports; @ep->lock held */
int rnic_cm_request(struct rnic_ep *ep);
void rnic_cm_reply(struct rnic_ep *ep, int status);
void rnic_cm_established(struct rnic_ep *ep);
void rnic_cm_close(struct rnic_ep *ep);
int rnic_cm_connect_again(struct rnic_ep *ep);

#endif
