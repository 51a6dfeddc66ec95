/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A second, slow MPA to compare the engine with: one byte at a time, CRC one
 * bit at a time, counting where the engine computes.
 */
#ifndef _KUNIT_MODEL_H
#define _KUNIT_MODEL_H

#include <kunit/test.h>
#include "vectors.h"

/* Exhaustive loops go through every start position in user space, where it is
 * cheap, and through every seventh in a (maybe emulated) kernel.
 */
#ifdef __KERNEL__
#define P_STEP	28
#else
#define P_STEP	4
#endif

#define MODEL_MAX	66000

u32 model_crc(const u8 *data, u32 len);

/* Write the FPDU of @ulpdu at stream position @pos; its size on the wire. */
u32 model_fpdu(u8 *out, u32 pos, const u8 *ulpdu, u32 len, bool markers);

/* Put the CRC right after bytes were tampered with. */
void model_fix_crc(u8 *fpdu, u32 size);

void model_fill(u8 *ulpdu, u32 len, enum fill fill, u32 msn);

/* The FPDU of a vector, into @out; its size. @ulpdu: MODEL_MAX bytes. */
u32 model_vector(const struct fpdu_vector *v, u8 *ulpdu, u8 *out);

/* Same numbers in every run. */
u32 model_random(u32 *state);

/* Zeroed bytes or the end of the case. */
static inline u8 *model_alloc(struct kunit *test, u32 size)
{
	u8 *p = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	return p;
}

#endif
