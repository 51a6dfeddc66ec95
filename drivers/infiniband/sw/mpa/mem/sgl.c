// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Scatter/gather lists. Each step checks its SGEs again, because a region may be deregistered
 * in the middle of a message.
 */
#include "mem/sgl.h"

/**
 * rnic_sgl_check() - check that the whole list can be accessed now
 * @mem:	the queue pair's memory
 * @sgl:	the list, from any position
 * @access:	IB_ACCESS_* rights needed; 0 for reading
 *
 * Skips SGEs of length 0.
 *
 * Context: as for rnic_mr_get().
 * Return: RNIC_MR_OK, or the first check that failed.
 */
enum rnic_mr_fault rnic_sgl_check(struct rnic_mem *mem, const struct rnic_sgl *sgl, int access)
{
	enum rnic_mr_fault fault = RNIC_MR_OK;
	u8 i;

	for (i = 0; i < sgl->num && !fault; i++) {
		const struct rnic_sge *sge = &sgl->sge[i];

		if (sge->len)
			fault = rnic_mr_get(mem, sge->lkey, sge->addr, sge->len, access);
	}
	return fault;
}

/* Skip empty SGEs. Return: bytes that the next step can take from one SGE. */
static u32 find_piece(struct rnic_sgl *sgl, u32 n)
{
	while (sgl->off == sgl->sge[sgl->cur].len) {
		sgl->cur++;
		sgl->off = 0;
	}
	return min(n, sgl->sge[sgl->cur].len - sgl->off);
}

static __always_inline int
fill_piece(struct rnic_mem *mem, struct rnic_sgl *sgl, u32 n, int access, rnic_fill_fn fill,
	   void *src)
{
	const struct rnic_sge *sge = &sgl->sge[sgl->cur];
	u64 addr = sge->addr + sgl->off;
	int ret;

	if (rnic_mr_get(mem, sge->lkey, addr, n, access))
		return -EACCES;
	ret = fill(src, mem->mr, addr, n);
	if (ret)
		return ret;
	sgl->off += n;
	sgl->left -= n;
	return 0;
}

static __always_inline int
walk_list(struct rnic_mem *mem, struct rnic_sgl *sgl, u32 n, int access, rnic_fill_fn fill,
	  void *src)
{
	u32 piece;
	int ret;

	if (n > sgl->left)
		return -EMSGSIZE;
	for (; n; n -= piece) {
		piece = find_piece(sgl, n);
		ret = fill_piece(mem, sgl, piece, access, fill, src);
		if (ret)
			return ret;
	}
	return 0;
}

/* A rnic_fill_fn. @src points to the destination, which it advances. */
static int copy_out(void *src, const struct rnic_mr *mr, u64 addr, u32 n)
{
	u8 **dst = src;

	rnic_mr_read(mr, addr, *dst, n);
	*dst += n;
	return 0;
}

/**
 * rnic_sgl_copy_from() - gather the next bytes
 * @mem:	the queue pair's memory
 * @sgl:	the list; advanced by @n
 * @dst:	destination
 * @n:		bytes
 *
 * Context: as for rnic_mr_get().
 * Return: 0; -EACCES; -EMSGSIZE if fewer bytes are left.
 */
int rnic_sgl_copy_from(struct rnic_mem *mem, struct rnic_sgl *sgl, void *dst, u32 n)
{
	u8 *to = dst;

	return walk_list(mem, sgl, n, 0, copy_out, &to);
}

/**
 * rnic_sgl_fill() - scatter the next bytes
 * @mem:	the queue pair's memory
 * @sgl:	the list; advanced by @n
 * @n:		bytes
 * @fill:	writes them, piece by piece
 * @src:	passed to @fill
 *
 * On failure some bytes may be written.
 *
 * Context: as for rnic_mr_get().
 * Return: 0; -EACCES; -EMSGSIZE if fewer bytes are left in the list; an error of @fill.
 */
int rnic_sgl_fill(struct rnic_mem *mem, struct rnic_sgl *sgl, u32 n, rnic_fill_fn fill,
		  void *src)
{
	return walk_list(mem, sgl, n, IB_ACCESS_LOCAL_WRITE, fill, src);
}
