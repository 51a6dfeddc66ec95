// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Limits on responders in startup.
 *
 * Peers decide how many startups there are, so the device bounds them. Up to max_pending may
 * wait for the peer ("silent"), and as many for their program ("asked"). The two are counted
 * apart, because a program that never answers must not keep peers out, and silent peers must
 * not keep programs waiting.
 *
 * Of the silent ones a source or a listener may hold no more places than are free, of the asked
 * ones a listener. One greedy source gets half of the places, two get a third each, and a newcomer
 * finds room. A source with more silent startups than that loses its oldest one, and so does the
 * greedier of two sources when their listener has too many. That one must have been silent for
 * 1/GRACE_SHARE of the Request timeout, because the Request of a good peer arrives long before.
 *
 * A user who listens on many ports may not answer on any. So the listeners of a user together hold
 * at most USER_SHARE times as many places as are free: three quarters, or three sevenths each if
 * two users do that. Root is trusted.
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
#define USER_SHARE	3
/*
 * Jiffies until a listening socket looks again, because nobody wakes it when max_pending is raised
 * or an address moves to another device.
 */
#define ASKED_AGAIN	HZ

/* Queued when a place becomes free; NULL while no listener waits for one. */
static struct work_struct *waiter;

/**
 * rnic_room_await() - set the work to queue when a place becomes free
 * @work:	the work, for rnic_startup_wq, or NULL
 *
 * Call it before rnic_room_make(), because a place that became free before this woke nobody.
 *
 * Context: process, under accept_lock.
 */
void rnic_room_await(struct work_struct *work)
{
	WRITE_ONCE(waiter, work);
}

/* A place is free: wake the listeners that wait for one. Context: any. */
static void offer_room(void)
{
	struct work_struct *work = READ_ONCE(waiter);

	if (work)
		queue_work(rnic_startup_wq, work);
}

/**
 * rnic_crowd_init() - initialize an empty crowd
 * @crowd:	the crowd, not in use
 */
void rnic_crowd_init(struct rnic_crowd *crowd)
{
	INIT_LIST_HEAD(&crowd->eps);
}

/**
 * rnic_room_init() - initialize a device's room
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

/* IPv6 addresses of a /64 are one source, because a host may use all of them. */
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

/**
 * rnic_room_find_user() - find the count of a new listener's user
 * @dev:	device
 *
 * When a device is added or moved, the administrator's task adds the listeners that programs have
 * already. These count as those of one user, because they may be anybody's.
 *
 * Context: process.
 * Return: the element of struct rnic_room.asked_of, or NULL for root and for kernel consumers.
 */
u32 *rnic_room_find_user(struct rnic_dev *dev)
{
	kuid_t user = rnic_dev_is_enabled_here(dev) ? INVALID_UID : rnic_user();
	struct rnic_room *room = &dev->cm.room;

	if (uid_eq(user, GLOBAL_ROOT_UID))
		return NULL;
	return &room->asked_of[(u8)siphash_1u32(__kuid_val(user), &room->key)];
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

/* Count a startup that begins (1) or ceases (-1) to wait for the program of @l. */
static void count_asked(struct rnic_listener *l, int n)
{
	l->dev->cm.room.asked += n;
	if (l->asked_of)
		*l->asked_of += n;
}

static struct rnic_ep *find_oldest(struct rnic_crowd *crowd, enum rnic_crowd_kind kind)
{
	return list_first_entry(&crowd->eps, struct rnic_ep, place.node[kind]);
}

static void leave_crowd(struct rnic_ep *ep, enum rnic_crowd_kind kind)
{
	struct rnic_place *place = &ep->place;

	if (!place->crowd[kind])
		return;
	list_del(&place->node[kind]);
	place->crowd[kind]->n--;
	place->crowd[kind] = NULL;
}

static bool has_turn(const struct rnic_ep *ep)
{
	const struct rnic_crowd *turns = ep->place.crowd[RNIC_CROWD_TURN];

	return turns && list_is_first(&ep->place.node[RNIC_CROWD_TURN], &turns->eps);
}

/* If it is the turn of @ep, wake the next one. That has its base reference. */
static void end_turn(struct rnic_ep *ep)
{
	struct rnic_crowd *turns = ep->place.crowd[RNIC_CROWD_TURN];
	bool had = has_turn(ep);

	leave_crowd(ep, RNIC_CROWD_TURN);
	if (had && turns->n)
		rnic_conn_kick(&find_oldest(turns, RNIC_CROWD_TURN)->conn);
}

/* Return: true if it had a place. */
static bool leave_room(struct rnic_ep *ep)
{
	struct rnic_place *place = &ep->place;
	bool had = place->crowd[RNIC_CROWD_DEV] || place->asked;
	int i;

	end_turn(ep);
	for (i = 0; i < RNIC_CROWDS; i++)
		leave_crowd(ep, i);
	if (place->asked)
		count_asked(place->asked, -1);
	place->asked = NULL;
	return had;
}

static bool may_ask(const struct rnic_listener *l)
{
	const struct rnic_room *room = &l->dev->cm.room;
	u32 spare;

	lockdep_assert_held(&l->dev->cm.ep_lock);
	spare = count_free(l->dev, room->asked);
	return l->asked.n < spare && (!l->asked_of || *l->asked_of / USER_SHARE < spare);
}

/**
 * rnic_room_may_ask() - test whether one more startup may wait for the program of a listener
 * @l:	listener
 *
 * Context: process, under accept_lock, which keeps @l.
 * Return: true if it may.
 */
bool rnic_room_may_ask(const struct rnic_listener *l)
{
	bool may;

	spin_lock_bh(&l->dev->cm.ep_lock);
	may = may_ask(l);
	spin_unlock_bh(&l->dev->cm.ep_lock);
	return may;
}

/*
 * Return: the oldest of @crowd, or of @source if that has more silent startups than the source of
 * the oldest, because a source that floods would evict the startups of all others in time.
 */
static struct rnic_ep *choose_oldest(struct rnic_crowd *crowd, enum rnic_crowd_kind kind,
				     struct rnic_crowd *source)
{
	struct rnic_ep *oldest = find_oldest(crowd, kind);

	if (source->n > oldest->place.crowd[RNIC_CROWD_SOURCE]->n)
		return find_oldest(source, RNIC_CROWD_SOURCE);
	return oldest;
}

/* Return: the endpoint to evict for one more of @source for @l, or NULL if there is room. */
static struct rnic_ep *find_hindrance(struct rnic_listener *l, struct rnic_crowd *source)
{
	struct rnic_room *room = &l->dev->cm.room;
	u32 spare = count_free(l->dev, room->all.n);

	if (source->n && source->n >= spare)
		return find_oldest(source, RNIC_CROWD_SOURCE);
	if (l->silent.n && l->silent.n >= spare)
		return choose_oldest(&l->silent, RNIC_CROWD_LISTENER, source);
	return spare ? NULL : choose_oldest(&room->all, RNIC_CROWD_DEV, source);
}

/**
 * rnic_room_request_time() - time of an accepted connection for its Request
 * @set:	settings of the device
 *
 * Context: any.
 * Return: milliseconds.
 */
u32 rnic_room_request_time(const struct rnic_settings *set)
{
	return min(READ_ONCE(set->request_timeout_ms), READ_ONCE(set->startup_timeout_ms));
}

/*
 * Take its place at once; its work ends it. An endpoint with a place has its base reference.
 *
 * Return: 0, or jiffies until it may be evicted.
 */
static long evict_endpoint(struct rnic_ep *ep)
{
	u32 grace = rnic_room_request_time(&ep->dev->set) / GRACE_SHARE;
	long left = ep->place.since + msecs_to_jiffies(grace) - jiffies;

	if (left > 0)
		return left;
	leave_room(ep);
	/* Keep an earlier reason for ending it. */
	cmpxchg(&ep->cut, MPA_ON_NOTHING, MPA_ON_EVICTED);
	rnic_conn_kick(&ep->conn);
	return 0;
}

/**
 * rnic_room_make() - make room for another startup, by eviction if needed
 * @l:		listener
 * @remote:	the peer's address
 *
 * Context: process, under accept_lock, because two callers would share the last place.
 * Return: 0 if there is room, else jiffies after which to try again unless the work of
 * rnic_room_await() runs before.
 */
long rnic_room_make(struct rnic_listener *l, const struct sockaddr_storage *remote)
{
	struct rnic_room *room = &l->dev->cm.room;
	struct rnic_ep *hindrance;
	long wait = 0;

	spin_lock_bh(&l->dev->cm.ep_lock);
	if (!may_ask(l)) {
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
 * rnic_room_enter() - give a place to a startup that waits for its Request
 * @ep:		endpoint with @listener
 * @remote:	the peer's address
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
 * rnic_room_ask() - move a startup to those that wait for their program
 * @ep:	endpoint with @listener, which stays until rnic_room_leave(); @lock held
 *
 * Context: process.
 * Return: 0; -EBUSY if too many wait for that program; -ECONNABORTED if the listener is gone.
 */
int rnic_room_ask(struct rnic_ep *ep)
{
	struct rnic_listener *l = ep->listener;
	int ret;

	spin_lock_bh(&ep->dev->cm.ep_lock);
	leave_room(ep);
	/* After rnic_ep_cut_listener() nobody would end it. */
	if (l->gone)
		ret = -ECONNABORTED;
	else
		ret = may_ask(l) ? 0 : -EBUSY;
	if (!ret) {
		ep->place.asked = l;
		join_crowd(ep, RNIC_CROWD_LISTENER, &l->asked);
		join_crowd(ep, RNIC_CROWD_TURN, &l->turns);
		count_asked(l, 1);
	}
	spin_unlock_bh(&ep->dev->cm.ep_lock);
	offer_room();
	return ret;
}

/**
 * rnic_room_has_turn() - test whether iw_cm may be asked now
 * @ep:	endpoint after rnic_room_ask(), @lock held
 *
 * iw_cm gets the Requests for a listener in the order in which they arrived. If it is not the turn
 * of @ep, its work is queued when it is.
 *
 * Context: process.
 * Return: true if it is the turn of @ep.
 */
bool rnic_room_has_turn(struct rnic_ep *ep)
{
	bool ret;

	spin_lock_bh(&ep->dev->cm.ep_lock);
	ret = has_turn(ep);
	spin_unlock_bh(&ep->dev->cm.ep_lock);
	return ret;
}

/**
 * rnic_room_end_turn() - let the next startup ask, because iw_cm has this one's Request
 * @ep:	endpoint whose turn it is, @lock held
 *
 * Context: process.
 */
void rnic_room_end_turn(struct rnic_ep *ep)
{
	spin_lock_bh(&ep->dev->cm.ep_lock);
	end_turn(ep);
	spin_unlock_bh(&ep->dev->cm.ep_lock);
}

/**
 * rnic_room_rejected() - move a startup to those that wait for the peer, after a reject
 * @ep:	endpoint that once had a place, @lock held
 *
 * Context: process.
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
 * rnic_room_leave() - give up an endpoint's place, if it has one
 * @ep:	endpoint, still with its @listener
 *
 * Context: process.
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
