// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory of rings, and mapping it into user space.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "core/dev.h"
#include "ring/priv.h"

/*
 * First page of the mmap offsets. SIW_INVAL_UOBJ_KEY means "no key" to the provider, but
 * rdma_user_mmap_entry_insert() could choose it as an offset.
 */
#define FIRST_PGOFF	((SIW_INVAL_UOBJ_KEY >> PAGE_SHIFT) + 1)

/**
 * struct rnic_mmap - memory that user space may map
 * @entry:	entry of ib_core, which counts the mmap() calls in progress
 * @addr:	the memory; freed with the entry
 */
struct rnic_mmap {
	struct rdma_user_mmap_entry entry;
	void *addr;
};

static int publish_rmem(struct rnic_rmem *mem, size_t size,
			struct ib_ucontext *uctx)
{
	struct rnic_mmap *map;
	int ret;

	map = kzalloc(sizeof(*map), RNIC_GFP);
	if (!map)
		return -ENOMEM;
	map->addr = mem->addr;
	ret = rdma_user_mmap_entry_insert_range(uctx, &map->entry, size,
						FIRST_PGOFF, U32_MAX);
	if (ret) {
		kfree(map);
		return ret;
	}
	mem->mmap = map;
	return 0;
}

static void free_ring_pages(struct page **pages, unsigned int num)
{
	while (num)
		__free_page(pages[--num]);
	kvfree(pages);
}

/* Allocate page by page, because vmalloc_user() does not charge the cgroup. */
static struct page **alloc_ring_pages(unsigned int num)
{
	struct page **pages = kvmalloc_array(num, sizeof(*pages), RNIC_GFP);
	unsigned int i;

	for (i = 0; pages && i < num; i++) {
		pages[i] = alloc_page(RNIC_GFP | __GFP_ZERO);
		if (!pages[i]) {
			free_ring_pages(pages, i);
			return NULL;
		}
	}
	return pages;
}

/* The flags let vfree() free the pages and remap_vmalloc_range() map them. */
static void *alloc_user_ring(size_t size)
{
	unsigned int num = PFN_UP(size);
	struct page **pages = alloc_ring_pages(num);
	void *addr;

	if (!pages)
		return NULL;
	addr = vmap(pages, num, VM_MAP | VM_USERMAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	if (!addr)
		free_ring_pages(pages, num);
	return addr;
}

/**
 * rnic_rmem_alloc() - allocate zeroed memory for a ring
 * @mem:	the memory
 * @size:	bytes
 * @uctx:	context that may map it, NULL for a kernel ring
 *
 * Charged to the caller's cgroup.
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int rnic_rmem_alloc(struct rnic_rmem *mem, size_t size,
		    struct ib_ucontext *uctx)
{
	int ret = 0;

	mem->mmap = NULL;
	mem->addr = uctx ? alloc_user_ring(size) : __vmalloc(size, RNIC_GFP | __GFP_ZERO);
	if (!mem->addr)
		return -ENOMEM;
	if (uctx)
		ret = publish_rmem(mem, size, uctx);
	if (ret) {
		vfree(mem->addr);
		mem->addr = NULL;
	}
	return ret;
}

/**
 * rnic_rmem_free() - free a ring's memory
 * @mem:	the memory; may be zeroed
 *
 * The mmap entry owns the memory of a user ring. An mmap() in progress may hold a reference to the
 * entry, and pages that are mapped are not freed before they are unmapped.
 */
void rnic_rmem_free(struct rnic_rmem *mem)
{
	if (mem->mmap)
		rdma_user_mmap_entry_remove(&mem->mmap->entry);
	else
		vfree(mem->addr);
	mem->mmap = NULL;
	mem->addr = NULL;
}

/**
 * rnic_rmem_key() - get the key of a ring for user space
 * @mem:	memory of a user ring
 *
 * Return: the offset to pass to mmap().
 */
u64 rnic_rmem_key(const struct rnic_rmem *mem)
{
	return rdma_user_mmap_get_offset(&mem->mmap->entry);
}

/**
 * rnic_rmem_mmap() - map a ring into user space
 * @uctx:	context that created it
 * @vma:	area to map it to; its offset is the key
 *
 * Return: 0 or a negative errno.
 */
int rnic_rmem_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int ret;

	entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!entry)
		return -EINVAL;
	ret = remap_vmalloc_range(vma, container_of(entry, struct rnic_mmap,
						    entry)->addr, 0);
	rdma_user_mmap_entry_put(entry);
	return ret;
}

/**
 * rnic_rmem_mmap_free() - free the memory of a mapping entry after its last reference is gone
 * @entry:	the entry
 */
void rnic_rmem_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct rnic_mmap *map = container_of(entry, struct rnic_mmap, entry);

	vfree(map->addr);
	kfree(map);
}
