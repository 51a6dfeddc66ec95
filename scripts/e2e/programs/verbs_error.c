// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Side a does something it has no right to. The tests check what both sides learn.
 *
 * iWARP, unlike InfiniBand, has no acknowledgements: a Write or Send is complete
 * once it is handed over, so the offender's own request may end well or flushed,
 * whereas a failing Read must end in error.  In every case the connection is gone:
 * both queue pairs are in the error state, everything posted is flushed, the
 * victim's owner gets an async event and none of the victim's memory has changed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "probe.h"

#define REGION		(1 << 20)	/* where b's memory for the test begins */
#define REGION_LEN	(2 * PAGE)
#define RECVS		3
#define OF(status)	(1u << (status))
#define ANY_ERROR	(~0u & ~OF(IBV_WC_SUCCESS))
#define TOO_LONG	(OF(IBV_WC_LOC_LEN_ERR) | OF(IBV_WC_LOC_PROT_ERR) | OF(IBV_WC_WR_FLUSH_ERR))
#define RO		IBV_ACCESS_REMOTE_READ
#define NO_WRITE	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)
#define NO_READ		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define REMOTE_RW	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

enum { OTHER_PD = 1, STALE = 2, QP_FORBIDS = 4, NO_RECV = 8, SHORT_RECV = 16,
	READ_ONLY_RECV = 32, USED = 64 };

struct crime {
	enum ibv_wr_opcode op;
	int offset, len;		/* relative to the region */
	unsigned int access;		/* of the region */
	unsigned int special;
	unsigned int status;		/* with which a's request may end */
	unsigned int recv_status;	/* with which b's first receive may end */
};

static unsigned int wait_status(struct side *s, struct ibv_wc *all, unsigned int n)
{
	unsigned int seen = 0;
	struct ibv_wc wc;

	while (seen != (1u << n) - 1) {
		check(wc_get(s, &wc, WAIT_MS), "%s: completions missing, have %#x of %u",
		      s->name, seen, n);
		check(wc.wr_id < n && !(seen & 1u << wc.wr_id), "%s: wr_id %llu",
		      s->name, (unsigned long long)wc.wr_id);
		seen |= 1u << wc.wr_id;
		all[wc.wr_id] = wc;
	}
	return seen;
}

static void expect_status(struct side *s, const struct ibv_wc *wc, unsigned int allowed)
{
	check(OF(wc->status) & allowed, "%s: request %llu ended with '%s'", s->name,
	      (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status));
}

static void expect_error_state(struct side *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr qp;

	check(!ibv_query_qp(s->id->qp, &qp, IBV_QP_STATE, &init), "query_qp: %m");
	check(qp.qp_state == IBV_QPS_ERR, "%s: state %d, not ERR", s->name, qp.qp_state);
}

static bool is_qp_event(int ev)
{
	return ev == IBV_EVENT_QP_FATAL || ev == IBV_EVENT_QP_ACCESS_ERR ||
	       ev == IBV_EVENT_QP_REQ_ERR;
}

/* Makes the victim's memory for the offence. */
static struct ibv_mr *make_region(struct pair *p, const struct crime *c,
				  struct ibv_pd **other)
{
	struct ibv_pd *pd = p->b.pd;
	struct ibv_mr *mr;

	if (c->special & OTHER_PD) {
		pd = *other = ibv_alloc_pd(p->b.id->verbs);
		check(pd, "alloc_pd: %m");
	}
	mr = ibv_reg_mr(pd, p->b.mem + REGION, REGION_LEN, c->access);
	check(mr, "reg_mr: %m");
	return mr;
}

static void post_recvs(struct pair *p, const struct crime *c, struct ibv_mr *mr)
{
	struct ibv_sge e;
	int i;

	for (i = 1; i <= RECVS; i++) {
		e = sge(&p->a, i * PAGE, PAGE);
		post_recv(&p->a, i, &e, 1);
		e = sge(&p->b, i * PAGE, PAGE);
		if (c->special & SHORT_RECV && i == 1)
			e.length = 10;
		if (c->special & READ_ONLY_RECV && i == 1) {
			e.addr = (uintptr_t)mr->addr;
			e.lkey = mr->lkey;
		}
		if (!(c->special & NO_RECV))
			post_recv(&p->b, i, &e, 1);
	}
}

static void expect_untouched(struct pair *p)
{
	size_t i;

	for (i = REGION - PAGE; i < REGION + 4 * PAGE; i++)
		check(p->b.mem[i] == 0xee, "byte %zd of the region was written",
		      (ssize_t)i - REGION);
}

static void forbid(struct pair *p, const struct crime *c)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_LOCAL_WRITE };

	if (c->op == IBV_WR_RDMA_READ)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_WRITE;
	else
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
	check(!ibv_modify_qp(p->b.id->qp, &attr, IBV_QP_ACCESS_FLAGS), "modify_qp: %m");
}

static void expect_outcome(struct pair *p, const struct crime *c)
{
	struct ibv_wc wc[RECVS + 1];
	int i, ev;

	wait_status(&p->a, wc, RECVS + 1);
	expect_status(&p->a, &wc[0], c->status);
	for (i = 1; i <= RECVS; i++)
		expect_status(&p->a, &wc[i], OF(IBV_WC_WR_FLUSH_ERR));
	if (!(c->special & NO_RECV)) {
		for (i = 0; i < RECVS; i++)
			check(wc_get(&p->b, &wc[i], WAIT_MS), "b: no completion %d", i);
		expect_status(&p->b, &wc[0], c->recv_status);
		for (i = 1; i < RECVS; i++)
			expect_status(&p->b, &wc[i], OF(IBV_WC_WR_FLUSH_ERR));
	}
	ev = async_get(&p->b, 3000);
	check(is_qp_event(ev), "b: async event %d", ev);
	if (c->op != IBV_WR_SEND)
		check(ev != IBV_EVENT_QP_REQ_ERR, "b: event %d", ev);
	ev = async_get(&p->a, 200);
	printf("a: async event %d\n", ev);
	check(ev < 0 || is_qp_event(ev), "a: async event %d", ev);
	cm_expect(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	expect_error_state(&p->a);
	expect_error_state(&p->b);
}

/*
 * The driver's data of a region may be freed some seconds after the region is gone: kfree_rcu()
 * takes 5. Only the debug kernel can tell whether somebody uses it after that.
 */
static void let_be_freed(void)
{
	if (getenv("DEBUG_KERNEL"))
		sleep(7);
}

/* The request is sent while it is still allowed. A Read behind it shows that it is done. */
static void use_region(struct pair *p, const struct crime *c, uint32_t rkey)
{
	struct ibv_sge e = sge(&p->a, 0, 4);
	uint64_t addr = (uintptr_t)p->b.mem + REGION;

	memset(p->a.mem, 0xee, 4);
	post(&p->a, 0, c->op, IBV_SEND_SIGNALED, &e, 1, addr, rkey);
	wc_expect(&p->a, 0, IBV_WC_SUCCESS);
	post(&p->a, 1, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &e, 1, addr, rkey);
	wc_expect(&p->a, 1, IBV_WC_SUCCESS);
}

static void commit(const struct crime *c)
{
	struct ibv_pd *other = NULL;
	struct ibv_mr *mr;
	struct ibv_sge e;
	struct pair p;
	uint32_t rkey;

	pair_open(&p, &defaults);
	hello(&p);
	memset(p.b.mem + REGION - PAGE, 0xee, 5 * PAGE);
	mr = make_region(&p, c, &other);
	rkey = mr->rkey;
	if (c->special & USED)
		use_region(&p, c, rkey);
	post_recvs(&p, c, mr);
	if (c->special & STALE)
		check(!ibv_dereg_mr(mr), "dereg_mr: %m");
	if (c->special & USED)
		let_be_freed();
	if (c->special & QP_FORBIDS)
		forbid(&p, c);
	e = sge(&p.a, REGION, c->len);
	post(&p.a, 0, c->op, IBV_SEND_SIGNALED, &e, 1,
	     (uintptr_t)p.b.mem + REGION + c->offset, rkey);
	expect_outcome(&p, c);
	expect_untouched(&p);
	if (!(c->special & STALE))
		check(!ibv_dereg_mr(mr), "dereg_mr: %m");
	if (other)
		check(!ibv_dealloc_pd(other), "dealloc_pd: %m");
	pair_free(&p);
}

#define WRITE_ENDS	(OF(IBV_WC_SUCCESS) | OF(IBV_WC_WR_FLUSH_ERR) | \
			 OF(IBV_WC_REM_ACCESS_ERR))
#define READ_ENDS	(OF(IBV_WC_REM_ACCESS_ERR) | OF(IBV_WC_WR_FLUSH_ERR))
#define SEND_ENDS	(OF(IBV_WC_SUCCESS) | OF(IBV_WC_WR_FLUSH_ERR) | \
			 OF(IBV_WC_REM_OP_ERR) | OF(IBV_WC_REM_INV_REQ_ERR))
#define RW		(IBV_ACCESS_LOCAL_WRITE | REMOTE_RW)
#define FLUSHED		OF(IBV_WC_WR_FLUSH_ERR)

#define CRIME(name, ...)						\
	static void name(void)						\
	{								\
		static const struct crime c = { __VA_ARGS__ };		\
									\
		commit(&c);						\
	}

CRIME(write_past_end, IBV_WR_RDMA_WRITE, REGION_LEN - 5, 6, RW, 0, WRITE_ENDS, FLUSHED)
CRIME(write_before, IBV_WR_RDMA_WRITE, -1, 4, RW, 0, WRITE_ENDS, FLUSHED)
CRIME(write_no_right, IBV_WR_RDMA_WRITE, 0, 100, NO_WRITE, 0, WRITE_ENDS, FLUSHED)
CRIME(write_stale, IBV_WR_RDMA_WRITE, 0, 100, RW, STALE, WRITE_ENDS, FLUSHED)
CRIME(write_gone, IBV_WR_RDMA_WRITE, 0, 100, RW, USED | STALE, WRITE_ENDS, FLUSHED)
CRIME(write_other_pd, IBV_WR_RDMA_WRITE, 0, 100, RW, OTHER_PD, WRITE_ENDS, FLUSHED)
CRIME(write_qp_forbids, IBV_WR_RDMA_WRITE, 0, 100, RW, QP_FORBIDS, WRITE_ENDS, FLUSHED)
CRIME(read_past_end, IBV_WR_RDMA_READ, REGION_LEN - 5, 6, RW, 0, READ_ENDS, FLUSHED)
CRIME(read_before, IBV_WR_RDMA_READ, -1, 4, RW, 0, READ_ENDS, FLUSHED)
CRIME(read_no_right, IBV_WR_RDMA_READ, 0, 100, NO_READ, 0, READ_ENDS, FLUSHED)
CRIME(read_stale, IBV_WR_RDMA_READ, 0, 100, RW, STALE, READ_ENDS, FLUSHED)
CRIME(read_gone, IBV_WR_RDMA_READ, 0, 100, RW, USED | STALE, READ_ENDS, FLUSHED)
CRIME(read_other_pd, IBV_WR_RDMA_READ, 0, 100, RW, OTHER_PD, READ_ENDS, FLUSHED)
CRIME(read_qp_forbids, IBV_WR_RDMA_READ, 0, 100, RW, QP_FORBIDS, READ_ENDS, FLUSHED)
CRIME(send_no_recv, IBV_WR_SEND, 0, 100, RW, NO_RECV, SEND_ENDS, FLUSHED)
CRIME(send_too_long, IBV_WR_SEND, 0, 100, RW, SHORT_RECV, SEND_ENDS, TOO_LONG)
CRIME(send_to_read_only, IBV_WR_SEND, 0, 100, RO, READ_ONLY_RECV, SEND_ENDS, ANY_ERROR)

#define STREAM_LEN	(64 << 10)
#define STREAM_WRITES	48
#define REVOCATIONS	5

static bool has_begun(const uint8_t *first)
{
	double end = now() + WAIT_MS / 1000.0;

	while (__atomic_load_n(first, __ATOMIC_ACQUIRE) == 0xee)
		if (now() > end)
			return false;
	return true;
}

struct stream {
	struct side *from;
	uint64_t to;
	uint32_t rkey;
};

static void post_write(struct stream *w, int i)
{
	struct ibv_sge e = sge(w->from, i * PAGE, STREAM_LEN);

	post(w->from, i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &e, 1, w->to, w->rkey);
}

/* Write again and again until a Write is refused, so that none of them is known to be the last. */
static void *keep_writing(void *arg)
{
	struct stream *w = arg;
	bool refused = false;
	struct ibv_wc wc;
	int i, left = STREAM_WRITES;

	for (i = 0; i < STREAM_WRITES; i++)
		post_write(w, i);
	while (left) {
		check(wc_get(w->from, &wc, WAIT_MS), "a Write does not come back");
		refused |= wc.status != IBV_WC_SUCCESS;
		if (refused)
			left--;
		else
			post_write(w, wc.wr_id);
	}
	return NULL;
}

static void revoke_amid(struct pair *p, uint8_t *copy)
{
	uint8_t *mem = p->b.mem + REGION;
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, mem, STREAM_LEN, RW);
	struct stream w = { .from = &p->a, .to = (uintptr_t)mem };
	pthread_t writer;

	check(mr, "reg_mr: %m");
	w.rkey = mr->rkey;
	memset(mem, 0xee, STREAM_LEN);
	check(!pthread_create(&writer, NULL, keep_writing, &w), "pthread_create");
	check(has_begun(mem), "no Write arrives");
	check(!ibv_dereg_mr(mr), "dereg_mr: %m");
	memcpy(copy, mem, STREAM_LEN);
	check(async_get(&p->b, WAIT_MS) >= 0, "no Write was refused");
	check(!pthread_join(writer, NULL), "pthread_join");
	check(!memcmp(copy, mem, STREAM_LEN), "the peer wrote to a region that was gone");
}

/* A region goes while the peer writes to it: nothing in it changes any more. */
static void write_revoked(void)
{
	uint8_t *copy = malloc(STREAM_LEN);
	struct pair p;
	int i;

	check(copy, "malloc");
	for (i = 0; i < REVOCATIONS; i++) {
		pair_open(&p, &defaults);
		hello(&p);
		fill(p.a.mem, REGION, i);
		revoke_amid(&p, copy);
		pair_free(&p);
	}
	free(copy);
}

/* A list of three Reads, one of which, @bad, the peer will refuse */
static void three_reads(struct pair *p, struct ibv_send_wr wr[3], struct ibv_sge e[3], int bad)
{
	int i;

	memset(wr, 0, 3 * sizeof(*wr));
	for (i = 0; i < 3; i++) {
		e[i] = sge(&p->a, i * PAGE, 100);
		wr[i].wr_id = i;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		wr[i].sg_list = &e[i];
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_RDMA_READ;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = (uintptr_t)p->b.mem + (i == bad ? MEM_SIZE - 10 : 0);
		wr[i].wr.rdma.rkey = p->b.mr->rkey;
	}
}

/* The three are posted in one go. Each ends in one of its ways, and the connection ends. */
static void three_end(struct pair *p, struct ibv_send_wr *wr, const unsigned int ends[3])
{
	struct ibv_wc wc[3];
	int i;

	check(!try_send(&p->a, wr), "post_send: %m");
	wait_status(&p->a, wc, 3);
	for (i = 0; i < 3; i++)
		expect_status(&p->a, &wc[i], ends[i]);
	cm_expect(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&p->b, RDMA_CM_EVENT_DISCONNECTED);
}

/* The second of three Reads in one go is refused, and its completion must say so. */
static void second_read(void)
{
	static const unsigned int ends[] = {
		OF(IBV_WC_SUCCESS) | OF(IBV_WC_WR_FLUSH_ERR), OF(IBV_WC_REM_ACCESS_ERR),
		OF(IBV_WC_WR_FLUSH_ERR),
	};
	struct ibv_send_wr wr[3];
	struct ibv_sge e[3];
	struct pair p;

	pair_open(&p, &defaults);
	hello(&p);
	three_reads(&p, wr, e, 1);
	three_end(&p, wr, ends);
	pair_free(&p);
}

/*
 * After a Read that the peer refuses it looks at nothing more. All requests behind it are
 * flushed, whether they ask for a completion or not.
 */
static void behind_a_read(void)
{
	static const unsigned int ends[] = {
		OF(IBV_WC_REM_ACCESS_ERR), OF(IBV_WC_WR_FLUSH_ERR), OF(IBV_WC_WR_FLUSH_ERR),
	};
	struct ibv_send_wr wr[3];
	struct ibv_sge e[3], in;
	struct pair p;

	pair_open(&p, &defaults);
	hello(&p);
	in = sge(&p.b, 0, PAGE);
	post_recv(&p.b, 7, &in, 1);
	three_reads(&p, wr, e, 0);
	wr[1].opcode = IBV_WR_SEND;
	wr[1].send_flags = 0;
	wr[2].opcode = IBV_WR_SEND;
	three_end(&p, wr, ends);
	wc_expect(&p.b, 7, IBV_WC_WR_FLUSH_ERR);
	pair_free(&p);
}

/*
 * A local mistake: the request itself fails, nothing is sent, the connection ends. The mistake is
 * in the last piece, behind @good bytes that are valid.
 */
static void local_mistake_behind(unsigned int good, enum ibv_wr_opcode op, bool bad_key,
				 bool read_only)
{
	struct ibv_mr *mr = NULL;
	struct ibv_sge e, list[2];
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &defaults);
	hello(&p);
	memset(p.b.mem + REGION, 0xee, PAGE);
	e = sge(&p.b, 0, PAGE);
	post_recv(&p.b, 1, &e, 1);
	list[0] = sge(&p.a, 0, good);
	e = sge(&p.a, bad_key || read_only ? 0 : MEM_SIZE - 10, 100);
	if (bad_key)
		e.lkey ^= 0x00a5a500;
	if (read_only) {
		mr = ibv_reg_mr(p.a.pd, p.a.mem, PAGE, 0);
		check(mr, "reg_mr: %m");
		e.lkey = mr->lkey;
	}
	list[!!good] = e;
	post(&p.a, 0, op, IBV_SEND_SIGNALED, list, good ? 2 : 1, (uintptr_t)p.b.mem + REGION,
	     p.b.mr->rkey);
	wc_expect(&p.a, 0, IBV_WC_LOC_PROT_ERR);
	check(wc_get(&p.b, &wc, WAIT_MS) && wc.status == IBV_WC_WR_FLUSH_ERR,
	      "b: its receive was not flushed");
	check(p.b.mem[REGION] == 0xee, "data went out all the same");
	expect_error_state(&p.a);
	if (mr)
		check(!ibv_dereg_mr(mr), "dereg_mr: %m");
	pair_free(&p);
}

static void local_mistake(enum ibv_wr_opcode op, bool bad_key, bool read_only)
{
	local_mistake_behind(0, op, bad_key, read_only);
}

/* The region was used and then deregistered, and another one was registered. */
static void local_gone(void)
{
	struct ibv_mr *mr, *next;
	struct ibv_sge e;
	struct pair p;

	pair_open(&p, &defaults);
	hello(&p);
	mr = ibv_reg_mr(p.a.pd, p.a.mem, PAGE, 0);
	check(mr, "reg_mr: %m");
	e = sge(&p.a, 0, 100);
	e.lkey = mr->lkey;
	post(&p.a, 0, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &e, 1, (uintptr_t)p.b.mem + REGION,
	     p.b.mr->rkey);
	wc_expect(&p.a, 0, IBV_WC_SUCCESS);
	check(!ibv_dereg_mr(mr), "dereg_mr: %m");
	let_be_freed();
	next = ibv_reg_mr(p.a.pd, p.a.mem, PAGE, 0);
	check(next, "reg_mr: %m");
	check(next->lkey != e.lkey, "the STag is in use again at once");
	post(&p.a, 1, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &e, 1, (uintptr_t)p.b.mem + REGION,
	     p.b.mr->rkey);
	wc_expect(&p.a, 1, IBV_WC_LOC_PROT_ERR);
	expect_error_state(&p.a);
	check(!ibv_dereg_mr(next), "dereg_mr: %m");
	pair_free(&p);
}

static void local_bad_lkey(void)
{
	local_mistake(IBV_WR_SEND, true, false);
	local_mistake(IBV_WR_RDMA_WRITE, true, false);
}

/* The good bytes fit into one FPDU with the mistake, or fill FPDUs before it. */
static void local_behind(void)
{
	unsigned int i, good[] = { 5, 3000 };

	for (i = 0; i < 2; i++) {
		local_mistake_behind(good[i], IBV_WR_SEND, true, false);
		local_mistake_behind(good[i], IBV_WR_RDMA_WRITE, true, false);
		local_mistake_behind(good[i], IBV_WR_RDMA_WRITE, false, false);
	}
}

static void local_past_end(void)
{
	local_mistake(IBV_WR_SEND, false, false);
	local_mistake(IBV_WR_RDMA_READ, false, false);
}

static void local_read_sink(void)
{
	local_mistake(IBV_WR_RDMA_READ, false, true);
}

/* Requests that can never work are refused when posted. */
static void refused_posts(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct options opt = defaults;
	struct ibv_sge list[8];
	struct pair p;
	int i;

	opt.inline_size = 80;
	pair_open(&p, &opt);
	for (i = 0; i < 8; i++)
		list[i] = sge(&p.a, i * PAGE, 81);
	wr.sg_list = list;
	wr.num_sge = 7;
	check(try_send(&p.a, &wr), "seven pieces were taken");
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	check(try_send(&p.a, &wr), "81 bytes inline were taken");
	hello(&p);
	pair_close(&p);
}

/* Memory that does not exist, or that the program may not write, gets no STag. */
static void refused_regions(void)
{
	static const int writes[] = { IBV_ACCESS_LOCAL_WRITE, RW };
	struct ibv_mr *mr;
	struct pair p;
	uint8_t *page;
	int i;

	pair_open(&p, &defaults);
	page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(page != MAP_FAILED, "mmap: %m");
	for (i = 0; i < 2; i++) {
		mr = ibv_reg_mr(p.a.pd, page, 2 * PAGE, writes[i]);
		check(!mr && errno == EFAULT, "read-only memory: %p, %m", mr);
	}
	mr = ibv_reg_mr(p.a.pd, page, 2 * PAGE, RO);
	check(mr, "reg_mr to read: %m");
	check(!ibv_dereg_mr(mr), "dereg_mr: %m");
	check(!munmap(page + PAGE, PAGE), "munmap: %m");
	mr = ibv_reg_mr(p.a.pd, page, 2 * PAGE, RO);
	check(!mr && errno == EFAULT, "memory that ends: %p, %m", mr);
	check(!munmap(page, PAGE), "munmap: %m");
	hello(&p);
	pair_close(&p);
}

const struct test error_tests[] = {
	{ "write_past_end", write_past_end },
	{ "write_before", write_before },
	{ "write_no_right", write_no_right },
	{ "write_stale", write_stale },
	{ "write_gone", write_gone },
	{ "write_revoked", write_revoked },
	{ "write_other_pd", write_other_pd },
	{ "write_qp_forbids", write_qp_forbids },
	{ "read_past_end", read_past_end },
	{ "read_before", read_before },
	{ "read_no_right", read_no_right },
	{ "read_stale", read_stale },
	{ "read_gone", read_gone },
	{ "read_other_pd", read_other_pd },
	{ "read_qp_forbids", read_qp_forbids },
	{ "second_read", second_read },
	{ "behind_a_read", behind_a_read },
	{ "send_no_recv", send_no_recv },
	{ "send_too_long", send_too_long },
	{ "send_to_read_only", send_to_read_only },
	{ "local_bad_lkey", local_bad_lkey },
	{ "local_gone", local_gone },
	{ "local_behind", local_behind },
	{ "local_past_end", local_past_end },
	{ "local_read_sink", local_read_sink },
	{ "refused_posts", refused_posts },
	{ "refused_regions", refused_regions },
	{ NULL, NULL },
};
