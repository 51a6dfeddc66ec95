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

/**
 * rnic_sgl_next() - begin to access the next bytes
 * @mem:	the queue pair's memory; its region becomes that of the bytes
 * @sgl:	the list; moved behind the bytes
 * @access:	IB_ACCESS_* rights needed; 0 for reading
 * @addr:	set to the address of the first byte in the region
 * @n:		bytes wanted, at least 1 and at most those left in the list
 *
 * Context: as for rnic_mr_get().
 * Return: the number of bytes in one SGE, at most @n; 0 if they cannot be accessed.
 */
u32 rnic_sgl_next(struct rnic_mem *mem, struct rnic_sgl *sgl, int access, u64 *addr, u32 n)
{
	const struct rnic_sge *sge = &sgl->sge[sgl->cur];

	for (; sgl->off == sge->len; sge++) {
		sgl->cur++;
		sgl->off = 0;
	}
	n = min(n, sge->len - sgl->off);
	*addr = sge->addr + sgl->off;
	if (rnic_mr_get(mem, sge->lkey, *addr, n, access))
		return 0;
	sgl->off += n;
	sgl->left -= n;
	return n;
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
	u32 piece;
	u64 addr;

	if (n > sgl->left)
		return -EMSGSIZE;
	for (; n; n -= piece, dst += piece) {
		piece = rnic_sgl_next(mem, sgl, 0, &addr, n);
		if (!piece)
			return -EACCES;
		rnic_mr_read(mem->mr, addr, dst, piece);
	}
	return 0;
}
