// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mem/mr.c: the accesses that an STag allows and refuses (RFC 5040 section 7.2, RFC 5041 sections
 * 7.1 and 8.2), the place of the bytes, fast registration, and invalidation (RFC 5040 section 7.2).
 */
#include <linux/bottom_half.h>
#include <linux/limits.h>
#include "regions.h"
#include "suites.h"

#define STAG	0x00123456u
#define BASE	0x7000000ff0ULL

/* Begin an access, and end it again. */
static enum rnic_mr_fault look(struct rnic_mem *mem, u32 stag, u64 addr, u32 len, int access)
{
	enum rnic_mr_fault fault = rnic_mr_get(mem, stag, addr, len, access);

	rnic_mr_put(mem);
	return fault;
}

/* Only the whole STag finds a region: its index and its key. */
static void stags(struct kunit *test)
{
	struct regions *r = test->priv;
	struct rnic_mem mem = new_mem(test, &r->pd);
	struct rnic_mr *mr = new_region(test, RNIC_MR_USER, STAG, BASE, 64);
	u32 key, bit;

	for (key = 0; key < 256; key++)
		KUNIT_EXPECT_EQ(test, look(&mem, (STAG & ~0xffu) | key, BASE, 1, 0),
				key == (STAG & 0xff) ? RNIC_MR_OK : RNIC_MR_STAG);
	for (bit = 0; bit < 32; bit++)
		KUNIT_EXPECT_EQ(test, look(&mem, STAG ^ 1u << bit, BASE, 1, 0), RNIC_MR_STAG);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG & 0xff, BASE, 1, 0), RNIC_MR_STAG);
	/* not while it is invalid, or once it is being deregistered */
	mr->valid = false;
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE, 1, 0), RNIC_MR_STAG);
	mr->valid = true;
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE, 1, 0), RNIC_MR_OK);
	rnic_mr_drop(mr);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE, 1, 0), RNIC_MR_STAG);
	KUNIT_EXPECT_EQ(test, (int)softirq_count(), 0);
}

/* STag 0 is all memory, for kernel consumers, and never for a peer. */
static void stag_zero(struct kunit *test)
{
	struct regions *r = test->priv;
	struct rnic_mem user = new_mem(test, &r->pd);
	struct rnic_mem kernel = new_mem(test, &r->kernel);
	u64 addr = (uintptr_t)r;
	int access;

	for (access = 0; access <= ALL_RIGHTS; access++) {
		KUNIT_EXPECT_EQ(test, look(&user, 0, addr, 8, access), RNIC_MR_STAG);
		KUNIT_EXPECT_EQ(test, look(&kernel, 0, addr, 8, access),
				access & ~IB_ACCESS_LOCAL_WRITE ? RNIC_MR_STAG : RNIC_MR_OK);
		/* nor in the middle of an access that is right */
		KUNIT_EXPECT_EQ(test, rnic_mr_get(&kernel, 0, addr, 8, 0), RNIC_MR_OK);
		KUNIT_EXPECT_EQ(test, rnic_mr_get(&kernel, 0, addr, 8, access),
				access & ~IB_ACCESS_LOCAL_WRITE ? RNIC_MR_STAG : RNIC_MR_OK);
		rnic_mr_put(&kernel);
	}
}

/* Every set of rights granted by every set asked for. */
static void rights(struct kunit *test)
{
	struct regions *r = test->priv;
	struct rnic_mem mem = new_mem(test, &r->pd);
	struct rnic_mr *mr = new_region(test, RNIC_MR_USER, STAG, BASE, 64);
	int granted, asked, bit;

	for (granted = 0; granted <= ALL_RIGHTS; granted++) {
		for (asked = 0; asked <= ALL_RIGHTS; asked++) {
			enum rnic_mr_fault expected = RNIC_MR_OK;

			for (bit = 1; bit <= ALL_RIGHTS; bit <<= 1)
				if (asked & bit && !(granted & bit))
					expected = RNIC_MR_ACCESS;
			mr->access = granted;
			KUNIT_EXPECT_EQ_MSG(test, look(&mem, STAG, BASE, 1, asked), expected,
					    "%x of %x", asked, granted);
		}
	}
}

/* Counts in steps of a byte: the range wraps, or a byte of it is outside. */
static enum rnic_mr_fault model_bounds(u64 base, u64 size, u64 addr, u32 len)
{
	enum rnic_mr_fault fault = RNIC_MR_OK;
	u64 off;
	u32 i;

	for (i = 1; i <= len; i++)
		if (addr + i == 0)
			return RNIC_MR_WRAP;
	for (off = 0; off < size && base + off != addr; off++)
		;
	/* behind the last byte there is room for none */
	if (base + off != addr || off + len > size)
		fault = RNIC_MR_BOUNDS;
	return fault;
}

/* All ranges at and across both ends, at both ends of the address space, too. */
static void bounds(struct kunit *test)
{
	static const u64 bases[] = { 0, 1, 7, BASE, U64_MAX - 40, U64_MAX - 16, U64_MAX - 4 };
	struct regions *r = test->priv;
	struct rnic_mem mem = new_mem(test, &r->pd);
	struct rnic_mr *mr = new_region(test, RNIC_MR_USER, STAG, 0, 0);
	u32 i, size, len;
	u64 addr;

	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		for (size = 0; size <= 17 && bases[i] + size >= bases[i]; size++) {
			mr->base = bases[i];
			mr->len = size;
			for (addr = bases[i] - 3; addr != bases[i] + size + 4; addr++)
				for (len = 0; len <= size + 6; len++)
					KUNIT_EXPECT_EQ_MSG(test, look(&mem, STAG, addr, len, 0),
							    model_bounds(bases[i], size, addr,
									 len),
							    "%llu+%u in %llu+%u", addr, len,
							    bases[i], size);
		}
	}
	/* the longest range */
	mr->base = BASE;
	mr->len = (u64)U32_MAX + 1;
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE, U32_MAX, 0), RNIC_MR_OK);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE + 1, U32_MAX, 0), RNIC_MR_OK);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE + 2, U32_MAX, 0), RNIC_MR_BOUNDS);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE - 1, U32_MAX, 0), RNIC_MR_BOUNDS);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, U64_MAX - U32_MAX, U32_MAX, 0), RNIC_MR_BOUNDS);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, U64_MAX - U32_MAX + 1, U32_MAX, 0), RNIC_MR_WRAP);
}

/* The first failure is reported: STag, protection domain, rights, wrap, bounds. */
static void first_failure(struct kunit *test)
{
	struct regions *r = test->priv;
	struct rnic_mem mem = new_mem(test, &r->kernel);
	struct rnic_mr *mr = new_region(test, RNIC_MR_USER, STAG, BASE, 64);
	u64 wraps = U64_MAX - 1;

	mr->access = 0;
	mr->valid = false;
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, wraps, 4, 1), RNIC_MR_STAG);
	mr->valid = true;
	KUNIT_EXPECT_EQ(test, look(&mem, STAG ^ 1, wraps, 4, 1), RNIC_MR_STAG);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, wraps, 4, 1), RNIC_MR_ASSOC);
	mem.pd = &r->pd;
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, wraps, 4, 1), RNIC_MR_ACCESS);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, wraps, 4, 0), RNIC_MR_WRAP);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, wraps, 1, 0), RNIC_MR_BOUNDS);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE, 64, 0), RNIC_MR_OK);
	/* no byte still needs STag, domain, rights and an address in or behind the region */
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE + 64, 0, 0), RNIC_MR_OK);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE + 65, 0, 0), RNIC_MR_BOUNDS);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE, 0, 1), RNIC_MR_ACCESS);
}

/* A burst: one reference and softirqs off, over all its segments, checked at each. */
static void accesses(struct kunit *test)
{
	struct regions *r = test->priv;
	struct rnic_mem mem = new_mem(test, &r->pd);
	struct rnic_mr *one = new_region(test, RNIC_MR_USER, STAG, BASE, 64);
	struct rnic_mr *two = new_region(test, RNIC_MR_USER, STAG + 0x100, 0, 64);
	int i;

	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, rnic_mr_get(&mem, STAG, BASE + i, 8, 1), RNIC_MR_OK);
		KUNIT_EXPECT_PTR_EQ(test, mem.mr, one);
		KUNIT_EXPECT_EQ(test, (int)refcount_read(&one->refs), 2);
		KUNIT_EXPECT_NE(test, (int)softirq_count(), 0);
	}
	/* another region ends it */
	KUNIT_EXPECT_EQ(test, rnic_mr_get(&mem, STAG + 0x100, 0, 8, 1), RNIC_MR_OK);
	KUNIT_EXPECT_PTR_EQ(test, mem.mr, two);
	KUNIT_EXPECT_EQ(test, (int)refcount_read(&one->refs), 1);
	KUNIT_EXPECT_EQ(test, (int)refcount_read(&two->refs), 2);
	/* so does a fault of any kind */
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, rnic_mr_get(&mem, STAG, BASE, 8, 1), RNIC_MR_OK);
		KUNIT_EXPECT_NE(test, (int)rnic_mr_get(&mem, i ? STAG : STAG + 1,
						       i == 1 ? BASE + 64 : BASE, 8,
						       i == 2 ? BIT(20) : 1), (int)RNIC_MR_OK);
		KUNIT_EXPECT_PTR_EQ(test, mem.mr, NULL);
		KUNIT_EXPECT_EQ(test, (int)refcount_read(&one->refs), 1);
		KUNIT_EXPECT_EQ(test, (int)softirq_count(), 0);
	}
	/* a region that becomes invalid meanwhile */
	KUNIT_EXPECT_EQ(test, rnic_mr_get(&mem, STAG, BASE, 8, 1), RNIC_MR_OK);
	one->valid = false;
	KUNIT_EXPECT_EQ(test, rnic_mr_get(&mem, STAG, BASE, 8, 1), RNIC_MR_STAG);
	KUNIT_EXPECT_PTR_EQ(test, mem.mr, NULL);
	/* deregistration waits for the last reference */
	KUNIT_EXPECT_EQ(test, rnic_mr_get(&mem, STAG + 0x100, 0, 8, 1), RNIC_MR_OK);
	remove_region(test, two);
	KUNIT_EXPECT_FALSE(test, completion_done(&two->idle));
	rnic_mr_put(&mem);
	KUNIT_EXPECT_TRUE(test, completion_done(&two->idle));
}

/* A region that was found last is not found after its deregistration, but its successor is. */
static void found_last(struct kunit *test)
{
	struct regions *r = test->priv;
	struct rnic_mem mem = new_mem(test, &r->pd);
	struct rnic_mr *old = new_region(test, RNIC_MR_USER, STAG, BASE, 64), *new;
	int access;

	for (access = 0; access < 2; access++)
		KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE, 1, access), RNIC_MR_OK);
	remove_region(test, old);
	/* as if its struct were in use again */
	refcount_set(&old->refs, 1);
	for (access = 0; access < 2; access++)
		KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE, 1, access), RNIC_MR_STAG);
	new = new_region(test, RNIC_MR_USER, STAG, 0, 64);
	for (access = 0; access < 2; access++) {
		KUNIT_EXPECT_EQ(test, rnic_mr_get(&mem, STAG, 0, 1, access), RNIC_MR_OK);
		KUNIT_EXPECT_PTR_EQ(test, mem.mr, new);
		rnic_mr_put(&mem);
	}
	/* nor by a key that it no longer has */
	new->stag++;
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, 0, 1, 1), RNIC_MR_STAG);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG + 1, 0, 1, 1), RNIC_MR_OK);
	/* and not searched again until something is deregistered */
	for (access = 0; access < 2; access++)
		KUNIT_EXPECT_EQ(test, look(&mem, STAG + 1, 0, 1, access), RNIC_MR_OK);
	xa_erase(&r->of_dev.all, STAG >> 8);
	for (access = 0; access < 2; access++)
		KUNIT_EXPECT_EQ(test, look(&mem, STAG + 1, 0, 1, access), RNIC_MR_OK);
	atomic64_inc(&r->of_dev.epoch);
	for (access = 0; access < 2; access++)
		KUNIT_EXPECT_EQ(test, look(&mem, STAG + 1, 0, 1, access), RNIC_MR_STAG);
}

/* Every range of a region that begins anywhere in its first block. */
static void blocks(struct kunit *test)
{
	struct rnic_mr *mr = new_region(test, RNIC_MR_USER, STAG, BASE + 3, 64);
	u8 got[MAX_BLOCKS * BLOCK + 1], expected[MAX_BLOCKS * BLOCK];
	u32 off, at, len, i, n, whole;

	for (i = 0; i < sizeof(expected); i++)
		expected[i] = byte_at(i);
	for (mr->blk_off = 0; mr->blk_off < BLOCK; mr->blk_off++) {
		mr->len = MAX_BLOCKS * BLOCK - mr->blk_off;
		for (off = 0; off < mr->len; off++) {
			at = mr->blk_off + off;
			for (len = 1; len <= mr->len - off; len++) {
				memset(got, 0, sizeof(got));
				rnic_mr_read(mr, mr->base + off, got, len);
				KUNIT_EXPECT_TRUE(test, !memcmp(got, expected + at, len));
				KUNIT_EXPECT_EQ(test, got[len], 0);
				/* a piece ends with its block */
				n = len;
				KUNIT_EXPECT_EQ(test, *(u8 *)rnic_mr_at(mr, mr->base + off, &n),
						byte_at(at));
				whole = BLOCK - at % BLOCK;
				KUNIT_EXPECT_EQ(test, n, min(len, whole));
			}
		}
	}
}

/* All memory, by address: no blocks, and a peer reaches only memory that exists. */
static void all_memory(struct kunit *test)
{
	struct regions *r = test->priv;
	struct rnic_mem mem = new_mem(test, &r->kernel);
	struct rnic_mr *mr = new_region(test, RNIC_MR_DMA, STAG, 0, U64_MAX);
	u8 *pages = kunit_kzalloc(test, 4 * PAGE_SIZE, GFP_KERNEL), got[40];
	u64 addr = (uintptr_t)pages, from;
	u32 n = 4 * PAGE_SIZE, i;

	KUNIT_ASSERT_NOT_NULL(test, pages);
	mr->ibmr.pd = &r->kernel;
	KUNIT_EXPECT_EQ(test, rnic_mr_get(&mem, STAG, addr, n, IB_ACCESS_REMOTE_WRITE), RNIC_MR_OK);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)rnic_mr_at(mr, addr, &n), pages);
	KUNIT_EXPECT_EQ(test, n, (u32)(4 * PAGE_SIZE));
	rnic_mr_put(&mem);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, addr, 0, IB_ACCESS_REMOTE_READ), RNIC_MR_OK);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, 0, 0, IB_ACCESS_REMOTE_READ), RNIC_MR_BOUNDS);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, 0, 8, IB_ACCESS_REMOTE_WRITE), RNIC_MR_BOUNDS);
	/* the consumer itself may name any address, because it names only what it has mapped */
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, 0, 8, IB_ACCESS_LOCAL_WRITE), RNIC_MR_OK);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, U64_MAX, 1, 0), RNIC_MR_WRAP);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, U64_MAX, 0, 0), RNIC_MR_OK);
	/* read across the end of a page */
	for (i = 0; i < n; i++)
		pages[i] = byte_at(i);
	for (i = 0; i <= sizeof(got); i++) {
		from = (addr | ~PAGE_MASK) + 1 + PAGE_SIZE - addr - i;
		KUNIT_EXPECT_EQ(test, rnic_mr_read_wild(addr + from, got, sizeof(got)), 0);
		KUNIT_EXPECT_TRUE(test, !memcmp(got, pages + from, sizeof(got)));
	}
	KUNIT_EXPECT_EQ(test, rnic_mr_read_wild(0, got, 8), -EFAULT);
	KUNIT_EXPECT_EQ(test, rnic_mr_write_wild(0, got, 8), -EFAULT);
	KUNIT_EXPECT_TRUE(test, rnic_mr_is_wild(mr, IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_FALSE(test, rnic_mr_is_wild(mr, IB_ACCESS_LOCAL_WRITE));
	mr->kind = RNIC_MR_USER;
	KUNIT_EXPECT_FALSE(test, rnic_mr_is_wild(mr, IB_ACCESS_REMOTE_READ));
}

/* Every alignment and length; the bytes beside it stay. */
static void write_wild(struct kunit *test)
{
	u8 *to = kunit_kzalloc(test, 64, GFP_KERNEL), *from = kunit_kzalloc(test, 64, GFP_KERNEL);
	u32 to_off, from_off, len, i;

	KUNIT_ASSERT_TRUE(test, to && from);
	for (i = 0; i < 64; i++)
		from[i] = byte_at(i) | 1;
	for (to_off = 0; to_off < 9; to_off++) {
		for (from_off = 0; from_off < 9; from_off++) {
			for (len = 0; len <= 33; len++) {
				memset(to, 0, 64);
				KUNIT_EXPECT_EQ(test, rnic_mr_write_wild((uintptr_t)to + to_off,
									 from + from_off, len), 0);
				KUNIT_EXPECT_TRUE(test, !memcmp(to + to_off, from + from_off,
								len));
				KUNIT_EXPECT_EQ(test, to[to_off + len], 0);
				KUNIT_EXPECT_TRUE(test, !to_off || !to[to_off - 1]);
			}
		}
	}
}

/* A region for REG_MR, whose next blocks are set, but not registered */
static struct rnic_mr *new_fast(struct kunit *test, u32 nnext)
{
	struct rnic_mr *mr = new_region(test, RNIC_MR_FAST, STAG, 0, 0);

	memset(mr->blk, 0, MAX_BLOCKS * sizeof(*mr->blk));
	mr->nblk = 0;
	mr->access = 0;
	mr->stream = 0;
	mr->valid = false;
	mr->next = kunit_kzalloc(test, MAX_BLOCKS * sizeof(*mr->next), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mr->next);
	new_blocks(test, mr->next, MAX_BLOCKS);
	mr->next_shift = BLOCK_SHIFT;
	mr->nnext = nnext;
	return mr;
}

/* Every length by every offset in the first block: it is refused if its blocks are too few. */
static void fastreg_room(struct kunit *test)
{
	struct regions *r = test->priv;
	struct rnic_mem mem = new_mem(test, &r->pd);
	struct rnic_mr *mr = new_fast(test, 0);
	u8 got[MAX_BLOCKS * BLOCK];
	u32 off, len, i;

	for (mr->nnext = 0; mr->nnext <= MAX_BLOCKS; mr->nnext++) {
		for (off = 0; off < BLOCK; off++) {
			for (len = 0; len <= (MAX_BLOCKS + 1) * BLOCK; len++) {
				bool fits = off + len <= mr->nnext * BLOCK;

				mr->ibmr.iova = 0x1230 + off;
				mr->ibmr.length = len;
				KUNIT_EXPECT_EQ(test, rnic_mr_fastreg(&mem, &mr->ibmr, STAG, 0),
						fits ? 0 : -EINVAL);
				KUNIT_EXPECT_EQ(test, mr->valid, fits);
				if (!fits)
					continue;
				KUNIT_EXPECT_EQ(test, look(&mem, STAG, 0x1230 + off, len + 1, 0),
						RNIC_MR_BOUNDS);
				KUNIT_EXPECT_EQ(test, rnic_mr_get(&mem, STAG, 0x1230 + off, len,
								  0), RNIC_MR_OK);
				rnic_mr_read(mr, mr->base, got, len);
				for (i = 0; i < len; i++)
					KUNIT_EXPECT_EQ(test, got[i], byte_at(off + i));
				rnic_mr_put(&mem);
				mr->valid = false;
			}
		}
	}
	/* a length that is small modulo 2^64 with the offset */
	mr->nnext = MAX_BLOCKS;
	mr->ibmr.iova = 15;
	mr->ibmr.length = U64_MAX - 14;
	KUNIT_EXPECT_EQ(test, rnic_mr_fastreg(&mem, &mr->ibmr, STAG, 0), -EINVAL);
	/* at the end of the address space no range may reach 2^64 */
	mr->ibmr.iova = U64_MAX - 15;
	mr->ibmr.length = 16;
	KUNIT_EXPECT_EQ(test, rnic_mr_fastreg(&mem, &mr->ibmr, STAG, 0), 0);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, U64_MAX - 15, 15, 0), RNIC_MR_OK);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, U64_MAX - 15, 16, 0), RNIC_MR_WRAP);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, 0, 0, 0), RNIC_MR_BOUNDS);
}

static void fastreg(struct kunit *test)
{
	struct regions *r = test->priv;
	struct rnic_mem mem = new_mem(test, &r->pd), other = new_mem(test, &r->kernel);
	struct rnic_mr *mr = new_fast(test, 1);
	struct ib_mr stranger = mr->ibmr;
	u8 byte;

	mr->ibmr.length = BLOCK;
	mr->ibmr.iova = BASE;
	/* not by another's domain, another's struct, or an index that is free */
	KUNIT_EXPECT_EQ(test, rnic_mr_fastreg(&other, &mr->ibmr, STAG, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, rnic_mr_fastreg(&mem, &stranger, STAG, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, rnic_mr_fastreg(&mem, &mr->ibmr, STAG + 0x100, 0), -EINVAL);
	/* nor one of another kind, or without its last reference */
	mr->kind = RNIC_MR_USER;
	KUNIT_EXPECT_EQ(test, rnic_mr_fastreg(&mem, &mr->ibmr, STAG, 0), -EINVAL);
	mr->kind = RNIC_MR_FAST;
	refcount_set(&mr->refs, 0);
	KUNIT_EXPECT_EQ(test, rnic_mr_fastreg(&mem, &mr->ibmr, STAG, 0), -EINVAL);
	refcount_set(&mr->refs, 1);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE, 1, 0), RNIC_MR_STAG);
	/* with another key, which is the only one from now on */
	KUNIT_EXPECT_EQ(test, rnic_mr_fastreg(&mem, &mr->ibmr, STAG + 1, IB_ACCESS_REMOTE_READ), 0);
	KUNIT_EXPECT_EQ(test, (int)refcount_read(&mr->refs), 1);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG, BASE, 1, 0), RNIC_MR_STAG);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG + 1, BASE, 1, IB_ACCESS_REMOTE_READ), RNIC_MR_OK);
	KUNIT_EXPECT_EQ(test, look(&mem, STAG + 1, BASE, 1, IB_ACCESS_REMOTE_WRITE),
			RNIC_MR_ACCESS);
	KUNIT_EXPECT_EQ(test, mr->stream, mem.stream);
	/* once only; and blocks that are set for the next time are not in use yet */
	mr->next[0] = mr->next[1];
	mr->ibmr.iova += BLOCK;
	KUNIT_EXPECT_EQ(test, rnic_mr_fastreg(&mem, &mr->ibmr, STAG + 2, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, rnic_mr_get(&mem, STAG + 1, BASE, 1, 0), RNIC_MR_OK);
	rnic_mr_read(mr, BASE, &byte, 1);
	KUNIT_EXPECT_EQ(test, byte, byte_at(0));
	/* an invalidation ends the access of the queue pair that asks for it */
	KUNIT_EXPECT_EQ(test, rnic_mr_invalidate(&mem, STAG + 1, false), 0);
	KUNIT_EXPECT_PTR_EQ(test, mem.mr, NULL);
	mr->ibmr.iova -= BLOCK;
	KUNIT_EXPECT_EQ(test, rnic_mr_fastreg(&mem, &mr->ibmr, STAG, 0), 0);
	rnic_mr_read(mr, BASE, &byte, 1);
	KUNIT_EXPECT_EQ(test, byte, byte_at(BLOCK));
}

/* All mixtures of the conditions for an invalidation, by the consumer and by a peer. */
static void invalidation(struct kunit *test)
{
	struct regions *r = test->priv;
	struct rnic_mr *mr = new_fast(test, 1);
	u32 mix;

	for (mix = 0; mix < 128; mix++) {
		bool key = mix & 1, pd = mix & 2, fast = mix & 4, remote = mix & 8;
		bool valid = mix & 16, own = mix & 32, granted = mix & 64;
		struct rnic_mem mem = new_mem(test, pd ? &r->pd : &r->kernel);
		int expected = 0;

		mr->kind = fast ? RNIC_MR_FAST : RNIC_MR_USER;
		mr->valid = valid;
		mr->stream = own ? mem.stream : mem.stream + 1;
		mr->access = granted ? IB_ACCESS_REMOTE_READ : IB_ACCESS_LOCAL_WRITE;
		if (!key)
			expected = -EINVAL;
		else if (!pd)
			expected = -EPERM;
		else if (!fast || (remote && !(valid && own && granted)))
			expected = -EACCES;
		KUNIT_EXPECT_EQ_MSG(test, rnic_mr_invalidate(&mem, key ? STAG : STAG + 1, remote),
				    expected, "%x", mix);
		KUNIT_EXPECT_EQ_MSG(test, mr->valid, expected ? valid : false, "%x", mix);
	}
	/* each right that a peer has is enough */
	for (mix = IB_ACCESS_REMOTE_WRITE; mix <= IB_ACCESS_REMOTE_ATOMIC; mix <<= 1) {
		struct rnic_mem mem = new_mem(test, &r->pd);

		mr->kind = RNIC_MR_FAST;
		mr->valid = true;
		mr->stream = mem.stream;
		mr->access = mix;
		KUNIT_EXPECT_EQ(test, rnic_mr_invalidate(&mem, 0, true), -EINVAL);
		KUNIT_EXPECT_EQ(test, rnic_mr_invalidate(&mem, STAG ^ 0x100, true), -EINVAL);
		KUNIT_EXPECT_EQ(test, rnic_mr_invalidate(&mem, STAG, true), 0);
		KUNIT_EXPECT_EQ(test, look(&mem, STAG, 0, 0, 0), RNIC_MR_STAG);
		KUNIT_EXPECT_EQ(test, rnic_mr_invalidate(&mem, STAG, true), -EACCES);
		KUNIT_EXPECT_EQ(test, rnic_mr_invalidate(&mem, STAG, false), 0);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(stags),
	KUNIT_CASE(stag_zero),
	KUNIT_CASE(rights),
	KUNIT_CASE(bounds),
	KUNIT_CASE(first_failure),
	KUNIT_CASE(accesses),
	KUNIT_CASE(found_last),
	KUNIT_CASE(blocks),
	KUNIT_CASE(all_memory),
	KUNIT_CASE(write_wild),
	KUNIT_CASE(fastreg_room),
	KUNIT_CASE(fastreg),
	KUNIT_CASE(invalidation),
	{}
};

struct kunit_suite mem_mr_suite = {
	.name = "mem_mr",
	.init = regions_init,
	.exit = regions_exit,
	.test_cases = cases
};
