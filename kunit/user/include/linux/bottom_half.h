/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User space: there are no softirqs, only a count of the calls that keep them off. */
#ifndef _SHIM_LINUX_BOTTOM_HALF_H
#define _SHIM_LINUX_BOTTOM_HALF_H

extern int shim_softirqs_off;

#define local_bh_disable()	(shim_softirqs_off++)
#define local_bh_enable()	(shim_softirqs_off--)
#define softirq_count()		shim_softirqs_off

#endif
