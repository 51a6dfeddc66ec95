// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Every byte has to arrive at its place, and none beside it. */
#include <stdio.h>
#include <string.h>

#include "probe.h"

#define GUARD 64		/* bytes around a target that must stay as they were */

static uint64_t addr(struct side *s, size_t offset)
{
	return (uintptr_t)s->mem + offset;
}

static void guards(struct side *s, size_t off, size_t len, const char *what)
{
	size_t i;

	for (i = 1; i <= GUARD; i++) {
		check(s->mem[off - i] == 0xee, "%s: wrote %zu before its place", what, i);
		check(s->mem[off + len + i - 1] == 0xee, "%s: wrote %zu past its end",
		      what, i);
	}
}

/* Move len bytes from one offset to another by one kind of work request. */
static void move(struct pair *p, enum ibv_wr_opcode op, size_t from, size_t to,
		 size_t len)
{
	struct side *src = op == IBV_WR_RDMA_READ ? &p->b : &p->a;
	struct side *dst = op == IBV_WR_RDMA_READ ? &p->a : &p->b;
	struct side *far = &p->b;
	size_t far_off = op == IBV_WR_RDMA_READ ? from : to;
	struct ibv_sge near = sge(&p->a, op == IBV_WR_RDMA_READ ? to : from, len);
	struct ibv_sge sink = sge(&p->b, to, len);
	char what[64];

	snprintf(what, sizeof(what), "op %d, %zu bytes, %zu -> %zu", op, len, from, to);
	fill(src->mem + from, len, len + from);
	memset(dst->mem + to - GUARD, 0xee, len + 2 * GUARD);
	if (op == IBV_WR_SEND)
		post_recv(&p->b, 2, &sink, 1);
	post(&p->a, 1, op, IBV_SEND_SIGNALED, &near, 1, addr(far, far_off),
	     far->mr->rkey);
	wc_expect(&p->a, 1, IBV_WC_SUCCESS);
	if (op == IBV_WR_SEND) {
		struct ibv_wc wc = wc_expect(&p->b, 2, IBV_WC_SUCCESS);

		check(wc.byte_len == len, "%s: byte_len %u", what, wc.byte_len);
		check(wc.opcode == IBV_WC_RECV, "%s: opcode %d", what, wc.opcode);
	} else if (op == IBV_WR_RDMA_WRITE) {
		hello(p);	/* RDMAP order: the send arrives after the write */
	}
	same(dst->mem + to, len, len + from, what);
	guards(dst, to, len, what);
}

static void sizes(enum ibv_wr_opcode op)
{
	static const size_t lens[] = {
		0, 1, 2, 3, 4, 5, 31, 32, 33, 79, 80, 81, 1439, 1440, 1441, 1445,
		1446, 1447, 1448, 1449, 1456, 1460, 1461, 4095, 4096, 4097, 8192,
		65535, 65536, 65537, 1 << 20, (1 << 20) + 3,
	};
	struct pair p;
	size_t i;

	pair_open(&p, &defaults);
	hello(&p);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		move(&p, op, PAGE + 1, 2 * PAGE - 3, lens[i]);
		move(&p, op, 2 * PAGE - 5, PAGE + 7 * i, lens[i]);
	}
	pair_close(&p);
}

static void sizes_send(void)
{
	sizes(IBV_WR_SEND);
}

static void sizes_write(void)
{
	sizes(IBV_WR_RDMA_WRITE);
}

static void sizes_read(void)
{
	sizes(IBV_WR_RDMA_READ);
}

/* Payloads of at most 32 bytes that lie across a page border, at each cut. */
static void straddle(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};
	static const size_t lens[] = { 2, 3, 8, 17, 31, 32, 33 };
	struct pair p;
	size_t i, j, cut;

	pair_open(&p, &defaults);
	hello(&p);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		for (j = 0; j < ARRAY_SIZE(lens); j++)
			for (cut = 1; cut < lens[j]; cut += 1 + lens[j] / 4) {
				move(&p, ops[i], 4 * PAGE - cut, 8 * PAGE + 9, lens[j]);
				move(&p, ops[i], 4 * PAGE + 9, 8 * PAGE - cut, lens[j]);
			}
	pair_close(&p);
}

/* Regions whose addresses begin with 0, at both ends. */
static void zero_based(void)
{
	static const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED;
	struct ibv_mr *near, *far;
	struct ibv_sge list;
	struct pair p;

	pair_open(&p, &defaults);
	near = ibv_reg_mr(p.a.pd, p.a.mem + PAGE + 100, 2 * PAGE, access);
	far = ibv_reg_mr(p.b.pd, p.b.mem + PAGE - 7, 2 * PAGE, access);
	check(near && far, "reg_mr: %m");
	fill(p.a.mem + PAGE + 100, 2 * PAGE, 1);
	list = (struct ibv_sge){ .addr = 0, .length = PAGE + 3, .lkey = near->lkey };
	post(&p.a, 1, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &list, 1, 0, far->rkey);
	wc_expect(&p.a, 1, IBV_WC_SUCCESS);
	hello(&p);
	same(p.b.mem + PAGE - 7, PAGE + 3, 1, "written");

	fill(p.b.mem + PAGE - 7 + 50, 2 * PAGE - 50, 2);
	list = (struct ibv_sge){ .addr = 20, .length = 2 * PAGE - 50, .lkey = near->lkey };
	post(&p.a, 2, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &list, 1, 50, far->rkey);
	wc_expect(&p.a, 2, IBV_WC_SUCCESS);
	same(p.a.mem + PAGE + 100 + 20, 2 * PAGE - 50, 2, "read");
	check(!ibv_dereg_mr(near) && !ibv_dereg_mr(far), "dereg_mr: %m");
	pair_close(&p);
}

/* The memory of a list as one run of bytes. */
static size_t flatten(const struct ibv_sge *list, size_t n, uint8_t *out)
{
	size_t i, done = 0;

	for (i = 0; i < n; i++) {
		memcpy(out + done, (void *)(uintptr_t)list[i].addr, list[i].length);
		done += list[i].length;
	}
	return done;
}

/* Send n pieces of about step bytes each into n pieces cut otherwise. */
static void gather_one(struct pair *p, size_t step, size_t n)
{
	static uint8_t sent[1 << 17], got[1 << 17];
	struct ibv_sge out[6], in[6];
	size_t i, total = 0, left;

	for (i = 0; i < n; i++) {
		out[i] = sge(&p->a, (i + 1) * 8 * PAGE - step / 2 - i, step + i);
		fill((void *)(uintptr_t)out[i].addr, out[i].length, step + i);
		total += out[i].length;
	}
	for (i = 0, left = total; i < n; i++) {
		size_t len = i + 1 < n ? left / 3 : left;

		in[i] = sge(&p->b, (n - i) * 32 * PAGE - 2, len);
		left -= len;
	}
	post_recv(&p->b, 2, in, n);
	post(&p->a, 1, IBV_WR_SEND, IBV_SEND_SIGNALED, out, n, 0, 0);
	wc_expect(&p->a, 1, IBV_WC_SUCCESS);
	check(wc_expect(&p->b, 2, IBV_WC_SUCCESS).byte_len == total,
	      "byte_len of %zu pieces", n);
	flatten(out, n, sent);
	flatten(in, n, got);
	check(!memcmp(sent, got, total), "%zu pieces of %zu: data differ", n, step);
}

/* Lists of 1 to 6 pieces, of odd sizes and across pages. */
static void gather(void)
{
	static const size_t steps[] = { 1, 7, 241, 1451, 4099, 16381 };
	struct pair p;
	size_t i, n;

	pair_open(&p, &defaults);
	for (i = 0; i < ARRAY_SIZE(steps); i++)
		for (n = 1; n <= 6; n++)
			gather_one(&p, steps[i], n);
	pair_close(&p);
}

/* An RDMA Write gathered from 1 to 6 pieces. */
static void gather_write(void)
{
	static uint8_t sent[1 << 17];
	struct pair p;
	size_t n, i;

	pair_open(&p, &defaults);
	for (n = 1; n <= 6; n++) {
		struct ibv_sge out[6];

		for (i = 0; i < n; i++) {
			out[i] = sge(&p.a, (i + 1) * 8 * PAGE - 11, 4093 + i);
			fill((void *)(uintptr_t)out[i].addr, out[i].length, n + i);
		}
		post(&p.a, 1, IBV_WR_RDMA_WRITE, 0, out, n, addr(&p.b, PAGE + 1),
		     p.b.mr->rkey);
		hello(&p);
		check(!memcmp(p.b.mem + PAGE + 1, sent, flatten(out, n, sent)),
		      "write of %zu pieces: data differ", n);
	}
	pair_close(&p);
}

/* Inline: the buffer may be changed as soon as the post returns. */
static void inline_data(void)
{
	struct options opt = defaults;
	struct pair p;
	size_t len;

	opt.inline_size = 80;
	pair_open(&p, &opt);
	hello(&p);
	for (len = 0; len <= 80; len++) {
		struct ibv_sge out = sge(&p.a, PAGE - 3, len);
		struct ibv_sge in = sge(&p.b, 2 * PAGE - 7, 128);

		out.lkey = 0xbad;
		fill(p.a.mem + PAGE - 3, len, len);
		memset(p.b.mem + 2 * PAGE - 7, 0xee, 128);
		post_recv(&p.b, 2, &in, 1);
		post(&p.a, 1, len & 1 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
		     IBV_SEND_INLINE, &out, 1, addr(&p.b, 2 * PAGE - 7), p.b.mr->rkey);
		if (!(len & 1))
			post(&p.a, 1, IBV_WR_SEND, IBV_SEND_INLINE, &out, 1, 0, 0);
		memset(p.a.mem + PAGE - 3, 0x55, len);
		check(wc_expect(&p.b, 2, IBV_WC_SUCCESS).byte_len == len,
		      "inline %zu: byte_len", len);
		same(p.b.mem + 2 * PAGE - 7, len, len, "inline");
		check(p.b.mem[2 * PAGE - 7 + len] == 0xee, "inline %zu: overrun", len);
	}
	pair_close(&p);
}

/* A fenced Send, and a fenced Write, must carry the data of the Read before it. */
static void fence(void)
{
	uint8_t *written;
	struct pair p;
	unsigned int i;

	pair_open(&p, &defaults);
	hello(&p);
	written = p.b.mem + 300 * PAGE + 1;
	for (i = 0; i < 20; i++) {
		struct ibv_sge mid = sge(&p.a, 10 * PAGE + i, 60000);
		struct ibv_sge end = sge(&p.b, 200 * PAGE + 3, 60000);

		fill(p.b.mem + PAGE, 60000, i);
		post_recv(&p.b, 3, &end, 1);
		post(&p.a, 1, IBV_WR_RDMA_READ, 0, &mid, 1, addr(&p.b, PAGE),
		     p.b.mr->rkey);
		/* One fence at a time, because a fence also covers the requests behind it. */
		if (i & 1)
			post(&p.a, 4, IBV_WR_RDMA_WRITE, IBV_SEND_FENCE, &mid, 1,
			     (uintptr_t)written, p.b.mr->rkey);
		post(&p.a, 2, IBV_WR_SEND, IBV_SEND_SIGNALED | (i & 1 ? 0 : IBV_SEND_FENCE),
		     &mid, 1, 0, 0);
		wc_expect(&p.a, 2, IBV_WC_SUCCESS);
		wc_expect(&p.b, 3, IBV_WC_SUCCESS);
		same(p.b.mem + 200 * PAGE + 3, 60000, i, "fenced send");
		if (i & 1)
			same(written, 60000, i, "fenced write");
	}
	pair_close(&p);
}

/* The listener may send first; its bytes must wait until MPA allows them, and not get lost. */
static void responder_first(void)
{
	struct ibv_sge in, out;
	struct pair p;

	pair_open(&p, &defaults);
	in = sge(&p.a, PAGE, 3000);
	out = sge(&p.b, PAGE + 5, 3000);
	fill(p.b.mem + PAGE + 5, 3000, 3);
	post_recv(&p.a, 1, &in, 1);
	post(&p.b, 2, IBV_WR_SEND, IBV_SEND_SIGNALED, &out, 1, 0, 0);
	wc_expect(&p.b, 2, IBV_WC_SUCCESS);
	wc_expect(&p.a, 1, IBV_WC_SUCCESS);
	same(p.a.mem + PAGE, 3000, 3, "first words of the listener");
	pair_close(&p);
}

/* Reads in both directions at once, many more than IRD and ORD allow on the wire. */
static void many_reads(void)
{
	struct options opt = defaults;
	struct pair p;
	unsigned int i;

	opt.ird = 2;
	opt.ord = 2;
	pair_open(&p, &opt);
	hello(&p);
	fill(p.a.mem, 20 * 3001, 1);
	fill(p.b.mem, 20 * 3001, 2);
	for (i = 0; i < 20; i++) {
		struct ibv_sge to_a = sge(&p.a, (1 << 20) + i * 3001, 3001);
		struct ibv_sge to_b = sge(&p.b, (1 << 20) + i * 3001, 3001);

		post(&p.a, i, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &to_a, 1,
		     addr(&p.b, i * 3001), p.b.mr->rkey);
		post(&p.b, i, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &to_b, 1,
		     addr(&p.a, i * 3001), p.a.mr->rkey);
	}
	for (i = 0; i < 20; i++) {
		wc_expect(&p.a, i, IBV_WC_SUCCESS);
		wc_expect(&p.b, i, IBV_WC_SUCCESS);
	}
	same(p.a.mem + (1 << 20), 20 * 3001, 2, "reads by a");
	same(p.b.mem + (1 << 20), 20 * 3001, 1, "reads by b");
	pair_close(&p);
}

const struct test data_tests[] = {
	{ "sizes_send", sizes_send },
	{ "sizes_write", sizes_write },
	{ "sizes_read", sizes_read },
	{ "straddle", straddle },
	{ "zero_based", zero_based },
	{ "gather", gather },
	{ "gather_write", gather_write },
	{ "inline_data", inline_data },
	{ "fence", fence },
	{ "responder_first", responder_first },
	{ "many_reads", many_reads },
	{ NULL, NULL },
};
