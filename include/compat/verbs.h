/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RDMA core.
 */
#ifndef _COMPAT_VERBS_H
#define _COMPAT_VERBS_H

#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

/*
 * Type of the last argument of create_cq(), which is NULL for a kernel consumer. Since 6.11 it has
 * all attributes of the system call, before that only the driver's part.
 */
#ifdef COMPAT_HAS_create_cq_attrs
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

/**
 * compat_umem_get() - pin memory of a program
 * @dev:	device
 * @addr:	first address
 * @len:	bytes
 * @access:	IB_ACCESS_*
 *
 * Since 7.2 the function of ib_core for memory given by address is ib_umem_get_va().
 *
 * Context: process.
 * Return: the pinned memory, or an ERR_PTR().
 */
static inline struct ib_umem *compat_umem_get(struct ib_device *dev, unsigned long addr,
					      size_t len, int access)
{
#ifdef COMPAT_HAS_ib_umem_get_va
	return ib_umem_get_va(dev, addr, len, access);
#else
	return ib_umem_get(dev, addr, len, access);
#endif
}

/*
 * Mark the device's name as chosen by the user. Then rdma_rename of udev does not change it.
 * Kernels before 6.12 cannot say so.
 */
static inline void compat_name_is_users(struct ib_device *dev)
{
#ifdef COMPAT_HAS_ib_mark_name_assigned_by_user
	ib_mark_name_assigned_by_user(dev);
#endif
}

/*
 * Define NAME for ib_device_ops.reg_user_mr. It calls FN, which has the arguments from before
 * 6.17. Since 6.17 a region may have PCIe hints (@dmah). The driver makes no such objects, so it
 * refuses them.
 */
#ifdef COMPAT_HAS_reg_user_mr_dmah
#define COMPAT_REG_USER_MR(name, fn)							\
	static struct ib_mr *name(struct ib_pd *pd, u64 start, u64 len, u64 iova,	\
				  int access, struct ib_dmah *dmah,			\
				  struct ib_udata *udata)				\
	{										\
		return dmah ? ERR_PTR(-EOPNOTSUPP) :					\
			      fn(pd, start, len, iova, access, udata);			\
	}
#else
#define COMPAT_REG_USER_MR(name, fn)							\
	static struct ib_mr *name(struct ib_pd *pd, u64 start, u64 len, u64 iova,	\
				  int access, struct ib_udata *udata)			\
	{										\
		return fn(pd, start, len, iova, access, udata);				\
	}
#endif

#endif /* _COMPAT_VERBS_H */
