// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.2, and in stable 6.1. 6.15 removed del_timer_sync() and del_timer(). */
#include <linux/timer.h>

static inline int probe(struct timer_list *timer)
{
	return timer_delete(timer) + timer_delete_sync(timer);
}
