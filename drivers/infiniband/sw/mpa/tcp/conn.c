// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A connection: its references, its deadline, its work, and its return from the queue pair.
 *
 * Lifetime. Dropping the last reference closes the socket and calls @release, which frees the
 * struct around it. The startup unhooks the socket before it drops its reference, so that no
 * callback follows.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>

#include "core/wq.h"
#include "tcp/conn.h"

/* The deadline has passed: run @work. */
static void kick_expired(struct work_struct *work)
{
	struct rnic_conn *conn = container_of(work, struct rnic_conn, timer.work);

	rnic_conn_kick(conn);
	rnic_conn_put(conn);
}

/**
 * rnic_conn_init() - initialize a connection without a socket
 * @conn:	zeroed
 * @wq:		queue of its work
 * @look:	its work, which drops a reference at its end
 * @release:	frees the struct around @conn, after the socket was closed
 *
 * The caller has the first reference.
 *
 * Context: any.
 */
void rnic_conn_init(struct rnic_conn *conn, struct workqueue_struct *wq, work_func_t look,
		    void (*release)(struct rnic_conn *conn))
{
	kref_init(&conn->ref);
	INIT_WORK(&conn->work, look);
	WRITE_ONCE(conn->wq, wq);
	INIT_DELAYED_WORK(&conn->timer, kick_expired);
	conn->release = release;
}

/**
 * rnic_conn_free() - close the socket and call @release
 * @ref:	reference counter of a connection, at 0
 *
 * Context: process.
 */
void rnic_conn_free(struct kref *ref)
{
	struct rnic_conn *conn = container_of(ref, struct rnic_conn, ref);

	rnic_sock_close(&conn->s);
	conn->release(conn);
}

/**
 * rnic_conn_kick() - queue the work of a connection
 * @conn:	connection; the caller has a reference, or a lock that keeps one
 *
 * Context: any.
 */
void rnic_conn_kick(struct rnic_conn *conn)
{
	rnic_conn_get(conn);
	if (!queue_work(READ_ONCE(conn->wq), &conn->work))
		rnic_conn_put(conn);
}

/**
 * rnic_conn_arm() - set the deadline
 * @conn:	connection
 * @ms:		milliseconds from now
 *
 * @work runs when it has passed.
 *
 * Context: any.
 */
void rnic_conn_arm(struct rnic_conn *conn, u32 ms)
{
	WRITE_ONCE(conn->deadline, (jiffies + msecs_to_jiffies(ms)) | 1);
	rnic_conn_get(conn);
	/* Two jiffies later, so that rnic_conn_expired() is true then. */
	if (mod_delayed_work(rnic_wq, &conn->timer, msecs_to_jiffies(ms) + 2))
		rnic_conn_put(conn);
}

/**
 * rnic_conn_extend() - set the deadline anew after progress
 * @conn:	connection
 * @ms:		milliseconds from now
 * @until:	in jiffies, a bound for all progress; after it the deadline stays, or is now if
 *		there was none
 *
 * Context: any.
 */
void rnic_conn_extend(struct rnic_conn *conn, u32 ms, unsigned long until)
{
	long left = until - jiffies;

	if (left > 0)
		rnic_conn_arm(conn, min_t(u32, ms, jiffies_to_msecs(left)));
	else if (!READ_ONCE(conn->deadline))
		rnic_conn_arm(conn, 0);
}

/**
 * rnic_conn_expired() - test the deadline
 * @conn:	connection
 *
 * Context: any.
 * Return: true if there is a deadline and it has passed.
 */
bool rnic_conn_expired(const struct rnic_conn *conn)
{
	unsigned long deadline = READ_ONCE(conn->deadline);

	return deadline && time_after_eq(jiffies, deadline);
}

/**
 * rnic_conn_disarm() - remove the deadline
 * @conn:	connection; the caller has a reference of its own
 *
 * Context: any.
 */
void rnic_conn_disarm(struct rnic_conn *conn)
{
	WRITE_ONCE(conn->deadline, 0);
	if (cancel_delayed_work(&conn->timer))
		rnic_conn_put(conn);
}

/**
 * rnic_conn_end() - give the stream back from the queue pair
 * @conn:	connection; the caller holds a reference, and no socket lock
 * @tail:	pages with bytes still to be sent, whose reference is taken over; or NULL
 * @off:	offset of the first byte
 * @len:	bytes
 *
 * Calls the function of @work, which finds rnic_conn_ended() true and lingers. It runs in the
 * caller, because that saves a wake-up. If it has to be queued, then in rnic_wq, because it waits
 * for the socket lock, and startups would too. The work of a lent connection is always queued,
 * because it may wait for the program.
 *
 * Context: process, the queue pair's worker.
 */
void rnic_conn_end(struct rnic_conn *conn, struct page *tail, u32 off, u32 len)
{
	conn->tail = tail;
	conn->tail_off = off;
	conn->tail_len = len;
	/* Pairs with rnic_conn_ended(). */
	smp_store_release(&conn->ended, true);
	if (rnic_sock_is_foreign(&conn->s)) {
		rnic_conn_kick(conn);
		return;
	}
	WRITE_ONCE(conn->wq, rnic_wq);
	rnic_conn_get(conn);
	conn->work.func(&conn->work);
}

/**
 * rnic_conn_ended() - test for the end of the queue pair's use
 * @conn:	connection
 *
 * Context: any.
 * Return: true if rnic_conn_end() was called; the fields that it sets are then visible.
 */
bool rnic_conn_ended(const struct rnic_conn *conn)
{
	/* Pairs with rnic_conn_end(). */
	return smp_load_acquire(&conn->ended);
}

/**
 * rnic_conn_drop_tail() - free the bytes that were left to send
 * @conn:	connection; TCP has the bytes, or will not get them
 *
 * Context: process.
 */
void rnic_conn_drop_tail(struct rnic_conn *conn)
{
	if (conn->tail)
		put_page(conn->tail);
	conn->tail = NULL;
	conn->tail_len = 0;
}
