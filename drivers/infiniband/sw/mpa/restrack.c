// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State of a queue pair for "rdma resource show qp -dd", which shows why a connection makes no
 * progress.
 *
 * Some kernels call this during and after destruction of the queue pair, and free it later. So
 * this holds the connection, whose socket it reads. A destroyed queue pair has no connection.
 *
 * A user may ask for this as often as he likes, so it does not take the socket lock, for which the
 * data path would wait.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <net/netlink.h>
#include <rdma/restrack.h>

#include "core/dev.h"
#include "qp/qp.h"
#include "tcp/stream.h"
#include "verbs.h"

/* Racy, because it only shows what the data path may change meanwhile. */
#define LOOK(value) data_race(value)

struct show {
	const char *name;
	u32 value;
};

/* @said: rnic_term_word() or 0. Shown as LAYER/TYPE/CODE. */
static int put_terminate(struct sk_buff *msg, const char *name, u32 said)
{
	char text[sizeof("15/15/255")];

	if (!said)
		return 0;
	snprintf(text, sizeof(text), "%u/%u/%u", said >> 12 & 0xf, said >> 8 & 0xf, said & 0xff);
	return rdma_nl_put_driver_string(msg, name, text);
}

static int put_terminates(struct sk_buff *msg, const struct rnic_qp *qp)
{
	if (put_terminate(msg, "term_rx", READ_ONCE(qp->term_rx)) ||
	    put_terminate(msg, "term_tx", READ_ONCE(qp->term_tx)))
		return -EMSGSIZE;
	return 0;
}

/* Return: @end - @begin, or 0 if @begin has moved on since @end was read. */
static u32 get_distance(u32 begin, u32 end)
{
	return max_t(s32, end - begin, 0);
}

static int put_data_path(struct sk_buff *msg, const struct rnic_qp *qp, const struct rnic_sock *s)
{
	const struct rnic_readq *rq = &qp->readq;
	const struct rnic_tx *tx = &qp->tx;
	const struct show show[] = {
		{ "open", LOOK(tx->open) },
		{ "closing", rnic_qp_life(qp) != RNIC_RUNNING },
		{ "taken", LOOK(get_distance(qp->sent_head, qp->sent_tail)) },
		{ "waits", LOOK(tx->waits) },
		{ "reads_out", LOOK(get_distance(rq->out_head, rq->out_tail)) },
		{ "reads_in", LOOK(get_distance(rq->in_head, rq->in_tail)) },
		{ "left", LOOK(tx->msg == RNIC_TX_NONE ? 0 : tx->left) },
		{ "unsent", LOOK(get_distance(tx->sent, tx->chunk.fill)) },
		{ "held", LOOK(tx->held) },
		{ "bulk", READ_ONCE(qp->bulk) },
		{ "unread", LOOK(rnic_sock_unread(s)) },
		{ "partial", LOOK(qp->rx.mpa.seen) },
		{ "rnr", READ_ONCE(qp->rx.rnr) },
		{ "receives", LOOK(qp->rx.receives) },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(show); i++)
		if (rdma_nl_put_driver_u32(msg, show[i].name, show[i].value))
			return -EMSGSIZE;
	return 0;
}

/* What a connection does is its user's business, and the administrator's. */
static bool may_see_data_path(const struct rnic_qp *qp)
{
	return uid_eq(qp->user, rnic_user()) || capable(CAP_NET_ADMIN);
}

/**
 * rnic_qp_show() - ib_device_ops.fill_res_qp_entry
 * @msg:	netlink message to fill
 * @ibqp:	queue pair
 *
 * Documentation/counters.rst explains the names. A queue pair without a connection shows the
 * Terminates of its last one. One of another user shows nothing.
 *
 * Context: process.
 * Return: 0, or -EMSGSIZE if @msg is full.
 */
int rnic_qp_show(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct rnic_qp *qp = rnic_qp(ibqp);
	struct rnic_conn *conn;
	struct nlattr *table;
	int ret = -EMSGSIZE;

	if (!may_see_data_path(qp))
		return 0;
	conn = rnic_qp_conn(qp);
	table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (table)
		ret = put_terminates(msg, qp);
	if (!ret && conn)
		ret = put_data_path(msg, qp, &conn->s);
	if (table && !ret)
		nla_nest_end(msg, table);
	else if (table)
		nla_nest_cancel(msg, table);
	if (conn)
		rnic_conn_put(conn);
	return ret;
}
