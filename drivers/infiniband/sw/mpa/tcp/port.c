// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who has a TCP port.
 *
 * TCP refuses to bind a socket to a port that a connection has, unless both sockets allow reuse,
 * and the sockets of ordinary clients do not. A server of TCP that needs any port does not notice,
 * because TCP chooses the port. A server of ours does, because rdma_cm chooses it, and rdma_cm does
 * not see TCP's connections.
 *
 * A listener beside connections is safe. TCP gives a segment to the connection with its four
 * addresses and ports first, and to a listener only if there is none. TCP itself allows it when all
 * sockets allow reuse. The reason for the rule is that a socket which is bound may listen later,
 * and then nobody else may have the port.
 */
#include <net/inet_hashtables.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <compat/tcp.h>

#include "tcp/port.h"

/*
 * A connection loses its port when it disconnects, so it cannot listen on it, unless its program
 * asked bind() for that port. A socket in TIME_WAIT has no program. @listener itself passes.
 */
static bool is_plain_connection(const struct sock *sk, const struct sock *listener)
{
	if (sk == listener)
		return true;
	switch (sk->sk_state) {
	case TCP_TIME_WAIT:
		return true;
	case TCP_CLOSE:
	case TCP_LISTEN:
		return false;
	default:
		return !(sk->sk_userlocks & SOCK_BINDPORT_LOCK);
	}
}

static struct inet_bind_bucket *find_bucket(struct inet_bind_hashbucket *head,
					    const struct net *net, u16 port, int l3mdev)
{
	struct inet_bind_bucket *tb;

	inet_bind_bucket_for_each(tb, &head->chain)
		if (net_eq(ib_net(tb), net) && tb->port == port && tb->l3mdev == l3mdev)
			return tb;
	return NULL;
}

static bool is_chosen_by_tcp(const struct net *net, u16 port)
{
	int low, high;

	inet_get_local_port_range(net, &low, &high);
	return low <= port && port <= high;
}

/**
 * rnic_port_has_only_connections() - test whether a listener may share a port
 * @sk:		the listener, bound to the port already or not
 * @port:	the port
 *
 * All other sockets of the namespace and VRF that have the port must be connections, whatever their
 * addresses, and no program may have asked bind() for the port. Outside of
 * net.ipv4.ip_local_port_range the answer is no, because connections there are those of a server
 * that may come back.
 *
 * The answer stays true only if nobody can bind to the port, as while @sk listens.
 *
 * Context: process.
 * Return: true if the port has connections only, and at least one socket has it.
 */
bool rnic_port_has_only_connections(const struct sock *sk, u16 port)
{
	struct net *net = sock_net(sk);
	struct inet_hashinfo *hinfo = net->ipv4.tcp_death_row.hashinfo;
	struct inet_bind_hashbucket *head = &hinfo->bhash[inet_bhashfn(net, port,
								       hinfo->bhash_size)];
	int l3mdev = inet_sk_bound_l3mdev(sk);
	const struct inet_bind_bucket *tb;
	bool ret;

	if (!is_chosen_by_tcp(net, port))
		return false;
	spin_lock_bh(&head->lock);
	tb = find_bucket(head, net, port, l3mdev);
	ret = tb && compat_all_bound(tb, is_plain_connection, sk);
	spin_unlock_bh(&head->lock);
	return ret;
}
