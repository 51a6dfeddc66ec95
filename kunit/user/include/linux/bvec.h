/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_LINUX_BVEC_H
#define _SHIM_LINUX_BVEC_H

#include <linux/mm.h>

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

static inline void *bvec_virt(struct bio_vec *bvec)
{
	return page_address(bvec->bv_page) + bvec->bv_offset;
}

#endif
