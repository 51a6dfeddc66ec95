/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User space: division as the kernel rounds it. */
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
