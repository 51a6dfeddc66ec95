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
 * Documentation/counters.rst explains the names. A queue pair without a connection adds
 * nothing.
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

	if (!conn)
		return 0;
	table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (table)
		ret = put_connection(msg, qp, conn);
	if (table && !ret)
		nla_nest_end(msg, table);
	else if (table)
		nla_nest_cancel(msg, table);
	rnic_conn_put(conn);
	return ret;
}
