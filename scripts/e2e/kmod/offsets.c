// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The offsets of a region do not show where it is in the kernel, and still name its bytes, even if
 * the consumer sets the upper bits to any value. The capture of the scenario shows that the sink
 * of a Read is no address either, whether it is a region or is named by the local DMA key.
 */
#include <linux/slab.h>

#include "memprobe.h"

#define LEN	(2 * PAGE_SIZE)

static void fill(u8 *p, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < LEN; i++)
		p[i] = seed + i * 7 + i / PAGE_SIZE;
}

static int same(const struct region *r, const u8 *p)
{
	unsigned int i;

	for (i = 0; i < LEN; i++)
		if (*region_at(r, i) != p[i])
			return complain("byte %u is not what it was", i);
	return 0;
}

/* A local region is the sink of a Read. */
static int read_to_region(struct end *e, const struct region *sink, const struct region *source)
{
	struct ib_sge sge = {
		.addr = sink->mr->iova, .length = LEN, .lkey = sink->mr->lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = source->mr->iova,
		.rkey = source->mr->rkey,
	};

	return end_do(e, &wr.wr);
}

static int write_and_read(struct pair *p, struct region *mine, struct region *theirs, u8 *buf)
{
	u64 to = theirs->mr->iova;
	u32 key = theirs->mr->rkey;
	int ret;

	fill(buf, 3);
	ret = end_rdma(&p->a, IB_WR_RDMA_WRITE, buf, LEN, to, key);
	if (ret)
		return complain("Write: %d", ret);
	memset(buf, 0, LEN);
	ret = end_rdma(&p->a, IB_WR_RDMA_READ, buf, LEN, to, key);
	if (ret)
		return complain("Read: %d", ret);
	ret = same(theirs, buf);
	if (ret)
		return ret;
	ret = read_to_region(&p->a, mine, theirs);
	return ret ? complain("Read to a region: %d", ret) : same(mine, buf);
}

static int map_and_try(struct pair *p, struct region *mine, struct region *theirs, u64 upper)
{
	u8 *buf;
	int ret;

	if (mine->mr->iova >= PAGE_SIZE || theirs->mr->iova >= PAGE_SIZE)
		return complain("a region begins at %#llx", theirs->mr->iova);
	theirs->mr->iova |= upper;
	ret = region_reg(theirs, &p->b, ALL_RIGHTS);
	if (!ret)
		ret = region_reg(mine, &p->a, IB_ACCESS_LOCAL_WRITE);
	if (ret)
		return complain("REG_MR: %d", ret);
	buf = kmalloc(LEN, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	ret = write_and_read(p, mine, theirs, buf);
	kfree(buf);
	return ret;
}

static int with_offset(struct ib_pd *pd, u32 off, u64 upper)
{
	struct region mine = {}, theirs = {};
	struct pair p;
	int ret;

	ret = pair_open(&p, pd, pd, NULL);
	if (!ret)
		ret = region_make(&mine, pd, off);
	if (!ret)
		ret = region_make(&theirs, pd, off);
	if (!ret)
		ret = map_and_try(&p, &mine, &theirs, upper);
	pair_close(&p);
	region_free(&mine);
	region_free(&theirs);
	return ret;
}

int probe_offsets(void)
{
	struct ib_pd *pd = ib_alloc_pd(dev, 0);
	int ret;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = with_offset(pd, 0, 0);
	if (!ret)
		ret = with_offset(pd, 100, 0);
	if (!ret)
		ret = with_offset(pd, PAGE_SIZE - 1, 0x1234567800000000);
	ib_dealloc_pd(pd);
	return ret;
}
