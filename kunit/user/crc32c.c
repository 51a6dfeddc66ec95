// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* CRC32C by table (ledger CRC-13: reflected polynomial 0x82F63B78). */
#include <linux/crc32c.h>

static u32 table[256];

static void __attribute__((__constructor__)) fill_table(void)
{
	u32 i, bit, crc;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
		table[i] = crc;
	}
}

u32 crc32c(u32 crc, const void *data, unsigned int len)
{
	const u8 *p = data;

	while (len--)
		crc = table[(crc ^ *p++) & 0xff] ^ crc >> 8;
	return crc;
}
