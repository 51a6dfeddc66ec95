// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A second thread watches messages arrive, as programs do that want low latency: it
 * polls the last byte of the buffer, not the completion queue. When that byte is there all
 * others must be, and the bytes that the thread then writes over them must stay.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

#define MESSAGES	4000	/* at most */
#define LEAST		500	/* so many although they take longer than WATCH_SECONDS */
#define WATCH_SECONDS	(30 * slow())	/* below the time of a test */
#define LONGEST		70000
#define SOURCE_SIZE	(1 << 20)
#define TARGET		(1 << 20)	/* where messages arrive */
#define SEED		22

/*
 * The place of the payload. siw, which may be the sender, takes wrong bytes if up to 32 bytes lie
 * in two pages.
 */
static size_t some_source(size_t len)
{
	size_t from = rand() % (SOURCE_SIZE - len);

	return len <= 32 && from % PAGE + len > PAGE ? from - len : from;
}

/* The message that the thread waits for. The thread owns this while busy is set. */
static struct watch {
	const uint8_t *payload;
	atomic_uchar *at;
	size_t len;
	size_t torn;		/* 1 + the first byte that was not there, from the end */
	atomic_bool busy;
	atomic_bool over;
} watch;

static uint8_t byte_at(size_t i)
{
	return atomic_load_explicit(watch.at + i, memory_order_relaxed);
}

/* Looks at the end first, because a copy stores that last, or a second time. */
static void look(void)
{
	size_t i = watch.len, last = watch.len - 1;

	while (byte_at(last) != watch.payload[last])
		if (atomic_load(&watch.over))
			return;
	atomic_thread_fence(memory_order_acquire);
	while (i--)
		if (byte_at(i) != watch.payload[i] && !watch.torn)
			watch.torn = i + 1;
	for (i = watch.len; i--;)
		atomic_store_explicit(watch.at + i, ~watch.payload[i], memory_order_relaxed);
}

static void *watcher(void *unused)
{
	(void)unused;
	while (!atomic_load(&watch.over)) {
		if (!atomic_load_explicit(&watch.busy, memory_order_acquire))
			continue;
		look();
		atomic_store_explicit(&watch.busy, false, memory_order_release);
	}
	return NULL;
}

/* Mostly short messages, because copies treat short ones specially; all orders of magnitude. */
static size_t some_length(void)
{
	size_t most = 128;

	if (rand() % 4 == 0)
		for (most = 8; most < LONGEST && rand() % 8; most *= 2)
			;
	if (most > LONGEST)
		most = LONGEST;
	return 1 + rand() % most;
}

static void one(struct pair *p, enum ibv_wr_opcode op, unsigned int number)
{
	size_t len = some_length(), to = TARGET + rand() % (2 * PAGE), i;
	size_t from = some_source(len);
	bool read = op == IBV_WR_RDMA_READ;
	struct side *src = read ? &p->b : &p->a, *dst = read ? &p->a : &p->b;
	struct ibv_sge near = sge(&p->a, read ? to : from, len);
	struct ibv_sge sink = sge(&p->b, to, len);
	uint8_t *at = dst->mem + to;
	char what[64];
	double end;

	snprintf(what, sizeof(what), "op %d, message %u, %zu bytes to %zu", op, number, len, to);
	for (i = 0; i < len; i++)
		at[i] = ~src->mem[from + i];
	watch.payload = src->mem + from;
	watch.at = (atomic_uchar *)at;
	watch.len = len;
	atomic_store_explicit(&watch.busy, true, memory_order_release);
	if (op == IBV_WR_SEND)
		post_recv(&p->b, 2, &sink, 1);
	post(&p->a, 1, op, IBV_SEND_SIGNALED, &near, 1,
	     (uintptr_t)p->b.mem + (read ? from : to), p->b.mr->rkey);
	wc_expect(&p->a, 1, IBV_WC_SUCCESS);
	if (op == IBV_WR_SEND)
		wc_expect(&p->b, 2, IBV_WC_SUCCESS);
	else
		hello(p);
	end = now() + WAIT_MS / 1e3;
	while (atomic_load_explicit(&watch.busy, memory_order_acquire))
		check(now() < end, "%s: the last byte is %02x, not %02x", what, at[len - 1],
		      src->mem[from + len - 1]);
	check(!watch.torn, "%s: its last byte was there, that at %zu not", what,
	      watch.torn - 1);
	for (i = 0; i < len; i++)
		check((at[i] ^ src->mem[from + i]) == 0xff,
		      "%s: that at %zu was stored again", what, i);
}

static void watched(enum ibv_wr_opcode op)
{
	pthread_t thread;
	struct pair p;
	unsigned int i;
	double end;

	srand(SEED);
	pair_open(&p, &defaults);
	hello(&p);
	for (i = 0; i < SOURCE_SIZE; i++)
		p.a.mem[i] = rand() >> 8;
	memcpy(p.b.mem, p.a.mem, SOURCE_SIZE);
	memset(&watch, 0, sizeof(watch));
	check(!pthread_create(&thread, NULL, watcher, NULL), "no thread");
	end = now() + WATCH_SECONDS;
	for (i = 0; i < LEAST || (i < MESSAGES && now() < end); i++)
		one(&p, op, i);
	printf("%u messages\n", i);
	atomic_store(&watch.over, true);
	pthread_join(thread, NULL);
	pair_close(&p);
}

static void watched_write(void)
{
	watched(IBV_WR_RDMA_WRITE);
}

static void watched_read(void)
{
	watched(IBV_WR_RDMA_READ);
}

static void watched_send(void)
{
	watched(IBV_WR_SEND);
}

const struct test watch_tests[] = {
	{ "watched_write", watched_write },
	{ "watched_read", watched_read },
	{ "watched_send", watched_send },
	{ NULL, NULL },
};
