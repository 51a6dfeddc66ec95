/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Chunks: pages that the driver encodes FPDUs into and passes to TCP by reference.
 */
#ifndef _RNIC_CHUNK_H
#define _RNIC_CHUNK_H

#include <linux/types.h>

struct page;

/**
 * struct rnic_chunk - physically contiguous pages, filled from the front
 * @page:	the first page, with a reference; NULL for no chunk
 * @size:	in bytes
 * @fill:	bytes in use, which must not change because TCP has them
 */
struct rnic_chunk {
	struct page *page;
	u32 size;
	u32 fill;
};

bool rnic_chunk_take(struct rnic_chunk *chunk, bool big);
bool rnic_chunk_alloc(struct rnic_chunk *chunk, bool big, gfp_t gfp);
void rnic_chunk_put(struct rnic_chunk *chunk);
int rnic_chunk_init(void);
void rnic_chunk_exit(void);

#endif
