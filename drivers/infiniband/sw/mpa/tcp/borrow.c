// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A connection that a program lends (ulp.c) as a struct rnic_sock. It has a struct socket of the
 * driver's own for the program's struct sock, and the driver's options while it has the stream.
 *
 * Lifetime. The driver's struct socket has a reference to the struct sock, but is not its owner
 * while the program's is (RNIC_SOCK_LENT). When the program closes first, rnic_sock_keep() makes
 * the driver's the owner, and rnic_sock_close() closes it like any other. Otherwise
 * rnic_sock_return() ends the use. The driver's struct socket stays until rnic_sock_close(),
 * because a task that found the connection before may yet lock it to see that it is over.
 */
#include <linux/net.h>
#include <net/sock.h>
#include <net/tcp.h>

#include <compat/tcp.h>
#include "tcp/ulp.h"

/* The program's options are under the socket lock. */
static void replace_options(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	lock_sock(sk);
	s->was.allocation = sk->sk_allocation;
	s->was.task_frag = compat_sock_use_task_frag(sk, false);
	s->was.rcvbuf = sk->sk_rcvbuf;
	s->was.window_clamp = tcp_sk(sk)->window_clamp;
	s->was.rcvlowat = sk->sk_rcvlowat;
	s->was.tsflags = READ_ONCE(sk->sk_tsflags);
	s->was.notsent_lowat = tcp_sk(sk)->notsent_lowat;
	s->was.nonagle = tcp_sk(sk)->nonagle;
	s->was.urginline = sock_flag(sk, SOCK_URGINLINE);
	if (s->was.rcvbuf < RNIC_RCVBUF_MIN) {
		WRITE_ONCE(sk->sk_rcvbuf, RNIC_RCVBUF_MIN);
		WRITE_ONCE(tcp_sk(sk)->window_clamp,
			   max_t(u32, tcp_sk(sk)->window_clamp, tcp_full_space(sk)));
	}
	/* TCP reports fewer bytes, and sends those of less than a segment. */
	WRITE_ONCE(sk->sk_rcvlowat, 1);
	/* The program does not wait for time stamps of our bytes, which fill the error queue. */
	WRITE_ONCE(sk->sk_tsflags, s->was.tsflags & ~SOF_TIMESTAMPING_TX_RECORD_MASK);
	tcp_sk(sk)->nonagle &= ~TCP_NAGLE_CORK;
	sock_set_flag(sk, SOCK_URGINLINE);
	release_sock(sk);
	rnic_sock_tune(sk);
}

static void restore_options(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	lock_sock(sk);
	sk->sk_allocation = s->was.allocation;
	compat_sock_use_task_frag(sk, s->was.task_frag);
	if (sk->sk_rcvbuf == RNIC_RCVBUF_MIN && s->was.rcvbuf < RNIC_RCVBUF_MIN) {
		WRITE_ONCE(sk->sk_rcvbuf, s->was.rcvbuf);
		WRITE_ONCE(tcp_sk(sk)->window_clamp, s->was.window_clamp);
	}
	WRITE_ONCE(sk->sk_rcvlowat, s->was.rcvlowat);
	WRITE_ONCE(sk->sk_tsflags, s->was.tsflags);
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, s->was.notsent_lowat);
	tcp_sk(sk)->nonagle = s->was.nonagle;
	sock_valbool_flag(sk, SOCK_URGINLINE, s->was.urginline);
	release_sock(sk);
}

/**
 * rnic_sock_borrow() - use a program's connection
 * @s:		filled in, and hooked
 * @u:		the program's connection, taken
 * @event:	called for each event from now on; earlier events are lost
 *
 * Context: process, socket not locked.
 * Return: 0; -EAGAIN if the send buffer has no room, or another -errno; @s is borrowed
 * nevertheless if it is RNIC_SOCK_LENT.
 */
int rnic_sock_borrow(struct rnic_sock *s, struct rnic_ulp *u, rnic_sock_event_fn event)
{
	struct sock *sk = u->sk;
	struct socket *sock;
	int ret;

	ret = sock_create_lite(sk->sk_family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (ret)
		return ret;
	__module_get(u->ops->owner);
	sock->ops = u->ops;
	sock->state = SS_CONNECTED;
	/* The program's user, also if the call is of another task. sk_set_socket() copies it. */
	SOCK_INODE(sock)->i_uid = SOCK_INODE(sk->sk_socket)->i_uid;
	sock_hold(sk);
	sock->sk = sk;
	s->sock = sock;
	WRITE_ONCE(s->owner, RNIC_SOCK_LENT);
	replace_options(s);
	if (!sk_stream_is_writeable(sk))
		return -EAGAIN;
	return rnic_sock_hook(s, event);
}

/**
 * rnic_sock_keep() - keep a lent connection, because the program closes it
 * @s:	the connection
 *
 * Context: process, socket not locked; the program's struct socket is being released.
 */
void rnic_sock_keep(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	lock_sock(sk);
	/* A worker of ours must not wait for the peer as the program would have. */
	sock_reset_flag(sk, SOCK_LINGER);
	/* rnic_sock_room() may wait for room, and has set this in the program's. */
	set_bit(SOCK_NOSPACE, &s->sock->flags);
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_pointer(sk->sk_wq, &s->sock->wq);
	sk_set_socket(sk, s->sock);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	WRITE_ONCE(s->owner, RNIC_SOCK_KEPT);
	/* The program's reference is the driver's now. */
	sock_put(sk);
}

/**
 * rnic_sock_return() - end the use of a lent connection, which was not kept
 * @s:	the connection
 *
 * Context: process, socket not locked.
 */
void rnic_sock_return(struct rnic_sock *s)
{
	rnic_sock_unhook(s);
	restore_options(s);
	WRITE_ONCE(s->owner, RNIC_SOCK_RETURNED);
}
