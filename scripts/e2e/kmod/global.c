// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * With IB_PD_UNSAFE_GLOBAL_RKEY a peer names addresses of the kernel. An address that is no memory,
 * is not mapped or may not be written to is an access error, and the kernel lives.
 */
#include <linux/ctype.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "memprobe.h"

#define LEN		300
#define GUARD		64	/* untouched bytes on either side */

/* The local memory of Reads and Writes with the peer's key to all memory */
static u8 *local;

struct row {
	const char *name;
	enum ib_wr_opcode op;
	u64 addr;
	u32 len;
};

static int refused(struct pair *p, const struct row *row)
{
	int ret;

	ret = end_rdma(&p->a, row->op, local, row->len, row->addr, p->b.pd->unsafe_global_rkey);
	if (ret < 0)
		return ret;
	if (row->op == IB_WR_RDMA_READ && ret != IB_WC_REM_ACCESS_ERR)
		return complain("the Read ended with status %d", ret);
	ret = end_expect(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	if (ret)
		return ret;
	return READ_ONCE(p->b.failed) ? 0 : complain("no access error");
}

static int one_row(struct ib_pd *pd, const struct row *row)
{
	struct pair p;
	int ret;

	ret = pair_open(&p, pd, pd, NULL);
	if (!ret)
		ret = refused(&p, row);
	pair_close(&p);
	return ret ? complain("%s, %#llx", row->name, row->addr) : 0;
}

static int bad_addresses(struct ib_pd *pd, void *virtual)
{
	u64 none = (uintptr_t)high_memory + SZ_1G, guard = (uintptr_t)virtual + PAGE_SIZE;
	const struct row rows[] = {
		{ "Read of user memory", IB_WR_RDMA_READ, 0x10000, LEN },
		{ "Write to user memory", IB_WR_RDMA_WRITE, 0x10000, LEN },
		{ "Read of no address", IB_WR_RDMA_READ, 1ULL << 62, LEN },
		{ "Write to no address", IB_WR_RDMA_WRITE, 1ULL << 62, LEN },
		{ "Read behind all memory", IB_WR_RDMA_READ, none, LEN },
		{ "Write behind all memory", IB_WR_RDMA_WRITE, none, LEN },
		{ "Read that leaves memory", IB_WR_RDMA_READ, (uintptr_t)high_memory - 8, LEN },
		{ "Read of a guard page", IB_WR_RDMA_READ, guard, LEN },
		{ "Write to a guard page", IB_WR_RDMA_WRITE, guard, LEN },
		{ "Read of the last address", IB_WR_RDMA_READ, -(u64)LEN - 1, LEN },
		{ "Write to what is constant", IB_WR_RDMA_WRITE, (uintptr_t)lm_alias(_ctype), 8 },
	};
	unsigned int i;
	int ret = 0;

	memcpy(local, _ctype, 8);
	for (i = 0; i < ARRAY_SIZE(rows) && !ret; i++)
		ret = one_row(pd, &rows[i]);
	return ret;
}

static int compare(const u8 *there)
{
	unsigned int i;
	u8 want;

	for (i = 0; i < PAGE_SIZE; i++) {
		want = i >= GUARD && i < GUARD + LEN ? (u8)(7 * (i - GUARD)) : 0;
		if (there[i] != want)
			return complain("byte %u is %u, not %u", i, there[i], want);
	}
	return 0;
}

/* A Write and a Read of it, at any alignment */
static int good_address(struct pair *p, u8 *there, u32 shift)
{
	u32 rkey = p->b.pd->unsafe_global_rkey;
	unsigned int i;
	int ret;

	memset(there, 0, PAGE_SIZE + 8);
	for (i = 0; i < LEN; i++)
		local[i] = 7 * i;
	ret = end_rdma(&p->a, IB_WR_RDMA_WRITE, local, LEN, (uintptr_t)there + shift + GUARD,
		       rkey);
	if (ret)
		return complain("Write: %d", ret);
	memset(local, 0, PAGE_SIZE);
	ret = end_rdma(&p->a, IB_WR_RDMA_READ, local, PAGE_SIZE, (uintptr_t)there + shift, rkey);
	if (ret)
		return complain("Read: %d", ret);
	return compare(there + shift) ?: compare(local);
}

static int good_addresses(struct ib_pd *pd, u8 *there)
{
	struct pair p;
	u32 shift;
	int ret;

	ret = pair_open(&p, pd, pd, NULL);
	for (shift = 0; shift < 8 && !ret; shift++)
		ret = good_address(&p, there, shift);
	pair_close(&p);
	return ret;
}

static int with_memory(struct ib_pd *pd)
{
	void *virtual = vmalloc(PAGE_SIZE);
	int ret = -ENOMEM;
	u8 *there;

	local = (u8 *)get_zeroed_page(GFP_KERNEL);
	there = (u8 *)__get_free_pages(GFP_KERNEL, 1);
	if (virtual && local && there) {
		ret = good_addresses(pd, there);
		if (!ret)
			ret = bad_addresses(pd, virtual);
	}
	free_pages((unsigned long)there, 1);
	free_page((unsigned long)local);
	vfree(virtual);
	return ret;
}

int probe_global(void)
{
	struct ib_pd *pd = ib_alloc_pd(dev, IB_PD_UNSAFE_GLOBAL_RKEY);
	int ret;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = with_memory(pd);
	ib_dealloc_pd(pd);
	return ret;
}
