// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A connection: its references, its deadline, and who looks at it next.
 *
 * Lifetime. The last reference closes the socket and calls @release, which frees the struct
 * around it. The startup drops its own after it has unhooked the socket, so no callback can
 * come any more.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>

#include "core/wq.h"
#include "tcp/conn.h"

/* Something happened that only @work can judge, or time is over. */
static void kick_expired(struct work_struct *work)
{
	struct rnic_conn *conn = container_of(work, struct rnic_conn, timer.work);

	rnic_conn_kick(conn);
	rnic_conn_put(conn);
}

/**
 * rnic_conn_init() - a connection without a socket yet
 * @conn:	zeroed
 * @look:	its work, which drops a reference at its end
 * @release:	frees what is around it; the socket is closed by then
 *
 * The caller has the first reference.
 */
void rnic_conn_init(struct rnic_conn *conn, work_func_t look,
		    void (*release)(struct rnic_conn *conn))
{
	kref_init(&conn->ref);
	INIT_WORK(&conn->work, look);
	INIT_DELAYED_WORK(&conn->timer, kick_expired);
	conn->release = release;
}

/* The last reference went. Context: process. */
void rnic_conn_free(struct kref *ref)
{
	struct rnic_conn *conn = container_of(ref, struct rnic_conn, ref);

	rnic_sock_close(&conn->s);
	conn->release(conn);
}

/**
 * rnic_conn_kick() - have the work run
 * @conn:	connection of which somebody has a reference
 *
 * Context: any.
 */
void rnic_conn_kick(struct rnic_conn *conn)
{
	rnic_conn_get(conn);
	if (!queue_work(rnic_startup_wq, &conn->work))
		rnic_conn_put(conn);
}

/* rnic_sock_event_fn of a startup and of a lingering socket. sk_callback_lock is held. */
void rnic_conn_sock_event(struct rnic_sock *s, enum rnic_sock_event event)
{
	rnic_conn_kick(container_of(s, struct rnic_conn, s));
}

/**
 * rnic_conn_arm() - set the deadline
 * @conn:	connection
 * @ms:		from now
 */
void rnic_conn_arm(struct rnic_conn *conn, u32 ms)
{
	WRITE_ONCE(conn->deadline, (jiffies + msecs_to_jiffies(ms)) | 1);
	rnic_conn_get(conn);
	/* A little later, so that the deadline has passed for sure. */
	if (mod_delayed_work(rnic_wq, &conn->timer, msecs_to_jiffies(ms) + 2))
		rnic_conn_put(conn);
}

/* Has the deadline passed? */
bool rnic_conn_expired(const struct rnic_conn *conn)
{
	unsigned long deadline = READ_ONCE(conn->deadline);

	return deadline && time_after_eq(jiffies, deadline);
}

/* No deadline any more. */
void rnic_conn_disarm(struct rnic_conn *conn)
{
	WRITE_ONCE(conn->deadline, 0);
	if (cancel_delayed_work(&conn->timer))
		rnic_conn_put(conn);
}

/**
 * rnic_conn_end() - the queue pair gives the stream back
 * @conn:	connection; the caller holds a reference, and no socket lock
 * @tail:	pages with bytes that must still be sent, taken over; or NULL
 * @off:	first of them
 * @len:	how many
 *
 * The startup's work finds out, and goes on from there.
 *
 * Context: the queue pair's worker.
 */
void rnic_conn_end(struct rnic_conn *conn, struct page *tail, u32 off, u32 len)
{
	conn->tail = tail;
	conn->tail_off = off;
	conn->tail_len = len;
	/* Pairs with rnic_conn_ended(). */
	smp_store_release(&conn->ended, true);
	rnic_conn_kick(conn);
}

/**
 * rnic_conn_ended() - has the queue pair given the stream back?
 * @conn:	connection
 *
 * Return: true when it has, and left what is set then.
 */
bool rnic_conn_ended(const struct rnic_conn *conn)
{
	/* Pairs with rnic_conn_end(). */
	return smp_load_acquire(&conn->ended);
}

/* What is left to send will not be sent, or is with TCP. */
void rnic_conn_drop_tail(struct rnic_conn *conn)
{
	if (conn->tail)
		put_page(conn->tail);
	conn->tail = NULL;
	conn->tail_len = 0;
}
