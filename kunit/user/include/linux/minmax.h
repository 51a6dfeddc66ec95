/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User space: as strict about types as the kernel's of 6.1. */
#ifndef _SHIM_LINUX_MINMAX_H
#define _SHIM_LINUX_MINMAX_H

#define shim_pick(a, b, op) ({			\
	__typeof__(a) a_ = (a);			\
	__typeof__(b) b_ = (b);			\
	(void)(&a_ == &b_);			\
	a_ op b_ ? a_ : b_; })

#define min(a, b)	shim_pick(a, b, <)
#define max(a, b)	shim_pick(a, b, >)
#define min_t(t, a, b)	min((t)(a), (t)(b))
#define max_t(t, a, b)	max((t)(a), (t)(b))

#endif
