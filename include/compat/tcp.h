/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TCP. All of it under the socket lock, but for compat_sock_pin_net().
 */
#ifndef _COMPAT_TCP_H
#define _COMPAT_TCP_H

#include <linux/bvec.h>
#include <linux/net.h>
#include <linux/version.h>
#include <net/ip.h>
#include <net/sock.h>
#include <net/tcp.h>

/**
 * compat_sock_pin_net() - let a kernel socket pin its namespace, as a user's does
 * @sk:		a socket made by sock_create_kern()
 * @net:	its namespace, which the caller has a reference to
 *
 * Context: process.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
static inline void compat_sock_pin_net(struct sock *sk, struct net *net)
{
	sk_net_refcnt_upgrade(sk);
}
#else
static inline void compat_sock_pin_net(struct sock *sk, struct net *net)
{
	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}
#endif

/* Octets of one page, copied. */
static inline int compat_tcp_copy(struct sock *sk, struct page *page, u32 off, u32 len, int flags)
{
	struct bio_vec bv = { .bv_page = page, .bv_offset = off, .bv_len = len };
	struct msghdr msg = { .msg_flags = flags };

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bv, 1, len);
	return tcp_sendmsg_locked(sk, &msg, len);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
/*
 * TCP takes each page of a compound one for itself here. When its buffer has no place
 * for another it begins a new one, in the middle of a segment. So go no further than
 * segments are full, and begin it there.
 */
static inline u32 compat_tcp_fit(struct sock *sk, u32 off, u32 len)
{
	struct sk_buff *tail = tcp_write_queue_tail(sk);
	u32 mss = tcp_sk(sk)->mss_cache, room, part;

	if (!tail || TCP_SKB_CB(tail)->eor)
		return len;
	room = MAX_SKB_FRAGS - min_t(u32, skb_shinfo(tail)->nr_frags, MAX_SKB_FRAGS);
	if (DIV_ROUND_UP(offset_in_page(off) + len, PAGE_SIZE) <= room)
		return len;
	part = room ? room * PAGE_SIZE - offset_in_page(off) : 0;
	part = rounddown(tail->len + part, mss);
	if (part > tail->len)
		return part - tail->len;
	if (tail->len % mss == 0)
		TCP_SKB_CB(tail)->eor = 1;
	return len;
}

/**
 * compat_tcp_push() - hand octets of a (compound) page to TCP, by reference
 * @sk:		a connected socket
 * @page:	first page
 * @off:	offset of the first octet
 * @len:	how many
 * @flags:	MSG_*
 *
 * A network device without scatter-gather gets a copy; tcp_sendpage()'s own way around
 * would sleep.
 *
 * Return: octets taken, possibly fewer than @len, or -errno.
 */
static inline int compat_tcp_push(struct sock *sk, struct page *page, u32 off, u32 len, int flags)
{
	return compat_tcp_copy(sk, page, off, compat_tcp_fit(sk, off, len),
			       flags | MSG_SPLICE_PAGES);
}
#else
static inline int compat_tcp_push(struct sock *sk, struct page *page, u32 off, u32 len, int flags)
{
	if (sk->sk_route_caps & NETIF_F_SG)
		return tcp_sendpage_locked(sk, page, off, len, flags);
	return compat_tcp_copy(sk, page, off, len, flags);
}
#endif

/*
 * What TCP exports for the sake of IPv6, it does not where that is built in, with this
 * macro. Then there are ways around.
 */
#ifdef EXPORT_IPV6_MOD
static inline u32 compat_tcp_mtu_to_mss(struct sock *sk, u32 mtu)
{
	struct tcp_sock *tp = tcp_sk(sk);
	int options = tp->tcp_header_len - sizeof(struct tcphdr);
	int clamp = tp->rx_opt.mss_clamp - inet_csk(sk)->icsk_ext_hdr_len - options;

	return min_t(int, mtu - tcp_mss_to_mtu(sk, 0), clamp);
}

/* TCP compares the MTU with the route's before it takes octets, if they are none, too. */
static inline u32 compat_tcp_sync_mss(struct sock *sk, u32 mtu)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

	if (__sk_dst_get(sk)) {
		inet_csk(sk)->icsk_pmtu_cookie = 0;
		tcp_sendmsg_locked(sk, &msg, 0);
	}
	return tcp_sk(sk)->mss_cache;
}

static inline void compat_tcp_set_rcvlowat(struct sock *sk, u32 len)
{
	READ_ONCE(sk->sk_socket->ops)->set_rcvlowat(sk, len);
}
#else
static inline u32 compat_tcp_mtu_to_mss(struct sock *sk, u32 mtu)
{
	return tcp_mtu_to_mss(sk, mtu);
}

static inline u32 compat_tcp_sync_mss(struct sock *sk, u32 mtu)
{
	return tcp_sync_mss(sk, mtu);
}

static inline void compat_tcp_set_rcvlowat(struct sock *sk, u32 len)
{
	tcp_set_rcvlowat(sk, len);
}
#endif

#endif /* _COMPAT_TCP_H */
