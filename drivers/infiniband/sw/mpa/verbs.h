/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The ib_device_ops table, and the responses of the user ABI.
 */
#ifndef _RNIC_VERBS_H
#define _RNIC_VERBS_H

#include <rdma/ib_verbs.h>

struct rnic_cq;
struct rnic_rq;
struct rnic_sq;
struct rnic_srq;

void rnic_verbs_init(struct ib_device *ibdev);

/* Does a PD belong to the kernel? */
static inline bool rnic_pd_is_kernel(const struct ib_pd *pd)
{
	return rdma_is_kernel_res(&pd->res);
}

struct ib_ucontext *rnic_udata_uctx(struct ib_udata *udata);

int rnic_verbs_qp_uresp(struct ib_udata *udata, u32 qpn,
			const struct rnic_sq *sq, const struct rnic_rq *rq);
int rnic_verbs_cq_uresp(struct ib_udata *udata, const struct rnic_cq *cq);
int rnic_verbs_srq_uresp(struct ib_udata *udata, const struct rnic_srq *srq);
int rnic_verbs_mr_uresp(struct ib_udata *udata, u32 stag);

/* post.c */
int rnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int rnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

#endif /* _RNIC_VERBS_H */
