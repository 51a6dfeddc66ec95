/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Listening: one TCP socket for all devices that listen on the same address and port.
 */
#ifndef _RNIC_LISTEN_H
#define _RNIC_LISTEN_H

#include <linux/kref.h>
#include <linux/list.h>

#include "core/dev.h"

struct iw_cm_id;
struct rnic_dev;
struct rnic_lsock;

/**
 * struct rnic_listener - one device listening for one iw_cm_id
 * @ref:	one while listening, one per connection that is not accepted or over yet
 * @node:	entry in the listening socket's list, under the lock of all of them
 * @ls:		the listening socket, or NULL if it gets no connections
 * @dev:	device
 * @cm_id:	receives the requests, with a reference
 * @share:	share of the user who pays while it listens, or NULL
 * @asked_of:	number of startups that wait for programs of its user: an element of that array in
 *		@dev->cm.room, under @dev->cm.ep_lock; NULL for root
 * @gone:	it listens no more, and iw_cm drops the Requests that rdma_cm does not have; written
 *		under @dev->cm.ep_lock
 * @silent:	its startups that wait for a Request, under @dev->cm.ep_lock
 * @asked:	its startups that wait for the program, likewise
 * @turns:	of these, those whose Request iw_cm does not have yet
 */
struct rnic_listener {
	struct kref ref;
	struct list_head node;
	struct rnic_lsock *ls;
	struct rnic_dev *dev;
	struct iw_cm_id *cm_id;
	struct rnic_share *share;
	u32 *asked_of;
	bool gone;
	struct rnic_crowd silent;
	struct rnic_crowd asked;
	struct rnic_crowd turns;
};

/* ib_device_ops.iw_create_listen, iw_destroy_listen */
int rnic_cm_create_listen(struct iw_cm_id *cm_id, int backlog);
int rnic_cm_destroy_listen(struct iw_cm_id *cm_id);

#endif
