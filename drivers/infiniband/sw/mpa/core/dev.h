/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The device: one network device seen as an RNIC.
 */
#ifndef _RNIC_DEV_H
#define _RNIC_DEV_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "core/gfp.h"
#include "core/regions.h"
#include "core/stats.h"

/* Limits that query_device reports, but for contexts and listeners */
#define RNIC_MAX_QP		131072
#define RNIC_MAX_QP_WR		32768
#define RNIC_MAX_CQ		131072
#define RNIC_MAX_CQE		1048576
#define RNIC_MAX_SRQ		65536
#define RNIC_MAX_PD		131072
#define RNIC_MAX_MR		1048576
#define RNIC_MAX_UCONTEXT	65536
#define RNIC_MAX_LISTENER	65536
#define RNIC_MAX_FASTREG_PAGES	2048
#define RNIC_MAX_RD_ATOM	128
#define RNIC_MAX_MSG_SIZE	U32_MAX

/**
 * enum rnic_obj - kinds of objects with a limit per device
 * @RNIC_OBJ_UCONTEXT: user contexts
 * @RNIC_OBJ_PD: protection domains
 * @RNIC_OBJ_CQ: completion queues
 * @RNIC_OBJ_SRQ: shared receive queues
 * @RNIC_OBJ_QP: queue pairs
 * @RNIC_OBJ_MR: memory regions
 * @RNIC_OBJ_LISTENER: listeners of rdma_cm
 * @RNIC_OBJ_N: number of kinds
 */
enum rnic_obj {
	RNIC_OBJ_UCONTEXT,
	RNIC_OBJ_PD,
	RNIC_OBJ_CQ,
	RNIC_OBJ_SRQ,
	RNIC_OBJ_QP,
	RNIC_OBJ_MR,
	RNIC_OBJ_LISTENER,
	RNIC_OBJ_N
};

/**
 * struct rnic_settings - settings of a device
 * @crc:		ask the peer for CRCs
 * @markers:		ask the peer for Markers
 * @revision:		MPA revision of our Requests, 1 or 2
 * @rtr:		RTR types offered, set of MPA_RTR_*; 0 accepts all
 * @rtr_frame:		send and accept RtR frames, at revision 1
 * @startup_timeout_ms:	time for the peer's part of a startup, 100 to 600000
 * @accept_timeout_ms:	time for the responder's program to answer, 100 to 600000; this and
 *			@startup_timeout_ms are read when a wait begins
 * @request_timeout_ms:	time for a peer's Request, 100 to 600000
 * @close_timeout_ms:	time for a whole close, 100 to 3600000; read when the close begins
 * @keepalive_s:	idle seconds before TCP probes the peer; 0 for the sysctls, -1 for never
 * @max_pending:	maximum of startups that wait for the peer, and of those that wait for their
 *			program, 1 to 65536
 * @coalesce:		small messages of a stream may be held for a moment to share a segment
 * @rnr_wait_ms:	time that a Send waits for its receive, 0 to 600000
 * @shares:		a user without CAP_SYS_ADMIN gets one part in @shares of each limit of the
 *			device, and such users leave one part to others, 1 to 65536; see limits.c
 *
 * Written through sysfs at any time, by field; read with READ_ONCE(). A connection copies the
 * other values once, at its start.
 */
struct rnic_settings {
	bool crc;
	bool markers;
	u32 revision;
	u8 rtr;
	bool rtr_frame;
	u32 startup_timeout_ms;
	u32 accept_timeout_ms;
	u32 request_timeout_ms;
	u32 close_timeout_ms;
	s32 keepalive_s;
	u32 max_pending;
	bool coalesce;
	u32 rnr_wait_ms;
	u32 shares;
};

/* Number of hash values of sources, and of users. A hash needs no memory for each of them. */
#define RNIC_SOURCES	256

/**
 * struct rnic_crowd - a list of silent startups
 * @eps:	the endpoints, longest silent first
 * @n:		number of endpoints
 */
struct rnic_crowd {
	struct list_head eps;
	u32 n;
};

/**
 * struct rnic_room - startups of responders that take a place of a device; under cm.ep_lock
 * @all:	startups that wait for the peer's Request, or for its close after a reject
 * @from:	the same by source
 * @key:	secret key of the hash of a source, and of a user
 * @asked:	number of startups that wait for their program
 * @asked_of:	the same by the program's user, without those of root
 */
struct rnic_room {
	struct rnic_crowd all;
	struct rnic_crowd from[RNIC_SOURCES];
	siphash_key_t key;
	u32 asked;
	u32 asked_of[RNIC_SOURCES];
};

/**
 * struct rnic_cm_dev - the connection manager's part of a device
 * @ep_lock:	protects @eps and @room
 * @eps:	endpoints of this device
 * @room:	responders in startup
 * @asked:	requests that rdma_cm has not answered, which keep the struct
 * @requests:	endpoints that wait for the consumer, by the number that iw_cm has for them
 * @next_id:	start of the search for a free number
 * @idle:	woken when @eps becomes empty
 */
struct rnic_cm_dev {
	spinlock_t ep_lock; /* see above */
	struct list_head eps;
	struct rnic_room room;
	atomic_t asked;
	struct xarray requests;
	u32 next_id;
	wait_queue_head_t idle;
};

/**
 * struct rnic_dev - a device
 * @ibdev:	what ib_core sees; allocated with it
 * @node:	entry in the list of all devices, which has a reference to the struct
 *		(not the registration) until the device is reaped
 * @dead:	unregistered, only the struct is left
 * @enabler:	the task that adds it to the clients of ib_core, while it registers the device and
 *		from a move to another namespace on; else NULL
 * @enabler_start: when that task started, because a later task may have the same address
 * @unregister:	work that unregisters it when @ndev goes, with a reference to the struct
 * @catch_up:	work that applies lost events of @ndev, with a reference to the struct
 * @identified:	the files of the identity are in /sys; under RTNL
 * @ndev:	the network device, NULL after it or this device is gone; read under RCU,
 *		changed under RTNL
 * @ndev_tracker: our reference to @ndev
 * @net:	namespace of @ndev, without a reference; valid while @ndev is set
 * @ifindex:	interface index of @ndev, constant
 * @gid_lock:	protects @gid
 * @gid:	the only GID, which rdma_cm reads from @ndev; changed under RTNL
 * @tagged:	the GID has our tag, because @ndev has no MAC, or another device has the same
 *		MAC; under RTNL
 * @speed:	enum ib_port_speed at the last link event
 * @width:	enum ib_port_width at the last link event
 * @port_state:	enum ib_port_state last reported by an event; under RTNL
 * @qps:	QPN to struct rnic_qp
 * @regions:	memory regions
 * @streams:	number of connections so far; see rnic_mem.stream
 * @set:	settings
 * @stats:	counters
 * @num:	objects in existence, by enum rnic_obj
 * @shares:	uid to struct rnic_share of a user that has a context or a listener
 * @cm:		the connection manager's part
 */
struct rnic_dev {
	struct ib_device ibdev;
	struct list_head node;
	bool dead;
	struct task_struct *enabler;
	u64 enabler_start;
	struct work_struct unregister;
	struct work_struct catch_up;
	bool identified;
	struct net_device __rcu *ndev;
	netdevice_tracker ndev_tracker;
	struct net *net;
	int ifindex;
	spinlock_t gid_lock; /* see above */
	union ib_gid gid;
	bool tagged;
	u16 speed;
	u8 width;
	enum ib_port_state port_state;
	struct xarray qps;
	struct rnic_regions regions;
	atomic64_t streams;
	struct rnic_settings set;
	struct rnic_stats __percpu *stats;
	atomic_t num[RNIC_OBJ_N];
	struct xarray shares;
	struct rnic_cm_dev cm;
};

/**
 * rnic_dev() - get the device of an ib_device
 * @ibdev:	an ib_device of this driver
 *
 * Return: the device.
 */
static inline struct rnic_dev *rnic_dev(const struct ib_device *ibdev)
{
	return container_of(ibdev, struct rnic_dev, ibdev);
}

/**
 * rnic_dev_is_enabled_here() - test for the task that adds the device to the clients of ib_core
 * @dev:	the device
 *
 * Context: process.
 * Return: true within ib_register_device() and while the device moves to another namespace, where
 * rdma_cm adds its existing listeners to the device. A task that moved the device gets true
 * afterwards, too, because ib_core does not say when the move is over.
 */
static inline bool rnic_dev_is_enabled_here(const struct rnic_dev *dev)
{
	return READ_ONCE(dev->enabler) == current &&
	       READ_ONCE(dev->enabler_start) == current->start_time;
}

/**
 * struct rnic_share - what a user has of a device
 * @user:	the user
 * @refs:	number of contexts and listeners that have the share, under the lock of
 *		rnic_dev.shares
 * @num:	objects of these contexts, and these listeners, by enum rnic_obj
 */
struct rnic_share {
	kuid_t user;
	u32 refs;
	atomic_t num[RNIC_OBJ_N];
};

/**
 * struct rnic_ucontext - a user's context
 * @ibuc:	what ib_core sees; allocated and freed by it
 * @share:	that of the user who opened it; it pays for all objects of the context, whatever
 *		user has the file later
 */
struct rnic_ucontext {
	struct ib_ucontext ibuc;
	struct rnic_share *share;
};

/* Return: the share of a user's context; NULL for a kernel consumer, which has no context. */
static inline struct rnic_share *rnic_uctx_share(struct ib_ucontext *uctx)
{
	return uctx ? container_of(uctx, struct rnic_ucontext, ibuc)->share : NULL;
}

/**
 * struct rnic_pd - a protection domain: only an identity
 * @ibpd:	what ib_core sees; allocated and freed by it
 * @share:	share of its context, or NULL
 */
struct rnic_pd {
	struct ib_pd ibpd;
	struct rnic_share *share;
};

/* Return: the share that pays for the objects in a protection domain, or NULL. */
static inline struct rnic_share *rnic_pd_share(struct ib_pd *pd)
{
	return container_of(pd, struct rnic_pd, ibpd)->share;
}

/* True for the PD of a kernel consumer. */
static inline bool rnic_pd_is_kernel(const struct ib_pd *pd)
{
	return rdma_is_kernel_res(&pd->res);
}

/**
 * rnic_dev_netdev() - get the network device
 * @dev:	the device
 *
 * Context: any.
 * Return: the network device with a reference, or NULL if it is gone.
 */
static inline struct net_device *rnic_dev_netdev(struct rnic_dev *dev)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rcu_dereference(dev->ndev);
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

/* limits.c */
kuid_t rnic_user(void);
struct rnic_share *rnic_share_get(struct rnic_dev *dev);
void rnic_share_put(struct rnic_dev *dev, struct rnic_share *share);
bool rnic_dev_charge(struct rnic_dev *dev, enum rnic_obj obj, struct rnic_share *share);
void rnic_dev_uncharge(struct rnic_dev *dev, enum rnic_obj obj, struct rnic_share *share);

#endif /* _RNIC_DEV_H */
