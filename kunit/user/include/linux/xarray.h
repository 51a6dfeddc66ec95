/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User space: a few entries, searched one by one. */
#ifndef _SHIM_LINUX_XARRAY_H
#define _SHIM_LINUX_XARRAY_H

#include <linux/kernel.h>

struct xarray {
	struct {
		unsigned long index;
		void *entry;
	} slot[16];
};

#define xa_init(xa)	memset(xa, 0, sizeof(*(xa)))
#define xa_destroy(xa)	xa_init(xa)

static inline void *xa_load(struct xarray *xa, unsigned long index)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(xa->slot); i++)
		if (xa->slot[i].entry && xa->slot[i].index == index)
			return xa->slot[i].entry;
	return NULL;
}

static inline void xa_erase(struct xarray *xa, unsigned long index)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(xa->slot); i++)
		if (xa->slot[i].index == index)
			xa->slot[i].entry = NULL;
}

static inline int xa_insert(struct xarray *xa, unsigned long index, void *entry, int gfp)
{
	unsigned int i;

	(void)gfp;
	if (xa_load(xa, index))
		return -EBUSY;
	for (i = 0; i < ARRAY_SIZE(xa->slot); i++)
		if (!xa->slot[i].entry) {
			xa->slot[i].index = index;
			xa->slot[i].entry = entry;
			return 0;
		}
	return -ENOMEM;
}

#endif
