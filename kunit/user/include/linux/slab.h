/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_LINUX_SLAB_H
#define _SHIM_LINUX_SLAB_H

#include <linux/gfp.h>
#include <linux/kernel.h>
#include <stdlib.h>

#define kcalloc(n, size, gfp)	calloc(n, size)
#define kzalloc(size, gfp)	calloc(1, size)
#define kfree(p)		free(p)

#endif
