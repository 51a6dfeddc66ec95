// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * bulk [-s SERVER] [-p PORT] [-o send|solicited|read|unseen] [-n COUNT] [-l LENGTH]
 *      [-d DEPTH] [-t COUNT:LENGTH:DEPTH]
 *
 * One connection that is kept busy: COUNT messages of LENGTH bytes from a to b
 * (Sends, with a Solicited Event or not), or from b to a (Reads), DEPTH of them posted
 * at any time; without a COUNT, until SIGINT. Of unseen Reads only every 16th makes a
 * completion, so the program watches the memory instead. With -t the program prints "paused" when
 * all of them have completed, waits for SIGUSR1, and goes on with the messages of -t.
 * It compares every byte of every message: the message's number says at which place of
 * one noise buffer it begins. At the end it prints the number of messages.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

#define NOISE	(1 << 20)	/* bytes of noise; the slots lie behind it */
#define STEPS	512
#define SEEN	16

struct bulk {
	struct pair p;
	bool read, unseen, solicited;
	uint64_t count;
	size_t length, depth;
};

/* SIGINT is blocked and stays pending, which tells the program that enough was sent. */
static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	check(!sigprocmask(SIG_BLOCK, &set, NULL), "sigprocmask: %m");
}

static bool enough(void)
{
	sigset_t set;

	check(!sigpending(&set), "sigpending: %m");
	return sigismember(&set, SIGINT);
}

static void make_noise(uint8_t *mem)
{
	uint64_t word = 0x9e3779b97f4a7c15;
	size_t i;

	for (i = 0; i < NOISE; i += sizeof(word)) {
		word ^= word << 13;
		word ^= word >> 7;
		word ^= word << 17;
		memcpy(mem + i, &word, sizeof(word));
	}
}

/* Where in the noise a message begins. Any alignment. */
static size_t place(uint64_t number)
{
	return number * 37 % STEPS;
}

static size_t slot(const struct bulk *b, uint64_t number)
{
	return NOISE + number % b->depth * b->length;
}

/* Does this message make a completion at a? */
static bool is_seen(const struct bulk *b, uint64_t number)
{
	return !b->unseen || number % SEEN == SEEN - 1;
}

/* Makes sure that the slot does not hold the message before it arrives. */
static void post_one(struct bulk *b, uint64_t number)
{
	struct side *sink = b->read ? &b->p.a : &b->p.b;
	struct ibv_sge to = sge(sink, slot(b, number), b->length);
	struct ibv_sge from = sge(&b->p.a, place(number), b->length);
	int flags = (is_seen(b, number) ? IBV_SEND_SIGNALED : 0) |
		    (b->solicited ? IBV_SEND_SOLICITED : 0);

	memset(sink->mem + slot(b, number), 0xee, b->length);
	if (b->read) {
		post(&b->p.a, number, IBV_WR_RDMA_READ, flags, &to, 1,
		     (uintptr_t)b->p.b.mem + place(number), b->p.b.mr->rkey);
		return;
	}
	post_recv(&b->p.b, number, &to, 1);
	post(&b->p.a, number, IBV_WR_SEND, flags, &from, 1, 0, 0);
}

static void check_one(struct bulk *b, uint64_t number)
{
	const uint8_t *got = (b->read ? b->p.a.mem : b->p.b.mem) + slot(b, number);
	const uint8_t *want = b->p.a.mem + place(number);
	size_t i;

	while (!is_seen(b, number) && memcmp(got, want, b->length))
		atomic_thread_fence(memory_order_acquire);
	if (!memcmp(got, want, b->length))
		return;
	for (i = 0; got[i] == want[i]; i++)
		;
	fail("message %llu: byte %zu of %zu is %02x, not %02x",
	     (unsigned long long)number, i, b->length, got[i], want[i]);
}

static uint64_t run(struct bulk *b)
{
	uint64_t posted = 0, done;

	for (done = 0;; done++) {
		while (posted < done + b->depth && posted < b->count && !enough())
			post_one(b, posted++);
		if (done == posted)
			return done;
		if (!b->read)
			wc_expect(&b->p.b, done, IBV_WC_SUCCESS);
		if (is_seen(b, done))
			wc_expect(&b->p.a, done, IBV_WC_SUCCESS);
		check_one(b, done);
	}
}

static void check_fit(const struct bulk *b)
{
	check(b->length + STEPS <= NOISE && b->depth * b->length <= MEM_SIZE - NOISE,
	      "that does not fit into the memory");
}

static void parse(struct bulk *b, struct bulk *then, int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "s:p:o:n:l:d:t:")) != -1) {
		if (opt == 's')
			probe_server(optarg, 0);
		else if (opt == 'p')
			probe_server(NULL, atoi(optarg));
		else if (opt == 'o' && !strcmp(optarg, "read"))
			b->read = true;
		else if (opt == 'o' && !strcmp(optarg, "unseen"))
			b->unseen = true;
		else if (opt == 'o' && !strcmp(optarg, "solicited"))
			b->solicited = true;
		else if (opt == 'o' && !strcmp(optarg, "send"))
			continue;
		else if (opt == 'n')
			b->count = strtoull(optarg, NULL, 0);
		else if (opt == 'l')
			b->length = strtoul(optarg, NULL, 0);
		else if (opt == 'd')
			b->depth = strtoul(optarg, NULL, 0);
		else if (opt != 't' ||
			 sscanf(optarg, "%" SCNu64 ":%zu:%zu", &then->count,
				&then->length, &then->depth) != 3)
			exit(2);
	}
	b->read |= b->unseen;
	check_fit(b);
	check_fit(then);
}

int main(int argc, char **argv)
{
	struct bulk b = { .count = UINT64_MAX, .length = 60000, .depth = 32 };
	struct bulk then = { 0 };
	struct options opt = defaults;
	uint64_t total;

	parse(&b, &then, argc, argv);
	block_signals();
	opt.ird = 15;	/* no power of two */
	opt.ord = 15;
	pair_open(&b.p, &opt);
	make_noise(b.p.a.mem);
	make_noise(b.p.b.mem);
	hello(&b.p);
	total = run(&b);
	if (then.count) {
		wait_until_told("paused");
		b.count = then.count;
		b.length = then.length;
		b.depth = then.depth;
		total += run(&b);
	}
	printf("%" PRIu64 " messages\n", total);
	pair_close(&b.p);
	return 0;
}
