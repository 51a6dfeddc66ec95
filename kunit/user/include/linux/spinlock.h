/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User space: one thread, which must not take a lock twice. */
#ifndef _SHIM_LINUX_SPINLOCK_H
#define _SHIM_LINUX_SPINLOCK_H

#include <stdlib.h>

typedef struct {
	int held;
} spinlock_t;

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = 0;
}

static inline void spin_lock(spinlock_t *lock)
{
	if (lock->held++)
		abort();
}

static inline void spin_unlock(spinlock_t *lock)
{
	if (--lock->held)
		abort();
}

#endif
