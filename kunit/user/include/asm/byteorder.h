/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_ASM_BYTEORDER_H
#define _SHIM_ASM_BYTEORDER_H

#include_next <asm/byteorder.h>

#define cpu_to_be16(v)	__cpu_to_be16(v)
#define cpu_to_be32(v)	__cpu_to_be32(v)
#define cpu_to_be64(v)	__cpu_to_be64(v)
#define be16_to_cpu(v)	__be16_to_cpu(v)
#define be32_to_cpu(v)	__be32_to_cpu(v)
#define be64_to_cpu(v)	__be64_to_cpu(v)
#define cpu_to_le32(v)	__cpu_to_le32(v)
#define le32_to_cpu(v)	__le32_to_cpu(v)

#endif
