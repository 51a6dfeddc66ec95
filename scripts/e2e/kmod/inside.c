// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of behaviour that cannot be seen from outside. The driver's own code is compiled here. Its
 * cpu_relax() does what another processor would do, and its references and steps are counted.
 *
 * - An invalidation spins for the accesses that had begun before it, and for no others.
 * - Memory becomes blocks as large as possible, not page by page, and with breaks to reschedule.
 */
#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <rdma/ib_umem.h>

/* All headers come first, so that only the driver's code sees the definitions that follow. */
#include "core/dev.h"
#include "mem/mr.h"
#include "memprobe.h"

static void meanwhile(void);
static bool take_ref(refcount_t *refs);
static bool __maybe_unused step(struct sg_dma_page_iter *it);
static void __maybe_unused take_break(void);

#undef cpu_relax
#define cpu_relax()			meanwhile()
#define refcount_inc_not_zero(refs)	take_ref(refs)
#include "mem/mr.c"
#undef refcount_inc_not_zero

#undef cond_resched
#define cond_resched()			take_break()
#define __sg_page_iter_dma_next(it)	step(it)
#include "mem/mr_reg.c"
#undef __sg_page_iter_dma_next

#define STAG		0x12345600
#define GOING_ON	0
#define INVALIDATES	1
#define COMES_LATER	2

/* The functions that this code needs of the driver's other files */
bool rnic_dev_charge(struct rnic_dev *dev, enum rnic_obj obj, struct rnic_share *share)
{
	return false;
}

void rnic_dev_uncharge(struct rnic_dev *dev, enum rnic_obj obj, struct rnic_share *share)
{
}

/* Three queue pairs, and a region of theirs */
static struct {
	struct rnic_regions regions;
	struct ib_pd pd;
	struct rnic_mr mr;
	struct rnic_mem mem[3];
	unsigned int refs;
	unsigned int spins;
} *t;

static bool take_ref(refcount_t *refs)
{
	t->refs++;
	return refcount_inc_not_zero(refs);
}

static enum rnic_mr_fault get(unsigned int who)
{
	return rnic_mr_get(&t->mem[who], STAG, 0, 0, 0);
}

/*
 * Another processor, while the invalidation spins: it registers the region anew if it can get the
 * lock, begins a second access and ends the first. Later it ends the second.
 */
static void meanwhile(void)
{
	if (!t->spins++) {
		if (spin_trylock(&t->mr.lock)) {
			spin_unlock(&t->mr.lock);
			rnic_mr_fastreg(&t->mem[COMES_LATER], &t->mr.ibmr, STAG, ALL_RIGHTS);
		}
		get(COMES_LATER);
		rnic_mr_put(&t->mem[GOING_ON]);
	} else {
		rnic_mr_put(&t->mem[COMES_LATER]);
	}
}

static int setup(void)
{
	unsigned int i;

	xa_init(&t->regions.all);
	t->mr.kind = RNIC_MR_FAST;
	t->mr.stag = STAG;
	t->mr.next_shift = PAGE_SHIFT;
	t->mr.ibmr.pd = &t->pd;
	spin_lock_init(&t->mr.lock);
	refcount_set(&t->mr.refs, 1);
	init_completion(&t->mr.idle);
	for (i = 0; i < ARRAY_SIZE(t->mem); i++) {
		t->mem[i].regions = &t->regions;
		t->mem[i].pd = &t->pd;
	}
	return xa_insert(&t->regions.all, STAG >> 8, &t->mr, GFP_KERNEL);
}

static int look(void)
{
	if (rnic_mr_fastreg(&t->mem[GOING_ON], &t->mr.ibmr, STAG, ALL_RIGHTS))
		return complain("cannot register");
	if (get(GOING_ON))
		return complain("cannot access");
	if (rnic_mr_invalidate(&t->mem[INVALIDATES], STAG, false))
		return complain("cannot invalidate");
	if (t->spins != 1)
		return complain("it waited for an access that began later");
	t->refs = 0;
	if (get(COMES_LATER) != RNIC_MR_STAG)
		return complain("an access to what is not valid");
	if (t->refs)
		return complain("a refused access has a reference, and is waited for");
	return 0;
}

int probe_spin(void)
{
	int ret;

	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	ret = setup();
	if (!ret)
		ret = look();
	xa_destroy(&t->regions.all);
	kfree(t);
	return ret;
}

/* ---- blocks ------------------------------------------------------------- */

/* User address and memory have the same lower bits, as many as the largest block has. */
#define BLOCK		SZ_2M
#define BEGIN		(0x40000000000ULL + BLOCK)
#define MEMORY		((u64)(uintptr_t)__va(SZ_512M))

static unsigned int steps, breaks;

static bool step(struct sg_dma_page_iter *it)
{
	steps++;
	return __sg_page_iter_dma_next(it);
}

static void take_break(void)
{
	breaks++;
}

/* Pinned memory: some entries, each right behind the one before */
struct pinned {
	const char *name;
	u64 skip;		/* bytes of a block before it */
	unsigned int entries;
	u64 size;		/* of each */
};

static int compare(const struct rnic_mr *mr, const struct pinned *p)
{
	u64 first = ALIGN_DOWN(MEMORY + p->skip, BLOCK), have, want;
	u64 end = MEMORY + p->skip + p->entries * p->size;
	unsigned int i;

	if (BIT_ULL(mr->blk_shift) != BLOCK)
		return complain("blocks of 2^%u", mr->blk_shift);
	if (mr->nblk != DIV_ROUND_UP_ULL(end - first, BLOCK))
		return complain("%u blocks", mr->nblk);
	for (i = 0; i < mr->nblk; i++) {
		have = (uintptr_t)bvec_virt(&mr->blk[i]);
		want = first + i * BLOCK;
		if (have != want)
			return complain("block %u at %#llx, not %#llx", i, have, want);
	}
	if (steps > mr->nblk + p->entries)
		return complain("%u steps to %u blocks", steps, mr->nblk);
	return breaks >= p->entries ? 0 : complain("%u breaks", breaks);
}

static int cut(const struct pinned *p, struct ib_umem *umem)
{
	struct scatterlist *sg;
	struct rnic_mr *mr;
	unsigned int i;
	int ret;

	for_each_sgtable_sg(&umem->sgt_append.sgt, sg, i) {
		sg_dma_address(sg) = MEMORY + p->skip + i * p->size;
		sg->length = p->size;
		sg_dma_len(sg) = p->size;
	}
	steps = 0;
	breaks = 0;
	mr = split_umem(umem);
	if (IS_ERR(mr))
		return complain("mr_of_umem: %ld", PTR_ERR(mr));
	ret = compare(mr, p);
	mr->umem = NULL;
	free_region(mr);
	return ret;
}

static int one_pinned(const struct pinned *p)
{
	struct ib_umem umem = {
		.address = BEGIN + p->skip,
		.length = p->entries * p->size,
	};
	struct sg_table *table = &umem.sgt_append.sgt;
	int ret;

	if (sg_alloc_table(table, p->entries, GFP_KERNEL))
		return -ENOMEM;
	ret = cut(p, &umem);
	sg_free_table(table);
	return ret ? complain("%s", p->name) : 0;
}

int probe_blocks(void)
{
	static const struct pinned pinned[] = {
		{ "one large entry", 0, 1, SZ_64M },
		{ "blocks that go on in the next entry", 0, 4, SZ_8M - PAGE_SIZE },
		{ "in the middle of a block", SZ_1M, 3, SZ_8M },
		{ "entries smaller than blocks", 0, 64, SZ_64K },
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(pinned) && !ret; i++)
		ret = one_pinned(&pinned[i]);
	return ret;
}
