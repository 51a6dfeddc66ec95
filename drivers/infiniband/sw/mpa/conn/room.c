// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Room for responders in startup.
 *
 * Peers decide how many startups there are, so they are bounded: max_pending of them
 * may wait for the peer (they are silent), and as many for their program (they are
 * asked). Both are counted apart, so a program that never answers keeps no peer out,
 * and a silent peer keeps no program waiting.
 *
 * In each of the two, nobody may hold more places than there are free ones. So one
 * greedy source or listener gets half of them, two get a third each, and whoever comes
 * next always finds room. Who wants more silent startups than that loses the one that
 * has been silent longest. It gives way only after a fortieth of the time that a
 * Request may take: a good caller's Request is there long before, and the room is
 * still turned over twenty times as fast as silent peers leave by themselves.
 */
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/socket.h>
#include <linux/workqueue.h>
#include <net/ipv6.h>

#include "conn/ep.h"
#include "conn/listen.h"
#include "conn/room.h"
#include "core/dev.h"
#include "core/wq.h"

#define GRACE_SHARE	40
/* How long at most until somebody looks whether a program has answered. */
#define ASKED_AGAIN	msecs_to_jiffies(100)

/* Runs when there may be room again; NULL while no listener waits for room. */
static struct work_struct *waiter;

/**
 * rnic_room_await() - have a work run when there may be room again
 * @work:	it, in rnic_startup_wq, or NULL for none
 *
 * One that begins to wait at this moment may be missed. It looks again by itself, later.
 *
 * Context: process. One at a time.
 */
void rnic_room_await(struct work_struct *work)
{
	WRITE_ONCE(waiter, work);
}

/* A responder's startup is over, in any context. */
static void offer_room(void)
{
	struct work_struct *work = READ_ONCE(waiter);

	if (work)
		queue_work(rnic_startup_wq, work);
}

/* Context: before anybody else knows it. */
void rnic_crowd_init(struct rnic_crowd *crowd)
{
	INIT_LIST_HEAD(&crowd->eps);
}

/**
 * rnic_room_init() - a device's room, empty
 * @dev:	device, not registered yet
 */
void rnic_room_init(struct rnic_dev *dev)
{
	struct rnic_room *room = &dev->cm.room;
	int i;

	get_random_bytes(&room->key, sizeof(room->key));
	rnic_crowd_init(&room->all);
	for (i = 0; i < RNIC_SOURCES; i++)
		rnic_crowd_init(&room->from[i]);
}

/* A host has all of its IPv6 /64. */
static u8 find_source(const struct rnic_room *room, const struct sockaddr_storage *remote)
{
	const struct sockaddr_in6 *v6 = (const void *)remote;
	const struct sockaddr_in *v4 = (const void *)remote;
	u64 net;

	if (remote->ss_family != AF_INET6)
		return siphash_1u32((__force u32)v4->sin_addr.s_addr, &room->key);
	memcpy(&net, &v6->sin6_addr, sizeof(net));
	return siphash_1u64(net, &room->key);
}

static u32 count_free(const struct rnic_dev *dev, u32 used)
{
	u32 max = READ_ONCE(dev->set.max_pending);

	return max - min(used, max);
}

static void join_crowd(struct rnic_ep *ep, enum rnic_crowd_kind kind, struct rnic_crowd *crowd)
{
	ep->place.crowd[kind] = crowd;
	list_add_tail(&ep->place.node[kind], &crowd->eps);
	crowd->n++;
}

static void join_silent_crowds(struct rnic_ep *ep)
{
	struct rnic_room *room = &ep->dev->cm.room;

	ep->place.since = jiffies;
	join_crowd(ep, RNIC_CROWD_DEV, &room->all);
	join_crowd(ep, RNIC_CROWD_SOURCE, &room->from[ep->place.source]);
}

/* Return: it had a place. */
static bool leave_room(struct rnic_ep *ep)
{
	struct rnic_place *place = &ep->place;
	bool had = place->crowd[RNIC_CROWD_DEV] || place->asked;
	int i;

	for (i = 0; i < RNIC_CROWDS; i++) {
		if (!place->crowd[i])
			continue;
		list_del(&place->node[i]);
		place->crowd[i]->n--;
		place->crowd[i] = NULL;
	}
	if (place->asked) {
		place->asked->asked--;
		ep->dev->cm.room.asked--;
		place->asked = NULL;
	}
	return had;
}

static struct rnic_ep *find_oldest(struct rnic_crowd *crowd, enum rnic_crowd_kind kind)
{
	return list_first_entry(&crowd->eps, struct rnic_ep, place.node[kind]);
}

/* Return: who has to give way to one more of @source for @l, or NULL: there is room. */
static struct rnic_ep *find_hindrance(struct rnic_listener *l, struct rnic_crowd *source)
{
	struct rnic_room *room = &l->dev->cm.room;
	u32 spare = count_free(l->dev, room->all.n);

	if (source->n && source->n >= spare)
		return find_oldest(source, RNIC_CROWD_SOURCE);
	if (l->silent.n && l->silent.n >= spare)
		return find_oldest(&l->silent, RNIC_CROWD_LISTENER);
	return spare ? NULL : find_oldest(&room->all, RNIC_CROWD_DEV);
}

static u32 get_request_time(const struct rnic_settings *set)
{
	return min(READ_ONCE(set->request_timeout_ms), READ_ONCE(set->startup_timeout_ms));
}

/*
 * It gives way at once, for whoever counts; its work does the rest. While it has a place
 * it has its base reference.
 */
static long evict_endpoint(struct rnic_ep *ep)
{
	u32 grace = get_request_time(&ep->dev->set) / GRACE_SHARE;
	long left = ep->place.since + msecs_to_jiffies(grace) - jiffies;

	if (left > 0)
		return left;
	leave_room(ep);
	/* Who ends it for another reason is heard. */
	cmpxchg(&ep->cut, MPA_ON_NOTHING, MPA_ON_EVICTED);
	rnic_conn_kick(&ep->conn);
	return 0;
}

/**
 * rnic_room_make() - is there room for another startup? If not, somebody may give way
 * @l:		listener
 * @remote:	the caller
 *
 * Context: process. One at a time, or more than one caller gets the last place.
 * Return: 0 when there is room, or in how many jiffies to ask again, if
 * the work of rnic_room_await() does not run before.
 */
long rnic_room_make(struct rnic_listener *l, const struct sockaddr_storage *remote)
{
	struct rnic_room *room = &l->dev->cm.room;
	struct rnic_ep *hindrance;
	long wait = 0;

	spin_lock_bh(&l->dev->cm.ep_lock);
	if (l->asked >= count_free(l->dev, room->asked)) {
		wait = ASKED_AGAIN;
	} else {
		hindrance = find_hindrance(l, &room->from[find_source(room, remote)]);
		if (hindrance)
			wait = evict_endpoint(hindrance);
	}
	spin_unlock_bh(&l->dev->cm.ep_lock);
	return wait;
}

/**
 * rnic_room_enter() - a startup begins, and waits for its Request
 * @ep:		endpoint with @listener
 * @remote:	the caller
 *
 * Context: process.
 */
void rnic_room_enter(struct rnic_ep *ep, const struct sockaddr_storage *remote)
{
	struct rnic_dev *dev = ep->dev;

	spin_lock_bh(&dev->cm.ep_lock);
	ep->place.source = find_source(&dev->cm.room, remote);
	join_silent_crowds(ep);
	join_crowd(ep, RNIC_CROWD_LISTENER, &ep->listener->silent);
	spin_unlock_bh(&dev->cm.ep_lock);
}

/**
 * rnic_room_ask() - the Request is there, and the startup is to wait for its program
 * @ep:	endpoint with @listener, which stays until rnic_room_leave(); @lock held
 *
 * Return: 0, or -EBUSY: too many wait for that program.
 */
int rnic_room_ask(struct rnic_ep *ep)
{
	struct rnic_room *room = &ep->dev->cm.room;
	struct rnic_listener *l = ep->listener;
	int ret = -EBUSY;

	spin_lock_bh(&ep->dev->cm.ep_lock);
	leave_room(ep);
	if (l->asked < count_free(ep->dev, room->asked)) {
		ep->place.asked = l;
		l->asked++;
		room->asked++;
		ret = 0;
	}
	spin_unlock_bh(&ep->dev->cm.ep_lock);
	offer_room();
	return ret;
}

/**
 * rnic_room_rejected() - it waits for the peer's close, for which the program does not care
 * @ep:	endpoint that was given a place once, @lock held
 */
void rnic_room_rejected(struct rnic_ep *ep)
{
	spin_lock_bh(&ep->dev->cm.ep_lock);
	leave_room(ep);
	join_silent_crowds(ep);
	spin_unlock_bh(&ep->dev->cm.ep_lock);
	offer_room();
}

/**
 * rnic_room_leave() - an endpoint needs no place any more
 * @ep:	endpoint, with one or without; it has its @listener still
 */
void rnic_room_leave(struct rnic_ep *ep)
{
	bool had;

	spin_lock_bh(&ep->dev->cm.ep_lock);
	had = leave_room(ep);
	spin_unlock_bh(&ep->dev->cm.ep_lock);
	if (had)
		offer_room();
}
