/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TCP as a stream: a way to push pages, and a reader that looks at bytes in the receive
 * queue before it consumes them. What is asked for each message, and is short, is in
 * line: calls were a good part of what a small message cost.
 */
#ifndef _RNIC_STREAM_H
#define _RNIC_STREAM_H

#include <net/sock.h>
#include <net/tcp.h>
#include <compat/tcp.h>

#include "tcp/sock.h"

/**
 * struct rnic_cursor - a place in the receive queue
 * @skb:	buffer holding it, or the one before
 * @seq:	TCP sequence number of the place
 *
 * Valid while the socket lock is held and nothing was consumed.
 */
struct rnic_cursor {
	struct sk_buff *skb;
	u32 seq;
};

/**
 * typedef rnic_piece_fn - takes one contiguous piece of the stream
 * @ctx:	the walker's context
 * @data:	the bytes; preemption may be off, do not sleep
 * @len:	how many, at least 1
 *
 * Return: true to go on, false to stop after this piece.
 */
typedef bool (*rnic_piece_fn)(void *ctx, const u8 *data, u32 len);

/* stream.c */
bool rnic_sock_try(struct rnic_sock *s, void (*fn)(struct rnic_sock *s, void *ctx), void *ctx);
int rnic_sock_push(struct rnic_sock *s, struct page *page, u32 off, u32 len, bool more);
int rnic_sock_send(struct rnic_sock *s, const void *buf, u32 len);
void rnic_sock_walk(struct rnic_sock *s, struct rnic_cursor *at, rnic_piece_fn piece, void *ctx);
int rnic_sock_copy(struct rnic_sock *s, struct rnic_cursor *at, void *to, u32 len);
void rnic_sock_consume(struct rnic_sock *s, u32 len);
void rnic_sock_fit_mss(struct rnic_sock *s, u32 mtu);

static inline void rnic_sock_lock(struct rnic_sock *s)
{
	lock_sock(s->sock->sk);
}

static inline void rnic_sock_unlock(struct rnic_sock *s)
{
	release_sock(s->sock->sk);
}

static inline void rnic_sock_assert_locked(const struct rnic_sock *s)
{
	sock_owned_by_me(s->sock->sk);
}

/*
 * Does a process have the socket? Only for a callback that TCP makes with its own
 * lock held: that lock keeps the answer true until the callback returns.
 */
static inline bool rnic_sock_owned(const struct rnic_sock *s)
{
	return sock_owned_by_user_nocheck(s->sock->sk);
}

/**
 * rnic_sock_gfp() - how may whoever has the socket allocate?
 * @s:	socket, locked
 *
 * Return: GFP_NOIO for a process, GFP_ATOMIC for a softirq.
 */
static inline gfp_t rnic_sock_gfp(const struct rnic_sock *s)
{
	rnic_sock_assert_locked(s);
	return rnic_sock_owned(s) ? GFP_NOIO : GFP_ATOMIC;
}

/**
 * rnic_sock_flush() - let TCP look at what came while the socket was ours
 * @s:	socket, locked by this process
 *
 * It reports events as ever.
 */
static inline void rnic_sock_flush(struct rnic_sock *s)
{
	sk_flush_backlog(s->sock->sk);
}

/**
 * rnic_sock_emss() - bytes TCP puts into a full segment now
 * @s:	socket, locked
 *
 * This is EMSS (RFC 5044 section 5.1). It follows the path's MTU at once, where TCP
 * by itself would look at it with the next bytes it is given (SEG-09).
 *
 * Return: EMSS, a multiple of 4 but for a peer with a tiny window.
 */
static inline u32 rnic_sock_emss(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;
	struct dst_entry *dst = __sk_dst_get(sk);
	u32 mtu = dst ? dst_mtu(dst) : inet_csk(sk)->icsk_pmtu_cookie;

	rnic_sock_assert_locked(s);
	if (mtu != s->mtu || tcp_sk(sk)->mss_cache % 4)
		rnic_sock_fit_mss(s, mtu);
	return tcp_sk(sk)->mss_cache;
}

/**
 * rnic_sock_seg_used() - how full is the segment that the next byte joins?
 * @s:		socket, locked
 * @emss:	as rnic_sock_emss() told
 *
 * TCP is asked anew each time, for it may cut a buffer anywhere, at the edge of the
 * peer's window for one (SEG-18). A buffer that has no room for the rest of its last
 * segment ends here.
 *
 * Return: bytes in it, 0 when the next byte begins a segment.
 */
static inline u32 rnic_sock_seg_used(const struct rnic_sock *s, u32 emss)
{
	struct sk_buff *tail = tcp_write_queue_tail(s->sock->sk);
	u32 used;

	rnic_sock_assert_locked(s);
	used = tail && !TCP_SKB_CB(tail)->eor ? tail->len % emss : 0;
	if (used && !compat_tcp_has_room(tail, emss - used)) {
		TCP_SKB_CB(tail)->eor = 1;
		used = 0;
	}
	return used;
}

/* Bytes that the peer acknowledged, free running. */
static inline u32 rnic_sock_acked(const struct rnic_sock *s)
{
	return tcp_sk(s->sock->sk)->snd_una;
}

/* Nothing is queued or waits for an acknowledgment. */
static inline bool rnic_sock_all_acked(const struct rnic_sock *s)
{
	return tcp_rtx_and_write_queues_empty(s->sock->sk);
}

/*
 * May more be queued? If not, RNIC_SOCK_SPACE will tell: acknowledgments are
 * processed with the socket lock, so none slips in between look and flag.
 */
static inline bool rnic_sock_room(const struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	if (sk_stream_memory_free(sk))
		return true;
	set_bit(SOCK_NOSPACE, &s->sock->flags);
	return false;
}

/**
 * rnic_sock_cut() - what was pushed ends a segment
 * @s:	socket, locked
 *
 * The next byte pushed begins a new buffer, and so a new segment, whatever
 * the one before was filled to.
 */
static inline void rnic_sock_cut(struct rnic_sock *s)
{
	struct sk_buff *tail = tcp_write_queue_tail(s->sock->sk);

	rnic_sock_assert_locked(s);
	if (tail)
		TCP_SKB_CB(tail)->eor = 1;
}

/**
 * rnic_sock_rewind() - put a cursor on the unread stream
 * @s:		socket, locked
 * @at:		the cursor
 * @skip:	unread bytes to leave out, at most rnic_sock_unread()
 */
static inline void rnic_sock_rewind(struct rnic_sock *s, struct rnic_cursor *at, u32 skip)
{
	struct sock *sk = s->sock->sk;

	at->skb = skb_peek(&sk->sk_receive_queue);
	at->seq = tcp_sk(sk)->copied_seq + skip;
}

/* Bytes that arrived in order and were not consumed. */
static inline u32 rnic_sock_unread(const struct rnic_sock *s)
{
	return tcp_inq(s->sock->sk);
}

/**
 * rnic_sock_want() - report RNIC_SOCK_DATA only when so much is unread
 * @s:		socket, locked
 * @len:	bytes; the receive buffer grows to hold them
 */
static inline void rnic_sock_want(struct rnic_sock *s, u32 len)
{
	rnic_sock_assert_locked(s);
	if (READ_ONCE(s->sock->sk->sk_rcvlowat) != len)
		compat_tcp_set_rcvlowat(s->sock->sk, len);
}

/* No connection any more: reset, timed out, or closed by both ends. */
static inline bool rnic_sock_dead(const struct rnic_sock *s)
{
	int state = inet_sk_state_load(s->sock->sk);

	return state == TCP_CLOSE || state == TCP_TIME_WAIT;
}

/* The peer sent FIN, or there is no connection any more. */
static inline bool rnic_sock_peer_closed(const struct rnic_sock *s)
{
	return READ_ONCE(s->sock->sk->sk_shutdown) & RCV_SHUTDOWN || rnic_sock_dead(s);
}

#endif
