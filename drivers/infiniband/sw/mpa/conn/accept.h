/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Listening sockets, and the work that accepts on them.
 */
#ifndef _RNIC_ACCEPT_H
#define _RNIC_ACCEPT_H

#include <linux/list.h>
#include <linux/socket.h>
#include <linux/workqueue.h>

#include "tcp/sock.h"

struct net;
struct rnic_listener;

/**
 * struct rnic_lsock - a TCP socket that listens
 * @node:	entry in the list of all, see listen.c
 * @net:	namespace; the socket holds it
 * @vrf:	index of its VRF, or 0
 * @owner:	the program's id, see rnic_rdmacm_owner()
 * @addr:	address and port, possibly a wildcard
 * @v6only:	an IPv6 wildcard without IPv4
 * @s:		socket
 * @work:	accepts
 * @full:	listener of the first pending connection, if its device has no room; else NULL; as
 *		@full_node and @listeners under accept_lock
 * @full_node:	entry in the list of full sockets, if @full
 * @retry_delay: jiffies until @work retries, when @full or after a failed accept
 * @listeners:	struct rnic_listener of each device
 */
struct rnic_lsock {
	struct list_head node;
	struct net *net;
	int vrf;
	const void *owner;
	struct sockaddr_storage addr;
	bool v6only;
	struct rnic_sock s;
	struct delayed_work work;
	struct rnic_listener *full;
	struct list_head full_node;
	long retry_delay;
	struct list_head listeners;
};

void rnic_accept_init(struct rnic_lsock *ls);
void rnic_accept_begin(struct rnic_lsock *ls);
void rnic_accept_stop(struct rnic_lsock *ls);
void rnic_accept_add(struct rnic_lsock *ls, struct rnic_listener *l);
bool rnic_accept_remove(struct rnic_lsock *ls, struct rnic_listener *l);

#endif /* _RNIC_ACCEPT_H */
