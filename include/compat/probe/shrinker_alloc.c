// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.7, which changed register_shrinker(). */
#include <linux/shrinker.h>

static inline struct shrinker *probe(void)
{
	return shrinker_alloc(0, "probe");
}
