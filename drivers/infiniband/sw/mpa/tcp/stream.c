// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Bytes to and from a connected socket. Sending passes references to pages. Receiving reads
 * bytes in the receive queue before it consumes them. The caller holds the socket lock;
 * rnic_sock_send(), for the few bytes of the startup, takes it.
 */
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/wait.h>

#include "tcp/chunk.h"
#include "tcp/stream.h"

/**
 * rnic_sock_try() - call a function with the socket locked, from a softirq
 * @s:		socket
 * @fn:		the function; must not sleep
 * @ctx:	argument of @fn
 *
 * Context: softirq.
 * Return: false if a process owns the socket; @fn is not called then.
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

/* As lock_sock() does if nobody has the lock. */
static bool try_to_own(struct sock *sk)
{
	bool free;

	spin_lock_bh(&sk->sk_lock.slock);
	free = !sock_owned_by_user_nocheck(sk);
	if (free)
		sk->sk_lock.owned = 1;
	spin_unlock_bh(&sk->sk_lock.slock);
	if (free)
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	return free;
}

/**
 * rnic_sock_lock_or_await() - lock a socket if nobody has its lock
 * @s:		socket
 * @entry:	called when the lock is released, if this fails; no longer queued if it succeeds
 *
 * For the workers, because all queue pairs share a bounded number of them. A program holds the lock
 * in its doorbells, for long if its tasks have a low priority, and that of a lent connection for as
 * long as it likes.
 *
 * Context: process.
 * Return: false if somebody has the lock.
 */
bool rnic_sock_lock_or_await(struct rnic_sock *s, struct wait_queue_entry *entry)
{
	struct sock *sk = s->sock->sk;
	bool owned = try_to_own(sk);

	if (!owned) {
		/* Queue it, and try again, because the lock may have been released before that. */
		prepare_to_wait(&sk->sk_lock.wq, entry, TASK_RUNNING);
		owned = try_to_own(sk);
	}
	if (owned)
		finish_wait(&sk->sk_lock.wq, entry);
	return owned;
}

/**
 * rnic_sock_fit_mss() - make TCP's segments hold whole FPDUs
 * @s:		socket, locked
 * @mtu:	path MTU in bytes
 *
 * TCP splits large skbs at multiples of its segment size. FPDUs are multiples of 4, so another
 * size would move the splits away from their borders. This lowers the peer's MSS by up to 3
 * bytes. It does not if half of the peer's window bounds the segments, because that bound
 * changes with the window.
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
	mss = compat_tcp_sync_mss(sk);
	if (mss % 4 && mss == compat_tcp_mtu_to_mss(sk, mtu)) {
		tp->rx_opt.mss_clamp = round_down(mss, 4) + options;
		compat_tcp_sync_mss(sk);
	}
	s->mtu = mtu;
}

/**
 * rnic_sock_push() - pass bytes of a page to TCP, by reference
 * @s:		socket, locked
 * @page:	first page of the (compound) page; TCP takes a reference, so the bytes must not
 *		change afterwards
 * @off:	offset of the first byte
 * @len:	bytes
 * @more:	more bytes follow in this burst; TCP holds a partial segment back until then,
 *		or for 0.2 s
 *
 * Context: process or softirq.
 * Return: bytes taken, possibly fewer than @len; -EAGAIN if none, and RNIC_SOCK_SPACE follows;
 * another -errno if the connection is gone.
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
	/* With IP_RECVERR TCP returns an error of a router once, and goes on. */
	if (ret < 0 && ret != -EAGAIN && !rnic_sock_dead(s))
		ret = compat_tcp_push(sk, page, off, len, flags);
	sk->sk_allocation = GFP_NOIO;
	return ret;
}

/**
 * rnic_sock_send() - send a startup frame without waiting
 * @s:		a connected socket, whose send queue is empty unless a program lent it
 * @buf:	the frame
 * @len:	bytes, at most a page
 *
 * Copies to a chunk instead of calling sendmsg(), which would allocate 32 KiB that the socket
 * keeps for life. TCP charges the memory cgroup of the program. With softirqs off it does not
 * reclaim in one that is full, for which the startups of all programs would wait.
 *
 * Context: process, socket lock not held.
 * Return: 0; -ENOBUFS if TCP did not take all of it, also for lack of memory; or another -errno.
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
	local_bh_disable();
	ret = rnic_sock_push(s, chunk.page, chunk.fill, len, false);
	local_bh_enable();
	rnic_sock_unlock(s);
	/* FPDUs begin at multiples of 4. */
	chunk.fill += ALIGN(len, 4);
	rnic_chunk_put(&chunk);
	if (ret == len)
		return 0;
	/* A program would try again after -EAGAIN, but the stream does not continue without it. */
	return ret < 0 && ret != -EAGAIN ? ret : -ENOBUFS;
}

/*
 * Move a cursor to the skb of its byte. An skb may overlap the one before, when a
 * retransmission brought more bytes, so the offset comes from the skb's own sequence number.
 * No byte is read twice (RCV-21).
 *
 * Return: the offset in the skb; at->skb is NULL behind the last byte.
 */
static u32 settle_cursor(struct sock *sk, struct rnic_cursor *at)
{
	u32 off = 0;

	while (at->skb) {
		off = at->seq - TCP_SKB_CB(at->skb)->seq;
		if (off < at->skb->len)
			break;
		rnic_cursor_set(at, skb_peek_next(at->skb, &sk->sk_receive_queue), at->seq);
	}
	return off;
}

static u32 frag_len(const struct rnic_cursor *at)
{
	return at->frag < 0 ? skb_headlen(at->part) :
			      skb_frag_size(&skb_shinfo(at->part)->frags[at->frag]);
}

static const u8 *frag_data(const struct rnic_cursor *at)
{
	return at->frag < 0 ? at->part->data :
			      skb_frag_address_safe(&skb_shinfo(at->part)->frags[at->frag]);
}

/*
 * Move a cursor from a fragment of @len bytes to the next. The skbs of a frag_list have no
 * lists of their own.
 */
static void skip_frag(struct rnic_cursor *at, u32 len)
{
	at->base += len;
	if (++at->frag < skb_shinfo(at->part)->nr_frags)
		return;
	at->frag = -1;
	at->part = at->part == at->skb ? skb_shinfo(at->skb)->frag_list : at->part->next;
}

/**
 * rnic_sock_next() - find the next unread bytes
 * @s:		socket, locked
 * @at:		their position; moved behind them
 * @data:	set to the first byte
 *
 * The bytes stay in the receive queue. This does not call skb_seq_read(), because that may leave a
 * page mapped and preemption off until its next call, and the caller handles FPDUs in between.
 *
 * Context: process or softirq.
 * Return: the number of contiguous bytes. 0 at the end of the queue, and for bytes in device
 * memory, which no processor can read.
 */
u32 rnic_sock_next(struct rnic_sock *s, struct rnic_cursor *at, const u8 **data)
{
	u32 len, off = settle_cursor(s->sock->sk, at);
	const u8 *frag;

	if (!at->skb)
		return 0;
	for (len = frag_len(at); off - at->base >= len; len = frag_len(at)) {
		skip_frag(at, len);
		if (WARN_ON_ONCE(!at->part))
			return 0;
	}
	frag = frag_data(at);
	if (!frag)
		return 0;
	off -= at->base;
	*data = frag + off;
	at->seq += len - off;
	return len - off;
}

/**
 * rnic_sock_copy() - copy the next unread bytes
 * @s:		socket, locked
 * @to:		destination
 * @len:	bytes, at most rnic_sock_unread()
 *
 * Context: process or softirq.
 * Return: 0; -EFAULT if they are in device memory.
 */
int rnic_sock_copy(struct rnic_sock *s, void *to, u32 len)
{
	struct rnic_cursor at;
	const u8 *data;
	u32 n;

	rnic_sock_rewind(s, &at, 0);
	for (; len; len -= n, to += n) {
		n = min(len, rnic_sock_next(s, &at, &data));
		if (!n)
			return -EFAULT;
		memcpy(to, data, n);
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
 * rnic_sock_consume() - remove bytes from the receive queue
 * @s:		socket, locked
 * @len:	bytes
 *
 * Context: process or softirq.
 */
void rnic_sock_consume(struct rnic_sock *s, u32 len)
{
	read_descriptor_t desc = { .count = len };

	rnic_sock_assert_locked(s);
	if (!len)
		return;
	/* MPA has no urgent data, and tcp_read_sock() would stop at it. */
	WRITE_ONCE(tcp_sk(s->sock->sk)->urg_data, 0);
	tcp_read_sock(s->sock->sk, &desc, skip_bytes);
}
