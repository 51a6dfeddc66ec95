// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * For whom an invalidation spins: for the accesses that went on when it began, and for nobody
 * else. The driver's own code is compiled here, with what other processors do put into its
 * cpu_relax(), and with its references counted.
 */
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>

/* All headers, so that only the driver's code sees what follows. */
#include "dev.h"
#include "memprobe.h"
#include "mr.h"
#include "verbs.h"

static void meanwhile(void);
static bool take_ref(refcount_t *refs);

#undef cpu_relax
#define cpu_relax()			meanwhile()
#define refcount_inc_not_zero(refs)	take_ref(refs)
#include "mr.c"
#undef refcount_inc_not_zero

#define STAG		0x12345600
#define GOING_ON	0
#define INVALIDATES	1
#define COMES_LATER	2

/* What mr.c needs of the other files */
void rnic_mr_free(struct rnic_mr *mr)
{
}

void rnic_dev_uncharge(struct rnic_dev *dev, enum rnic_obj obj)
{
}

/* Three queue pairs, and a region of theirs */
static struct {
	struct rnic_dev dev;
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
 * On another processor, while the invalidation spins: the region is registered anew, if the
 * lock can be had, a second access begins, and the first ends. Later the second does.
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

	xa_init(&t->dev.mrs);
	t->mr.kind = RNIC_MR_FAST;
	t->mr.stag = STAG;
	t->mr.next_shift = PAGE_SHIFT;
	t->mr.ibmr.pd = &t->pd;
	spin_lock_init(&t->mr.lock);
	refcount_set(&t->mr.refs, 1);
	init_completion(&t->mr.idle);
	for (i = 0; i < ARRAY_SIZE(t->mem); i++) {
		t->mem[i].dev = &t->dev;
		t->mem[i].pd = &t->pd;
	}
	return xa_insert(&t->dev.mrs, STAG >> 8, &t->mr, GFP_KERNEL);
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
		return complain("who has no access has a reference, and is waited for");
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
	xa_destroy(&t->dev.mrs);
	kfree(t);
	return ret;
}
