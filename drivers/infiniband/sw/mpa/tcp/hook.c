// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events of a TCP socket: its callbacks, and to whom they report.
 *
 * Callbacks. The sk_user_data of a hooked socket is its struct rnic_sock. TCP does not copy it
 * to children, so a connection in the accept queue reports no events. The caller of
 * rnic_sock_accept() hooks the socket and then checks it once, because bytes that arrived
 * before were not reported.
 *
 * Unhooking and redirecting take sk_callback_lock for writing, so that the old function does
 * not run afterwards.
 */
#include <linux/net.h>
#include <net/sock.h>

#include "tcp/sock.h"

/**
 * rnic_sock_in_sockmap() - test if BPF has put a socket into a sockmap
 * @sk:	a connected socket
 *
 * BPF may do so before the connection is accepted. sk_user_data is then a psock.
 *
 * Context: any; the caller holds sk_callback_lock or the socket lock.
 * Return: true if it has.
 */
bool rnic_sock_in_sockmap(const struct sock *sk)
{
	bool ret;

	rcu_read_lock();
	ret = __rcu_dereference_sk_user_data_with_flags(sk, SK_USER_DATA_PSOCK);
	rcu_read_unlock();
	return ret;
}

static void report_event(struct sock *sk, enum rnic_sock_event event)
{
	struct rnic_sock *s;

	read_lock_bh(&sk->sk_callback_lock);
	s = __locked_read_sk_user_data_with_flags(sk, 0);
	if (s && !rnic_sock_in_sockmap(sk))
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
 * rnic_sock_hook() - start reporting events
 * @s:		a socket; the struct must not move while it is hooked
 * @event:	called for each event from now on; earlier events are lost
 *
 * Context: process.
 * Return: 0, or -EBUSY if KCM or BPF has the socket. They may be faster on a program's, and BPF on
 * an accepted one.
 */
int rnic_sock_hook(struct rnic_sock *s, rnic_sock_event_fn event)
{
	struct sock *sk = s->sock->sk;
	const void *other;

	write_lock_bh(&sk->sk_callback_lock);
	other = __locked_read_sk_user_data_with_flags(sk, 0);
	if (other && other != s) {
		write_unlock_bh(&sk->sk_callback_lock);
		return -EBUSY;
	}
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
	return 0;
}

/**
 * rnic_sock_redirect() - report events to another function
 * @s:		a hooked socket
 * @event:	the function
 *
 * The old function is not running when this returns.
 *
 * Context: process.
 */
void rnic_sock_redirect(struct rnic_sock *s, rnic_sock_event_fn event)
{
	struct sock *sk = s->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	s->event = event;
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * rnic_sock_unhook() - stop reporting events
 * @s:	a socket, hooked or not
 *
 * No event callback is running when this returns.
 *
 * Context: process.
 */
void rnic_sock_unhook(struct rnic_sock *s)
{
	struct sock *sk = s->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	/* An accepted socket inherits our callbacks, so it has them before it is hooked. */
	if (sk->sk_data_ready == report_data) {
		if (__locked_read_sk_user_data_with_flags(sk, 0) == s)
			rcu_assign_sk_user_data(sk, NULL);
		sk->sk_data_ready = s->data_ready;
		sk->sk_write_space = s->write_space;
		sk->sk_state_change = s->state_change;
		sk->sk_error_report = s->error_report;
	}
	write_unlock_bh(&sk->sk_callback_lock);
}
