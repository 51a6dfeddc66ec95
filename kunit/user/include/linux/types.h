/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User space: the kernel's short type names over the UAPI ones. */
#ifndef _SHIM_LINUX_TYPES_H
#define _SHIM_LINUX_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#ifndef __packed
#define __packed	__attribute__((__packed__))
#endif
#ifndef __aligned
#define __aligned(n)	__attribute__((__aligned__(n)))
#endif
#define __maybe_unused	__attribute__((__unused__))
#define fallthrough	__attribute__((__fallthrough__))

#define IS_ENABLED(option)	1
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define sizeof_field(t, m)	sizeof(((t *)0)->m)

#endif
