/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A device's memory regions for tests, with memory in small blocks from the heap, so that a
 * sanitizer knows the ends of each.
 */
#ifndef _KUNIT_REGIONS_H
#define _KUNIT_REGIONS_H

#include <core/regions.h>
#include <kunit/test.h>
#include <mem/mr.h>

/* Each block has 16 bytes. */
#define BLOCK_SHIFT	4
#define BLOCK		BIT(BLOCK_SHIFT)
#define MAX_BLOCKS	4

/* Rights of all kinds */
#define ALL_RIGHTS	(IB_ACCESS_LOCAL_WRITE | RNIC_REMOTE_RIGHTS)

/**
 * struct regions - a device's regions and two protection domains
 * @of_dev:	the regions
 * @dma:	the region of STag 0
 * @pd:		of a user
 * @kernel:	of a kernel consumer
 */
struct regions {
	struct rnic_regions of_dev;
	struct rnic_mr dma;
	struct ib_pd pd;
	struct ib_pd kernel;
};

/* For a suite's init and exit: test->priv is struct regions */
int regions_init(struct kunit *test);
void regions_exit(struct kunit *test);

/* A queue pair's view of memory */
struct rnic_mem new_mem(struct kunit *test, struct ib_pd *pd);
/* A region of @len bytes from @base on, which can be found by @stag, with all rights */
struct rnic_mr *new_region(struct kunit *test, enum rnic_mr_kind kind, u32 stag, u64 base,
			   u64 len);
/* Take it out of reach, as deregistration does */
void remove_region(struct kunit *test, struct rnic_mr *mr);
/* @num blocks of new memory, each byte of which is byte_at() */
void new_blocks(struct kunit *test, struct bio_vec *blk, u32 num);

/* Byte number @at of the blocks */
static inline u8 byte_at(u64 at)
{
	return at * 7 + 3;
}

#endif
