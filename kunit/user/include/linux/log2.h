/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_LINUX_LOG2_H
#define _SHIM_LINUX_LOG2_H

/* It is undefined for 0, as the kernel's. */
static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	unsigned long size = 1;

	while (size < n)
		size *= 2;
	return size;
}

#endif
