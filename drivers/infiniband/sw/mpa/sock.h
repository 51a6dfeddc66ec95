/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TCP as the rest of the driver sees it: a stream with events, a way to push
 * pages, and a reader that looks at octets in the receive queue before it
 * consumes them. The only header that speaks for net/.
 */
#ifndef _RNIC_SOCK_H
#define _RNIC_SOCK_H

#include <linux/net.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/uio.h>

struct page;
struct sk_buff;
struct sock;

/**
 * enum rnic_sock_event - what happened on a socket
 * @RNIC_SOCK_DATA:	octets (or, on a listener, a connection) arrived
 * @RNIC_SOCK_SPACE:	the send buffer has room again
 * @RNIC_SOCK_STATE:	the TCP state changed, or an error is pending
 */
enum rnic_sock_event {
	RNIC_SOCK_DATA,
	RNIC_SOCK_SPACE,
	RNIC_SOCK_STATE,
};

/**
 * struct rnic_sock - a TCP socket of ours
 * @sock:	the socket, NULL before it is made and after rnic_sock_close()
 * @event:	called for each event with sk_callback_lock read-held and BH off;
 *		must not sleep. Never called after rnic_sock_unhook() returned.
 * @data_ready: the socket's own callbacks, put back by rnic_sock_unhook()
 * @write_space: likewise
 * @state_change: likewise
 * @error_report: likewise
 * @mtu:	path MTU that rnic_sock_emss() saw last
 * @mss_clamp:	largest segment the peer takes, or 0 before rnic_sock_emss()
 */
struct rnic_sock {
	struct socket *sock;
	void (*event)(struct rnic_sock *s, enum rnic_sock_event event);
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*error_report)(struct sock *sk);
	u32 mtu;
	u16 mss_clamp;
};

typedef void (*rnic_sock_event_fn)(struct rnic_sock *s, enum rnic_sock_event event);

int rnic_sock_connect(struct rnic_sock *s, struct net *net, struct sockaddr_storage *local,
		      struct sockaddr_storage *remote, int tos, rnic_sock_event_fn event);
int rnic_sock_listen(struct rnic_sock *s, struct net *net, struct sockaddr_storage *local,
		     bool v6only, int backlog, rnic_sock_event_fn event);
int rnic_sock_accept(struct rnic_sock *listener, struct rnic_sock *s);
void rnic_sock_hook(struct rnic_sock *s, rnic_sock_event_fn event);
void rnic_sock_redirect(struct rnic_sock *s, rnic_sock_event_fn event);
void rnic_sock_unhook(struct rnic_sock *s);
void rnic_sock_close(struct rnic_sock *s);
void rnic_sock_abort(struct rnic_sock *s);
void rnic_sock_shut(struct rnic_sock *s);

int rnic_sock_local_addr(struct rnic_sock *s, struct sockaddr_storage *local);
int rnic_sock_addrs(struct rnic_sock *s, struct sockaddr_storage *local,
		    struct sockaddr_storage *remote);
struct net_device *rnic_sock_local_netdev(struct net *net, const struct sockaddr_storage *local);

int rnic_sock_send(struct rnic_sock *s, const void *buf, u32 len);

bool rnic_sock_established(const struct rnic_sock *s);
bool rnic_sock_peer_closed(const struct rnic_sock *s);
bool rnic_sock_dead(const struct rnic_sock *s);
int rnic_sock_error(const struct rnic_sock *s);

void rnic_sock_lock(struct rnic_sock *s);
void rnic_sock_unlock(struct rnic_sock *s);
void rnic_sock_assert_locked(const struct rnic_sock *s);
bool rnic_sock_owned(const struct rnic_sock *s);
void rnic_sock_flush(struct rnic_sock *s);
bool rnic_sock_try(struct rnic_sock *s, void (*fn)(struct rnic_sock *s, void *ctx), void *ctx);

u32 rnic_sock_emss(struct rnic_sock *s);
u32 rnic_sock_seg_used(const struct rnic_sock *s, u32 emss);
u32 rnic_sock_acked(const struct rnic_sock *s);
bool rnic_sock_all_acked(const struct rnic_sock *s);
bool rnic_sock_room(const struct rnic_sock *s);
gfp_t rnic_sock_gfp(const struct rnic_sock *s);
int rnic_sock_push(struct rnic_sock *s, struct page *page, u32 off, u32 len, bool more);
void rnic_sock_cut(struct rnic_sock *s);

/**
 * struct rnic_cursor - a place in the receive queue
 * @skb:	buffer holding it, or the one before
 * @seq:	TCP sequence number of the place
 *
 * Valid while the socket lock is held and nothing was consumed.
 */
struct rnic_cursor {
	struct sk_buff *skb;
	u32 seq;
};

/**
 * typedef rnic_piece_fn - takes one contiguous piece of the stream
 * @ctx:	the walker's context
 * @data:	the octets; preemption may be off, do not sleep
 * @len:	how many, at least 1
 *
 * Return: true to go on, false to stop after this piece.
 */
typedef bool (*rnic_piece_fn)(void *ctx, const u8 *data, u32 len);

void rnic_sock_rewind(struct rnic_sock *s, struct rnic_cursor *at, u32 skip);
void rnic_sock_walk(struct rnic_sock *s, struct rnic_cursor *at, rnic_piece_fn piece, void *ctx);
int rnic_sock_copy(struct rnic_sock *s, struct rnic_cursor *at, struct iov_iter *to, u32 len);
void rnic_sock_consume(struct rnic_sock *s, u32 len);
u32 rnic_sock_unread(const struct rnic_sock *s);
void rnic_sock_want(struct rnic_sock *s, u32 len);

#endif
