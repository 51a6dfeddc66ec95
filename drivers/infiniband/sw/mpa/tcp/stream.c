// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Bytes to and from TCP. sock.c makes the sockets; here is what the startup and
 * the data path do with one that is connected.
 *
 * Sending is by reference to pages, receiving looks at bytes where they lie in
 * the receive queue before it consumes them. Both are under the socket lock; for the
 * few bytes of the startup it is taken here.
 */
#include <linux/mm.h>
#include <linux/net.h>

#include "tcp/chunk.h"
#include "tcp/stream.h"

/**
 * rnic_sock_try() - do something with a socket in a softirq
 * @s:		socket
 * @fn:		called with the socket locked
 * @ctx:	for @fn
 *
 * Context: softirq.
 * Return: false when a process owns the socket: nothing was done.
 */
bool rnic_sock_try(struct rnic_sock *s, void (*fn)(struct rnic_sock *s, void *ctx), void *ctx)
{
	struct sock *sk = s->sock->sk;
	bool owned;

	bh_lock_sock(sk);
	owned = rnic_sock_owned(s);
	if (!owned)
		fn(s, ctx);
	bh_unlock_sock(sk);
	return !owned;
}

/**
 * rnic_sock_fit_mss() - let TCP's segments hold whole FPDUs
 * @s:		socket, locked
 * @mtu:	of the path
 *
 * TCP cuts large buffers at multiples of its segment size. FPDUs are multiples of
 * 4, so another size would make the cuts drift away from them: then TCP is told
 * that the peer takes up to 3 bytes less. Not when half of the peer's window is
 * what bounds the segments, for that bound moves with the window.
 */
void rnic_sock_fit_mss(struct rnic_sock *s, u32 mtu)
{
	struct sock *sk = s->sock->sk;
	struct tcp_sock *tp = tcp_sk(sk);
	u32 options = tp->tcp_header_len - sizeof(struct tcphdr) +
		      inet_csk(sk)->icsk_ext_hdr_len;
	u32 mss;

	if (!s->mss_clamp)
		s->mss_clamp = tp->rx_opt.mss_clamp;
	tp->rx_opt.mss_clamp = s->mss_clamp;
	mss = compat_tcp_sync_mss(sk, mtu);
	if (mss % 4 && mss == compat_tcp_mtu_to_mss(sk, mtu)) {
		tp->rx_opt.mss_clamp = round_down(mss, 4) + options;
		compat_tcp_sync_mss(sk, mtu);
	}
	s->mtu = mtu;
}

/**
 * rnic_sock_push() - hand bytes of a page to TCP, by reference
 * @s:		socket, locked
 * @page:	first page of the (compound) page; TCP takes a reference, so the
 *		bytes must not change any more
 * @off:	offset of the first byte
 * @len:	how many
 * @more:	more follows in this burst: full segments go out, a partial one is
 *		held back until then, or for 0.2 s: say it only if more does.
 *
 * Return: bytes taken, possibly fewer than @len, -EAGAIN when none (then
 * RNIC_SOCK_SPACE follows), or another -errno when the connection is gone.
 */
int rnic_sock_push(struct rnic_sock *s, struct page *page, u32 off, u32 len, bool more)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	struct sock *sk = s->sock->sk;
	int ret;

	if (more)
		flags |= MSG_MORE;
	sk->sk_allocation = rnic_sock_gfp(s);
	ret = compat_tcp_push(sk, page, off, len, flags);
	sk->sk_allocation = GFP_NOIO;
	return ret;
}

/**
 * rnic_sock_send() - send a few bytes (a startup frame) without waiting
 * @s:		a connected socket with an empty send queue
 * @buf:	bytes
 * @len:	how many, at most a page
 *
 * From a chunk, not with sendmsg(): that would leave the socket with 32 KiB of its own
 * for as long as it lives.
 *
 * Context: process, socket lock not held.
 * Return: 0 or -errno.
 */
int rnic_sock_send(struct rnic_sock *s, const void *buf, u32 len)
{
	struct rnic_chunk chunk = {};
	int ret;

	do {
		if (!rnic_chunk_take(&chunk, false) && !rnic_chunk_alloc(&chunk, false, GFP_NOIO))
			return -ENOMEM;
	} while (chunk.size - chunk.fill < len);
	memcpy(page_address(chunk.page) + chunk.fill, buf, len);
	rnic_sock_lock(s);
	ret = rnic_sock_push(s, chunk.page, chunk.fill, len, false);
	rnic_sock_unlock(s);
	/* FPDUs begin at multiples of 4. */
	chunk.fill += ALIGN(len, 4);
	rnic_chunk_put(&chunk);
	if (ret < 0)
		return ret;
	return ret == len ? 0 : -ENOBUFS;
}

/*
 * Buffers may overlap the one before (a retransmission that brought more), so
 * the place inside each is found from its own sequence number: bytes already
 * seen are never looked at twice (RCV-21).
 */
static struct sk_buff *settle_cursor(struct sock *sk, struct rnic_cursor *at, u32 *off)
{
	while (at->skb) {
		*off = at->seq - TCP_SKB_CB(at->skb)->seq;
		if (*off < at->skb->len)
			return at->skb;
		at->skb = skb_peek_next(at->skb, &sk->sk_receive_queue);
	}
	return NULL;
}

/* What a buffer holds from @off on, if it is one piece. Small messages come so. */
static const u8 *find_only_piece(const struct sk_buff *skb, u32 off)
{
	const u8 *data;

	if (!skb_is_nonlinear(skb))
		return skb->data + off;
	if (skb_headlen(skb) || skb_has_frag_list(skb) || skb_shinfo(skb)->nr_frags != 1)
		return NULL;
	data = skb_frag_address_safe(&skb_shinfo(skb)->frags[0]);
	return data ? data + off : NULL;
}

/* Not in line: its state would be zeroed for each small message. */
static noinline bool walk_buffer(struct rnic_cursor *at, u32 off, rnic_piece_fn piece, void *ctx)
{
	struct skb_seq_state st;
	bool go = true;
	const u8 *data;
	u32 len, done = 0;

	skb_prepare_seq_read(at->skb, off, at->skb->len, &st);
	while (go && (len = skb_seq_read(done, &data, &st))) {
		at->seq += len;
		done += len;
		go = piece(ctx, data, len);
	}
	skb_abort_seq_read(&st);
	return go;
}

/**
 * rnic_sock_walk() - show the unread stream piece by piece
 * @s:		socket, locked
 * @at:		where to begin; left behind the last piece shown
 * @piece:	called for each contiguous piece in order
 * @ctx:	for @piece
 */
void rnic_sock_walk(struct rnic_sock *s, struct rnic_cursor *at, rnic_piece_fn piece, void *ctx)
{
	struct sock *sk = s->sock->sk;
	struct sk_buff *skb;
	bool go = true;
	const u8 *data;
	u32 off, len;

	while (go && (skb = settle_cursor(sk, at, &off))) {
		data = find_only_piece(skb, off);
		if (!data) {
			go = walk_buffer(at, off, piece, ctx);
			continue;
		}
		len = skb->len - off;
		at->seq += len;
		go = piece(ctx, data, len);
	}
}

/**
 * rnic_sock_copy() - copy unread bytes to memory
 * @s:		socket, locked
 * @at:		where from; left behind the last byte copied
 * @to:		where to
 * @len:	how many; they must have arrived
 *
 * Return: 0, or -EFAULT.
 */
int rnic_sock_copy(struct rnic_sock *s, struct rnic_cursor *at, void *to, u32 len)
{
	struct sock *sk = s->sock->sk;
	struct sk_buff *skb;
	u32 off, n;

	while (len) {
		skb = settle_cursor(sk, at, &off);
		if (WARN_ON_ONCE(!skb))
			return -EFAULT;
		n = min(len, skb->len - off);
		if (skb_copy_bits(skb, off, to, n))
			return -EFAULT;
		to += n;
		at->seq += n;
		len -= n;
	}
	return 0;
}

static int skip_bytes(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	size_t n = min(desc->count, len);

	desc->count -= n;
	return n;
}

/**
 * rnic_sock_consume() - the next unread bytes are done with
 * @s:		socket, locked
 * @len:	how many
 */
void rnic_sock_consume(struct rnic_sock *s, u32 len)
{
	read_descriptor_t desc = { .count = len };

	rnic_sock_assert_locked(s);
	if (!len)
		return;
	/* tcp_read_sock() stops at urgent data: to us it is data. */
	WRITE_ONCE(tcp_sk(s->sock->sk)->urg_data, 0);
	tcp_read_sock(s->sock->sk, &desc, skip_bytes);
}
