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

/* The socket is, or was, connected. */
static void get_local_addr(const struct sock *sk, struct sockaddr_storage *local)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)local;
	struct sockaddr_in *in = (struct sockaddr_in *)local;

	memset(local, 0, sizeof(*local));
	local->ss_family = sk->sk_family;
	if (sk->sk_family != AF_INET6) {
		in->sin_port = inet_sk(sk)->inet_sport;
		in->sin_addr.s_addr = sk->sk_rcv_saddr;
		return;
	}
	in6->sin6_port = inet_sk(sk)->inet_sport;
	in6->sin6_addr = sk->sk_v6_rcv_saddr;
	in6->sin6_scope_id = ipv6_iface_scope_id(&in6->sin6_addr, sk->sk_bound_dev_if);
	unmap_addr(local);
}

static void get_remote_addr(const struct sock *sk, struct sockaddr_storage *remote)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)remote;
	struct sockaddr_in *in = (struct sockaddr_in *)remote;

	memset(remote, 0, sizeof(*remote));
	remote->ss_family = sk->sk_family;
	if (sk->sk_family != AF_INET6) {
		in->sin_port = sk->sk_dport;
		in->sin_addr.s_addr = sk->sk_daddr;
		return;
	}
	in6->sin6_port = sk->sk_dport;
	in6->sin6_addr = sk->sk_v6_daddr;
	unmap_addr(remote);
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
