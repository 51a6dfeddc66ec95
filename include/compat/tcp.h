/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TCP. The caller holds the socket lock, except for compat_sock_pin_net().
 */
#ifndef _COMPAT_TCP_H
#define _COMPAT_TCP_H

#include <linux/bvec.h>
#include <linux/net.h>
#ifdef COMPAT_HAS_net_hotdata_frags
#include <net/hotdata.h>
#endif
#include <net/inet_hashtables.h>
#include <net/ip.h>
#include <net/sock.h>
#include <net/tcp.h>

/**
 * compat_sock_pin_net() - give a kernel socket a reference to its namespace
 * @sk:		a socket made by sock_create_kern()
 * @net:	its namespace, to which the caller has a reference
 *
 * Context: process.
 */
#ifdef COMPAT_HAS_sk_net_refcnt_upgrade
static inline void compat_sock_pin_net(struct sock *sk, struct net *net)
{
	sk_net_refcnt_upgrade(sk);
}
#else
static inline void compat_sock_pin_net(struct sock *sk, struct net *net)
{
#ifdef COMPAT_HAS_netns_tracker_free
	/* Since 6.2 the socket has a tracker without a reference, which would be lost here. */
	__netns_tracker_free(net, &sk->ns_tracker, false);
#endif
	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}
#endif

/*
 * Let TCP copy to the task's page fragment, or to the socket's. The task's may be in use if memory
 * writeback calls the driver. The flag exists since 6.2, and in stable 6.1. Without it TCP decides
 * by sk_allocation, and GFP_NOIO there means the socket's. Return: the previous setting.
 */
static inline bool compat_sock_use_task_frag(struct sock *sk, bool use)
{
	bool was = false;

#ifdef COMPAT_HAS_sk_use_task_frag
	was = sk->sk_use_task_frag;
	sk->sk_use_task_frag = use;
#endif
	return was;
}

/* Send bytes of a page, which TCP copies. Return: bytes taken, or a negative errno. */
static inline int compat_tcp_copy(struct sock *sk, struct page *page, u32 off, u32 len, int flags)
{
	struct bio_vec bv = { .bv_page = page, .bv_offset = off, .bv_len = len };
	struct msghdr msg = { .msg_flags = flags };

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bv, 1, len);
	return tcp_sendmsg_locked(sk, &msg, len);
}

#ifndef COMPAT_HAS_tcp_sendpage_locked
static inline u32 compat_max_skb_frags(void)
{
#ifdef COMPAT_HAS_net_hotdata_frags
	return READ_ONCE(net_hotdata.sysctl_max_skb_frags);
#else
	return READ_ONCE(sysctl_max_skb_frags);
#endif
}

/*
 * With MSG_SPLICE_PAGES each page of a compound page takes a place in TCP's skb. TCP begins a new
 * skb if there is no place for the next page, even in the middle of a segment. So the driver ends
 * the skb before that, between two segments.
 *
 * Return: places for pages in the skb @tail, or in a new one if it is NULL.
 */
static inline u32 compat_tcp_places(const struct sk_buff *tail)
{
	u32 all = compat_max_skb_frags();

	return tail ? all - min_t(u32, skb_shinfo(tail)->nr_frags, all) : all;
}

/**
 * compat_tcp_has_room() - test whether an skb has places for more bytes
 * @tail:	the last skb of the send queue
 * @len:	number of bytes, in as few pages as possible
 *
 * Return: true if it certainly has.
 */
static inline bool compat_tcp_has_room(const struct sk_buff *tail, u32 len)
{
	return DIV_ROUND_UP(len, PAGE_SIZE) < compat_tcp_places(tail);
}

/*
 * Limit @len to the whole segments for which the last skb has places. If that is none, end the
 * skb, and compute the limit for a new one. TCP may spread the bytes over several new skbs. They
 * are smaller than the limit, except with BIG TCP. If a new skb has no place for a whole segment,
 * there is no limit.
 *
 * Return: number of bytes to push.
 */
static inline u32 compat_tcp_fit(struct sock *sk, struct page *page, u32 off, u32 len)
{
	struct sk_buff *tail = tcp_write_queue_tail(sk);
	u32 in_page = offset_in_page(off), used, room, end;

	if (tail && TCP_SKB_CB(tail)->eor)
		tail = NULL;
	used = tail ? tail->len : 0;
	room = compat_tcp_places(tail) * PAGE_SIZE;
	if (tail && skb_can_coalesce(tail, skb_shinfo(tail)->nr_frags,
				     page + off / PAGE_SIZE, in_page))
		room += PAGE_SIZE;
	if (in_page + (tail ? len : min(len, READ_ONCE(sk->sk_gso_max_size))) <= room)
		return len;
	end = used + room - min(room, in_page);
	end = rounddown(end, tcp_sk(sk)->mss_cache);
	if (end > used)
		return min(len, end - used);
	if (!tail)
		return len;
	TCP_SKB_CB(tail)->eor = 1;
	return compat_tcp_fit(sk, page, off, len);
}

/**
 * compat_tcp_push() - pass bytes of a (compound) page to TCP by reference
 * @sk:		a connected socket
 * @page:	first page
 * @off:	offset of the first byte
 * @len:	number of bytes
 * @flags:	MSG_*
 *
 * TCP copies them if the network device has no scatter-gather.
 *
 * Return: number of bytes taken, which may be fewer than @len, or a negative errno.
 */
static inline int compat_tcp_push(struct sock *sk, struct page *page, u32 off, u32 len, int flags)
{
	return compat_tcp_copy(sk, page, off, compat_tcp_fit(sk, page, off, len),
			       flags | MSG_SPLICE_PAGES);
}
#else
static inline bool compat_tcp_has_room(const struct sk_buff *tail, u32 len)
{
	return true;
}

static inline int compat_tcp_push(struct sock *sk, struct page *page, u32 off, u32 len, int flags)
{
	/* tcp_sendpage_locked() would sleep for a device without scatter-gather. */
	if (!(sk->sk_route_caps & NETIF_F_SG))
		return compat_tcp_copy(sk, page, off, len, flags);
	return tcp_sendpage_locked(sk, page, off, len, flags);
}
#endif

/**
 * compat_all_bound() - test whether all sockets that have a port pass a test
 * @tb:	bucket of the port, locked
 * @fn:	the test; gets @arg
 * @arg: another socket
 *
 * Return: true if they do.
 */
static inline bool compat_all_bound(const struct inet_bind_bucket *tb,
				    bool (*fn)(const struct sock *sk, const struct sock *arg),
				    const struct sock *arg)
{
	struct sock *sk;
#ifdef COMPAT_HAS_inet_bind_bucket_bhash2
	struct inet_bind2_bucket *tb2;

	hlist_for_each_entry(tb2, &tb->bhash2, bhash_node)
		sk_for_each_bound(sk, &tb2->owners)
			if (!fn(sk, arg))
				return false;
#else

	sk_for_each_bound(sk, &tb->owners)
		if (!fn(sk, arg))
			return false;
#endif
	return true;
}

/*
 * Since 6.15, and in stable 6.12, TCP exports tcp_mtu_to_mss(), tcp_sync_mss() and
 * tcp_set_rcvlowat() only if IPv6 is a module. These do the same without them.
 */

static inline u32 compat_tcp_mtu_to_mss(struct sock *sk, u32 mtu)
{
	struct tcp_sock *tp = tcp_sk(sk);
	int options = tp->tcp_header_len - sizeof(struct tcphdr);
	int clamp = tp->rx_opt.mss_clamp - inet_csk(sk)->icsk_ext_hdr_len - options;

	return min_t(int, mtu - tcp_mss_to_mtu(sk, 0), clamp);
}

/*
 * Set the MSS for the MTU of the route: clear the cookie and send no bytes, because
 * tcp_sendmsg_locked() then sets it. It would also report and clear the error that ended a
 * connection, so do this only on an open one.
 *
 * Return: the MSS.
 */
static inline u32 compat_tcp_sync_mss(struct sock *sk)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	bool open = (1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);

	if (__sk_dst_get(sk) && open && !sk->sk_err) {
		inet_csk(sk)->icsk_pmtu_cookie = 0;
		tcp_sendmsg_locked(sk, &msg, 0);
	}
	return tcp_sk(sk)->mss_cache;
}

static inline void compat_tcp_set_rcvlowat(struct sock *sk, u32 len)
{
	READ_ONCE(sk->sk_socket->ops)->set_rcvlowat(sk, len);
}

#endif /* _COMPAT_TCP_H */
