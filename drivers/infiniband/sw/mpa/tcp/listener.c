// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sockets that listen, and the connections that they accept.
 */
#include <linux/memcontrol.h>
#include <linux/net.h>
#include <net/inet_sock.h>
#include <net/sock.h>

#include "tcp/lockclass.h"
#include "tcp/port.h"
#include "tcp/sock.h"

/*
 * Listen on a port that TCP refuses because of connections. TCP checks nothing then, so this does,
 * before and afterwards. Nobody can bind to the port any more when the socket listens. So whoever
 * did between the two checks is found, and keeps the port.
 */
static int listen_beside_connections(struct rnic_sock *s, struct sockaddr_storage *local,
				     int backlog)
{
	/* sin6_port is in the same place. */
	u16 port = ntohs(((struct sockaddr_in *)local)->sin_port);
	struct sock *sk = s->sock->sk;
	int ret;

	if (!rnic_port_has_only_connections(sk, port))
		return -EADDRINUSE;
	sk->sk_reuse = SK_FORCE_REUSE;
	ret = rnic_sock_bind(s, local);
	if (!ret)
		ret = kernel_listen(s->sock, backlog);
	sk->sk_reuse = SK_CAN_REUSE;
	if (!ret && !rnic_port_has_only_connections(sk, inet_sk(sk)->inet_num))
		ret = -EADDRINUSE;
	return ret;
}

/* For a socket that is given up yet, or whose caller is not ready */
static void ignore_event(struct rnic_sock *s, enum rnic_sock_event event)
{
}

/**
 * rnic_sock_listen() - create a listening socket
 * @s:		filled in
 * @net:	namespace
 * @vrf:	index of the VRF, or 0
 * @local:	address and port; the address may be a wildcard
 * @v6only:	an IPv6 wildcard does not accept IPv4 connections
 * @tos:	type of service, or -1
 * @backlog:	the program's backlog
 *
 * It reports no events before rnic_sock_redirect(); connections may be pending by then. After that
 * RNIC_SOCK_DATA reports connections to accept.
 *
 * The size of TCP's accept queue is @backlog or net.core.somaxconn, whichever is larger. TCP drops
 * the SYN of a caller who finds the queue full, and the caller tries again a second later. The
 * program's backlog is for those who wait for the program, which iw_cm and rdma_ucm count.
 *
 * Context: process.
 * Return: 0, or -errno and no socket.
 */
int rnic_sock_listen(struct rnic_sock *s, struct net *net, int vrf,
		     struct sockaddr_storage *local, bool v6only, int tos, int backlog)
{
	int ret;

	backlog = max(backlog, READ_ONCE(net->core.sysctl_somaxconn));
	ret = rnic_sock_create(s, net, vrf, local->ss_family, tos);
	if (ret)
		return ret;
	/* Either way, because net.ipv6.bindv6only is the default of a new socket. */
	if (local->ss_family == AF_INET6)
		s->sock->sk->sk_ipv6only = v6only;
	rnic_sock_hook(s, ignore_event);
	ret = rnic_sock_bind(s, local);
	if (ret == -EADDRINUSE)
		ret = listen_beside_connections(s, local, backlog);
	else if (!ret)
		ret = kernel_listen(s->sock, backlog);
	if (ret)
		goto err;
	rnic_sock_delay_acks(s);
	return 0;
err:
	rnic_sock_close(s);
	return ret;
}

#ifdef CONFIG_MEMCG
/* TCP charges the task that accepts, which is a worker here and in no memory cgroup. */
static void get_memcg(struct rnic_sock *s, const struct sock *listener)
{
	struct mem_cgroup *memcg = listener->sk_memcg;

	if (memcg && css_tryget(&memcg->css))
		s->memcg = memcg;
}

/**
 * rnic_sock_charge() - charge a socket's memory to the listener's cgroup from now on
 * @s:	an accepted socket that has sent nothing
 *
 * Does nothing while the socket has memory, because freeing it would uncharge a cgroup that was
 * never charged. Call it after the first frame was read.
 *
 * Context: process, socket locked.
 */
void rnic_sock_charge(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	if (!s->memcg || sk->sk_memcg || sk_rmem_alloc_get(sk) || sk->sk_wmem_queued)
		return;
	sk_mem_reclaim(sk);
	sk->sk_memcg = s->memcg;
	s->memcg = NULL;
}
#else
static void get_memcg(struct rnic_sock *s, const struct sock *listener)
{
}

void rnic_sock_charge(struct rnic_sock *s)
{
}
#endif

/*
 * Give an accepted socket to the listener's user, because TCP gives it to the task that accepts,
 * which is a worker of root here. ss(8) shows the user, and routing rules name it (uidrange).
 */
static void set_owner(struct socket *sock, struct socket *listener)
{
	kuid_t uid = SOCK_INODE(listener)->i_uid;

	SOCK_INODE(sock)->i_uid = uid;
	WRITE_ONCE(sock->sk->sk_uid, uid);
}

/**
 * rnic_sock_accept() - accept one connection
 * @listener:	a listening socket
 * @s:		filled in; not hooked
 *
 * Context: process.
 * Return: 0; -EAGAIN if none is pending; -EBUSY for a connection that BPF has put into a
 * sockmap, which is reset; another -errno.
 */
int rnic_sock_accept(struct rnic_sock *listener, struct rnic_sock *s)
{
	struct sock *sk;
	bool taken;
	int ret;

	ret = kernel_accept(listener->sock, &s->sock, O_NONBLOCK);
	if (ret)
		return ret;
	sk = s->sock->sk;
	read_lock_bh(&sk->sk_callback_lock);
	taken = rnic_sock_in_sockmap(sk);
	read_unlock_bh(&sk->sk_callback_lock);
	if (taken) {
		/* Reset it now, because it still has our callbacks. */
		sock_no_linger(sk);
		sock_release(s->sock);
		s->sock = NULL;
		return -EBUSY;
	}
	rnic_lockclass_set(s);
	set_owner(s->sock, listener->sock);
	rnic_sock_tune(sk);
	get_memcg(s, listener->sock->sk);
	/* Priority belongs to the type of service, which the socket inherits. */
	sk->sk_priority = listener->sock->sk->sk_priority;
	/* The socket inherited our callbacks; the listener has the original ones. */
	s->data_ready = listener->data_ready;
	s->write_space = listener->write_space;
	s->state_change = listener->state_change;
	s->error_report = listener->error_report;
	return 0;
}
