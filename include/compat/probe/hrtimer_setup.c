// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.13. 6.15 removed hrtimer_init(). */
#include <linux/hrtimer.h>

static inline void probe(struct hrtimer *timer, enum hrtimer_restart (*over)(struct hrtimer *))
{
	hrtimer_setup(timer, over, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}
