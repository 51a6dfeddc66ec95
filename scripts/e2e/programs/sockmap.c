// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * sockmap CGROUP
 *
 * Puts each TCP connection of the programs in CGROUP into a sockmap as soon as it is
 * established, as service meshes do (BPF_PROG_TYPE_SOCK_OPS), until it gets SIGTERM. Then it
 * prints "taken N refused N": the numbers of sides that the map took and did not take.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSN(c, d, s, o, i) \
	{ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }
#define MOV_REG(d, s)		INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i)		INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD_IMM(d, i)		INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define LOAD32(d, s, o)		INSN(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define STORE32(d, o, s)	INSN(BPF_STX | BPF_MEM | BPF_W, d, s, o, 0)
#define ATOMIC_INC64(d, s)	INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, 0, BPF_ADD)
#define JEQ(d, i, o)		INSN(BPF_JMP | BPF_JEQ | BPF_K, d, 0, o, i)
#define JNE(d, i, o)		INSN(BPF_JMP | BPF_JNE | BPF_K, d, 0, o, i)
#define CALL(f)			INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define EXIT			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define LOAD_MAP(d, fd) \
	INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd), INSN(0, 0, 0, 0, 0)
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

enum { TAKEN, REFUSED, COUNTERS };

static int bpf(int cmd, union bpf_attr *attr, const char *what)
{
	int ret = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	if (ret < 0) {
		fprintf(stderr, "sockmap: %s: %s\n", what, strerror(errno));
		exit(1);
	}
	return ret;
}

static int make_map(enum bpf_map_type type, uint32_t value_size, uint32_t entries)
{
	union bpf_attr attr = {
		.map_type = type,
		.key_size = 4,
		.value_size = value_size,
		.max_entries = entries,
	};

	return bpf(BPF_MAP_CREATE, &attr, "BPF_MAP_CREATE");
}

/* One place is enough, because each connection replaces the one before. */
static int make_program(int connections, int counters)
{
	const struct bpf_insn code[] = {
		MOV_REG(BPF_REG_6, BPF_REG_1),
		LOAD32(BPF_REG_2, BPF_REG_6, offsetof(struct bpf_sock_ops, op)),
		JEQ(BPF_REG_2, BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB, 1),
		JNE(BPF_REG_2, BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, 20),
		MOV_IMM(BPF_REG_7, 0),
		STORE32(BPF_REG_10, -4, BPF_REG_7),
		MOV_REG(BPF_REG_1, BPF_REG_6),
		LOAD_MAP(BPF_REG_2, connections),
		MOV_REG(BPF_REG_3, BPF_REG_10),
		ADD_IMM(BPF_REG_3, -4),
		MOV_IMM(BPF_REG_4, BPF_ANY),
		CALL(BPF_FUNC_sock_map_update),
		JEQ(BPF_REG_0, 0, 1),
		MOV_IMM(BPF_REG_7, REFUSED),
		STORE32(BPF_REG_10, -4, BPF_REG_7),
		LOAD_MAP(BPF_REG_1, counters),
		MOV_REG(BPF_REG_2, BPF_REG_10),
		ADD_IMM(BPF_REG_2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JEQ(BPF_REG_0, 0, 2),
		MOV_IMM(BPF_REG_1, 1),
		ATOMIC_INC64(BPF_REG_0, BPF_REG_1),
		MOV_IMM(BPF_REG_0, 1),
		EXIT,
	};
	static char log[65536];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCK_OPS,
		.insns = (uintptr_t)code,
		.insn_cnt = ARRAY_SIZE(code),
		.license = (uintptr_t)"Dual BSD/GPL",
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	if (fd < 0) {
		fprintf(stderr, "sockmap: BPF_PROG_LOAD: %s\n%s", strerror(errno), log);
		exit(1);
	}
	return fd;
}

static void attach(int program, const char *cgroup)
{
	union bpf_attr attr = {
		.link_create.prog_fd = program,
		.link_create.target_fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.link_create.attach_type = BPF_CGROUP_SOCK_OPS,
	};

	bpf(BPF_LINK_CREATE, &attr, cgroup);
}

static uint64_t counter(int map, uint32_t which)
{
	uint64_t value = 0;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (uintptr_t)&which,
		.value = (uintptr_t)&value,
	};

	bpf(BPF_MAP_LOOKUP_ELEM, &attr, "BPF_MAP_LOOKUP_ELEM");
	return value;
}

int main(int argc, char **argv)
{
	int connections, counters, which;
	sigset_t term;

	if (argc != 2) {
		fputs("usage: sockmap CGROUP\n", stderr);
		return 2;
	}
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	connections = make_map(BPF_MAP_TYPE_SOCKMAP, 4, 1);
	counters = make_map(BPF_MAP_TYPE_ARRAY, 8, COUNTERS);
	attach(make_program(connections, counters), argv[1]);
	puts("attached");
	fflush(stdout);
	if (sigwait(&term, &which))
		return 1;
	printf("taken %llu refused %llu\n",
	       (unsigned long long)counter(counters, TAKEN),
	       (unsigned long long)counter(counters, REFUSED));
	return 0;
}
