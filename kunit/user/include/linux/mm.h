/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User space: a page is its address. Only the page at address 0 is not mapped. */
#ifndef _SHIM_LINUX_MM_H
#define _SHIM_LINUX_MM_H

#include <linux/kernel.h>

#define PAGE_SHIFT		12
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#define PAGE_MASK		(~(PAGE_SIZE - 1))

#define offset_in_page(p)	((uintptr_t)(p) & ~PAGE_MASK)
#define virt_to_page(p)		((struct page *)((uintptr_t)(p) & PAGE_MASK))
#define page_address(page)	((void *)(page))
#define virt_addr_valid(p)	((uintptr_t)(p) >= PAGE_SIZE)

struct page;

#endif
