/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The scatter/gather list of a work request, and a cursor that advances by one segment of the
 * wire at a time.
 */
#ifndef _RNIC_SGL_H
#define _RNIC_SGL_H

#include <linux/types.h>

#include "mem/mr.h"

/* SGEs of a work request; the user ABI's limit. */
#define RNIC_MAX_SGE	6

/**
 * struct rnic_sge - a piece of local memory
 * @addr:	address in the region of @lkey
 * @len:	bytes
 * @lkey:	STag
 */
struct rnic_sge {
	u64 addr;
	u32 len;
	u32 lkey;
};

/**
 * struct rnic_sgl - a list and a position in it
 * @sge:	the list; the owner keeps it alive
 * @num:	its length
 * @cur:	SGE of the next byte
 * @off:	offset of the next byte in it
 * @left:	bytes from here to the end
 */
struct rnic_sgl {
	const struct rnic_sge *sge;
	u8 num;
	u8 cur;
	u32 off;
	u32 left;
};

/**
 * rnic_sgl_init() - set a cursor to the first byte of a list
 * @sgl:	the cursor
 * @sge:	the list; must outlive the cursor
 * @num:	its length
 * @len:	bytes of all SGEs
 */
static inline void rnic_sgl_init(struct rnic_sgl *sgl, const struct rnic_sge *sge, u8 num,
				 u32 len)
{
	sgl->sge = sge;
	sgl->num = num;
	sgl->cur = 0;
	sgl->off = 0;
	sgl->left = len;
}

enum rnic_mr_fault rnic_sgl_check(struct rnic_mem *mem, const struct rnic_sgl *sgl, int access);
int rnic_sgl_copy_from(struct rnic_mem *mem, struct rnic_sgl *sgl, void *dst, u32 n);
u32 rnic_sgl_next(struct rnic_mem *mem, struct rnic_sgl *sgl, int access, u64 *addr, u32 n);

#endif /* _RNIC_SGL_H */
