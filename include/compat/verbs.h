/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RDMA core.
 */
#ifndef _COMPAT_VERBS_H
#define _COMPAT_VERBS_H

#include <linux/version.h>
#include <rdma/uverbs_ioctl.h>

/*
 * What the maker of a completion queue gives to create_cq(), NULL for a kernel
 * consumer: since 6.11 all that user space said, not the driver's part alone.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define compat_cq_maker uverbs_attr_bundle

static inline struct ib_udata *compat_cq_udata(struct compat_cq_maker *maker)
{
	return maker ? &maker->driver_udata : NULL;
}
#else
#define compat_cq_maker ib_udata

static inline struct ib_udata *compat_cq_udata(struct compat_cq_maker *maker)
{
	return maker;
}
#endif

#endif /* _COMPAT_VERBS_H */
