/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_COMPAT_UNALIGNED_H
#define _SHIM_COMPAT_UNALIGNED_H

#include <linux/types.h>

static inline u16 get_unaligned_be16(const void *p)
{
	const u8 *b = p;

	return b[0] << 8 | b[1];
}

static inline u32 get_unaligned_be32(const void *p)
{
	const u8 *b = p;

	return (u32)get_unaligned_be16(b) << 16 | get_unaligned_be16(b + 2);
}

static inline u64 get_unaligned_be64(const void *p)
{
	const u8 *b = p;

	return (u64)get_unaligned_be32(b) << 32 | get_unaligned_be32(b + 4);
}

static inline u32 get_unaligned_le32(const void *p)
{
	return __builtin_bswap32(get_unaligned_be32(p));
}

static inline void put_unaligned_be16(u16 v, void *p)
{
	u8 *b = p;

	b[0] = v >> 8;
	b[1] = v;
}

static inline void put_unaligned_be32(u32 v, void *p)
{
	put_unaligned_be16(v >> 16, p);
	put_unaligned_be16(v, (u8 *)p + 2);
}

static inline void put_unaligned_be64(u64 v, void *p)
{
	put_unaligned_be32(v >> 32, p);
	put_unaligned_be32(v, (u8 *)p + 4);
}

static inline void put_unaligned_le32(u32 v, void *p)
{
	put_unaligned_be32(__builtin_bswap32(v), p);
}

#endif
