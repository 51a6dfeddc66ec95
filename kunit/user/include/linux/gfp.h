/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_RETRY_MAYFAIL	0
#define __GFP_NOWARN		0
