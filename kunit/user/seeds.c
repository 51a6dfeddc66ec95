// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* seeds DIR: writes the ledger's vectors as first inputs of the fuzzers. */
#include <stdio.h>
#include <string.h>
#include "model.h"

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

int main(int argc, char **argv)
{
	static u8 ulpdu[MODEL_MAX], wire[MODEL_MAX];
	u32 i, len;

	if (argc < 2)
		return 1;
	for (i = 0; i < ARRAY_SIZE(fpdu_vectors); i++) {
		const struct fpdu_vector *v = &fpdu_vectors[i];
		u8 head[4] = { 6 | v->markers, v->pos / 4, i, 0 };

		len = model_vector(v, ulpdu, wire);
		if (len < 10000 && v->pos < 1024)
			put(argv[1], "rx", v->name, head, 4, wire, len);
	}
	for (i = 0; i < ARRAY_SIZE(frame_vectors); i++) {
		const struct frame_vector *v = &frame_vectors[i];
		u8 head[5] = { 4 | v->reply, 7, 16, 16, 64 };

		memcpy(wire, v->reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
		memcpy(wire + 16, v->after_key, v->total - 16);
		put(argv[1], "startup", v->name, head, 5, wire, v->total);
	}
	memcpy(wire, "MPA ID RtR Frame\x40\1\0\0", 20);
	put(argv[1], "startup", "rtr", (u8[]){ 0x34, 7, 16, 16, 64 }, 5, wire, 20);
	return 0;
}
