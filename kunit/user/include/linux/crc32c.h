/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User space: the raw CRC32C register over some bytes, as libcrc32c has it. */
#ifndef _SHIM_LINUX_CRC32C_H
#define _SHIM_LINUX_CRC32C_H

#include <linux/types.h>

u32 crc32c(u32 crc, const void *data, unsigned int len);

#endif
