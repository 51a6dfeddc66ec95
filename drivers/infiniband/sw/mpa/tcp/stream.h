/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A connected socket as a stream: push pages, and read bytes in the receive queue before
 * consuming them. Short functions of each message are inline, because calls were a good part
 * of the cost of a small message.
 *
 * TCP internals that tcp/ and include/compat/tcp.h rely on, and the first kernel with each:
 *
 *	TCP_SKB_CB()->eor	4.7, ends a segment: TCP does not append to that skb
 *	rx_opt.mss_clamp	before git, bounds the MSS: makes it a multiple of 4
 *	icsk_accept_queue,
 *	rskq_lock		4.4, protects the list: reads addresses before accept
 *	inet_bind_bucket	before git, all sockets of a port; 6.8 sorts them by address
 *	SK_FORCE_REUSE		3.5, lets bind() and listen() take a port without a check
 *	urg_data		before git, 0 keeps tcp_read_sock() from stopping at urgent data
 *	notsent_lowat		3.12, per socket: bounds unsent bytes
 *	sk_rcvlowat		before git, tcp_set_rcvlowat() since 4.18: wakes at a whole FPDU
 *	sk_prot			6.1 at the latest, IPV6_ADDRFORM fails unless it is TCP's own
 *	sk_user_data flags	6.0, tell a psock from our pointer; NOCOPY keeps it from children
 *	sk_lock.owned,
 *	sk_lock.wq		before git, lock_sock() that does not wait; woken at the release
 *	tcp_read_sock()		before git, consumes bytes and opens the receive window
 *	TCP_SKB_CB()->seq,
 *	copied_seq		before git, find a byte in sk_receive_queue
 */
#ifndef _RNIC_STREAM_H
#define _RNIC_STREAM_H

#include <net/sock.h>
#include <net/tcp.h>
#include <compat/tcp.h>

#include "tcp/sock.h"

/**
 * struct rnic_cursor - a position in the receive queue
 * @seq:	TCP sequence number of the position
 * @skb:	skb of the position, or an earlier one
 * @part:	@skb, or the skb of its frag_list that was read last
 * @frag:	the fragment of @part that was read last; -1 is its linear part
 * @base:	offset in @skb of the first byte of that fragment
 *
 * Valid while the socket lock is held and no byte is consumed.
 */
struct rnic_cursor {
	u32 seq;
	struct sk_buff *skb;
	struct sk_buff *part;
	int frag;
	u32 base;
};

/* stream.c */
bool rnic_sock_try(struct rnic_sock *s, void (*fn)(struct rnic_sock *s, void *ctx), void *ctx);
bool rnic_sock_lock_or_await(struct rnic_sock *s, struct wait_queue_entry *entry);
int rnic_sock_push(struct rnic_sock *s, struct page *page, u32 off, u32 len, bool more);
int rnic_sock_send(struct rnic_sock *s, const void *buf, u32 len);
u32 rnic_sock_next(struct rnic_sock *s, struct rnic_cursor *at, const u8 **data);
int rnic_sock_copy(struct rnic_sock *s, void *to, u32 len);
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

/**
 * rnic_sock_owned() - test for a process that owns the socket
 * @s:	socket
 *
 * The answer holds only while the caller has the socket's spinlock, as in a callback of TCP's,
 * or the socket lock.
 *
 * Return: true if a process has the socket lock.
 */
static inline bool rnic_sock_owned(const struct rnic_sock *s)
{
	return sock_owned_by_user_nocheck(s->sock->sk);
}

/**
 * rnic_sock_gfp() - allocation flags for the owner of the socket lock
 * @s:	socket, locked
 *
 * Return: GFP_NOIO for a process, GFP_ATOMIC for a softirq and with softirqs off.
 */
static inline gfp_t rnic_sock_gfp(const struct rnic_sock *s)
{
	rnic_sock_assert_locked(s);
	return rnic_sock_owned(s) && !in_softirq() ? GFP_NOIO : GFP_ATOMIC;
}

/**
 * rnic_sock_flush() - let TCP process the packets that arrived under the socket lock
 * @s:	socket, locked by this process
 *
 * TCP reports events as usual.
 */
static inline void rnic_sock_flush(struct rnic_sock *s)
{
	sk_flush_backlog(s->sock->sk);
}

/**
 * rnic_sock_emss() - size of a full TCP segment now
 * @s:	socket, locked
 *
 * This is EMSS (RFC 5044 section 5.1). It follows the path MTU at once; TCP alone would check
 * that only with the next bytes to send (SEG-09).
 *
 * Return: EMSS in bytes, a multiple of 4 except for a peer with a tiny window.
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
 * rnic_sock_seg_used() - bytes in the segment that the next byte joins
 * @s:		socket, locked
 * @emss:	result of rnic_sock_emss()
 *
 * Reads TCP's last skb each time, because TCP may split it anywhere, for example at the edge
 * of the peer's window (SEG-18). Ends an skb that has no room for the rest of its segment.
 *
 * Return: bytes, 0 if the next byte begins a segment.
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

/* The first unacknowledged byte of the stream, as TCP's sequence number. Socket locked. */
static inline u32 rnic_sock_acked(const struct rnic_sock *s)
{
	return tcp_sk(s->sock->sk)->snd_una;
}

/* True if the peer has acknowledged all bytes pushed. Socket locked. */
static inline bool rnic_sock_all_acked(const struct rnic_sock *s)
{
	return tcp_rtx_and_write_queues_empty(s->sock->sk);
}

/**
 * rnic_sock_room() - test for room in the send queue
 * @s:	socket, locked
 *
 * TCP processes acknowledgments under the socket lock, so none is missed between the test and
 * setting SOCK_NOSPACE. TCP looks for that in the struct socket of the program, if it has one.
 *
 * Return: true if there is room; otherwise RNIC_SOCK_SPACE will report it.
 */
static inline bool rnic_sock_room(const struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	if (sk_stream_memory_free(sk))
		return true;
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	return false;
}

/**
 * rnic_sock_cut() - end the current segment
 * @s:	socket, locked
 *
 * The next byte pushed begins a new skb, and with it a new segment.
 */
static inline void rnic_sock_cut(struct rnic_sock *s)
{
	struct sk_buff *tail = tcp_write_queue_tail(s->sock->sk);

	rnic_sock_assert_locked(s);
	if (tail)
		TCP_SKB_CB(tail)->eor = 1;
}

/**
 * rnic_cursor_set() - set a cursor to a byte
 * @at:		the cursor
 * @skb:	the byte's skb, or an earlier one; NULL if the receive queue is empty
 * @seq:	TCP sequence number of the byte
 */
static inline void rnic_cursor_set(struct rnic_cursor *at, struct sk_buff *skb, u32 seq)
{
	at->seq = seq;
	at->skb = skb;
	at->part = skb;
	at->frag = -1;
	at->base = 0;
}

/**
 * rnic_sock_rewind() - set a cursor into the unread stream
 * @s:		socket, locked
 * @at:		the cursor
 * @skip:	unread bytes to skip, at most rnic_sock_unread()
 */
static inline void rnic_sock_rewind(struct rnic_sock *s, struct rnic_cursor *at, u32 skip)
{
	struct sock *sk = s->sock->sk;

	rnic_cursor_set(at, skb_peek(&sk->sk_receive_queue), tcp_sk(sk)->copied_seq + skip);
}

/* Bytes that arrived in order and are not consumed. A hint unless the socket is locked. */
static inline u32 rnic_sock_unread(const struct rnic_sock *s)
{
	return tcp_inq(s->sock->sk);
}

/**
 * rnic_sock_want() - report RNIC_SOCK_DATA only at a number of unread bytes
 * @s:		socket, locked
 * @len:	bytes; TCP grows the receive buffer to hold them
 */
static inline void rnic_sock_want(struct rnic_sock *s, u32 len)
{
	rnic_sock_assert_locked(s);
	if (READ_ONCE(s->sock->sk->sk_rcvlowat) != len)
		compat_tcp_set_rcvlowat(s->sock->sk, len);
}

/*
 * Report RNIC_SOCK_DATA at each byte. Unlike rnic_sock_want() this does not report what has
 * arrived, because the caller, with the socket locked, looks.
 */
static inline void rnic_sock_want_any(struct rnic_sock *s)
{
	rnic_sock_assert_locked(s);
	WRITE_ONCE(s->sock->sk->sk_rcvlowat, 1);
}

/* True if the connection is gone: reset, timed out, or closed by both ends. Any context. */
static inline bool rnic_sock_dead(const struct rnic_sock *s)
{
	int state = inet_sk_state_load(s->sock->sk);

	return state == TCP_CLOSE || state == TCP_TIME_WAIT;
}

/* True if the peer sent FIN or the connection is gone. Any context. */
static inline bool rnic_sock_peer_closed(const struct rnic_sock *s)
{
	return READ_ONCE(s->sock->sk->sk_shutdown) & RCV_SHUTDOWN || rnic_sock_dead(s);
}

#endif
