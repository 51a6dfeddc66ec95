/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A kernel consumer tests from inside what only kernel consumers can do (fast registration,
 * invalidation, keys to all memory). Both ends of each connection are in this module: a connects,
 * and does what a hostile peer would do; b accepts.
 */
#ifndef _MEMPROBE_H
#define _MEMPROBE_H

#include <linux/completion.h>
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define REMOTE_RW	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)
#define ALL_RIGHTS	(IB_ACCESS_LOCAL_WRITE | REMOTE_RW)
#define EVENTS		16
#define REGION_PAGES	4

/**
 * struct end - one end of a connection
 * @name:	for messages
 * @id:		connection of rdma_cm, with a queue pair, or NULL
 * @pd:		protection domain of the queue pair
 * @srq:	shared receive queue, or NULL
 * @send_cq:	completion queues that the test polls, or NULL
 * @recv_cq:	the same for receives
 * @cq:		for all completions, if there is no @send_cq; else NULL
 * @told:	counts @event
 * @event:	events of the connection so far
 * @events:	how many
 * @expected:	how many of them were looked at
 * @failed:	the queue pair had an event IB_EVENT_QP_ACCESS_ERR
 */
struct end {
	const char *name;
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_srq *srq;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	struct ib_cq *cq;
	struct completion told;
	enum rdma_cm_event_type event[EVENTS];
	unsigned int events;
	unsigned int expected;
	bool failed;
};

/**
 * struct pair - a connection
 * @listener:	b's
 * @a:		calls
 * @b:		answers
 */
struct pair {
	struct rdma_cm_id *listener;
	struct end a;
	struct end b;
};

/**
 * struct region - pages and a fast registration of them, in reverse order
 * @mr:		the registration
 * @pages:	REGION_PAGES of them
 * @off:	where it begins in its first page
 * @sg:		a page each
 */
struct region {
	struct ib_mr *mr;
	struct page *pages;
	u32 off;
	struct scatterlist sg[REGION_PAGES];
};

extern struct ib_device *dev;
extern uint slow;	/* factor for time-outs */

/* main.c; all return 0 or a negative errno, and have complained of it */
int __printf(1, 2) complain(const char *fmt, ...);
int pair_open(struct pair *p, struct ib_pd *a, struct ib_pd *b, struct ib_srq *srq);
int pair_open_on(struct pair *p, struct ib_pd *pd, struct ib_cq *send_cq, struct ib_cq *recv_cq);
void pair_close(struct pair *p);
struct rdma_cm_id *listen(rdma_cm_event_handler handler, void *context, int backlog,
			  struct sockaddr_in *at);
void end_init(struct end *e, const char *name, struct ib_pd *pd);
int end_event(struct rdma_cm_id *id, struct rdma_cm_event *event);
int end_answer(struct end *b, struct rdma_cm_id *id);
int end_resolve(struct end *a, struct sockaddr_in *to);
int end_call(struct end *a);
void end_free(struct end *e);
int end_next(struct end *e);
int end_expect(struct end *e, enum rdma_cm_event_type event);
int end_wait(struct end *e, struct ib_wc *wc);
int end_do(struct end *e, struct ib_send_wr *wr);
int end_post_recv(struct end *e, u64 addr, u32 len, u32 lkey);
int end_rdma(struct end *e, enum ib_wr_opcode op, void *local, u32 len, u64 to, u32 rkey);
int end_send_inv(struct end *e, u32 rkey);
int end_local_inv(struct end *e, u32 rkey);
int region_make(struct region *r, struct ib_pd *pd, u32 off);
int region_reg(struct region *r, struct end *e, int access);
u8 *region_at(const struct region *r, u32 offset);
void region_free(struct region *r);

/* the tests */
int probe_stags(void);
int probe_srq_pd(void);
int probe_offsets(void);
int probe_inval(void);
int probe_global(void);
int probe_spin(void);
int probe_blocks(void);
int probe_late(void);
int probe_undrained(void);
int probe_full(void);
int probe_limits(void);
int probe_message(void);
int probe_lend(void);
int probe_crowd(void);

#endif
