/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Limits on responders in startup, and eviction of silent ones.
 */
#ifndef _RNIC_ROOM_H
#define _RNIC_ROOM_H

#include <linux/list.h>
#include <linux/types.h>

#include "core/dev.h"

struct rnic_ep;
struct rnic_listener;
struct sockaddr_storage;
struct work_struct;

/**
 * enum rnic_crowd_kind - the crowds that a startup belongs to
 * @RNIC_CROWD_DEV: all silent ones of the device
 * @RNIC_CROWD_SOURCE: those from the same address, of IPv6 from the same /64
 * @RNIC_CROWD_LISTENER: the silent ones for the same listener, except rejected ones; or those that
 *	wait for its program
 * @RNIC_CROWD_TURN: of the latter those whose Request iw_cm does not have yet, in their order
 * @RNIC_CROWDS: how many
 */
enum rnic_crowd_kind {
	RNIC_CROWD_DEV,
	RNIC_CROWD_SOURCE,
	RNIC_CROWD_LISTENER,
	RNIC_CROWD_TURN,
	RNIC_CROWDS
};

/**
 * struct rnic_place - an endpoint's place in the room; under cm.ep_lock
 * @crowd:	the crowds it is in, by enum rnic_crowd_kind
 * @node:	its entry in each
 * @since:	in jiffies, when it began to be silent
 * @source:	index in struct rnic_room.from
 * @asked:	listener whose program it waits for, or NULL
 */
struct rnic_place {
	struct rnic_crowd *crowd[RNIC_CROWDS];
	struct list_head node[RNIC_CROWDS];
	unsigned long since;
	u8 source;
	struct rnic_listener *asked;
};

u32 rnic_room_request_time(const struct rnic_settings *set);
void rnic_room_await(struct work_struct *work);
void rnic_crowd_init(struct rnic_crowd *crowd);
void rnic_room_init(struct rnic_dev *dev);
u32 *rnic_room_find_user(struct rnic_dev *dev);
bool rnic_room_may_ask(const struct rnic_listener *l);
long rnic_room_make(struct rnic_listener *l, const struct sockaddr_storage *remote);
void rnic_room_enter(struct rnic_ep *ep, const struct sockaddr_storage *remote);
int rnic_room_ask(struct rnic_ep *ep);
bool rnic_room_has_turn(struct rnic_ep *ep);
void rnic_room_end_turn(struct rnic_ep *ep);
void rnic_room_rejected(struct rnic_ep *ep);
void rnic_room_leave(struct rnic_ep *ep);

#endif
