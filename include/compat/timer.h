/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Timers.
 */
#ifndef _COMPAT_TIMER_H
#define _COMPAT_TIMER_H

#include <linux/hrtimer.h>
#include <linux/timer.h>

/* Called so since 6.2, and in stable 6.1. */
#ifndef COMPAT_HAS_timer_delete_sync
#define timer_delete(timer) del_timer(timer)
#define timer_delete_sync(timer) del_timer_sync(timer)
#endif

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

#endif /* _COMPAT_TIMER_H */
