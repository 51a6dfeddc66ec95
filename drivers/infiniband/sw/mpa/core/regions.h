/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The memory regions of a device: all that an access needs to know of it.
 */
#ifndef _RNIC_REGIONS_H
#define _RNIC_REGIONS_H

#include <linux/atomic.h>
#include <linux/xarray.h>

struct rnic_mr;

/**
 * struct rnic_regions - memory regions of a device
 * @all:	STag index to struct rnic_mr, read under RCU
 * @epoch:	number of deregistrations
 * @dma:	region of the local DMA lkey (0) of kernel consumers
 */
struct rnic_regions {
	struct xarray all;
	atomic64_t epoch;
	struct rnic_mr *dma;
};

#endif /* _RNIC_REGIONS_H */
