/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA streams on TCP connections that a kernel consumer uses already (RFC 5044 section 7.1.5).
 */
#ifndef _RDMA_MPA_H
#define _RDMA_MPA_H

#include <uapi/rdma/rdma_mpa.h>

struct ib_qp;
struct socket;

/**
 * struct rdma_mpa_start - what a kernel consumer asks for
 * @role:		which side this is
 * @ird:		initiator: inbound RDMA Reads
 * @ord:		initiator: outbound RDMA Reads
 * @private_data_len:	initiator: bytes of @private_data, at most MPA_PRIVATE_DATA_MAX
 * @last_len:		responder: bytes of @last, at most 64 KiB
 * @private_data:	initiator: sent with the Request
 * @last:		responder: last streaming message, sent when Requests are heard
 * @event:		the status has changed. Called with a spin lock held, until sock_release()
 *			of the connection returns; must not call functions of this header
 * @context:		for @event
 */
struct rdma_mpa_start {
	enum mpa_role role;
	u16 ird;
	u16 ord;
	u16 private_data_len;
	u32 last_len;
	const void *private_data;
	const void *last;
	void (*event)(void *context);
	void *context;
};

int rdma_mpa_start(struct socket *sock, struct ib_qp *qp, const struct rdma_mpa_start *start);
int rdma_mpa_accept(struct socket *sock, u16 ird, u16 ord, const void *pd, u16 pd_len);
int rdma_mpa_reject(struct socket *sock, const void *pd, u16 pd_len);
int rdma_mpa_status(struct socket *sock, struct mpa_status *status);

#endif
