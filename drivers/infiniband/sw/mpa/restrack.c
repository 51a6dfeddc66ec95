// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State of a queue pair for "rdma resource show qp -dd", which shows why a connection makes no
 * progress.
 *
 * Some kernels call this during and after destruction of the queue pair, and free it later. So
 * this holds the connection, and reads the data path only while the queue pair is linked to
 * it. A destroyed queue pair has no connection.
 */
#include <net/netlink.h>
#include <rdma/restrack.h>

#include "core/dev.h"
#include "qp/qp.h"
#include "tcp/stream.h"
#include "verbs.h"

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

/* The socket is locked. */
static int put_data_path(struct sk_buff *msg, const struct rnic_qp *qp, const struct rnic_sock *s)
{
	const struct rnic_readq *rq = &qp->readq;
	const struct rnic_tx *tx = &qp->tx;
	const struct show show[] = {
		{ "open", tx->open },
		{ "closing", rnic_qp_life(qp) != RNIC_RUNNING },
		{ "taken", qp->sent_tail - qp->sent_head },
		{ "waits", tx->waits },
		{ "reads_out", rnic_reads_out(rq) },
		{ "reads_in", rnic_reads_in(rq) },
		{ "left", tx->msg == RNIC_TX_NONE ? 0 : tx->left },
		{ "unsent", tx->chunk.fill - tx->sent },
		{ "held", tx->held },
		{ "bulk", qp->bulk },
		{ "unread", rnic_sock_unread(s) },
		{ "partial", qp->rx.mpa.seen },
		{ "rnr", qp->rx.rnr },
		{ "receives", qp->rx.receives },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(show); i++)
		if (rdma_nl_put_driver_u32(msg, show[i].name, show[i].value))
			return -EMSGSIZE;
	return 0;
}

static int put_connection(struct sk_buff *msg, struct rnic_qp *qp, struct rnic_conn *conn)
{
	int ret = 0;

	rnic_sock_lock(&conn->s);
	if (READ_ONCE(qp->conn) == conn)
		ret = put_data_path(msg, qp, &conn->s);
	rnic_sock_unlock(&conn->s);
	return ret;
}

/**
 * rnic_qp_show() - ib_device_ops.fill_res_qp_entry
 * @msg:	netlink message to fill
 * @ibqp:	queue pair
 *
 * Documentation/counters.rst explains the names. A queue pair without a connection shows the
 * Terminates of its last one.
 *
 * Context: process.
 * Return: 0, or -EMSGSIZE if @msg is full.
 */
int rnic_qp_show(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct rnic_qp *qp = rnic_qp(ibqp);
	struct rnic_conn *conn = rnic_qp_conn(qp);
	struct nlattr *table;
	int ret = -EMSGSIZE;

	table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (table)
		ret = put_terminates(msg, qp);
	if (!ret && conn)
		ret = put_connection(msg, qp, conn);
	if (table && !ret)
		nla_nest_end(msg, table);
	else if (table)
		nla_nest_cancel(msg, table);
	if (conn)
		rnic_conn_put(conn);
	return ret;
}
