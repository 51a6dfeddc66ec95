// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A stock of chunks for each CPU.
 *
 * Only who sends needs a chunk, and only for so long, so that an idle connection
 * keeps none: a run takes what is left of the CPU's current chunk, appends, and
 * gives the rest back. While TCP is given it a softirq may send, or another task: so there
 * are some current ones. Full chunks wait in a ring until TCP, which holds
 * references as long as the bytes may be sent again, has let go of the oldest.
 * Then it is used anew. This matters: a fresh page may have to be zeroed
 * (init_on_alloc), which costs as much as the copy into it.
 *
 * Lifetime. A chunk has one reference of ours, that of whoever took it or of the
 * stock. Pages in the ring are only read (their count) until that is the last.
 *
 * A stock is used by its CPU alone, but for when the kernel wants memory back (a shrinker)
 * or the CPU went offline: then others empty it. So it has a lock, which its CPU finds free.
 */
#include <linux/cpuhotplug.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <compat/shrinker.h>

#include "tcp/chunk.h"

/* Bytes: many FPDUs of an Ethernet, two of the largest. A page if that is more. */
#define CHUNK		SZ_32K
#define CHUNK_BIG	SZ_128K
/* Bytes: most of the full ones of either kind on a CPU. */
#define RING		SZ_1M

/* A task that rings the doorbell, a worker that takes its processor, a softirq in both. */
#define CURRENT		3

/**
 * struct stock - chunks of one size
 * @lock:	protects the rest; softirqs off
 * @cur:	those that were not filled, or none
 * @ring:	full ones, oldest at @tail
 * @head:	next free place, free running
 * @tail:	oldest, free running
 */
struct stock {
	spinlock_t lock; /* see above */
	struct rnic_chunk cur[CURRENT];
	struct page *ring[RING / CHUNK];
	u32 head;
	u32 tail;
};

struct stocks {
	struct stock of[2];
};

static struct stocks __percpu *stocks;
static struct shrinker *shrinker;
static enum cpuhp_state hotplug;

static unsigned int get_order_of(bool big)
{
	return big ? get_order(CHUNK_BIG) : get_order(CHUNK);
}

/* A power of two. */
static u32 get_ring_size(bool big)
{
	return max_t(u32, RING >> PAGE_SHIFT >> get_order_of(big), 1);
}

static struct page *take_oldest(struct stock *st, bool big)
{
	return st->ring[st->tail++ & (get_ring_size(big) - 1)];
}

static void retire_page(struct stock *st, struct page *page, bool big)
{
	if (compound_order(page) != get_order_of(big)) {
		put_page(page);
		return;
	}
	if (st->head - st->tail == get_ring_size(big))
		put_page(take_oldest(st, big));
	st->ring[st->head++ & (get_ring_size(big) - 1)] = page;
}

/* The oldest, when TCP has let go of it. */
static struct page *recycle_page(struct stock *st, bool big)
{
	u32 oldest = st->tail & (get_ring_size(big) - 1);

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
	chunk->page = recycle_page(st, big);
	chunk->size = PAGE_SIZE << get_order_of(big);
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

/* This CPU's. A task that is moved to another one meanwhile takes the lock, that is enough. */
static struct stock *find_stock(bool big)
{
	return &raw_cpu_ptr(stocks)->of[big];
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
	struct stock *st = find_stock(big);

	spin_lock_bh(&st->lock);
	if (chunk->page) {
		retire_page(st, chunk->page, big);
		take_empty(st, chunk, big);
	} else if (!take_current(st, chunk)) {
		take_empty(st, chunk, big);
	}
	spin_unlock_bh(&st->lock);
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
	unsigned int order = get_order_of(big);

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
 * @chunk:	a chunk whose used bytes TCP has, or none; none afterwards
 *
 * Context: process or softirq.
 */
void rnic_chunk_put(struct rnic_chunk *chunk)
{
	bool big = chunk->size == PAGE_SIZE << get_order_of(true);
	struct stock *st;

	if (!chunk->page)
		return;
	st = find_stock(big);
	spin_lock_bh(&st->lock);
	if (!put_current(st, chunk))
		retire_page(st, chunk->page, big);
	spin_unlock_bh(&st->lock);
	chunk->page = NULL;
}

/*
 * Let go of all there is, or only count it.
 *
 * Return: pages, of which TCP may still have some.
 */
static unsigned long scan_stock(struct stock *st, bool big, bool empty)
{
	struct rnic_chunk chunk;
	unsigned long num;
	int i;

	spin_lock_bh(&st->lock);
	num = st->head - st->tail;
	for (i = 0; i < CURRENT; i++)
		num += !!st->cur[i].page;
	while (empty && take_current(st, &chunk))
		put_page(chunk.page);
	while (empty && st->head != st->tail)
		put_page(take_oldest(st, big));
	spin_unlock_bh(&st->lock);
	return num << get_order_of(big);
}

static unsigned long scan_cpu(unsigned int cpu, bool empty)
{
	struct stocks *all = per_cpu_ptr(stocks, cpu);

	return scan_stock(&all->of[false], false, empty) + scan_stock(&all->of[true], true, empty);
}

static unsigned long count_pages(struct shrinker *unused, struct shrink_control *sc)
{
	unsigned long num = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		num += scan_cpu(cpu, false);
	return num;
}

/* Whole stocks: they fill again with the next sends. */
static unsigned long empty_stocks(struct shrinker *unused, struct shrink_control *sc)
{
	unsigned long num = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		if (num >= sc->nr_to_scan)
			break;
		num += scan_cpu(cpu, true);
	}
	return num ?: SHRINK_STOP;
}

static int empty_cpu(unsigned int cpu)
{
	scan_cpu(cpu, true);
	return 0;
}

static void init_stocks(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		spin_lock_init(&per_cpu_ptr(stocks, cpu)->of[false].lock);
		spin_lock_init(&per_cpu_ptr(stocks, cpu)->of[true].lock);
	}
}

/* Return: 0 or -errno. */
int rnic_chunk_init(void)
{
	int ret = -ENOMEM;

	stocks = alloc_percpu(struct stocks);
	if (!stocks)
		return ret;
	init_stocks();
	shrinker = compat_shrinker_new("rdma_mpa-chunks", count_pages, empty_stocks);
	if (!shrinker)
		goto free_stocks;
	ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "rdma_mpa:chunks", NULL,
					empty_cpu);
	if (ret < 0)
		goto free_shrinker;
	hotplug = ret;
	return 0;

free_shrinker:
	compat_shrinker_free(shrinker);
free_stocks:
	free_percpu(stocks);
	return ret;
}

/* Nobody sends any more. */
void rnic_chunk_exit(void)
{
	unsigned int cpu;

	cpuhp_remove_state_nocalls(hotplug);
	compat_shrinker_free(shrinker);
	for_each_possible_cpu(cpu)
		scan_cpu(cpu, true);
	free_percpu(stocks);
}
