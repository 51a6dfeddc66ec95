// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A stock of chunks for each CPU.
 *
 * Chunks are per CPU, not per queue pair, so that an idle connection holds none. A send run
 * takes the CPU's current chunk, appends to it, and puts it back. A task, a worker and a
 * softirq may each be sending on a CPU, so up to three chunks may be partly filled. Full
 * chunks wait in a ring until TCP, which keeps references for retransmission, drops those of
 * the oldest; then the oldest is recycled. Recycling matters, because init_on_alloc zeroes a
 * new page, which costs as much as the copy into it.
 *
 * Lifetime. The driver has one reference to a chunk, held by the sender or by the stock. The
 * pages of a chunk in the ring are not written until that is the last reference.
 *
 * The lock of a stock is mostly uncontended: besides its CPU only the shrinker and CPU hotplug
 * take it.
 */
#include <linux/cpuhotplug.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <compat/shrinker.h>

#include "tcp/chunk.h"

/* Bytes: many FPDUs of an Ethernet frame, or two of the largest; at least a page. */
#define CHUNK		SZ_32K
#define CHUNK_BIG	SZ_128K
/* Most bytes of full chunks of either size on a CPU. */
#define RING		SZ_1M

/* Senders on one CPU: a task at the doorbell, a worker that preempts it, and a softirq. */
#define CURRENT		3

/**
 * struct stock - chunks of one size
 * @lock:	protects the rest; softirqs off
 * @cur:	partly filled chunks; @page is NULL in a free slot
 * @ring:	full chunks, oldest at @tail
 * @head:	next free slot, free running
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

/* Take the oldest if TCP has dropped its references, else NULL. */
static struct page *recycle_page(struct stock *st, bool big)
{
	u32 oldest = st->tail & (get_ring_size(big) - 1);

	if (st->head == st->tail || page_ref_count(st->ring[oldest]) != 1)
		return NULL;
	return take_oldest(st, big);
}

/* Return: true if there was one. */
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

/* Return: true if there was a free slot. */
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

/* This CPU's. The lock protects the stock from a task that migrates. */
static struct stock *find_stock(bool big)
{
	return &raw_cpu_ptr(stocks)->of[big];
}

/**
 * rnic_chunk_take() - take a chunk from the stock
 * @chunk:	a chunk without enough room, which is retired, or none; replaced
 * @big:	a chunk of the large size
 *
 * The new chunk may be in use up to @fill.
 *
 * Context: process or softirq.
 * Return: true, or false and no chunk if the stock is empty.
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
 * rnic_chunk_alloc() - allocate a chunk
 * @chunk:	none; filled in
 * @big:	a chunk of the large size
 * @gfp:	allocation flags
 *
 * Falls back to a single page.
 *
 * Context: as @gfp allows.
 * Return: true, or false if there is no memory.
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
 * rnic_chunk_put() - put a chunk into the stock
 * @chunk:	a chunk whose bytes in use TCP has, or none; none afterwards
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
 * Count the pages of a stock, and free them if @empty.
 *
 * Return: pages, some of which TCP may still hold.
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

/* Empty whole stocks, because the next sends fill them again. */
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

/**
 * rnic_chunk_init() - create the stocks of all CPUs
 *
 * Context: process; module start.
 * Return: 0 or -errno.
 */
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

/**
 * rnic_chunk_exit() - free the stocks
 *
 * Context: process; no connection is left.
 */
void rnic_chunk_exit(void)
{
	unsigned int cpu;

	cpuhp_remove_state_nocalls(hotplug);
	compat_shrinker_free(shrinker);
	for_each_possible_cpu(cpu)
		scan_cpu(cpu, true);
	free_percpu(stocks);
}
