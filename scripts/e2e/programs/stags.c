// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A peer that knows one STag must not be able to tell others (RFC 5040, 8.1.1). A server has
 * a region for each of its clients, and each client walks from its own STag, all keys of an
 * index, then the indexes next to it, until it has tried WALK of them.
 *
 * By chance one client in 40 000 hits the region of the next, so a few hits are no fault.
 */
#include <stdio.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#define REGIONS		1000
#define WALK		100000
#define FEW		2
#define KEYS		256
#define SIXTEENTHS	16

#define check(cond, ...) do { if (!(cond)) die(__VA_ARGS__); } while (0)
#define die(...) do { fprintf(stderr, __VA_ARGS__); fputc('\n', stderr); exit(1); } while (0)

static char memory[4096];

static struct ibv_pd *open_pd(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct ibv_pd *pd;

	check(list && list[0], "no device");
	context = ibv_open_device(list[0]);
	check(context, "open_device: %m");
	pd = ibv_alloc_pd(context);
	check(pd, "alloc_pd: %m");
	return pd;
}

static struct ibv_mr *reg(struct ibv_pd *pd)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory),
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	check(mr, "reg_mr: %m");
	return mr;
}

static unsigned int distance(uint32_t one, uint32_t two)
{
	return abs((int)(one >> 8) - (int)(two >> 8));
}

/* Each region belongs to another client, and is the next one of the client before. */
static void guess_next(struct ibv_mr **mr)
{
	unsigned int i, hits = 0;

	for (i = 1; i < REGIONS; i++)
		hits += distance(mr[i - 1]->rkey, mr[i]->rkey) <= WALK / KEYS / 2;
	printf("%u of %u clients hit the next one's region in %u tries\n", hits, REGIONS, WALK);
	check(hits <= FEW, "STags can be guessed");
}

static void look_at_range(struct ibv_mr **mr)
{
	unsigned int i, keys = 0, parts = 0;
	unsigned int key[KEYS] = { 0 }, part[SIXTEENTHS] = { 0 };

	for (i = 0; i < REGIONS; i++) {
		keys += !key[mr[i]->rkey % KEYS]++;
		parts += !part[mr[i]->rkey >> 28]++;
	}
	printf("%u keys, %u sixteenths of the range\n", keys, parts);
	check(keys >= 200, "keys are few");
	check(parts == SIXTEENTHS, "the range is not used");
}

/* The index of a deregistered region must not be used again soon. */
static void look_at_reuse(struct ibv_pd *pd)
{
	unsigned int i, j, again = 0;
	uint32_t seen[REGIONS];
	struct ibv_mr *mr;

	for (i = 0; i < REGIONS; i++) {
		mr = reg(pd);
		seen[i] = mr->rkey;
		check(!ibv_dereg_mr(mr), "dereg_mr: %m");
		for (j = i < 100 ? 0 : i - 100; j < i; j++)
			again += !distance(seen[j], seen[i]);
	}
	printf("%u indexes came back soon\n", again);
	check(again <= FEW, "indexes come back soon");
}

int main(void)
{
	static struct ibv_mr *mr[REGIONS];
	struct ibv_pd *pd = open_pd();
	unsigned int i;

	for (i = 0; i < REGIONS; i++)
		mr[i] = reg(pd);
	guess_next(mr);
	look_at_range(mr);
	for (i = 0; i < REGIONS; i++)
		check(!ibv_dereg_mr(mr[i]), "dereg_mr: %m");
	look_at_reuse(pd);
	return 0;
}
