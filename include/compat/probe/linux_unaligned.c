// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.12. */
#include <linux/unaligned.h>

static inline int probe(const void *p)
{
	return get_unaligned((const int *)p);
}
