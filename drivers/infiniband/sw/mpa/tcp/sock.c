// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Kernel TCP sockets: made, listening, hooked, closed. What moves bytes is in
 * stream.c, what concerns addresses in addr.c.
 *
 * Callbacks. A hooked socket's sk_user_data is its struct rnic_sock, not copied
 * to children, so a connection that waits in the accept queue reports to
 * nobody; who accepts it hooks it, and looks at the socket once afterwards,
 * since what arrived before was reported to nobody.
 *
 * The socket lock is the data path's lock: one connection's sending and
 * receiving never run at the same time. See Documentation/locking.rst.
 *
 * Lifetime. The owner of a struct rnic_sock closes it with rnic_sock_close()
 * in process context when no one else can reach it. Unhooking takes
 * sk_callback_lock for writing, so no callback is running afterwards.
 */
#include <linux/memcontrol.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/security.h>
#include <net/inet_connection_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <compat/sockaddr.h>
#include <compat/tcp.h>

#include "tcp/sock.h"

/* A receive buffer that holds the largest FPDU with room for its overhead. */
#define RCVBUF_MIN	(512 * 1024)
/* Bytes that may wait in TCP without being sent. */
#define UNSENT_MAX	(256 * 1024)

/*
 * BPF may put a connection into a sockmap as soon as it stands, before it is accepted:
 * then sk_user_data is another's. sk_callback_lock is held.
 */
static bool is_in_sockmap(const struct sock *sk)
{
	return __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_PSOCK);
}

static void report_event(struct sock *sk, enum rnic_sock_event event)
{
	struct rnic_sock *s;

	read_lock_bh(&sk->sk_callback_lock);
	s = __locked_read_sk_user_data_with_flags(sk, 0);
	if (s && !is_in_sockmap(sk))
		s->event(s, event);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void report_data(struct sock *sk)
{
	report_event(sk, RNIC_SOCK_DATA);
}

static void report_space(struct sock *sk)
{
	if (!sk->sk_socket || !sk_stream_is_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	report_event(sk, RNIC_SOCK_SPACE);
}

static void report_state(struct sock *sk)
{
	report_event(sk, RNIC_SOCK_STATE);
}

/**
 * rnic_sock_hook() - report events from now on
 * @s:		a socket; its address must not change while it is hooked
 * @event:	whom to tell. What happened before is reported to nobody.
 *
 * Context: process.
 */
void rnic_sock_hook(struct rnic_sock *s, rnic_sock_event_fn event)
{
	struct sock *sk = s->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	s->event = event;
	if (sk->sk_data_ready != report_data) {
		s->data_ready = sk->sk_data_ready;
		s->write_space = sk->sk_write_space;
		s->state_change = sk->sk_state_change;
		s->error_report = sk->sk_error_report;
	}
	sk->sk_data_ready = report_data;
	sk->sk_write_space = report_space;
	sk->sk_state_change = report_state;
	sk->sk_error_report = report_state;
	__rcu_assign_sk_user_data_with_flags(sk, s, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * rnic_sock_redirect() - from now on report to another function
 * @s:		a hooked socket
 * @event:	the function
 *
 * Context: process. When it returns the old function is not running.
 */
void rnic_sock_redirect(struct rnic_sock *s, rnic_sock_event_fn event)
{
	struct sock *sk = s->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	s->event = event;
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * rnic_sock_unhook() - no more events
 * @s:	a socket, hooked or not
 *
 * Context: process. When it returns no event callback is running.
 */
void rnic_sock_unhook(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	/* An accepted socket has our callbacks even before it is hooked. */
	if (sk->sk_data_ready == report_data) {
		rcu_assign_sk_user_data(sk, NULL);
		sk->sk_data_ready = s->data_ready;
		sk->sk_write_space = s->write_space;
		sk->sk_state_change = s->state_change;
		sk->sk_error_report = s->error_report;
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

#ifdef CONFIG_DEBUG_LOCK_ALLOC
/* The lock and the spinlock in it, for IPv4 and IPv6 */
static struct lock_class_key sk_keys[2], slock_keys[2];

static const char * const sk_names[] = {
	"sk_lock-AF_INET-RDMA-MPA", "sk_lock-AF_INET6-RDMA-MPA"
};

static const char * const slock_names[] = {
	"slock-AF_INET-RDMA-MPA", "slock-AF_INET6-RDMA-MPA"
};

/*
 * Nobody has the lock, but a softirq may have the spinlock of an accepted socket: so take
 * that, and change its class while we hold it.
 */
static void set_classes(struct sock *sk, const struct lockdep_map *lock,
			const struct lockdep_map *slock)
{
	spin_lock_bh(&sk->sk_lock.slock);
	lock_set_class(&sk->sk_lock.slock.dep_map, slock->name, slock->key, 0, _THIS_IP_);
	lockdep_init_map(&sk->sk_lock.dep_map, lock->name, lock->key, 0);
	spin_unlock_bh(&sk->sk_lock.slock);
}

/*
 * Give the locks of a socket classes of ours. The kernel's sockets share one, and lockdep
 * takes what a user of RDMA holds when we take ours for what another user may hold when he
 * takes his. sock_lock_init_class_and_name() is for new sockets only: it initializes the
 * spinlock, and the socket pins the module until TCP is through with it.
 */
static void take_classes(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;
	bool v6 = sk->sk_family == AF_INET6;
	struct lockdep_map lock = { .name = sk_names[v6], .key = &sk_keys[v6] };
	struct lockdep_map slock = { .name = slock_names[v6], .key = &slock_keys[v6] };

	s->kernels_lock = sk->sk_lock.dep_map;
	s->kernels_slock = sk->sk_lock.slock.dep_map;
	set_classes(sk, &lock, &slock);
}

/* TCP may be busy with it for minutes: longer than there is a module with our classes. */
static void release_socket(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	sock_hold(sk);
	sock_release(s->sock);
	set_classes(sk, &s->kernels_lock, &s->kernels_slock);
	sock_put(sk);
}
#else
static void take_classes(struct rnic_sock *s)
{
}

static void release_socket(struct rnic_sock *s)
{
	sock_release(s->sock);
}
#endif

/*
 * Options that a child does not inherit, or that it shares with its listener.
 * Enough unsent bytes to keep TCP busy, not all that its buffer would hold: what
 * waits there grows cold, and its chunks cannot be used again.
 */
static void set_socket_options(struct sock *sk)
{
	sk->sk_allocation = GFP_NOIO;
	compat_sock_own_frag(sk);
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, UNSENT_MAX);
	tcp_sock_set_nodelay(sk);
}

/*
 * The frames of the startup answer each other, and take TCP's acknowledgments with
 * them: the Request that of the SYN, the Reply that of the Request. Children inherit it,
 * listen() forgets it.
 */
static void enable_quickack(struct sock *sk)
{
	tcp_sock_set_quickack(sk, 0);
}

/*
 * A socket of the kernel's has lock classes of its own, so that lockdep does not take what
 * is done under ours for what programs do under theirs. But security modules and BPF do
 * not look at one, and take it for the kernel's. So another one is asked for, as the
 * caller's, who may not have it; ours is labelled like that one, and so are its children.
 * The caller is the program, or a thread of the kernel for a consumer in there, which
 * may have sockets.
 */
static int create_labelled_socket(struct rnic_sock *s, struct net *net, sa_family_t family)
{
	struct socket *callers;
	int ret;

	ret = __sock_create(net, family, SOCK_STREAM, IPPROTO_TCP, &callers, 0);
	if (ret)
		return ret;
	ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, &s->sock);
	if (!ret)
		security_sk_clone(callers->sk, s->sock->sk);
	sock_release(callers);
	return ret;
}

/*
 * Options of every socket of ours. The socket pins its namespace like a user's
 * would: a kernel socket by itself does not, and TCP timers would outlive it. In a VRF, of
 * which @vrf is the index, its addresses and routes are those of the VRF; 0 is none.
 */
static int create_socket(struct rnic_sock *s, struct net *net, int vrf, sa_family_t family)
{
	struct sock *sk;
	int ret;

	/* It may be on its way out, with the network device still in it. */
	if (!maybe_get_net(net))
		return -ENODEV;
	ret = create_labelled_socket(s, net, family);
	if (ret) {
		put_net(net);
		return ret;
	}
	take_classes(s);
	sk = s->sock->sk;
	compat_sock_pin_net(sk, net);
	put_net(net);

	sk->sk_reuse = SK_CAN_REUSE;
	set_socket_options(sk);
	sk->sk_rcvbuf = max_t(int, sk->sk_rcvbuf, RCVBUF_MIN);
	/* Urgent data is data to us, and must not move the stream's start. */
	sock_set_flag(sk, SOCK_URGINLINE);
	ret = vrf ? sock_bindtoindex(sk, vrf, true) : 0;
	if (ret)
		rnic_sock_close(s);
	return ret;
}

static int addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

/*
 * The type of service the program asked for, or -1. An IPv6 socket has IPv4's as well, for
 * mapped addresses. Children inherit them.
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

static int connect_socket(struct rnic_sock *s, struct net_device *ndev,
			  struct sockaddr_storage *local, struct sockaddr_storage *remote, int tos,
			  rnic_sock_event_fn event)
{
	int ret;

	ret = create_socket(s, dev_net(ndev), l3mdev_master_ifindex(ndev), remote->ss_family);
	if (ret)
		return ret;
	ret = set_tos(s, tos);
	if (!ret)
		ret = kernel_bind(s->sock, (struct compat_sockaddr *)local, addr_len(local));
	if (ret)
		goto err;
	rnic_sock_hook(s, event);
	enable_quickack(s->sock->sk);
	ret = kernel_connect(s->sock, (struct compat_sockaddr *)remote, addr_len(remote),
			     O_NONBLOCK);
	if (!ret || ret == -EINPROGRESS)
		return 0;
err:
	rnic_sock_close(s);
	return ret;
}

/**
 * rnic_sock_connect() - start to connect, without waiting
 * @s:		to be filled in
 * @ndev:	whose namespace it is, and whose VRF if it is in one
 * @local:	address to bind to
 * @remote:	the peer
 * @tos:	type of service, or -1
 * @event:	RNIC_SOCK_STATE tells when the connection stands or failed
 *
 * The local port was chosen by rdma_cm in a port space of its own, where it does not
 * know net.ipv4.ip_local_reserved_ports. When TCP cannot have it just now, or it is
 * reserved, any other will do: the peer never learns which one was meant.
 *
 * Context: process.
 * Return: 0 when TCP is on its way, else -errno and no socket.
 */
int rnic_sock_connect(struct rnic_sock *s, struct net_device *ndev,
		      struct sockaddr_storage *local, struct sockaddr_storage *remote, int tos,
		      rnic_sock_event_fn event)
{
	/* An IPv6 address has its port in the same place. */
	u16 port = ntohs(((struct sockaddr_in *)local)->sin_port);
	struct sockaddr_storage any = *local;
	int ret = -EADDRINUSE;

	if (!inet_is_local_reserved_port(dev_net(ndev), port))
		ret = connect_socket(s, ndev, local, remote, tos, event);
	if (ret != -EADDRINUSE && ret != -EADDRNOTAVAIL)
		return ret;
	((struct sockaddr_in *)&any)->sin_port = 0;
	return connect_socket(s, ndev, &any, remote, tos, event);
}

/**
 * rnic_sock_reconnect() - start to connect to the same peer once more
 * @s:		a socket that was connected
 * @remote:	the peer
 *
 * It stays the socket of whoever called rnic_sock_connect(), with his label, his memory
 * cgroup, and the local port.
 *
 * Context: process, socket lock not held.
 * Return: 0 when TCP is on its way, else -errno.
 */
int rnic_sock_reconnect(struct rnic_sock *s, struct sockaddr_storage *remote)
{
	struct sockaddr_storage none = { .ss_family = AF_UNSPEC };
	int ret;

	ret = kernel_connect(s->sock, (struct compat_sockaddr *)&none, addr_len(&none), 0);
	if (ret)
		return ret;
	/* How the last connection ended is known. */
	sock_error(s->sock->sk);
	enable_quickack(s->sock->sk);
	ret = kernel_connect(s->sock, (struct compat_sockaddr *)remote, addr_len(remote),
			     O_NONBLOCK);
	return ret == -EINPROGRESS ? 0 : ret;
}

/**
 * rnic_sock_listen() - listen
 * @s:		to be filled in
 * @net:	namespace
 * @vrf:	index of the VRF that is listened in, or 0
 * @local:	address and port, wildcard or not
 * @v6only:	an IPv6 wildcard does not take IPv4 connections
 * @tos:	type of service, or -1
 * @backlog:	TCP's accept queue
 * @event:	RNIC_SOCK_DATA tells that rnic_sock_accept() may find something
 *
 * Context: process.
 * Return: 0 or -errno and no socket.
 */
int rnic_sock_listen(struct rnic_sock *s, struct net *net, int vrf,
		     struct sockaddr_storage *local, bool v6only, int tos, int backlog,
		     rnic_sock_event_fn event)
{
	int ret;

	ret = create_socket(s, net, vrf, local->ss_family);
	if (ret)
		return ret;
	if (v6only && local->ss_family == AF_INET6)
		ip6_sock_set_v6only(s->sock->sk);
	ret = set_tos(s, tos);
	if (!ret)
		ret = kernel_bind(s->sock, (struct compat_sockaddr *)local, addr_len(local));
	if (ret)
		goto err;
	rnic_sock_hook(s, event);
	ret = kernel_listen(s->sock, backlog);
	if (ret)
		goto err;
	enable_quickack(s->sock->sk);
	return 0;
err:
	rnic_sock_close(s);
	return ret;
}

#ifdef CONFIG_MEMCG
/* Accepting charges whoever accepts, which is a worker here: nobody. */
static void get_memcg(struct rnic_sock *s, const struct sock *listener)
{
	struct mem_cgroup *memcg = listener->sk_memcg;

	if (memcg && css_tryget(&memcg->css))
		s->memcg = memcg;
}

static void put_memcg(struct rnic_sock *s)
{
	if (s->memcg)
		css_put(&s->memcg->css);
	s->memcg = NULL;
}

/**
 * rnic_sock_charge() - from now on its memory is the listener's cgroup's
 * @s:	an accepted socket, locked by a process; nothing was sent yet
 *
 * What the socket has already would be given back to a cgroup that was never charged for
 * it. So this waits for a moment when it has nothing, as after the first frame was read.
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

static void put_memcg(struct rnic_sock *s)
{
}

void rnic_sock_charge(struct rnic_sock *s)
{
}
#endif

/**
 * rnic_sock_accept() - take one connection from a listener
 * @listener:	a listening socket
 * @s:		to be filled in; not hooked
 *
 * Context: process.
 * Return: 0, -EAGAIN when there is none, -EBUSY for one that is in a sockmap: it was
 * reset, or another -errno.
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
	taken = is_in_sockmap(sk);
	read_unlock_bh(&sk->sk_callback_lock);
	if (taken) {
		/* At once, for it still has our callbacks. */
		sock_no_linger(sk);
		sock_release(s->sock);
		s->sock = NULL;
		return -EBUSY;
	}
	take_classes(s);
	set_socket_options(sk);
	get_memcg(s, listener->sock->sk);
	/* It goes with the type of service, which is inherited. */
	sk->sk_priority = listener->sock->sk->sk_priority;
	/* A child inherits our callbacks from the listener, not the originals. */
	s->data_ready = listener->data_ready;
	s->write_space = listener->write_space;
	s->state_change = listener->state_change;
	s->error_report = listener->error_report;
	return 0;
}

/**
 * rnic_sock_keepalive() - have TCP find out whether an idle peer is still there
 * @s:		a socket that connects or is connected
 * @seconds:	idle time before the first question, and between two that are not answered;
 *		0: the namespace's sysctls say that, -1: never
 *
 * How many questions, tcp_keepalive_probes says. Then RNIC_SOCK_STATE reports ETIMEDOUT.
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

/**
 * rnic_sock_close() - unhook and release
 * @s:	a socket, or none
 *
 * What was queued is still sent, then FIN. Where bytes lie unread TCP resets the
 * connection instead.
 *
 * Context: process.
 */
void rnic_sock_close(struct rnic_sock *s)
{
	if (!s->sock)
		return;
	rnic_sock_unhook(s);
	put_memcg(s);
	release_socket(s);
	s->sock = NULL;
}

/**
 * rnic_sock_abort() - reset the connection now
 * @s:	a socket
 *
 * Context: process, socket lock not held.
 */
void rnic_sock_abort(struct rnic_sock *s)
{
	tcp_abort(s->sock->sk, ECONNABORTED);
}

/**
 * rnic_sock_shut() - FIN after what is queued; receiving goes on
 * @s:	a socket
 *
 * Reports RNIC_SOCK_STATE, but only the first time.
 *
 * Context: process, socket lock not held.
 */
void rnic_sock_shut(struct rnic_sock *s)
{
	if (!(READ_ONCE(s->sock->sk->sk_shutdown) & SEND_SHUTDOWN))
		kernel_sock_shutdown(s->sock, SHUT_WR);
}

/* Does TCP's connection stand, both ways? Any context; a hint unless locked. */
bool rnic_sock_established(const struct rnic_sock *s)
{
	return inet_sk_state_load(s->sock->sk) == TCP_ESTABLISHED;
}

/* The pending error as -errno, or 0. It stays pending. */
int rnic_sock_error(const struct rnic_sock *s)
{
	return -READ_ONCE(s->sock->sk->sk_err);
}
