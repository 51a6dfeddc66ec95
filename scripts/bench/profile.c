// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A plugin for qemu that counts how often each piece of the guest's kernel is executed.
 *
 *	qemu-system-x86_64 -plugin profile.so,out=FILE,mark=ADDRESS ...
 *
 * qemu translates code in blocks without jumps into them. Each block of the kernel is
 * counted; all user space is one sum. When the guest executes the instruction at user
 * address ADDRESS (hexadecimal), all counts are written to FILE.0, then FILE.1, and so
 * on, and begin at 0 again. A line is "ADDRESS INSTRUCTIONS" of a block; the last two are
 * "user INSTRUCTIONS" and "lost INSTRUCTIONS", of blocks for which there was no room. A
 * string instruction counts each time it repeats.
 *
 * With several processors a count may miss some: it is not atomic.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

#define EXPORT	__attribute__((visibility("default")))

EXPORT int qemu_plugin_version = 1;

struct block {
	uint64_t addr;
	uint64_t done;
};

/* qemu translates code anew from time to time, and then into another block. */
#define BLOCKS	(4 << 20)

static struct block *blocks;
static size_t used;
static uint64_t user, lost, mark;
static const char *out;
static unsigned int dumps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static FILE *next_file(void)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s.%u", out, dumps++);
	return fopen(name, "w");
}

static void dump(unsigned int cpu, void *data)
{
	FILE *file;
	size_t i;

	(void)cpu;
	(void)data;
	pthread_mutex_lock(&lock);
	file = next_file();
	for (i = 0; i < used; i++) {
		if (file && blocks[i].done)
			fprintf(file, "%016" PRIx64 " %" PRIu64 "\n", blocks[i].addr,
				blocks[i].done);
		blocks[i].done = 0;
	}
	if (file) {
		fprintf(file, "user %" PRIu64 "\nlost %" PRIu64 "\n", user, lost);
		fclose(file);
	}
	user = 0;
	lost = 0;
	pthread_mutex_unlock(&lock);
}

static uint64_t *counter_of(uint64_t addr)
{
	uint64_t *counter = &lost;

	pthread_mutex_lock(&lock);
	if (used < BLOCKS) {
		blocks[used].addr = addr;
		counter = &blocks[used++].done;
	}
	pthread_mutex_unlock(&lock);
	return counter;
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	uint64_t addr = qemu_plugin_tb_vaddr(tb);
	bool kernel = addr >> 63;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64,
						 kernel ? counter_of(addr) : &user,
						 qemu_plugin_tb_n_insns(tb));
	if (addr == mark)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, dump, NO_REGISTERS, NULL);
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
		else if (!strncmp(argv[i], "mark=", 5))
			mark = strtoull(argv[i] + 5, NULL, 16);
	}
	blocks = calloc(BLOCKS, sizeof(*blocks));
	if (!out || !mark || !blocks)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
