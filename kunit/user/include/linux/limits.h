/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_LINUX_LIMITS_H
#define _SHIM_LINUX_LIMITS_H

#include_next <linux/limits.h>

#define U16_MAX		((__u16)~0U)
#define U32_MAX		((__u32)~0U)
#define U64_MAX		((__u64)~0ULL)

#endif
