/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TCP sockets as the other rooms see them: create, connect, listen, accept, hook, close.
 * stream.h moves bytes.
 */
#ifndef _RNIC_SOCK_H
#define _RNIC_SOCK_H

#include <linux/lockdep_types.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/types.h>

struct mem_cgroup;
struct net_device;
struct sock;

/**
 * enum rnic_sock_event - event of a socket
 * @RNIC_SOCK_DATA:	bytes (or, on a listener, a connection) arrived
 * @RNIC_SOCK_SPACE:	the send buffer has room again
 * @RNIC_SOCK_STATE:	the TCP state changed, or an error is pending
 */
enum rnic_sock_event {
	RNIC_SOCK_DATA,
	RNIC_SOCK_SPACE,
	RNIC_SOCK_STATE,
};

/**
 * enum rnic_sock_owner - who has a connection
 * @RNIC_SOCK_OURS:	the driver, which made or accepted it
 * @RNIC_SOCK_LENT:	a program, which made it, and the driver; the struct socket is only the
 *			driver's view of it
 * @RNIC_SOCK_KEPT:	the driver, because the program has closed it
 * @RNIC_SOCK_RETURNED:	the program again
 */
enum rnic_sock_owner {
	RNIC_SOCK_OURS,
	RNIC_SOCK_LENT,
	RNIC_SOCK_KEPT,
	RNIC_SOCK_RETURNED,
};

/* Least receive buffer: for the largest FPDU and the overhead of its skbs */
#define RNIC_RCVBUF_MIN	(512 * 1024)

/**
 * struct rnic_sock - a TCP socket
 * @sock:	the socket, NULL before it is created and after rnic_sock_close()
 * @event:	called for each event with sk_callback_lock read-held and BH off;
 *		must not sleep. Never called after rnic_sock_unhook() returned.
 * @data_ready: the original callback, restored by rnic_sock_unhook()
 * @write_space: likewise
 * @state_change: likewise
 * @error_report: likewise
 * @memcg:	memory cgroup of the listener, with a reference, until rnic_sock_charge()
 * @mtu:	path MTU at the last rnic_sock_emss()
 * @mss_clamp:	largest segment that the peer accepts, 0 before rnic_sock_emss()
 * @owner:	who has the connection; borrow.c changes it
 * @was:	options of a foreign connection before the driver set its own
 * @kernels_lock: original lockdep class of the socket lock, for lockclass.c
 */
struct rnic_sock {
	struct socket *sock;
	void (*event)(struct rnic_sock *s, enum rnic_sock_event event);
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*error_report)(struct sock *sk);
	struct mem_cgroup *memcg;
	u32 mtu;
	u16 mss_clamp;
	enum rnic_sock_owner owner;
	struct {
		gfp_t allocation;
		bool task_frag;
		int rcvbuf;
		u32 window_clamp;
		int rcvlowat;
		u32 tsflags;
		u32 notsent_lowat;
		u8 nonagle;
		bool urginline;
	} was;
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map kernels_lock;
#endif
};

typedef void (*rnic_sock_event_fn)(struct rnic_sock *s, enum rnic_sock_event event);

int rnic_sock_create(struct rnic_sock *s, struct net *net, int vrf, sa_family_t family, int tos);
int rnic_sock_bind(struct rnic_sock *s, struct sockaddr_storage *local);
void rnic_sock_delay_acks(struct rnic_sock *s);
int rnic_sock_connect(struct rnic_sock *s, struct net *net, struct net_device *ndev,
		      struct sockaddr_storage *local, struct sockaddr_storage *remote, int tos,
		      rnic_sock_event_fn event);
int rnic_sock_reconnect(struct rnic_sock *s, struct sockaddr_storage *remote);
void rnic_sock_keepalive(struct rnic_sock *s, int seconds);
void rnic_sock_tune(struct sock *sk);
void rnic_sock_close(struct rnic_sock *s);
void rnic_sock_abort(struct rnic_sock *s);
void rnic_sock_shut(struct rnic_sock *s);

/* Context: any. Return: true if a program made the connection; that never changes. */
static inline bool rnic_sock_is_foreign(const struct rnic_sock *s)
{
	return READ_ONCE(s->owner) != RNIC_SOCK_OURS;
}

/* listener.c */
int rnic_sock_listen(struct rnic_sock *s, struct net *net, int vrf,
		     struct sockaddr_storage *local, bool v6only, int tos, int backlog);
int rnic_sock_accept(struct rnic_sock *listener, struct rnic_sock *s);
void rnic_sock_charge(struct rnic_sock *s);

/* hook.c */
int rnic_sock_hook(struct rnic_sock *s, rnic_sock_event_fn event);
void rnic_sock_redirect(struct rnic_sock *s, rnic_sock_event_fn event);
void rnic_sock_unhook(struct rnic_sock *s);
bool rnic_sock_in_sockmap(const struct sock *sk);

/* addr.c */
bool rnic_addr_is_loopback(const struct sockaddr_storage *addr);
int rnic_sock_peek(const struct rnic_sock *listener, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote);
int rnic_sock_addrs(struct rnic_sock *s, struct sockaddr_storage *local,
		    struct sockaddr_storage *remote);

bool rnic_sock_finished(const struct rnic_sock *s);
bool rnic_sock_established(const struct rnic_sock *s);
int rnic_sock_error(const struct rnic_sock *s);

#endif
