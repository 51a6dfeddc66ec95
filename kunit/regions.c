// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <linux/bottom_half.h>
#include <linux/limits.h>
#include "regions.h"

int regions_init(struct kunit *test)
{
	struct regions *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	xa_init(&r->of_dev.all);
	spin_lock_init(&r->dma.lock);
	refcount_set(&r->dma.refs, 1);
	r->dma.kind = RNIC_MR_DMA;
	r->dma.len = U64_MAX;
	r->dma.access = IB_ACCESS_LOCAL_WRITE;
	r->dma.valid = true;
	r->of_dev.dma = &r->dma;
	r->pd.res.user = true;
	test->priv = r;
	return 0;
}

/* Each case ends its accesses, so that nobody keeps softirqs off. */
void regions_exit(struct kunit *test)
{
	struct regions *r = test->priv;

	if (!r)
		return;
	KUNIT_EXPECT_EQ(test, (int)softirq_count(), 0);
	KUNIT_EXPECT_EQ(test, (int)refcount_read(&r->dma.refs), 1);
	xa_destroy(&r->of_dev.all);
}

struct rnic_mem new_mem(struct kunit *test, struct ib_pd *pd)
{
	struct regions *r = test->priv;
	struct rnic_mem mem = { .regions = &r->of_dev, .pd = pd, .stream = 5 };

	return mem;
}

void new_blocks(struct kunit *test, struct bio_vec *blk, u32 num)
{
	u32 i, at;
	u8 *to;

	/* from the last to the first, so that they do not happen to be contiguous */
	for (i = num; i-- > 0;) {
		to = kunit_kzalloc(test, BLOCK, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, to);
		for (at = 0; at < BLOCK; at++)
			to[at] = byte_at(i * BLOCK + at);
		blk[i].bv_page = virt_to_page(to);
		blk[i].bv_offset = offset_in_page(to);
		blk[i].bv_len = BLOCK;
	}
}

struct rnic_mr *new_region(struct kunit *test, enum rnic_mr_kind kind, u32 stag, u64 base,
			   u64 len)
{
	struct rnic_mr *mr = kunit_kzalloc(test, sizeof(*mr), GFP_KERNEL);
	struct regions *r = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, mr);
	mr->blk = kunit_kzalloc(test, MAX_BLOCKS * sizeof(*mr->blk), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mr->blk);
	new_blocks(test, mr->blk, MAX_BLOCKS);
	spin_lock_init(&mr->lock);
	refcount_set(&mr->refs, 1);
	init_completion(&mr->idle);
	mr->kind = kind;
	mr->stag = stag;
	mr->ibmr.pd = &r->pd;
	mr->stream = 5;
	mr->access = ALL_RIGHTS;
	mr->base = base;
	mr->len = len;
	mr->blk_shift = BLOCK_SHIFT;
	mr->nblk = MAX_BLOCKS;
	mr->max_blk = MAX_BLOCKS;
	mr->valid = true;
	KUNIT_ASSERT_EQ(test, xa_insert(&r->of_dev.all, stag >> 8, mr, GFP_KERNEL), 0);
	return mr;
}

void remove_region(struct kunit *test, struct rnic_mr *mr)
{
	struct regions *r = test->priv;

	xa_erase(&r->of_dev.all, mr->stag >> 8);
	atomic64_inc(&r->of_dev.epoch);
	rnic_mr_drop(mr);
}
