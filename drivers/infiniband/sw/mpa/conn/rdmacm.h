/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Facts about rdma_cm that iw_cm does not pass on.
 */
#ifndef _RNIC_RDMACM_H
#define _RNIC_RDMACM_H

#include <linux/types.h>

struct ib_qp;
struct iw_cm_id;
struct net;
struct rdma_dev_addr;
struct rnic_dev;
struct rnic_ep;

struct net *rnic_rdmacm_net(const struct iw_cm_id *cm_id);
const void *rnic_rdmacm_owner(const struct iw_cm_id *cm_id, bool all);
bool rnic_rdmacm_has_connections(const struct iw_cm_id *cm_id);
bool rnic_rdmacm_owns(const struct iw_cm_id *cm_id, const struct ib_qp *ibqp);
bool rnic_rdmacm_is_right(const struct iw_cm_id *cm_id, const struct rnic_dev *dev);
bool rnic_rdmacm_finds(struct rnic_dev *dev, struct rdma_dev_addr *at);
void rnic_rdmacm_count_requests(struct iw_cm_id *cm_id);
void rnic_rdmacm_set_port(struct iw_cm_id *cm_id);
struct rnic_ep *rnic_rdmacm_find_answered(struct iw_cm_id *cm_id);

#endif
