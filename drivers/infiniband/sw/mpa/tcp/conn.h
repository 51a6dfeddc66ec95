/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A connection: a socket that the startup and the queue pair hand to each other.
 *
 * The startup creates it and handles its events in @work. In Full Operation the queue pair
 * owns the stream, and its worker returns it with rnic_conn_end(). Then @work lingers.
 */
#ifndef _RNIC_CONN_H
#define _RNIC_CONN_H

#include <linux/kref.h>
#include <linux/workqueue.h>

#include "tcp/sock.h"

struct page;
struct rnic_qp;

/**
 * struct rnic_conn - a connection
 * @ref:	references: one until the startup is done with it, one per queued work or
 *		armed timer, one of the queue pair, and short ones
 * @release:	called with the last of them, in process context
 * @s:		socket
 * @work:	startup and lingering
 * @wq:		its queue: rnic_lent_wq for a lent connection; for others rnic_startup_wq, and
 *		rnic_wq from the start of lingering on
 * @timer:	runs @work when @deadline has passed
 * @deadline:	in jiffies, 0 when there is none; no lock
 * @qp:		queue pair, with a reference, while connecting or operating
 * @ended:	the queue pair has returned the stream and set the fields below
 * @graceful:	the consumer closed without an error, and no message was truncated
 * @last_words:	a Terminate or a reject was the last message, and the peer must get it;
 *		the startup sets it too
 * @tail:	pages with the last bytes to send, with a reference, or NULL
 * @tail_off:	offset of the first byte
 * @tail_len:	bytes
 */
struct rnic_conn {
	struct kref ref;
	void (*release)(struct rnic_conn *conn);
	struct rnic_sock s;
	struct work_struct work;
	struct workqueue_struct *wq;
	struct delayed_work timer;
	unsigned long deadline;
	struct rnic_qp *qp;
	bool ended;
	bool graceful;
	bool last_words;
	struct page *tail;
	u32 tail_off;
	u32 tail_len;
};

void rnic_conn_init(struct rnic_conn *conn, struct workqueue_struct *wq, work_func_t look,
		    void (*release)(struct rnic_conn *conn));
void rnic_conn_free(struct kref *ref);
void rnic_conn_kick(struct rnic_conn *conn);
void rnic_conn_arm(struct rnic_conn *conn, u32 ms);
void rnic_conn_extend(struct rnic_conn *conn, u32 ms, unsigned long until);
void rnic_conn_disarm(struct rnic_conn *conn);
bool rnic_conn_expired(const struct rnic_conn *conn);
void rnic_conn_end(struct rnic_conn *conn, struct page *tail, u32 off, u32 len);
bool rnic_conn_ended(const struct rnic_conn *conn);
void rnic_conn_drop_tail(struct rnic_conn *conn);

static inline struct rnic_conn *rnic_conn_get(struct rnic_conn *conn)
{
	kref_get(&conn->ref);
	return conn;
}

/* Context: process; any when it is not the last reference. */
static inline void rnic_conn_put(struct rnic_conn *conn)
{
	kref_put(&conn->ref, rnic_conn_free);
}

#endif
