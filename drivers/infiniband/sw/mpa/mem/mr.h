/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory regions. Nothing outside mr.c (mr_reg.c included) knows what kind of
 * memory is behind an STag: it asks for a reference, then for the address of each piece.
 */
#ifndef _RNIC_MR_H
#define _RNIC_MR_H

#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

/* All memory has an address of the kernel's. */
static_assert(IS_ENABLED(CONFIG_INFINIBAND_VIRT_DMA));

struct rnic_dev;

/* Rights that a region grants to peers, not to its owner */
#define RNIC_REMOTE_RIGHTS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_ATOMIC)

/**
 * enum rnic_mr_fault - why memory may not be touched
 * @RNIC_MR_OK:		it may
 * @RNIC_MR_STAG:	no such STag, wrong key, or not valid now
 * @RNIC_MR_ASSOC:	STag of another protection domain
 * @RNIC_MR_ACCESS:	right not granted
 * @RNIC_MR_BOUNDS:	not inside the region
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
 * @lock:	held by REG_MR and invalidation, so that who means the last STag does not
 *		invalidate the next, nor wait for its accesses; softirqs off
 * @valid:	may be accessed; changed by REG_MR and invalidation
 * @stag:	STag with its current key
 * @stream:	rnic_mem.stream of the connection that carried the REG_MR: its peer may
 *		invalidate the region
 * @access:	IB_ACCESS_* granted
 * @base:	first address as peers and work requests name it
 * @len:	bytes
 * @blk_shift:	log2 of the size of each block
 * @blk_off:	bytes of the first block before @base
 * @nblk:	blocks in use
 * @max_blk:	room in @blk
 * @blk:	memory in blocks of one size
 * @next:	blocks of the next REG_MR, set while the last one may be in use,
 *		kind RNIC_MR_FAST; room as in @blk
 * @nnext:	blocks in @next
 * @next_shift:	log2 of their size
 * @umem:	pinned memory, kind RNIC_MR_USER
 * @refs:	one for being reachable, one per access going on
 * @idle:	completed when @refs is 0
 * @rcu:	for freeing
 *
 * Life: rnic_mr_get() takes a reference that is only held while bytes of a burst
 * are copied, with softirqs off. Deregistering makes the STag unreachable, waits
 * for these references, and only then lets go of the memory; the struct itself
 * goes after an RCU grace period, for lookups that lost the race.
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
 * struct rnic_known - a region that need not be looked for again
 * @mr:		the region; without a reference, so there may be none any more
 * @epoch:	rnic_dev.mr_epoch when it was found: it is there while that is the same
 */
struct rnic_known {
	struct rnic_mr *mr;
	s64 epoch;
};

/**
 * struct rnic_mem - memory as a queue pair sees it
 * @dev:	its device
 * @pd:		its protection domain, or that of its shared receive queue while a receive from
 *		there is filled; each access is checked against it, also one that goes on
 * @stream:	number of the connection, unlike that of any other of the device
 * @mr:		region accessed last, with a reference and softirqs off, or NULL
 * @known:	regions found last: 0 for what needs a right, 1 to read from locally
 *
 * Neighbouring segments are mostly of one region, so the access to it lasts until
 * another is asked for, or rnic_mr_put(). That is at the end of a burst, before
 * anything that may sleep, and before an STag is invalidated.
 */
struct rnic_mem {
	struct rnic_dev *dev;
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
 * rnic_mr_is_wild() - does a peer name kernel addresses?
 * @mr:		region being accessed
 * @access:	rights that were asked for
 *
 * With IB_PD_UNSAFE_GLOBAL_RKEY it may: the region is all memory. Not each address is
 * mapped, so such an access is by rnic_mr_read_wild() and rnic_mr_write_wild() only. The
 * consumer itself names what it has mapped.
 *
 * Return: it does.
 */
static inline bool rnic_mr_is_wild(const struct rnic_mr *mr, int access)
{
	return mr->kind == RNIC_MR_DMA && access & RNIC_REMOTE_RIGHTS;
}

/**
 * rnic_mr_at() - where bytes of a region are
 * @mr:		region being accessed
 * @addr:	the first, in the range given to rnic_mr_get()
 * @n:		how many are wanted, of that range, at least 1; set to how many of them
 *		are there in one piece
 *
 * Return: their kernel address.
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
 * @dst:	where to copy
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

/* End the access, if there is one. */
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

/* Drop a reference. Whoever takes the region down waits for the last. */
static inline void rnic_mr_drop(struct rnic_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		complete(&mr->idle);
}

/* For device.c */
int rnic_mr_dev_init(struct rnic_dev *dev);
void rnic_mr_dev_exit(struct rnic_dev *dev);

#endif /* _RNIC_MR_H */
