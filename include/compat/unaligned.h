/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Unaligned access. The header moved with Linux 6.12.
 */
#ifndef _COMPAT_UNALIGNED_H
#define _COMPAT_UNALIGNED_H

#ifdef COMPAT_HAS_linux_unaligned
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* _COMPAT_UNALIGNED_H */
