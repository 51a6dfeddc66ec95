// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Scatter/gather lists. Each step checks the SGEs it touches again: a region
 * may be deregistered while a message is on its way.
 */
#include "dev.h"
#include "sgl.h"

/**
 * rnic_sgl_init() - start at the first octet of a list
 * @sgl:	the cursor
 * @sge:	the list; must outlive the cursor
 * @num:	its length
 *
 * Return: 0, -EINVAL for too many SGEs, or -EMSGSIZE when no message can be
 * that long.
 */
int rnic_sgl_init(struct rnic_sgl *sgl, const struct rnic_sge *sge, u8 num)
{
	u64 sum = 0;
	u8 i;

	if (num > RNIC_MAX_SGE)
		return -EINVAL;
	for (i = 0; i < num; i++)
		sum += sge[i].len;
	if (sum > U32_MAX)
		return -EMSGSIZE;
	sgl->sge = sge;
	sgl->num = num;
	sgl->cur = 0;
	sgl->off = 0;
	sgl->left = sum;
	return 0;
}

/**
 * rnic_sgl_check() - may all of the list be accessed, at this moment?
 * @mem:	the queue pair's memory
 * @sgl:	the list, from any position
 * @access:	IB_ACCESS_* rights needed; 0 for reading
 * @fault:	what is wrong, RNIC_MR_OK if nothing
 *
 * SGEs of no octets are not looked at. Context as for rnic_mr_get().
 *
 * Return: 0 or -EACCES.
 */
int rnic_sgl_check(struct rnic_mem *mem, const struct rnic_sgl *sgl, int access,
		   enum rnic_mr_fault *fault)
{
	u8 i;

	*fault = RNIC_MR_OK;
	for (i = 0; i < sgl->num; i++) {
		const struct rnic_sge *sge = &sgl->sge[i];

		if (sge->len &&
		    !rnic_mr_get(mem, sge->lkey, sge->addr, sge->len, access, fault))
			return -EACCES;
	}
	return 0;
}

/* Octets the next step can take from one SGE; moves past empty ones. */
static u32 next_piece(struct rnic_sgl *sgl, u32 n)
{
	while (sgl->off == sgl->sge[sgl->cur].len) {
		sgl->cur++;
		sgl->off = 0;
	}
	return min(n, sgl->sge[sgl->cur].len - sgl->off);
}

static int fill_piece(struct rnic_mem *mem, struct rnic_sgl *sgl, u32 n, unsigned int dir,
		      rnic_fill_fn fill, void *src, enum rnic_mr_fault *fault)
{
	const struct rnic_sge *sge = &sgl->sge[sgl->cur];
	int access = dir == ITER_DEST ? IB_ACCESS_LOCAL_WRITE : 0;
	u64 addr = sge->addr + sgl->off;
	struct rnic_mem_iter it;
	struct rnic_mr *mr;
	int ret;

	mr = rnic_mr_get(mem, sge->lkey, addr, n, access, fault);
	if (!mr)
		return -EACCES;
	rnic_mr_iter(mr, addr, n, dir, &it);
	ret = fill(src, &it.iter, n);
	if (ret)
		return ret;
	sgl->off += n;
	sgl->left -= n;
	return 0;
}

static int walk(struct rnic_mem *mem, struct rnic_sgl *sgl, u32 n, unsigned int dir,
		rnic_fill_fn fill, void *src, enum rnic_mr_fault *fault)
{
	u32 piece;
	int ret;

	*fault = RNIC_MR_OK;
	if (n > sgl->left)
		return -EMSGSIZE;
	for (; n; n -= piece) {
		piece = next_piece(sgl, n);
		ret = fill_piece(mem, sgl, piece, dir, fill, src, fault);
		if (ret)
			return ret;
	}
	return 0;
}

/* @src is where to copy to, and moves on. */
static int copy_out(void *src, struct iov_iter *from, u32 n)
{
	u8 **dst = src;

	if (!copy_from_iter_full(*dst, n, from))
		return -EFAULT;
	*dst += n;
	return 0;
}

/**
 * rnic_sgl_copy_from() - gather the next octets
 * @mem:	the queue pair's memory
 * @sgl:	the list; moves on by @n
 * @dst:	where to copy them
 * @n:		how many
 * @fault:	what is wrong, when -EACCES is returned
 *
 * Context as for rnic_mr_get().
 *
 * Return: 0; -EACCES; -EMSGSIZE when fewer octets are left; -EFAULT.
 */
int rnic_sgl_copy_from(struct rnic_mem *mem, struct rnic_sgl *sgl, void *dst, u32 n,
		       enum rnic_mr_fault *fault)
{
	u8 *to = dst;

	return walk(mem, sgl, n, ITER_SOURCE, copy_out, &to, fault);
}

/**
 * rnic_sgl_fill() - scatter the next octets
 * @mem:	the queue pair's memory
 * @sgl:	the list; moves on by @n
 * @n:		how many
 * @fill:	writes them, piece by piece
 * @src:	passed to @fill
 * @fault:	what is wrong, when -EACCES is returned
 *
 * Context as for rnic_mr_get(). When this fails some octets may be written.
 *
 * Return: 0; -EACCES; -EMSGSIZE when there is room for fewer octets; what @fill
 * returned.
 */
int rnic_sgl_fill(struct rnic_mem *mem, struct rnic_sgl *sgl, u32 n, rnic_fill_fn fill,
		  void *src, enum rnic_mr_fault *fault)
{
	return walk(mem, sgl, n, ITER_DEST, fill, src, fault);
}
