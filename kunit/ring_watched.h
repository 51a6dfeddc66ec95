/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _KUNIT_RING_WATCHED_H
#define _KUNIT_RING_WATCHED_H

#include <ring/ring.h>

/* Called after each marked read in ring/user.c, of @size bytes at @at, unless NULL. */
extern void (*ring_after_read)(const void *at, size_t size);

/* For rnic_sq_init() and its like: a ring of user space, though nobody maps it. */
extern struct ib_ucontext * const ring_user;

#endif
