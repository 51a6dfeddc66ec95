// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a queue pair is at: "rdma resource show qp -dd". Who asks has a connection that
 * stands still, and wants to know which end waits for what.
 *
 * Some kernels ask while the queue pair is being destroyed, and after that: the core
 * frees it when nobody asks any more. A connection that was found is held, and the data
 * path is looked at only while the two are linked. What is destroyed has none.
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

/* Socket locked. */
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
		{ "unsent", tx->img.fill - tx->sent },
		{ "held", tx->held },
		{ "bulk", qp->bulk },
		{ "unread", rnic_sock_unread(s) },
		{ "partial", qp->rx.mpa.seen },
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
 * @msg:	where it goes
 * @ibqp:	queue pair
 *
 * The names are explained in Documentation/counters.rst. Without a connection there is
 * nothing to tell.
 *
 * Context: process.
 * Return: 0, -EMSGSIZE when @msg is full.
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
