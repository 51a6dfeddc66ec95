// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Kernel TCP sockets: create, connect, close. listener.c listens and accepts, hook.c reports
 * events, stream.c moves bytes, and addr.c reads addresses. stream.h lists the TCP internals that
 * this folder relies on.
 *
 * The socket lock is the data path's lock: sending and receiving of one connection never run
 * at the same time. See Documentation/locking.rst.
 *
 * Lifetime. The owner of a struct rnic_sock calls rnic_sock_close() in process context when
 * nothing else uses it.
 *
 * Memory. TCP charges a SYN and a FIN to the memory cgroup of the program. If that is full, the
 * caller would reclaim there, and the startups of all programs have one worker. So what sends
 * these in the worker is within memalloc_noreclaim_save(): the cgroup is then charged above its
 * limit. Only a few small skbs are allocated in there, because this also opens the reserves.
 */
#include <linux/memcontrol.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/sched/mm.h>
#include <linux/security.h>
#include <net/ip.h>
#include <net/l3mdev.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <compat/sockaddr.h>
#include <compat/tcp.h>

#include "tcp/lockclass.h"
#include "tcp/sock.h"

/* Most bytes that wait unsent in TCP. */
#define UNSENT_MAX	(256 * 1024)

/**
 * rnic_sock_tune() - set the options that an accepted socket does not inherit, or shares with its
 * listener
 * @sk:	socket
 *
 * UNSENT_MAX keeps TCP busy without filling the send buffer, because bytes that wait there
 * leave the cache and keep their chunks from being recycled.
 *
 * Context: process, socket lock not held.
 */
void rnic_sock_tune(struct sock *sk)
{
	sk->sk_allocation = GFP_NOIO;
	compat_sock_use_task_frag(sk, false);
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, UNSENT_MAX);
	tcp_sock_set_nodelay(sk);
}

/**
 * rnic_sock_delay_acks() - let TCP delay acknowledgments
 * @s:	socket
 *
 * Each startup frame carries one: the Request acknowledges the SYN+ACK, and the Reply the Request.
 * Accepted sockets inherit this, and listen() resets it.
 *
 * Context: process, socket lock not held.
 */
void rnic_sock_delay_acks(struct rnic_sock *s)
{
	tcp_sock_set_quickack(s->sock->sk, 0);
}

/*
 * Create a kernel socket with the security label of the calling task. Only a kernel socket has
 * lock classes apart from those of programs, but security modules and BPF do not check its
 * creation and label it as the kernel's. So create a socket as the task first, which may be
 * refused, and copy its label. Accepted sockets inherit the label.
 */
static int create_labelled_socket(struct rnic_sock *s, struct net *net, sa_family_t family)
{
	struct socket *task_sock;
	int ret;

	ret = __sock_create(net, family, SOCK_STREAM, IPPROTO_TCP, &task_sock, 0);
	if (ret)
		return ret;
	ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, &s->sock);
	if (!ret)
		security_sk_clone(task_sock->sk, s->sock->sk);
	sock_release(task_sock);
	return ret;
}

/*
 * Set the type of service that the program asked for; -1 is none. An IPv6 socket gets that of
 * IPv4 too, for mapped addresses. Accepted sockets inherit both.
 */
static int set_tos(struct rnic_sock *s, int tos)
{
	struct sock *sk = s->sock->sk;

	if (tos < 0)
		return 0;
	ip_sock_set_tos(sk, tos);
	if (sk->sk_family != AF_INET6)
		return 0;
	return s->sock->ops->setsockopt(s->sock, SOL_IPV6, IPV6_TCLASS, KERNEL_SOCKPTR(&tos),
					sizeof(tos));
}

/**
 * rnic_sock_create() - create a socket with the options that all our sockets have
 * @s:		filled in, not hooked
 * @net:	namespace
 * @vrf:	index of the VRF whose addresses and routes it uses, or 0
 * @family:	AF_INET or AF_INET6
 * @tos:	type of service, or -1
 *
 * The socket pins its namespace, which a kernel socket does not do by itself, because TCP timers
 * must not outlive the namespace.
 *
 * Context: process.
 * Return: 0, or -errno and no socket.
 */
int rnic_sock_create(struct rnic_sock *s, struct net *net, int vrf, sa_family_t family, int tos)
{
	struct sock *sk;
	int ret;

	/* The namespace may be going away while the network device is still in it. */
	if (!maybe_get_net(net))
		return -ENODEV;
	ret = create_labelled_socket(s, net, family);
	if (ret) {
		put_net(net);
		return ret;
	}
	rnic_lockclass_set(s);
	sk = s->sock->sk;
	compat_sock_pin_net(sk, net);
	put_net(net);

	sk->sk_reuse = SK_CAN_REUSE;
	rnic_sock_tune(sk);
	sk->sk_rcvbuf = max_t(int, sk->sk_rcvbuf, RNIC_RCVBUF_MIN);
	/* MPA has no urgent data: keep those bytes in the stream. */
	sock_set_flag(sk, SOCK_URGINLINE);
	ret = vrf ? sock_bindtoindex(sk, vrf, true) : 0;
	if (!ret)
		ret = set_tos(s, tos);
	if (ret)
		rnic_sock_close(s);
	return ret;
}

static int addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

/**
 * rnic_sock_bind() - bind a socket to an address
 * @s:		socket
 * @local:	address and port
 *
 * Context: process, socket lock not held.
 * Return: 0 or -errno.
 */
int rnic_sock_bind(struct rnic_sock *s, struct sockaddr_storage *local)
{
	return kernel_bind(s->sock, (struct compat_sockaddr *)local, addr_len(local));
}

static int bind_and_connect(struct rnic_sock *s, struct net *net, struct net_device *ndev,
			    struct sockaddr_storage *local, struct sockaddr_storage *remote,
			    int tos, rnic_sock_event_fn event)
{
	int vrf = rnic_addr_is_loopback(local) ? 0 : l3mdev_master_ifindex(ndev);
	int ret;

	ret = rnic_sock_create(s, net, vrf, remote->ss_family, tos);
	if (ret)
		return ret;
	ret = rnic_sock_bind(s, local);
	if (ret)
		goto err;
	rnic_sock_hook(s, event);
	rnic_sock_delay_acks(s);
	ret = kernel_connect(s->sock, (struct compat_sockaddr *)remote, addr_len(remote),
			     O_NONBLOCK);
	if (!ret || ret == -EINPROGRESS)
		return 0;
err:
	rnic_sock_close(s);
	return ret;
}

/**
 * rnic_sock_connect() - start a connection, without waiting
 * @s:		filled in
 * @net:	the program's namespace. @ndev was in it, but may move to another meanwhile.
 * @ndev:	network device, whose VRF the socket uses
 * @local:	address to bind to
 * @remote:	the peer's address
 * @tos:	type of service, or -1
 * @event:	hooked; RNIC_SOCK_STATE reports that the connection is established or failed
 *
 * rdma_cm chose the local port in a port space of its own, without regard to
 * net.ipv4.ip_local_reserved_ports. If TCP cannot bind to it, or it is reserved, this lets TCP
 * choose, because the peer does not know rdma_cm's choice.
 *
 * Context: process.
 * Return: 0 if TCP is connecting, else -errno and no socket.
 */
int rnic_sock_connect(struct rnic_sock *s, struct net *net, struct net_device *ndev,
		      struct sockaddr_storage *local, struct sockaddr_storage *remote, int tos,
		      rnic_sock_event_fn event)
{
	/* sin6_port is in the same place. */
	u16 port = ntohs(((struct sockaddr_in *)local)->sin_port);
	struct sockaddr_storage any = *local;
	int ret = -EADDRINUSE;

	if (!inet_is_local_reserved_port(net, port))
		ret = bind_and_connect(s, net, ndev, local, remote, tos, event);
	if (ret != -EADDRINUSE && ret != -EADDRNOTAVAIL)
		return ret;
	((struct sockaddr_in *)&any)->sin_port = 0;
	return bind_and_connect(s, net, ndev, &any, remote, tos, event);
}

/**
 * rnic_sock_reconnect() - start another connection to the same peer
 * @s:		a socket that was connected
 * @remote:	the peer's address
 *
 * The socket keeps the uid, the security label and the cgroups of the task that called
 * rnic_sock_connect(), and the local port.
 *
 * Context: process, socket lock not held.
 * Return: 0 if TCP is connecting, else -errno.
 */
int rnic_sock_reconnect(struct rnic_sock *s, struct sockaddr_storage *remote)
{
	struct sockaddr_storage none = { .ss_family = AF_UNSPEC };
	unsigned int noreclaim;
	int ret;

	ret = kernel_connect(s->sock, (struct compat_sockaddr *)&none, addr_len(&none), 0);
	if (ret)
		return ret;
	/* Clear the error of the last connection. */
	sock_error(s->sock->sk);
	rnic_sock_delay_acks(s);
	noreclaim = memalloc_noreclaim_save();
	ret = kernel_connect(s->sock, (struct compat_sockaddr *)remote, addr_len(remote),
			     O_NONBLOCK);
	memalloc_noreclaim_restore(noreclaim);
	return ret == -EINPROGRESS ? 0 : ret;
}

/**
 * rnic_sock_keepalive() - set TCP keepalive
 * @s:		a socket that connects or is connected
 * @seconds:	idle time before the first probe, and between unanswered probes; 0: as the
 *		namespace's sysctls say, -1: no keepalive
 *
 * After net.ipv4.tcp_keepalive_probes unanswered probes RNIC_SOCK_STATE reports ETIMEDOUT.
 *
 * Context: process, socket lock not held.
 */
void rnic_sock_keepalive(struct rnic_sock *s, int seconds)
{
	struct sock *sk = s->sock->sk;

	if (seconds < 0)
		return;
	if (seconds) {
		tcp_sock_set_keepidle(sk, seconds);
		tcp_sock_set_keepintvl(sk, seconds);
	}
	sock_set_keepalive(sk);
}

/* The program may have closed the connection, or lent it again. */
static void forget_returned(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	s->sock->sk = NULL;
	sock_release(s->sock);
	sock_put(sk);
}

/**
 * rnic_sock_close() - unhook and release a socket
 * @s:	a socket, or none
 *
 * TCP still sends queued bytes, then FIN. It resets the connection if there are unread bytes. Of a
 * returned connection this drops the driver's reference only.
 *
 * Context: process, socket lock not held.
 */
void rnic_sock_close(struct rnic_sock *s)
{
	unsigned int noreclaim;

	if (!s->sock)
		return;
	noreclaim = memalloc_noreclaim_save();
	if (s->owner == RNIC_SOCK_RETURNED) {
		forget_returned(s);
	} else {
		rnic_sock_unhook(s);
		mem_cgroup_put(s->memcg);
		s->memcg = NULL;
		/* The lock of a foreign one has the kernel's class. */
		if (rnic_sock_is_foreign(s))
			sock_release(s->sock);
		else
			rnic_lockclass_release(s);
	}
	s->sock = NULL;
	memalloc_noreclaim_restore(noreclaim);
}

/**
 * rnic_sock_abort() - reset a connection
 * @s:	a socket
 *
 * Context: process, socket lock not held.
 */
void rnic_sock_abort(struct rnic_sock *s)
{
	tcp_abort(s->sock->sk, ECONNABORTED);
}

/**
 * rnic_sock_shut() - send FIN after the queued bytes; receiving continues
 * @s:	a socket
 *
 * Does not report RNIC_SOCK_STATE as kernel_sock_shutdown() would, because the caller knows.
 *
 * Context: process, socket locked.
 */
void rnic_sock_shut(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;
	unsigned int noreclaim;

	sock_owned_by_me(sk);
	if (sk->sk_shutdown & SEND_SHUTDOWN)
		return;
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	noreclaim = memalloc_noreclaim_save();
	sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	memalloc_noreclaim_restore(noreclaim);
}

/**
 * rnic_sock_finished() - test whether both sides have closed
 * @s:	a socket
 *
 * Context: any.
 * Return: true if they have.
 */
bool rnic_sock_finished(const struct rnic_sock *s)
{
	return READ_ONCE(s->sock->sk->sk_shutdown) == SHUTDOWN_MASK;
}

/**
 * rnic_sock_established() - test for an established connection
 * @s:	a socket
 *
 * Context: any; the answer may be out of date unless the socket is locked.
 * Return: true if neither side has closed.
 */
bool rnic_sock_established(const struct rnic_sock *s)
{
	return inet_sk_state_load(s->sock->sk) == TCP_ESTABLISHED;
}

/**
 * rnic_sock_error() - read the pending error
 * @s:	a socket
 *
 * The error stays pending.
 *
 * Context: any.
 * Return: -errno, or 0.
 */
int rnic_sock_error(const struct rnic_sock *s)
{
	return -READ_ONCE(s->sock->sk->sk_err);
}
