/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User space: definitions that most headers of the kernel bring along. */
#include <errno.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#define IS_ALIGNED(n, size)	(!((n) & ((__typeof__(n))(size) - 1)))
