/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_LINUX_ATOMIC_H
#define _SHIM_LINUX_ATOMIC_H

#include <asm/barrier.h>
#include <linux/types.h>

typedef struct {
	s64 counter;
} atomic64_t;

#define atomic64_read_acquire(v)	smp_load_acquire(&(v)->counter)
#define atomic64_inc(v)			__atomic_fetch_add(&(v)->counter, 1, __ATOMIC_RELAXED)

#endif
