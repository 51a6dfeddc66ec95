// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The functions by which a kernel consumer starts and answers an MPA stream on its own TCP
 * connection. They are for one caller at a time, and not for the event function.
 */
#include <linux/export.h>
#include <rdma/rdma_mpa.h>

#include "conn/lent.h"
#include "device.h"
#include "lend.h"
#include "qp/qp.h"
#include "tcp/ulp.h"

static int check_start(const struct ib_qp *qp, const struct rdma_mpa_start *start)
{
	if (!rnic_dev_is_ours(qp->device) ||
	    (start->role != MPA_INITIATOR && start->role != MPA_RESPONDER) ||
	    start->private_data_len > MPA_PRIVATE_DATA_MAX || start->last_len > RNIC_LAST_MAX)
		return -EINVAL;
	return 0;
}

/**
 * rdma_mpa_start() - start MPA on a TCP connection (RFC 5044 section 7.1.5)
 * @sock:	an established connection, which the caller does not use from another thread; its
 *		callbacks are TCP's own
 * @qp:		a queue pair in INIT, of a device of this driver that carries the connection
 * @start:	what the caller asks for; copied
 *
 * The functions of the socket fail with -EBUSY until rdma_mpa_status() says that the stream is
 * rejected. sock_release() ends the stream as rdma_disconnect() does, in each state.
 *
 * Context: process.
 * Return: 0: the status tells the outcome. Or -EINVAL, -EBUSY, -ENOTCONN, -ENOTEMPTY if bytes wait
 * in the socket, -EAGAIN if its send buffer is full, -EADDRNOTAVAIL if the device does not carry
 * the connection, or another -errno.
 */
int rdma_mpa_start(struct socket *sock, struct ib_qp *qp, const struct rdma_mpa_start *start)
{
	struct rnic_lent_start lent = {
		.ibqp = qp,
		.initiator = start->role == MPA_INITIATOR,
		.ird = start->ird,
		.ord = start->ord,
		.pd = start->private_data,
		.pd_len = start->private_data_len,
		.last = start->last,
		.last_len = start->last_len,
	};
	int ret;

	ret = check_start(qp, start);
	ret = ret ? ret : rnic_ulp_make(sock);
	if (ret)
		return ret;
	rnic_qp_get(rnic_qp(qp));
	return rnic_lend_start(rnic_ulp_find(sock), rnic_dev(qp->device), &lent, start->event,
			       start->context);
}
EXPORT_SYMBOL_GPL(rdma_mpa_start);

static int answer(struct socket *sock, bool accept, const struct mpa_answer *a, const void *pd)
{
	struct rnic_ulp *u = rnic_ulp_find(sock);

	return u ? rnic_lend_answer(u, accept, a, pd) : -EINVAL;
}

/**
 * rdma_mpa_accept() - accept the peer's Request
 * @sock:	a connection in MPA_STREAM_REQUESTED
 * @ird:	inbound RDMA Reads
 * @ord:	outbound RDMA Reads
 * @pd:		Private Data
 * @pd_len:	bytes of it
 *
 * Context: process.
 * Return: 0; -EINVAL if no Request waits, or the Private Data is too long; -ECONNABORTED if the
 * peer has gone; or another -errno.
 */
int rdma_mpa_accept(struct socket *sock, u16 ird, u16 ord, const void *pd, u16 pd_len)
{
	struct mpa_answer a = { .ird = ird, .ord = ord, .private_data_len = pd_len };

	return answer(sock, true, &a, pd);
}
EXPORT_SYMBOL_GPL(rdma_mpa_accept);

/**
 * rdma_mpa_reject() - reject the peer's Request
 * @sock:	a connection in MPA_STREAM_REQUESTED
 * @pd:		Private Data
 * @pd_len:	bytes of it
 *
 * The caller reads from the socket and writes to it again when this returns 0.
 *
 * Context: process.
 * Return: 0, or see rdma_mpa_accept().
 */
int rdma_mpa_reject(struct socket *sock, const void *pd, u16 pd_len)
{
	struct mpa_answer a = { .private_data_len = pd_len };

	return answer(sock, false, &a, pd);
}
EXPORT_SYMBOL_GPL(rdma_mpa_reject);

/**
 * rdma_mpa_status() - read the state of a stream
 * @sock:	a connection
 * @status:	filled in
 *
 * Context: process.
 * Return: 0, or -EINVAL if nobody has tried to start MPA on it.
 */
int rdma_mpa_status(struct socket *sock, struct mpa_status *status)
{
	struct rnic_ulp *u = rnic_ulp_find(sock);

	if (!u)
		return -EINVAL;
	rnic_lend_status(u, status);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_mpa_status);
