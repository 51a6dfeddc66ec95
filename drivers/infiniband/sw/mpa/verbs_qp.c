// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Create, modify, query and destroy queue pairs.
 *
 * States are those of the verbs:
 *
 *	INIT, RTR	   no connection; no difference between them here
 *	RTS		   connected, by rnic_qp_attach() only
 *	SQD		   closing: what was posted is sent, then FIN
 *	ERR		   everything is flushed; RESET makes it usable again
 *
 * The consumer, the peer or an error ends a connection by setting the state or the life of the
 * queue pair and waking the worker, which takes the connection down.
 *
 * Lifetime. ib_core frees the struct after rnic_destroy_qp(), which waits until
 * iw_cm and the endpoint have dropped their references. The endpoint's goes
 * when the connection is taken down, and the worker is not needed after that.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <compat/timer.h>

#include "conn/ep.h"
#include "core/dev.h"
#include "qp/cq.h"
#include "qp/qp.h"
#include "qp/srq.h"
#include "verbs.h"

/* rdma_cm has 24 bits for a QPN. */
#define QPN_MAX	0xffffff

static int check_init_attr(const struct ib_qp_init_attr *attr)
{
	if (attr->qp_type != IB_QPT_RC || attr->create_flags)
		return -EOPNOTSUPP;
	if (!attr->send_cq || (!attr->recv_cq && !attr->srq))
		return -EINVAL;
	if (attr->cap.max_send_wr > RNIC_MAX_QP_WR || attr->cap.max_recv_wr > RNIC_MAX_QP_WR ||
	    attr->cap.max_send_sge > RNIC_MAX_SGE || attr->cap.max_recv_sge > RNIC_MAX_SGE ||
	    attr->cap.max_inline_data > RNIC_MAX_INLINE)
		return -EINVAL;
	return 0;
}

/* If this fails, free_rings() frees those that were made. */
static int make_rings(struct rnic_qp *qp, const struct ib_qp_init_attr *attr,
		      struct ib_ucontext *uctx)
{
	int ret = rnic_sq_init(&qp->sq, attr->cap.max_send_wr, uctx);

	if (!ret && !qp->srq)
		ret = rnic_rq_init(&qp->rq, attr->cap.max_recv_wr, uctx);
	if (ret)
		return ret;
	qp->sq.sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->sent = kvcalloc(qp->sq.size, sizeof(*qp->sent), RNIC_GFP);
	return qp->sent ? 0 : -ENOMEM;
}

static void free_rings(struct rnic_qp *qp)
{
	kvfree(qp->sent);
	rnic_rq_free(&qp->rq);
	rnic_sq_free(&qp->sq);
}

/* Set the granted capabilities: at least those asked for, and at least 1. */
static void set_cap(struct rnic_qp *qp, struct ib_qp_cap *cap)
{
	cap->max_send_sge = max(cap->max_send_sge, 1U);
	cap->max_recv_sge = max(cap->max_recv_sge, 1U);
	cap->max_inline_data = RNIC_MAX_INLINE;
	qp->cap = *cap;
}

static void init_fields(struct rnic_qp *qp, const struct ib_qp_init_attr *attr)
{
	const struct rnic_share *share = rnic_pd_share(qp->ibqp.pd);

	refcount_set(&qp->refs, 1);
	init_completion(&qp->idle);
	spin_lock_init(&qp->lock);
	INIT_LIST_HEAD(&qp->startups);
	INIT_LIST_HEAD(&qp->waiter);
	spin_lock_init(&qp->sq_lock);
	spin_lock_init(&qp->rq_lock);
	INIT_WORK(&qp->work, rnic_qp_work);
	timer_setup(&qp->again, rnic_qp_again, 0);
	init_waitqueue_func_entry(&qp->unlocked, rnic_qp_unlocked);
	INIT_LIST_HEAD(&qp->unlocked.entry);
	tasklet_setup(&qp->soft, rnic_post_soft);
	compat_hrtimer_setup(&qp->hold, rnic_hold_over, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	WRITE_ONCE(qp->state, IB_QPS_INIT);
	qp->event = -1;
	qp->dev = rnic_dev(qp->ibqp.device);
	qp->user = share ? share->user : INVALID_UID;
	qp->scq = rnic_cq(attr->send_cq);
	qp->rcq = rnic_cq(attr->recv_cq ? attr->recv_cq : attr->send_cq);
	qp->srq = attr->srq ? rnic_srq(attr->srq) : NULL;
	qp->mem.regions = &qp->dev->regions;
	qp->mem.pd = qp->ibqp.pd;
}

/*
 * Allocate a QPN: the next free one from a random start, because a program must not guess the
 * numbers of others from its own.
 */
static int number_qp(struct rnic_dev *dev, struct ib_qp *ibqp)
{
	u32 from = get_random_u32() & QPN_MAX;

	return xa_alloc_cyclic_irq(&dev->qps, &ibqp->qp_num, NULL, XA_LIMIT(2, QPN_MAX), &from,
				   RNIC_GFP);
}

/**
 * rnic_qp_create() - create a queue pair
 * @ibqp:	zeroed, allocated by ib_core
 * @attr:	attributes wanted; @attr->cap is set to those granted
 * @uctx:	the user's context, NULL for kernel consumers
 *
 * rnic_qp_publish() or rnic_qp_abandon() follows.
 *
 * Context: process.
 * Return: 0 or -errno.
 */
int rnic_qp_create(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_ucontext *uctx)
{
	struct rnic_dev *dev = rnic_dev(ibqp->device);
	struct rnic_qp *qp = rnic_qp(ibqp);
	int ret;

	ret = check_init_attr(attr);
	if (ret)
		return ret;
	if (!rnic_dev_charge(dev, RNIC_OBJ_QP, rnic_pd_share(ibqp->pd)))
		return -ENOMEM;
	init_fields(qp, attr);
	ret = make_rings(qp, attr, uctx);
	if (!ret)
		ret = number_qp(dev, ibqp);
	if (ret >= 0) {
		set_cap(qp, &attr->cap);
		return 0;
	}
	free_rings(qp);
	rnic_dev_uncharge(dev, RNIC_OBJ_QP, rnic_pd_share(ibqp->pd));
	return ret;
}

/**
 * rnic_qp_publish() - let rnic_qp_find() find a queue pair
 * @ibqp:	complete; its user has the answer
 *
 * Its number is reserved, so this does not fail.
 *
 * Context: process.
 */
void rnic_qp_publish(struct ib_qp *ibqp)
{
	xa_store_irq(&rnic_dev(ibqp->device)->qps, ibqp->qp_num, rnic_qp(ibqp), GFP_KERNEL);
}

/**
 * rnic_qp_abandon() - undo rnic_qp_create()
 * @ibqp:	not published, so it had no connection and no event
 *
 * It must not have any, because ib_uverbs frees its own part of a queue pair that was not made
 * without those events.
 *
 * Context: process.
 */
void rnic_qp_abandon(struct ib_qp *ibqp)
{
	ibqp->event_handler = NULL;
	rnic_destroy_qp(ibqp, NULL);
}

/**
 * rnic_destroy_qp() - ib_device_ops.destroy_qp
 * @ibqp:	queue pair
 * @udata:	unused
 *
 * Work requests of a connection complete with a flush status before this returns, because a
 * program that only polls learns of the deletion of its device from that. A kernel consumer
 * loses completions that it has not polled, because each points to the queue pair.
 *
 * Context: process; waits for the connection to be taken down.
 * Return: 0.
 */
int rnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct rnic_qp *qp = rnic_qp(ibqp);
	struct rnic_dev *dev = qp->dev;

	/* From here on no lookup finds it. Earlier lookups have a reference. */
	xa_erase_irq(&dev->qps, ibqp->qp_num);
	rnic_qp_error(qp);
	rnic_qp_rem_ref(ibqp);
	/*
	 * End a startup, which would otherwise take its time. Repeat, because another may have
	 * found the queue pair just now.
	 */
	do
		rnic_ep_cut_qp(qp);
	while (!wait_for_completion_timeout(&qp->idle, HZ / 10));
	/*
	 * Cancel the worker twice, because it and the tasklet queue each other: the worker's
	 * last upcall may make the consumer post, and the tasklet wakes the worker.
	 */
	spin_lock_bh(&qp->lock);
	rnic_qp_move(qp, RNIC_MOVE_DESTROY);
	spin_unlock_bh(&qp->lock);
	cancel_work_sync(&qp->work);
	timer_delete_sync(&qp->again);
	tasklet_kill(&qp->soft);
	cancel_work_sync(&qp->work);
	rnic_cq_forget(qp->scq, ibqp);
	if (qp->rcq != qp->scq)
		rnic_cq_forget(qp->rcq, ibqp);
	free_rings(qp);
	rnic_dev_uncharge(dev, RNIC_OBJ_QP, rnic_pd_share(ibqp->pd));
	return 0;
}

/* A consumer may close twice, or after the peer did. */
static int enter_sqd(struct rnic_qp *qp)
{
	if (qp->state == IB_QPS_RTS) {
		WRITE_ONCE(qp->state, IB_QPS_SQD);
		qp->closed = true;
		return 0;
	}
	return qp->state == IB_QPS_SQD || qp->state == IB_QPS_ERR ? 0 : -EINVAL;
}

/*
 * An RNIC has one state for a queue pair that nobody uses yet, and programs expect it to be INIT.
 * finish_reset() waits for the worker, which may still end the last connection.
 */
static int enter_reset(struct rnic_qp *qp)
{
	if (!rnic_qp_try_move(qp, RNIC_MOVE_RESET))
		return -EBUSY;
	WRITE_ONCE(qp->state, IB_QPS_INIT);
	return 0;
}

static void finish_reset(struct rnic_qp *qp)
{
	flush_work(&qp->work);
	rnic_qp_discard(qp);
	qp->last_wqe = false;
	spin_lock_bh(&qp->lock);
	rnic_qp_move(qp, RNIC_MOVE_RELEASE);
	spin_unlock_bh(&qp->lock);
}

/**
 * rnic_qp_close() - close a connection as IB_QPS_SQD does
 * @ibqp:	queue pair; the caller has a reference
 * @conn:	the connection; nothing happens if the queue pair has it no longer
 *
 * Context: process.
 */
void rnic_qp_close(struct ib_qp *ibqp, const struct rnic_conn *conn)
{
	struct rnic_qp *qp = rnic_qp(ibqp);
	bool closes;

	spin_lock_bh(&qp->lock);
	closes = qp->conn == conn && !enter_sqd(qp);
	spin_unlock_bh(&qp->lock);
	if (closes)
		rnic_qp_close_sends(qp);
}

static int change_state(struct rnic_qp *qp, enum ib_qp_state state)
{
	bool unused = qp->state == IB_QPS_INIT || qp->state == IB_QPS_RTR;

	lockdep_assert_held(&qp->lock);
	switch (state) {
	case IB_QPS_RESET:
		return enter_reset(qp);
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		if (!unused)
			return -EINVAL;
		WRITE_ONCE(qp->state, state);
		return 0;
	case IB_QPS_RTS:
		/* Only rnic_qp_attach() sets RTS. */
		return qp->state == IB_QPS_RTS ? 0 : -EINVAL;
	case IB_QPS_SQD:
		return enter_sqd(qp);
	case IB_QPS_ERR:
		WRITE_ONCE(qp->state, IB_QPS_ERR);
		return 0;
	default:
		return -EINVAL;
	}
}

/*
 * The code that set ERR has woken the worker, which takes the connection down. The worker does
 * nothing while the startup has the stream, so let the startup look first; it wakes the worker when
 * it ends.
 */
static void await_end_of_connection(struct rnic_qp *qp)
{
	struct rnic_conn *conn;

	spin_lock_bh(&qp->lock);
	conn = qp->life == RNIC_ATTACHED ? rnic_conn_get(qp->conn) : NULL;
	spin_unlock_bh(&qp->lock);
	if (conn) {
		rnic_startup_await_look(conn);
		rnic_conn_put(conn);
	}
	rnic_qp_await_worker(qp);
}

/* The worker has nothing to do for the other states, which rdma_cm always sets. */
static bool is_for_worker(enum ib_qp_state old, enum ib_qp_state state)
{
	return state == IB_QPS_RESET || (state == IB_QPS_ERR && old != IB_QPS_ERR);
}

/**
 * rnic_modify_qp() - ib_device_ops.modify_qp
 * @ibqp:	queue pair
 * @attr:	new values
 * @mask:	attributes to change; those without a meaning here are ignored
 * @udata:	unused
 *
 * Takes a reference, because iw_cm's disconnect has none, and the program may destroy the queue
 * pair while this waits for the socket lock.
 *
 * Context: process.
 * Return: 0 or -errno; -EINVAL if the queue pair is being destroyed; -EOPNOTSUPP for IB_QP_CAP,
 * because a queue keeps its size.
 */
int rnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct rnic_qp *qp = rnic_qp(ibqp);
	enum ib_qp_state old;
	int ret = 0;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS || mask & IB_QP_CAP)
		return -EOPNOTSUPP;
	if (!refcount_inc_not_zero(&qp->refs))
		return -EINVAL;
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET &&
	    rnic_qp_state(qp) == IB_QPS_ERR)
		await_end_of_connection(qp);
	spin_lock_bh(&qp->lock);
	old = qp->state;
	if (mask & IB_QP_STATE)
		ret = change_state(qp, attr->qp_state);
	if (!ret && mask & IB_QP_ACCESS_FLAGS)
		WRITE_ONCE(qp->access, attr->qp_access_flags);
	spin_unlock_bh(&qp->lock);
	if (!ret && mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET)
		finish_reset(qp);
	if (!ret && mask & IB_QP_STATE && attr->qp_state == IB_QPS_SQD)
		rnic_qp_close_sends(qp);
	if (!ret && mask & IB_QP_STATE && is_for_worker(old, attr->qp_state))
		rnic_qp_kick(qp);
	if (qp->sq.user)
		rnic_qp_look(qp);
	rnic_qp_rem_ref(ibqp);
	return ret;
}

static enum ib_mtu get_path_mtu(struct rnic_dev *dev)
{
	struct net_device *ndev = rnic_dev_netdev(dev);
	enum ib_mtu mtu = IB_MTU_1024;

	if (ndev) {
		mtu = ib_mtu_int_to_enum(ndev->mtu);
		dev_put(ndev);
	}
	return mtu;
}

/**
 * rnic_query_qp() - ib_device_ops.query_qp
 * @ibqp:	queue pair
 * @attr:	filled in
 * @mask:	what the caller wants; all attributes are filled in
 * @init:	filled in
 *
 * nldev may call this during and after destruction, when only the struct itself is left.
 *
 * Context: process.
 * Return: 0.
 */
int rnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct rnic_qp *qp = rnic_qp(ibqp);

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	spin_lock_bh(&qp->lock);
	attr->qp_state = qp->state;
	spin_unlock_bh(&qp->lock);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->cap;
	attr->qp_access_flags = READ_ONCE(qp->access);
	attr->path_mtu = get_path_mtu(qp->dev);
	attr->port_num = 1;
	attr->max_rd_atomic = min_t(u32, READ_ONCE(qp->ord), U8_MAX);
	attr->max_dest_rd_atomic = min_t(u32, READ_ONCE(qp->ird), U8_MAX);
	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = qp->cap;
	init->sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->qp_type = IB_QPT_RC;
	/*
	 * nldev asks for no attribute, for any user and for the queue pairs of all, so that is no
	 * system call of this one's program.
	 */
	if (mask && qp->sq.user && refcount_inc_not_zero(&qp->refs)) {
		rnic_qp_look(qp);
		rnic_qp_rem_ref(ibqp);
	}
	return 0;
}
