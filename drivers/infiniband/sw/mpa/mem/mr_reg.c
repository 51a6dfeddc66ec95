// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Registration and deregistration of memory regions. There are three kinds: user memory,
 * pinned by ib_umem; all kernel memory, by address; and pages that a kernel consumer names
 * with a REG_MR work request.
 *
 * A region is a list of blocks of one size, the largest that its pages allow, so that an
 * access finds its block by a shift. The device does no DMA: a DMA address of ib_core is a
 * kernel virtual address here.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_umem.h>
#include <compat/verbs.h>

#include "core/dev.h"
#include "mem/mr.h"

/* At most one of sixteen STag indexes is in use, so a random draw soon finds a free one. */
static_assert(16 * RNIC_MAX_MR <= BIT(24));

/* Block sizes that a region may have. */
#define BLOCK_SIZES	GENMASK(30, PAGE_SHIFT)

/* kvcalloc() refuses more than 2 GiB, which is the blocks of 512 GiB. RNIC_GFP does not warn. */
static struct bio_vec *alloc_blocks(u32 num)
{
	if (num <= INT_MAX / sizeof(struct bio_vec))
		return kvcalloc(num, sizeof(struct bio_vec), RNIC_GFP);
	return __vcalloc(num, sizeof(struct bio_vec), RNIC_GFP);
}

static struct rnic_mr *mr_alloc(enum rnic_mr_kind kind, u32 max_blk)
{
	struct rnic_mr *mr = kzalloc(sizeof(*mr), RNIC_GFP);

	if (!mr)
		return NULL;
	mr->kind = kind;
	mr->blk_shift = PAGE_SHIFT;
	mr->max_blk = max_blk;
	spin_lock_init(&mr->lock);
	refcount_set(&mr->refs, 1);
	init_completion(&mr->idle);
	if (!max_blk)
		return mr;
	mr->blk = alloc_blocks(max_blk);
	if (mr->blk)
		return mr;
	kfree(mr);
	return NULL;
}

/* The STag cannot be found and has no access. Context: process, because unpinning may sleep. */
static void free_region(struct rnic_mr *mr)
{
	ib_umem_release(mr->umem);
	kvfree(mr->next);
	kvfree(mr->blk);
	kfree_rcu(mr, rcu);
}

/*
 * Give the region an STag and make it reachable. The 24 bits of index and 8 of key are
 * random, because a peer must not guess other STags from its own. Index 0 is reserved for
 * STag 0, the local DMA key.
 */
static int publish_region(struct rnic_dev *dev, struct rnic_mr *mr)
{
	int ret;

	do {
		mr->stag = get_random_u32();
		mr->ibmr.lkey = mr->stag;
		mr->ibmr.rkey = mr->stag;
		ret = -EBUSY;
		if (mr->stag >> 8)
			ret = xa_insert(&dev->regions.all, mr->stag >> 8, mr, RNIC_GFP);
	} while (ret == -EBUSY);
	return ret;
}

/* Charge and publish a region; free it on failure. */
static struct ib_mr *finish_region(struct ib_pd *pd, struct rnic_mr *mr)
{
	struct rnic_dev *dev = rnic_dev(pd->device);
	int ret = -ENOMEM;

	mr->ibmr.device = pd->device;
	mr->ibmr.pd = pd;
	if (rnic_dev_charge(dev, RNIC_OBJ_MR, rnic_pd_share(pd))) {
		ret = publish_region(dev, mr);
		if (!ret)
			return &mr->ibmr;
		rnic_dev_uncharge(dev, RNIC_OBJ_MR, rnic_pd_share(pd));
	}
	free_region(mr);
	return ERR_PTR(ret);
}

static void set_all_memory(struct rnic_mr *mr, int access)
{
	mr->base = 0;
	mr->len = U64_MAX;
	mr->access = access;
	mr->valid = true;
}

/**
 * rnic_mr_get_dma() - ib_device_ops.get_dma_mr: register all kernel memory
 * @pd:		protection domain of a kernel consumer
 * @access:	IB_ACCESS_* rights to grant
 *
 * Context: process.
 * Return: the region; ERR_PTR() of -EPERM for a user's @pd, or -ENOMEM.
 */
struct ib_mr *rnic_mr_get_dma(struct ib_pd *pd, int access)
{
	struct rnic_mr *mr;

	if (!rnic_pd_is_kernel(pd))
		return ERR_PTR(-EPERM);
	mr = mr_alloc(RNIC_MR_DMA, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	set_all_memory(mr, access);
	return finish_region(pd, mr);
}

static void set_block(struct bio_vec *blk, u64 addr, u32 size)
{
	void *va = (void *)(uintptr_t)addr;

	blk->bv_page = virt_to_page(va);
	blk->bv_offset = offset_in_page(va);
	blk->bv_len = size;
}

/*
 * A block begins where the user address is a multiple of the block size, so the first may
 * begin before the memory. A block may continue in the next entry of the list, which is then
 * contiguous with this one. (ib_core's block iterator gets that wrong in older kernels.)
 */
static void set_blocks(struct rnic_mr *mr, struct ib_umem *umem, unsigned long size)
{
	u64 va = umem->address & PAGE_MASK, next = ALIGN_DOWN(va, size);
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_dma_sg(&umem->sgt_append.sgt, sg, i) {
		for (; next < va + sg_dma_len(sg); next += size)
			set_block(&mr->blk[mr->nblk++], sg_dma_address(sg) + (next - va), size);
		va += sg_dma_len(sg);
		cond_resched();
	}
}

/* Split pinned memory into blocks. */
static struct rnic_mr *split_umem(struct ib_umem *umem)
{
	unsigned long size;
	struct rnic_mr *mr;

	/* Blocks are aligned to user addresses, so any iova will do. */
	size = ib_umem_find_best_pgsz(umem, BLOCK_SIZES, umem->address);
	if (!size)
		return ERR_PTR(-EINVAL);
	mr = mr_alloc(RNIC_MR_USER, ib_umem_num_dma_blocks(umem, size));
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->blk_shift = ilog2(size);
	mr->blk_off = umem->address & (size - 1);
	set_blocks(mr, umem, size);
	mr->umem = umem;
	return mr;
}

static struct rnic_mr *pin_region(struct ib_pd *pd, u64 start, u64 len, int access)
{
	struct ib_umem *umem;
	struct rnic_mr *mr;

	/* An empty region is valid for accesses of 0 bytes only. */
	if (!len)
		return mr_alloc(RNIC_MR_USER, 0) ?: ERR_PTR(-ENOMEM);
	umem = compat_umem_get(pd->device, start, len, access);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mr = split_umem(umem);
	if (IS_ERR(mr))
		ib_umem_release(umem);
	return mr;
}

/**
 * rnic_mr_reg_user() - register user memory
 * @pd:		protection domain
 * @start:	user address
 * @len:	bytes
 * @iova:	address by which work requests and peers name @start, unless @access has
 *		IB_ZERO_BASED, which makes it 0
 * @access:	IB_ACCESS_* rights to grant
 *
 * Context: process.
 * Return: the region or an ERR_PTR().
 */
struct ib_mr *rnic_mr_reg_user(struct ib_pd *pd, u64 start, u64 len, u64 iova, int access)
{
	struct rnic_mr *mr;

	if (iova + len < iova)
		return ERR_PTR(-EINVAL);
	mr = pin_region(pd, start, len, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->base = access & IB_ZERO_BASED ? 0 : iova;
	mr->len = len;
	mr->access = access;
	mr->valid = true;
	return finish_region(pd, mr);
}

/**
 * rnic_mr_alloc() - ib_device_ops.alloc_mr: make a region for REG_MR work requests
 * @pd:		protection domain of a kernel consumer
 * @type:	IB_MR_TYPE_MEM_REG
 * @max_sg:	most pages of a registration
 *
 * Context: process.
 * Return: the region, not valid yet; ERR_PTR() of -EOPNOTSUPP, -EINVAL or -ENOMEM.
 */
struct ib_mr *rnic_mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg)
{
	struct rnic_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_sg || max_sg > RNIC_MAX_FASTREG_PAGES)
		return ERR_PTR(-EINVAL);
	mr = mr_alloc(RNIC_MR_FAST, max_sg);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->next_shift = PAGE_SHIFT;
	mr->next = kvcalloc(max_sg, sizeof(*mr->next), RNIC_GFP);
	if (!mr->next) {
		free_region(mr);
		return ERR_PTR(-ENOMEM);
	}
	return finish_region(pd, mr);
}

static int add_page(struct ib_mr *ibmr, u64 addr)
{
	struct rnic_mr *mr = container_of(ibmr, struct rnic_mr, ibmr);

	if (mr->nnext == mr->max_blk)
		return -ENOMEM;
	set_block(&mr->next[mr->nnext++], addr, ibmr->page_size);
	return 0;
}

/**
 * rnic_mr_map_sg() - ib_device_ops.map_mr_sg: set the pages of the next REG_MR
 * @ibmr:	the region; may still be valid, because consumers post its invalidation
 *		together with the REG_MR
 * @sg:		memory, mapped for DMA, which here means by kernel address
 * @nents:	its entries
 * @off:	offset into the first, may be NULL
 *
 * The iova becomes the offset in the first page, and not a kernel address, because the
 * consumer sends it to the peer. The consumer may set the higher bits before the REG_MR, as
 * NFS does.
 *
 * Context: process or softirq; the consumer calls it for one region at a time.
 * Return: the number of entries covered, or -errno.
 */
int rnic_mr_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		   unsigned int *off)
{
	struct rnic_mr *mr = container_of(ibmr, struct rnic_mr, ibmr);
	int ret;

	if (mr->kind != RNIC_MR_FAST || !is_power_of_2(ibmr->page_size))
		return -EINVAL;
	mr->nnext = 0;
	mr->next_shift = ilog2(ibmr->page_size);
	ret = ib_sg_to_pages(ibmr, sg, nents, off, add_page);
	ibmr->iova &= ibmr->page_size - 1;
	return ret;
}

/**
 * rnic_mr_dereg() - ib_device_ops.dereg_mr
 * @ibmr:	the region
 * @udata:	unused
 *
 * Removes the STag, so that no new access begins; a new epoch makes each queue pair forget
 * the region. Then waits for accesses, and frees the memory. The struct follows after an RCU
 * grace period.
 *
 * Context: process.
 * Return: 0.
 */
int rnic_mr_dereg(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct rnic_mr *mr = container_of(ibmr, struct rnic_mr, ibmr);
	struct rnic_dev *dev = rnic_dev(ibmr->device);

	xa_erase(&dev->regions.all, mr->stag >> 8);
	/* Remove the STag before the epoch changes; pairs with find_region(). */
	smp_mb__before_atomic();
	atomic64_inc(&dev->regions.epoch);
	rnic_mr_drop(mr);
	wait_for_completion(&mr->idle);
	rnic_dev_uncharge(dev, RNIC_OBJ_MR, rnic_pd_share(ibmr->pd));
	free_region(mr);
	return 0;
}

/**
 * rnic_mr_dev_init() - prepare a device for memory regions
 * @dev:	the device, not registered yet
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int rnic_mr_dev_init(struct rnic_dev *dev)
{
	/* A random index may take an xarray node of its own, so charge the caller's cgroup. */
	xa_init_flags(&dev->regions.all, XA_FLAGS_ACCOUNT);
	dev->regions.dma = mr_alloc(RNIC_MR_DMA, 0);
	if (!dev->regions.dma)
		return -ENOMEM;
	set_all_memory(dev->regions.dma, IB_ACCESS_LOCAL_WRITE);
	return 0;
}

/**
 * rnic_mr_dev_exit() - undo rnic_mr_dev_init()
 * @dev:	the device, without regions of consumers
 *
 * Context: process.
 */
void rnic_mr_dev_exit(struct rnic_dev *dev)
{
	WARN_ON(!xa_empty(&dev->regions.all));
	xa_destroy(&dev->regions.all);
	kfree(dev->regions.dma);
}
