// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * STags of fast-registered regions, whose keys consumers only increment: nobody can tell index or
 * first key of a region from another one's. ../programs/stags.c tests the same for user regions.
 */
#include <linux/bitmap.h>

#include "memprobe.h"

#define REGIONS		64
#define WALK		100000
#define KEYS		256
#define FEW		2

static int make_regions(struct ib_pd *pd, struct ib_mr **mr)
{
	unsigned int i;

	for (i = 0; i < REGIONS; i++) {
		mr[i] = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 1);
		if (IS_ERR(mr[i])) {
			mr[i] = NULL;
			return complain("alloc_mr %u", i);
		}
	}
	return 0;
}

/* Each region belongs to another client, which walks from its own STag. */
static int look(struct ib_mr **mr)
{
	DECLARE_BITMAP(keys, KEYS);
	unsigned int i, hits = 0;

	bitmap_zero(keys, KEYS);
	for (i = 0; i < REGIONS; i++) {
		__set_bit(mr[i]->rkey % KEYS, keys);
		if (i && abs((int)(mr[i - 1]->rkey >> 8) - (int)(mr[i]->rkey >> 8)) <=
			 WALK / KEYS / 2)
			hits++;
	}
	if (hits > FEW)
		return complain("%u of %u clients hit the next one's region", hits, REGIONS);
	if (bitmap_weight(keys, KEYS) < REGIONS / 2)
		return complain("only %u keys", bitmap_weight(keys, KEYS));
	return 0;
}

int probe_stags(void)
{
	struct ib_mr *mr[REGIONS] = {};
	struct ib_pd *pd = ib_alloc_pd(dev, 0);
	unsigned int i;
	int ret;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = make_regions(pd, mr);
	if (!ret)
		ret = look(mr);
	for (i = 0; i < REGIONS && mr[i]; i++)
		ib_dereg_mr(mr[i]);
	ib_dealloc_pd(pd);
	return ret;
}
