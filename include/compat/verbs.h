/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RDMA core.
 */
#ifndef _COMPAT_VERBS_H
#define _COMPAT_VERBS_H

#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

/*
 * What the maker of a completion queue gives to create_cq(), NULL for a kernel
 * consumer: since 6.11 all that user space said, not the driver's part alone.
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
 * compat_umem_get() - pin a program's memory
 * @dev:	device
 * @addr:	where it begins
 * @len:	bytes
 * @access:	IB_ACCESS_*
 *
 * Since 7.2 the core's function says by its name that the memory is given by address.
 *
 * Context: process.
 * Return: the memory or an ERR_PTR().
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
 * The name is the user's choice. udev's rdma_rename gives other devices a name of its own;
 * before 6.12 the kernel could not tell it to leave this one alone.
 */
static inline void compat_name_is_users(struct ib_device *dev)
{
#ifdef COMPAT_HAS_ib_mark_name_assigned_by_user
	ib_mark_name_assigned_by_user(dev);
#endif
}

/*
 * Makes NAME, for ib_device_ops.reg_user_mr, of FN, which has its arguments of before 6.17.
 * Since then a region may have hints for PCIe; only who makes such objects can honour them.
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
