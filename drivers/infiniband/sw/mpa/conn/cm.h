/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * iw_cm's operations, and the connection manager's part in a device's life.
 */
#ifndef _RNIC_CM_H
#define _RNIC_CM_H

#include <linux/types.h>

#include "conn/listen.h"

struct iw_cm_conn_param;
struct iw_cm_id;
struct rnic_dev;

void rnic_cm_dev_init(struct rnic_dev *dev);
void rnic_cm_dev_gone(struct rnic_dev *dev);
bool rnic_cm_dev_is_held(const struct rnic_dev *dev);
void rnic_cm_dev_release(struct rnic_dev *dev);

/* ib_device_ops.iw_* */
int rnic_cm_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int rnic_cm_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int rnic_cm_reject(struct iw_cm_id *cm_id, const void *pd, u8 pd_len);

#endif
