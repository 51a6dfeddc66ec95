/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * High resolution timers.
 */
#ifndef _COMPAT_HRTIMER_H
#define _COMPAT_HRTIMER_H

#include <linux/hrtimer.h>

/* Initialise a timer and set its function. Since 6.13 one call does both. */
static inline void compat_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*over)(struct hrtimer *),
					clockid_t clock, enum hrtimer_mode mode)
{
#ifdef COMPAT_HAS_hrtimer_setup
	hrtimer_setup(timer, over, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = over;
#endif
}

#endif /* _COMPAT_HRTIMER_H */
