// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * crc: the speed of one pass of the kernel's CRC32C. Prints 10^6 bytes a second
 * of processor time: the best of ROUNDS rounds over the same 64 KiB.
 *
 * AF_ALG lets the kernel do the pass for us. It takes the pages by reference, so
 * beside the pass there is only a system call for each 64 KiB.
 */
#include <linux/if_alg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCK	65536
#define BLOCKS	64		/* in a round */
#define ROUNDS	8

static void check(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int open_crc(void)
{
	struct sockaddr_alg name = {
		.salg_family = AF_ALG,
		.salg_type = "hash",
		.salg_name = "crc32c",
	};
	int any = socket(AF_ALG, SOCK_SEQPACKET, 0);
	int fd;

	check(any >= 0, "AF_ALG");
	check(!bind(any, (void *)&name, sizeof(name)), "crc32c");
	fd = accept(any, NULL, NULL);
	check(fd >= 0, "accept");
	close(any);
	return fd;
}

/* The CRC of several copies of the same block. */
static uint32_t pass(int fd, const void *block, size_t length, int times)
{
	uint8_t sum[4];
	int i;

	for (i = 0; i < times; i++)
		check(send(fd, block, length, i + 1 < times ? MSG_MORE : 0) ==
		      (ssize_t)length, "send");
	check(read(fd, sum, sizeof(sum)) == sizeof(sum), "read");
	return sum[0] | sum[1] << 8 | sum[2] << 16 | (uint32_t)sum[3] << 24;
}

int main(void)
{
	static uint8_t block[BLOCK] __attribute__((aligned(4096)));
	double best = 0;
	int fd = open_crc();
	int i;

	/* the check value of CRC-32C */
	if (pass(fd, "123456789", 9, 1) != 0xe3069283) {
		fprintf(stderr, "this is no CRC32C\n");
		return 1;
	}
	memset(block, 0x5a, sizeof(block));
	for (i = 0; i < ROUNDS; i++) {
		double begin = now(), rate;

		pass(fd, block, BLOCK, BLOCKS);
		rate = (double)BLOCK * BLOCKS / (now() - begin) / 1e6;
		if (rate > best)
			best = rate;
	}
	printf("%.2f\n", best);
	return 0;
}
