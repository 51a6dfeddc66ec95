// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* seeds DIR: writes the ledger's vectors as first inputs of the fuzzers. */
#include <stdio.h>
#include <string.h>
#include "model.h"

static u8 ulpdu[MODEL_MAX], wire[MODEL_MAX];

static void put(const char *dir, const char *fuzzer, const char *name,
		const void *head, u32 head_len, const void *body, u32 len)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", dir, fuzzer, name);
	f = fopen(path, "wb");
	if (!f || fwrite(head, 1, head_len, f) != head_len || fwrite(body, 1, len, f) != len)
		perror(path);
	if (f)
		fclose(f);
}

static void rx_seeds(const char *dir)
{
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];
		u8 head[4] = { 6 | v->markers, v->pos / 4, i, 0 };

		len = model_vector(v, ulpdu, wire);
		if (len < 10000 && v->pos < 1024)
			put(dir, "rx", v->name, head, 4, wire, len);
	}
}

/* Vectors between two others; the segments come from the last to the first. */
static void recover_seeds(const char *dir)
{
	u32 i, k, n, pos;

	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];
		u32 lens[3] = { 486, v->len, 700 };
		u8 head[4 + 3 * 4] = { 22 | v->markers | (i & 1) << 3, v->pos / 4,
				       0xbf, 3 };

		if (v->len > 2000)
			continue;
		pos = (head[0] & 8 ? 0xfffffe00 : 0) + 4 * head[1];
		for (k = n = 0; k < 3; k++) {
			u8 *op = head + 12 - 4 * k;
			u32 size;

			model_fill(ulpdu, lens[k], k == 1 ? v->fill : FILL_PATTERN, v->msn);
			size = model_fpdu(wire + n, pos + n, ulpdu, lens[k], v->markers);
			op[0] = n >> 8;
			op[1] = n;
			op[2] = (size - 1) >> 8;
			op[3] = size - 1;
			n += size;
		}
		put(dir, "recover", v->name, head, sizeof(head), wire, n);
	}
}

/* CRC off: the third is found early, then the second claims 40 bytes of it. */
static void recover_reach(const char *dir)
{
	static const u8 head[4 + 4] = { 1, 0, 0xbf, 1, 420 >> 8, 420 & 0xff, 0, 211 };
	u32 k, n;

	memset(ulpdu, 0x55, 240);
	for (k = n = 0; k < 3; k++)
		n += model_fpdu(wire + n, n, ulpdu, 200, true);
	wire[213] = 240;
	put(dir, "recover", "reach", head, sizeof(head), wire, n);
}

static void startup_seeds(const char *dir)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(frame_vectors); i++) {
		const struct frame_vector *v = &frame_vectors[i];
		u8 head[5] = { 4 | v->reply, 7, 16, 16, 64 };

		memcpy(wire, v->reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
		memcpy(wire + 16, v->after_key, v->total - 16);
		put(dir, "startup", v->name, head, 5, wire, v->total);
	}
	memcpy(wire, "MPA ID RtR Frame\x40\1\0\0", 20);
	put(dir, "startup", "rtr", (u8[]){ 0x34, 7, 16, 16, 64 }, 5, wire, 20);
}

/* The startup frames as messages over SCTP, and what has none */
static void sctp_seeds(const char *dir)
{
	static const u8 head[5] = { 4, 7, 16, 16, 64 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(frame_vectors); i++) {
		const struct frame_vector *v = &frame_vectors[i];
		u8 code = (v->reply ? v->f.reject ? 3 : 2 : 1) + (v->f.enhanced ? 4 : 0);

		memcpy(wire, (u8[]){ 0, 0, 0, code }, 4);
		memcpy(wire + 4, v->after_key + 4, v->total - 20);
		put(dir, "sctp", v->name, head, 5, wire, v->total - 16);
	}
	put(dir, "sctp", "terminate", head, 5, (u8[]){ 0, 9, 0, 4 }, 4);
	put(dir, "sctp", "segment", (u8[]){ 5, 7, 16, 16, 64 }, 5, (u8[]){ 0, 1, 0x41, 0x43 }, 4);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 1;
	rx_seeds(argv[1]);
	recover_seeds(argv[1]);
	recover_reach(argv[1]);
	startup_seeds(argv[1]);
	sctp_seeds(argv[1]);
	return 0;
}
