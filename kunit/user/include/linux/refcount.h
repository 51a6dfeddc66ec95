/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_LINUX_REFCOUNT_H
#define _SHIM_LINUX_REFCOUNT_H

#include <stdbool.h>

typedef struct {
	int refs;
} refcount_t;

#define refcount_set(r, n)		((r)->refs = (n))
#define refcount_read(r)		((r)->refs)
#define refcount_dec_and_test(r)	(!--(r)->refs)

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	if (r->refs)
		r->refs++;
	return r->refs;
}

#endif
