// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * nosock CGROUP: the programs in CGROUP may have no TCP sockets (BPF_CGROUP_INET_SOCK_CREATE),
 * until it is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSN(c, d, s, o, i) \
	{ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static int bpf(int cmd, union bpf_attr *attr, const char *what)
{
	int ret = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	if (ret < 0) {
		fprintf(stderr, "nosock: %s: %s\n", what, strerror(errno));
		exit(1);
	}
	return ret;
}

/* 0 refuses, 1 allows. */
static int make_program(void)
{
	const struct bpf_insn code[] = {
		INSN(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1,
		     offsetof(struct bpf_sock, type), 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1),
		INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_2, 0, 1, SOCK_STREAM),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_CGROUP_SOCK,
		.expected_attach_type = BPF_CGROUP_INET_SOCK_CREATE,
		.insns = (uintptr_t)code,
		.insn_cnt = ARRAY_SIZE(code),
		.license = (uintptr_t)"Dual BSD/GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr, "BPF_PROG_LOAD");
}

int main(int argc, char **argv)
{
	union bpf_attr attr = { .link_create.attach_type = BPF_CGROUP_INET_SOCK_CREATE };

	if (argc != 2) {
		fputs("usage: nosock CGROUP\n", stderr);
		return 2;
	}
	attr.link_create.prog_fd = make_program();
	attr.link_create.target_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bpf(BPF_LINK_CREATE, &attr, argv[1]);
	puts("attached");
	fflush(stdout);
	pause();
	return 0;
}
