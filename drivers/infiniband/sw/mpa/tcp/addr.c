// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Addresses of both ends of a connection, and of the next pending connection of a listener.
 * The IPv4 connections of IPv6 sockets get IPv4 addresses here.
 */
#include <linux/net.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "tcp/sock.h"

/* rdma_cm does not know IPv4-mapped IPv6 addresses. */
static void unmap_addr(struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (addr->ss_family != AF_INET6 || !ipv6_addr_v4mapped(&in6->sin6_addr))
		return;
	in.sin_port = in6->sin6_port;
	in.sin_addr.s_addr = in6->sin6_addr.s6_addr32[3];
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &in, sizeof(in));
}

/* The address of an IPv4 socket is @v4, that of an IPv6 socket @v6. */
static void set_addr(struct sockaddr_storage *addr, const struct sock *sk, __be16 port, __be32 v4,
		     const struct in6_addr *v6)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	memset(addr, 0, sizeof(*addr));
	addr->ss_family = sk->sk_family;
	if (sk->sk_family != AF_INET6) {
		in->sin_port = port;
		in->sin_addr.s_addr = v4;
		return;
	}
	in6->sin6_port = port;
	in6->sin6_addr = *v6;
	in6->sin6_scope_id = ipv6_iface_scope_id(v6, sk->sk_bound_dev_if);
	unmap_addr(addr);
}

/* The socket is, or was, connected. */
static void get_local_addr(const struct sock *sk, struct sockaddr_storage *local)
{
	set_addr(local, sk, inet_sk(sk)->inet_sport, sk->sk_rcv_saddr, &sk->sk_v6_rcv_saddr);
}

static void get_remote_addr(const struct sock *sk, struct sockaddr_storage *remote)
{
	set_addr(remote, sk, sk->sk_dport, sk->sk_daddr, &sk->sk_v6_daddr);
}

/**
 * rnic_addr_is_loopback() - test for 127.0.0.1 and ::1, which no VRF has
 * @addr:	the address
 *
 * Context: any.
 * Return: true if it is one of these.
 */
bool rnic_addr_is_loopback(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ipv6_addr_loopback(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return ipv4_is_loopback(((const struct sockaddr_in *)addr)->sin_addr.s_addr);
}

/**
 * rnic_sock_peek() - read the addresses of the next pending connection
 * @listener:	a listening socket from which only the caller accepts
 * @local:	set to our address
 * @remote:	set to the peer's address
 *
 * Context: process.
 * Return: 0, or -EAGAIN if no connection is pending.
 */
int rnic_sock_peek(const struct rnic_sock *listener, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote)
{
	struct request_sock_queue *queue = &inet_csk(listener->sock->sk)->icsk_accept_queue;
	int ret = -EAGAIN;

	/* TCP removes pending connections under this lock when listening ends. */
	spin_lock_bh(&queue->rskq_lock);
	if (queue->rskq_accept_head) {
		get_local_addr(queue->rskq_accept_head->sk, local);
		get_remote_addr(queue->rskq_accept_head->sk, remote);
		ret = 0;
	}
	spin_unlock_bh(&queue->rskq_lock);
	return ret;
}

/**
 * rnic_sock_addrs() - read the addresses of both ends
 * @s:		a connected socket
 * @local:	filled in
 * @remote:	filled in
 *
 * Context: process.
 * Return: 0, or -errno if the connection is gone.
 */
int rnic_sock_addrs(struct rnic_sock *s, struct sockaddr_storage *local,
		    struct sockaddr_storage *remote)
{
	int ret;

	memset(remote, 0, sizeof(*remote));
	ret = kernel_getpeername(s->sock, (struct sockaddr *)remote);
	if (ret < 0)
		return ret;
	unmap_addr(remote);
	get_local_addr(s->sock->sk, local);
	return 0;
}
