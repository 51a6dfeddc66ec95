// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The end of a connection.
 *
 * It is not simply released: with unread bytes in the queue TCP would answer
 * with a reset, and the peer would lose the Terminate, the reject or the last
 * data. So the last bytes are pushed, FIN follows, what still arrives is read
 * and dropped, and when the peer closes too, or its time is over, the socket goes. It
 * has LINGER_MS; from the last byte on that moved if a Terminate or a reject was the last
 * we said, for a peer that is still sending, or whose host is slow, has not seen it. One
 * that never stops has LINGER_MAX_MS in all.
 *
 * If the consumer closed gracefully, or rejected, TCP then goes on by itself with what the
 * peer has not acknowledged, as for any program that closed its socket (tcp_orphan_retries,
 * tcp_max_orphans): the Sends in it completed, the caller waits for the reject. Any other
 * connection is reset, and so is one that TCP would not take all of: FIN would make the
 * rest look like a whole stream.
 */
#include "conn/ep.h"
#include "tcp/stream.h"

/* How long the peer may take to close after we did: after something moved, and in all. */
#define LINGER_MS	2000
#define LINGER_MAX_MS	10000

/**
 * rnic_linger_start() - the connection is over: send what is left, then close
 * @ep:	endpoint, @lock held
 */
void rnic_linger_start(struct rnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	ep->until = jiffies + msecs_to_jiffies(LINGER_MAX_MS);
	rnic_conn_disarm(&ep->conn);
	rnic_conn_arm(&ep->conn, LINGER_MS);
	rnic_conn_kick(&ep->conn);
}

/* Something moved: the peer has its time anew, while there is any. */
static void extend_deadline(struct rnic_ep *ep)
{
	long left = ep->until - jiffies;

	if (left > 0)
		rnic_conn_arm(&ep->conn, min_t(u32, LINGER_MS, jiffies_to_msecs(left)));
}

/* Return: all of the tail is with TCP, or there is no connection to send it on. */
static bool push_tail(struct rnic_ep *ep)
{
	u32 unread, left = ep->conn.tail_len;
	int ret = 1;

	rnic_sock_lock(&ep->conn.s);
	while (ep->conn.tail_len && ret > 0) {
		ret = rnic_sock_push(&ep->conn.s, ep->conn.tail, ep->conn.tail_off,
				     ep->conn.tail_len, false);
		if (ret > 0) {
			ep->conn.tail_off += ret;
			ep->conn.tail_len -= ret;
		}
	}
	rnic_sock_want(&ep->conn.s, 1);
	unread = rnic_sock_unread(&ep->conn.s);
	rnic_sock_consume(&ep->conn.s, unread);
	rnic_sock_unlock(&ep->conn.s);
	if (ep->conn.last_words && (unread || ep->conn.tail_len != left))
		extend_deadline(ep);
	return !ep->conn.tail_len || (ret < 0 && ret != -EAGAIN);
}

/**
 * rnic_linger_on() - go on with it
 * @ep:	endpoint, @lock held
 *
 * Whether its time is over is asked last: what came until then has moved.
 *
 * Return: MPA_ON_FLUSHED when all is done, MPA_ON_TIME_OVER, or MPA_ON_NOTHING.
 */
enum mpa_event rnic_linger_on(struct rnic_ep *ep)
{
	/* Before what has arrived is dropped: behind its FIN nothing comes. */
	bool closed = rnic_sock_peer_closed(&ep->conn.s);

	lockdep_assert_held(&ep->lock);
	if (push_tail(ep)) {
		rnic_conn_drop_tail(&ep->conn);
		rnic_sock_shut(&ep->conn.s);
		if (closed)
			return MPA_ON_FLUSHED;
	}
	return rnic_conn_expired(&ep->conn) ? MPA_ON_TIME_OVER : MPA_ON_NOTHING;
}
