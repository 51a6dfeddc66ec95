/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Operations of ib_device_ops that are not a room's own: those that answer user space, and a
 * queue pair's as the verbs see it.
 */
#ifndef _RNIC_VERBS_H
#define _RNIC_VERBS_H

#include <rdma/ib_verbs.h>
#include <compat/verbs.h>

struct rnic_conn;

/* verbs.c */
int rnic_query_device(struct ib_device *ibdev, struct ib_device_attr *attr, struct ib_udata *udata);
void rnic_get_fw_str(struct ib_device *ibdev, char *str);
int rnic_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata);
void rnic_dealloc_ucontext(struct ib_ucontext *uctx);
void rnic_disassociate_ucontext(struct ib_ucontext *uctx);
int rnic_alloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int rnic_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int rnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct compat_cq_maker *maker);
int rnic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int rnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
struct ib_mr *rnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova, int access,
			       struct ib_udata *udata);

/* verbs_qp.c */
int rnic_qp_create(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_ucontext *uctx);
void rnic_qp_publish(struct ib_qp *ibqp);
void rnic_qp_abandon(struct ib_qp *ibqp);
void rnic_qp_close(struct ib_qp *ibqp, const struct rnic_conn *conn);
int rnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int rnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int rnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

/* restrack.c */
int rnic_qp_show(struct sk_buff *msg, struct ib_qp *ibqp);

#endif /* _RNIC_VERBS_H */
