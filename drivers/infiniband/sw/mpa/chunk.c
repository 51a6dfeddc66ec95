// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A stock of chunks for each CPU.
 *
 * Only who sends needs a chunk, and only for so long, so that an idle connection
 * keeps none: a run takes what is left of the CPU's current chunk, appends, and
 * gives the rest back. While TCP is given it a softirq may send, or another task: so there
 * are some current ones. Full chunks wait in a ring until TCP, which holds
 * references as long as the octets may be sent again, has let go of the oldest.
 * Then it is used anew. This matters: a fresh page may have to be zeroed
 * (init_on_alloc), which costs as much as the copy into it.
 *
 * Lifetime. A chunk has one reference of ours, that of whoever took it or of the
 * stock. Pages in the ring are only read (their count) until that is the last.
 */
#include <linux/bottom_half.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/percpu.h>

#include "chunk.h"

/* Many FPDUs of an Ethernet, two of the largest. */
#define ORDER		3
#define ORDER_BIG	5
/* Most of a stock's memory: 1 MiB of either kind a CPU, and the current ones. */
#define RING_SIZE	32
#define RING_SIZE_BIG	8

/* A task that rings the doorbell, a worker that takes its processor, a softirq in both. */
#define CURRENT		3

/**
 * struct stock - chunks of one size
 * @cur:	those that were not filled, or none
 * @ring:	full ones, oldest at @tail
 * @head:	next free place, free running
 * @tail:	oldest, free running
 *
 * Softirqs off.
 */
struct stock {
	struct rnic_chunk cur[CURRENT];
	struct page *ring[RING_SIZE];
	u32 head;
	u32 tail;
};

struct stocks {
	struct stock of[2];
};

static struct stocks __percpu *stocks;

static u32 ring_size(bool big)
{
	return big ? RING_SIZE_BIG : RING_SIZE;
}

static unsigned int order_of(bool big)
{
	return big ? ORDER_BIG : ORDER;
}

static struct page *take_oldest(struct stock *st, bool big)
{
	return st->ring[st->tail++ & (ring_size(big) - 1)];
}

static void retire(struct stock *st, struct page *page, bool big)
{
	if (compound_order(page) != order_of(big)) {
		put_page(page);
		return;
	}
	if (st->head - st->tail == ring_size(big))
		put_page(take_oldest(st, big));
	st->ring[st->head++ & (ring_size(big) - 1)] = page;
}

/* The oldest, when TCP has let go of it. */
static struct page *recycle(struct stock *st, bool big)
{
	u32 oldest = st->tail & (ring_size(big) - 1);

	if (st->head == st->tail || page_ref_count(st->ring[oldest]) != 1)
		return NULL;
	return take_oldest(st, big);
}

/* Return: there was one. */
static bool take_current(struct stock *st, struct rnic_chunk *chunk)
{
	int i;

	for (i = 0; i < CURRENT; i++) {
		if (!st->cur[i].page)
			continue;
		*chunk = st->cur[i];
		st->cur[i].page = NULL;
		return true;
	}
	return false;
}

static void take_empty(struct stock *st, struct rnic_chunk *chunk, bool big)
{
	chunk->page = recycle(st, big);
	chunk->size = PAGE_SIZE << order_of(big);
	chunk->fill = 0;
}

/* Return: there is room for it. */
static bool put_current(struct stock *st, const struct rnic_chunk *chunk)
{
	int i;

	for (i = 0; i < CURRENT; i++) {
		if (st->cur[i].page)
			continue;
		st->cur[i] = *chunk;
		return true;
	}
	return false;
}

/**
 * rnic_chunk_take() - a chunk to append to, from the stock
 * @chunk:	a chunk in which there is not enough room, or none; replaced
 * @big:	the large kind
 *
 * What comes may be in use already up to @fill.
 *
 * Context: process or softirq; does not sleep.
 * Return: false when there is none, then @chunk is none.
 */
bool rnic_chunk_take(struct rnic_chunk *chunk, bool big)
{
	struct stock *st;

	local_bh_disable();
	st = &this_cpu_ptr(stocks)->of[big];
	if (chunk->page) {
		retire(st, chunk->page, big);
		take_empty(st, chunk, big);
	} else if (!take_current(st, chunk)) {
		take_empty(st, chunk, big);
	}
	local_bh_enable();
	return chunk->page;
}

/**
 * rnic_chunk_alloc() - a chunk that nobody had
 * @chunk:	none; filled in
 * @big:	the large kind
 * @gfp:	how to allocate
 *
 * Without memory for a whole chunk it is a single page.
 *
 * Context: process, or with a @gfp for it softirq.
 * Return: false when there is no memory.
 */
bool rnic_chunk_alloc(struct rnic_chunk *chunk, bool big, gfp_t gfp)
{
	unsigned int order = order_of(big);

	chunk->page = alloc_pages(gfp | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY, order);
	if (!chunk->page) {
		order = 0;
		chunk->page = alloc_page(gfp | __GFP_NOWARN);
	}
	chunk->size = PAGE_SIZE << order;
	chunk->fill = 0;
	return chunk->page;
}

/**
 * rnic_chunk_put() - give a chunk back
 * @chunk:	a chunk whose used octets TCP has, or none; none afterwards
 *
 * Context: process or softirq.
 */
void rnic_chunk_put(struct rnic_chunk *chunk)
{
	bool big = chunk->size == PAGE_SIZE << ORDER_BIG;
	struct stock *st;

	if (!chunk->page)
		return;
	local_bh_disable();
	st = &this_cpu_ptr(stocks)->of[big];
	if (!put_current(st, chunk))
		retire(st, chunk->page, big);
	local_bh_enable();
	chunk->page = NULL;
}

/* Return: 0, or -ENOMEM. */
int rnic_chunk_init(void)
{
	stocks = alloc_percpu(struct stocks);
	return stocks ? 0 : -ENOMEM;
}

static void empty(struct stock *st, bool big)
{
	int i;

	for (i = 0; i < CURRENT; i++) {
		if (st->cur[i].page)
			put_page(st->cur[i].page);
	}
	while (st->head != st->tail)
		put_page(take_oldest(st, big));
}

/* Nobody sends any more. */
void rnic_chunk_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		empty(&per_cpu_ptr(stocks, cpu)->of[false], false);
		empty(&per_cpu_ptr(stocks, cpu)->of[true], true);
	}
	free_percpu(stocks);
}
