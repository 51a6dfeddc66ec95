/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TCP connections of programs, lent to the driver: the upper layer protocol "mpa".
 */
#ifndef _RNIC_ULP_H
#define _RNIC_ULP_H

#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/sockptr.h>
#include <linux/types.h>

#include "tcp/sock.h"

/**
 * struct rnic_ulp - a program's TCP connection with this protocol
 * @sk:		its socket, which has the struct as icsk_ulp_data until the program closes it
 * @ops:	the kernel's functions of the program's struct socket
 * @busy:	the driver has the stream; changed with the socket locked
 * @owner:	for the layer above
 */
struct rnic_ulp {
	struct sock *sk;
	const struct proto_ops *ops;
	bool busy;
	void *owner;
};

/**
 * struct rnic_ulp_user - the layer above
 * @init:	a program chose the protocol; may set @owner. Socket locked. 0 or -errno
 * @set:	an option of SOL_MPA is set, socket not locked. 0 or -errno
 * @get:	an option of SOL_MPA is read, likewise
 * @poll:	events that a program sees; TCP's too while it has the stream; process context
 * @close:	the program closed its last descriptor. True if the driver keeps the connection
 *		(rnic_sock_keep()) and closes it later
 * @release:	@u is freed; socket locked
 */
struct rnic_ulp_user {
	int (*init)(struct rnic_ulp *u);
	int (*set)(struct rnic_ulp *u, int option, sockptr_t val, unsigned int len);
	int (*get)(struct rnic_ulp *u, int option, char __user *val, int __user *len);
	__poll_t (*poll)(struct rnic_ulp *u);
	bool (*close)(struct rnic_ulp *u);
	void (*release)(struct rnic_ulp *u);
};

int rnic_ulp_register(const struct rnic_ulp_user *user);
void rnic_ulp_unregister(void);
struct rnic_ulp *rnic_ulp_find(struct socket *sock);
int rnic_ulp_make(struct socket *sock);
int rnic_ulp_take(struct rnic_ulp *u);
void rnic_ulp_give_back(struct rnic_ulp *u);
void rnic_ulp_wake(struct rnic_ulp *u);
int rnic_ulp_send(struct rnic_ulp *u, const void *buf, u32 len);

/* borrow.c */
int rnic_sock_borrow(struct rnic_sock *s, struct rnic_ulp *u, rnic_sock_event_fn event);
void rnic_sock_keep(struct rnic_sock *s);
void rnic_sock_return(struct rnic_sock *s);

#endif
