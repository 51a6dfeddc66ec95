// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The end of a connection.
 *
 * The socket is not released at once, because TCP answers unread bytes with a reset, and the
 * peer would lose the Terminate, the reject or the last data. So this pushes the last bytes,
 * sends FIN, and drops what still arrives, until the peer closes or LINGER_MS have passed. If
 * our last message was a Terminate or a reject, progress restarts that time, bounded by
 * LINGER_MAX_MS, so that a slow peer still gets the message.
 *
 * If the consumer closed gracefully, or rejected, TCP then continues to send unacknowledged
 * bytes, as for any program that closed its socket (tcp_orphan_retries, tcp_max_orphans),
 * because those Sends have completed, and the peer waits for the reject. Any other connection
 * is reset. So is one whose last bytes TCP did not take, because after FIN the peer would take
 * the truncated stream for a complete one.
 */
#include "conn/ep.h"
#include "core/wq.h"
#include "tcp/stream.h"

/* Milliseconds for the peer to close after us: since the last progress, and in all. */
#define LINGER_MS	2000
#define LINGER_MAX_MS	10000

/**
 * rnic_linger_start() - prepare to linger; rnic_linger_on() follows
 * @ep:	endpoint, @lock held
 *
 * From now on the work has its turns in rnic_wq, because each byte that still arrives makes one,
 * and startups would wait for all of them. That of a lent connection stays in rnic_lent_wq.
 *
 * Context: process.
 */
void rnic_linger_start(struct rnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	ep->until = jiffies + msecs_to_jiffies(LINGER_MAX_MS);
	rnic_conn_disarm(&ep->conn);
	rnic_conn_arm(&ep->conn, LINGER_MS);
	if (!rnic_sock_is_foreign(&ep->conn.s))
		WRITE_ONCE(ep->conn.wq, rnic_wq);
}

/*
 * Send FIN behind the tail.
 *
 * Return: true if TCP has both, or the connection is gone.
 */
static bool push_tail(struct rnic_ep *ep)
{
	u32 unread, left = ep->conn.tail_len;
	int ret = 1;
	bool done;

	rnic_sock_lock(&ep->conn.s);
	while (ep->conn.tail_len && ret > 0) {
		ret = rnic_sock_push(&ep->conn.s, ep->conn.tail, ep->conn.tail_off,
				     ep->conn.tail_len, false);
		if (ret > 0) {
			ep->conn.tail_off += ret;
			ep->conn.tail_len -= ret;
		}
	}
	rnic_sock_want_any(&ep->conn.s);
	unread = rnic_sock_unread(&ep->conn.s);
	rnic_sock_consume(&ep->conn.s, unread);
	done = !ep->conn.tail_len || (ret < 0 && ret != -EAGAIN);
	if (done)
		rnic_sock_shut(&ep->conn.s);
	rnic_sock_unlock(&ep->conn.s);
	if (ep->conn.last_words && (unread || ep->conn.tail_len != left))
		rnic_conn_extend(&ep->conn, LINGER_MS, ep->until);
	return done;
}

/**
 * rnic_linger_on() - continue to send the last bytes and close
 * @ep:	endpoint, @lock held
 *
 * Tests the deadline last, because progress moves it.
 *
 * Context: process.
 * Return: MPA_ON_FLUSHED if both sides have closed, MPA_ON_TIME_OVER, or MPA_ON_NOTHING.
 */
enum mpa_event rnic_linger_on(struct rnic_ep *ep)
{
	/* Test for FIN before dropping bytes, because none can follow it. */
	bool closed = rnic_sock_peer_closed(&ep->conn.s);

	lockdep_assert_held(&ep->lock);
	if (push_tail(ep)) {
		rnic_conn_drop_tail(&ep->conn);
		if (closed)
			return MPA_ON_FLUSHED;
	}
	return rnic_conn_expired(&ep->conn) ? MPA_ON_TIME_OVER : MPA_ON_NOTHING;
}
