// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Prints the frequency of this machine's time stamp counter in kHz. An emulated
 * guest reads that counter, but finds no good clock to measure its rate by.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct moment {
	uint64_t ns;
	uint64_t ticks;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Reads both clocks at once: of many tries it takes the one that took the least time. */
static struct moment look(void)
{
	uint64_t best = UINT64_MAX;
	struct moment moment = {};
	int i;

	for (i = 0; i < 1000; i++) {
		uint64_t before = now_ns();
		uint64_t ticks = __rdtsc();
		uint64_t after = now_ns();

		if (after - before < best) {
			best = after - before;
			moment.ns = before + best / 2;
			moment.ticks = ticks;
		}
	}
	return moment;
}

int main(void)
{
	const struct timespec pause = { .tv_nsec = 50000000 };
	struct moment first = look(), second;

	nanosleep(&pause, NULL);
	second = look();
	printf("%.0f\n", (second.ticks - first.ticks) * 1e6 /
			 (second.ns - first.ns));
	return 0;
}
