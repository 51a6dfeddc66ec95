/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#define WRITE_ONCE(x, value)	(*(volatile __typeof__(x) *)&(x) = (value))
