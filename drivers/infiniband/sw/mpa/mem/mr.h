/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory regions. The other rooms do not know what kind of memory is behind an STag: they
 * start an access with rnic_mr_get(), and ask for the address of each piece.
 */
#ifndef _RNIC_MR_H
#define _RNIC_MR_H

#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

/* All memory has a kernel address, because ib_core maps nothing for DMA. */
static_assert(IS_ENABLED(CONFIG_INFINIBAND_VIRT_DMA));

struct rnic_dev;
struct rnic_regions;

/* Rights that a region grants to peers only */
#define RNIC_REMOTE_RIGHTS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_ATOMIC)

/**
 * enum rnic_mr_fault - reason to refuse an access
 * @RNIC_MR_OK:		the access is not refused
 * @RNIC_MR_STAG:	no such STag, wrong key, or not valid now
 * @RNIC_MR_ASSOC:	STag of another protection domain
 * @RNIC_MR_ACCESS:	right not granted
 * @RNIC_MR_BOUNDS:	range not inside the region
 * @RNIC_MR_WRAP:	address + length wraps
 */
enum rnic_mr_fault {
	RNIC_MR_OK,
	RNIC_MR_STAG,
	RNIC_MR_ASSOC,
	RNIC_MR_ACCESS,
	RNIC_MR_BOUNDS,
	RNIC_MR_WRAP
};

enum rnic_mr_kind {
	RNIC_MR_USER,	/* pinned user memory */
	RNIC_MR_DMA,	/* all kernel memory, by kernel address */
	RNIC_MR_FAST	/* pages chosen by a REG_MR work request */
};

/**
 * struct rnic_mr - a memory region
 * @ibmr:	what ib_core sees; lkey and rkey are both the STag
 * @kind:	kind of memory, constant
 * @lock:	held by REG_MR and invalidation, so that an invalidation of the old STag
 *		does not affect the new one; taken with softirqs off
 * @valid:	may be accessed; changed by REG_MR and invalidation under @lock
 * @stag:	STag with its current key
 * @stream:	rnic_mem.stream of the connection of the REG_MR; only its peer may invalidate
 *		the region
 * @access:	IB_ACCESS_* granted
 * @base:	first address as peers and work requests name it
 * @len:	bytes
 * @blk_shift:	log2 of the size of each block
 * @blk_off:	bytes of the first block before @base
 * @nblk:	blocks in use
 * @max_blk:	size of @blk and @next
 * @blk:	memory in blocks of one size
 * @next:	blocks of the next REG_MR, kind RNIC_MR_FAST; separate from @blk, because the
 *		consumer sets them while the region may be in use
 * @nnext:	blocks in @next
 * @next_shift:	log2 of their size
 * @umem:	pinned memory, kind RNIC_MR_USER
 * @refs:	one while the STag can be found, one per access
 * @idle:	completed when @refs is 0
 * @rcu:	frees the struct
 *
 * Deregistration removes the STag, waits for the references of accesses, and then frees the
 * memory. The struct is freed after an RCU grace period, because a lookup may still read it.
 */
struct rnic_mr {
	struct ib_mr ibmr;
	enum rnic_mr_kind kind;
	spinlock_t lock; /* see above */
	bool valid;
	u32 stag;
	u64 stream;
	int access;
	u64 base;
	u64 len;
	u8 blk_shift;
	u32 blk_off;
	u32 nblk;
	u32 max_blk;
	struct bio_vec *blk;
	struct bio_vec *next;
	u32 nnext;
	u8 next_shift;
	struct ib_umem *umem;
	refcount_t refs;
	struct completion idle;
	struct rcu_head rcu;
};

/**
 * struct rnic_known - cache of one region lookup
 * @mr:		the region, without a reference
 * @epoch:	rnic_regions.epoch at the lookup; @mr exists as long as that is unchanged
 */
struct rnic_known {
	struct rnic_mr *mr;
	s64 epoch;
};

/**
 * struct rnic_mem - memory as a queue pair sees it
 * @regions:	those of its device
 * @pd:		its protection domain, or that of its shared receive queue while a receive from
 *		there is filled; rnic_mr_get() checks each access against it
 * @stream:	number of the connection, unique in the device
 * @mr:		region being accessed, with a reference and softirqs off, or NULL
 * @known:	regions found last: [0] with rights, [1] for local reading
 *
 * An access lasts until another region is accessed or rnic_mr_put() is called, because
 * neighbouring segments mostly belong to one region. Call rnic_mr_put() at the end of a burst,
 * before sleeping, and before invalidating an STag.
 */
struct rnic_mem {
	struct rnic_regions *regions;
	struct ib_pd *pd;
	u64 stream;
	struct rnic_mr *mr;
	struct rnic_known known[2];
};

enum rnic_mr_fault rnic_mr_get(struct rnic_mem *mem, u32 stag, u64 addr, u32 len, int access);
void rnic_mr_end(struct rnic_mem *mem);
int rnic_mr_write_wild(u64 addr, const u8 *src, u32 len);
int rnic_mr_read_wild(u64 addr, void *dst, u32 len);

/**
 * rnic_mr_is_wild() - test for a region that a peer accesses by kernel addresses
 * @mr:		region being accessed
 * @access:	rights that were asked for
 *
 * With IB_PD_UNSAFE_GLOBAL_RKEY the region is all memory. An address in it may be unmapped, so
 * use rnic_mr_read_wild() and rnic_mr_write_wild() only. Local accesses need neither, because
 * the consumer names only memory that it has mapped.
 *
 * Return: true if it is such a region.
 */
static inline bool rnic_mr_is_wild(const struct rnic_mr *mr, int access)
{
	return mr->kind == RNIC_MR_DMA && access & RNIC_REMOTE_RIGHTS;
}

/**
 * rnic_mr_at() - get the kernel address of bytes in a region
 * @mr:		region being accessed
 * @addr:	the first byte, in the range given to rnic_mr_get()
 * @n:		bytes wanted, in that range, at least 1; reduced to those that are contiguous
 *
 * Return: the kernel address.
 */
static inline void *rnic_mr_at(const struct rnic_mr *mr, u64 addr, u32 *n)
{
	u64 off = addr - mr->base + mr->blk_off;
	u64 size = BIT_ULL(mr->blk_shift), skip = off & (size - 1);

	if (mr->kind == RNIC_MR_DMA)
		return (void *)(uintptr_t)addr;
	*n = min_t(u64, *n, size - skip);
	return bvec_virt(&mr->blk[off >> mr->blk_shift]) + skip;
}

/**
 * rnic_mr_read() - copy from a region
 * @mr:		region being accessed
 * @addr:	first byte, in the range given to rnic_mr_get()
 * @dst:	destination
 * @len:	bytes, in that range
 */
static inline void rnic_mr_read(const struct rnic_mr *mr, u64 addr, void *dst, u32 len)
{
	const void *at;
	u32 n;

	for (; len; addr += n, dst += n, len -= n) {
		n = len;
		at = rnic_mr_at(mr, addr, &n);
		memcpy(dst, at, n);
	}
}

/* End the access, if there is one. Context: as for rnic_mr_get(). */
static inline void rnic_mr_put(struct rnic_mem *mem)
{
	if (mem->mr)
		rnic_mr_end(mem);
}

int rnic_mr_fastreg(struct rnic_mem *mem, const struct ib_mr *ibmr, u32 key, int access);
int rnic_mr_invalidate(struct rnic_mem *mem, u32 stag, bool remote);

/* ib_device_ops */
struct ib_mr *rnic_mr_get_dma(struct ib_pd *pd, int access);
struct ib_mr *rnic_mr_reg_user(struct ib_pd *pd, u64 start, u64 len, u64 iova,
			       int access);
struct ib_mr *rnic_mr_alloc(struct ib_pd *pd, enum ib_mr_type type,
			    u32 max_sg);
int rnic_mr_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		   unsigned int *off);
int rnic_mr_dereg(struct ib_mr *ibmr, struct ib_udata *udata);

/* Drop a reference. rnic_mr_dereg() waits for the last. Context: any. */
static inline void rnic_mr_drop(struct rnic_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		complete(&mr->idle);
}

/* Used by device.c */
int rnic_mr_dev_init(struct rnic_dev *dev);
void rnic_mr_dev_exit(struct rnic_dev *dev);

#endif /* _RNIC_MR_H */
