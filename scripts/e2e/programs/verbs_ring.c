// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A program may write anything into its send ring, which libibverbs maps. That only ends its
 * own connection.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include <rdma/siw-abi.h>

#include "probe.h"

#define MAGIC		0x7269676e5f717321ull
#define ENTRIES		64
#define ROUNDS		20
#define MAPPINGS	32

struct mapping {
	char *start, *end;
};

/* Finds what this process has mapped of the device. Return: how many mappings there are. */
static int find_mappings(struct mapping *found, int most)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	check(maps, "/proc/self/maps: %m");
	while (n < most && fgets(line, sizeof(line), maps)) {
		unsigned long start, end;

		if (!strstr(line, "/uverbs") || sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		found[n++] = (struct mapping){ (char *)start, (char *)end };
	}
	fclose(maps);
	check(n < most, "too many mappings");
	return n;
}

/* The ring is the mapping whose first entry is the request, or receive, just posted. */
static void *find_ring(void)
{
	struct mapping maps[MAPPINGS];
	int n = find_mappings(maps, MAPPINGS);

	while (n--) {
		struct siw_sqe *at = (struct siw_sqe *)maps[n].start;

		/* A ring of completions is larger. */
		if (maps[n].end - maps[n].start <= (long)(ENTRIES * sizeof(*at) + PAGE) &&
		    at->id == MAGIC)
			return at;
	}
	check(false, "the ring is not mapped");
	return NULL;
}

static struct siw_sqe *open_ring(struct pair *p)
{
	struct options opt = defaults;
	struct ibv_sge to, from;

	opt.send_wr = ENTRIES;
	opt.cqe = 2000;
	pair_open(p, &opt);
	to = sge(&p->b, 0, 8);
	from = sge(&p->a, 0, 8);
	post_recv(&p->b, 1, &to, 1);
	post(&p->a, MAGIC, IBV_WR_SEND, IBV_SEND_SIGNALED, &from, 1, 0, 0);
	wc_expect(&p->a, MAGIC, IBV_WC_SUCCESS);
	wc_expect(&p->b, 1, IBV_WC_SUCCESS);
	return find_ring();
}

/* A proper Send, which is signalled and VALID */
static void proper(struct side *s, struct siw_sqe *at)
{
	memset(at, 0, sizeof(*at));
	at->id = 2;
	at->num_sge = 1;
	at->opcode = SIW_OP_SEND;
	at->sge[0].laddr = (uintptr_t)s->mem;
	at->sge[0].length = 8;
	at->sge[0].lkey = s->mr->lkey;
	at->flags = SIW_WQE_VALID | SIW_WQE_SIGNALLED;
}

/* The next post rings the doorbell, because the entry before it is free. */
static void ring_doorbell(struct pair *p)
{
	struct ibv_sge to = sge(&p->b, 0, 8), from = sge(&p->a, 0, 8);

	post_recv(&p->b, 2, &to, 1);
	post(&p->a, 1, IBV_WR_SEND, IBV_SEND_SIGNALED, &from, 1, 0, 0);
}

static void too_many(struct siw_sqe *e) { e->num_sge = 255; }
static void seven(struct siw_sqe *e) { e->num_sge = SIW_MAX_SGE + 1; }
static void no_operation(struct siw_sqe *e) { e->opcode = 200; }
static void kernels(struct siw_sqe *e) { e->opcode = SIW_OP_REG_MR; }
static void invalidates(struct siw_sqe *e) { e->opcode = SIW_OP_INVAL_STAG; }

static void long_inline(struct siw_sqe *e)
{
	e->flags |= SIW_WQE_INLINE;
	e->sge[0].length = SIW_MAX_INLINE + 1;
}

static void huge_inline(struct siw_sqe *e)
{
	e->flags |= SIW_WQE_INLINE;
	e->sge[0].length = ~0u;
}

static void inline_read(struct siw_sqe *e)
{
	e->flags |= SIW_WQE_INLINE;
	e->opcode = SIW_OP_READ;
}

static void read_to_two(struct siw_sqe *e)
{
	e->opcode = SIW_OP_READ;
	e->num_sge = 2;
	e->sge[1] = e->sge[0];
}

static void sum_wraps(struct siw_sqe *e)
{
	e->num_sge = 2;
	e->sge[1] = e->sge[0];
	e->sge[1].length = ~0u - 3;
}

/* Each function makes one bad entry, which verbs.sh finds in a counter. */
static void nonsense(void)
{
	static void (*const spoil[])(struct siw_sqe *e) = {
		too_many, seven, no_operation, kernels, invalidates, long_inline, huge_inline,
		inline_read, read_to_two, sum_wraps,
	};
	struct siw_sqe *ring;
	struct ibv_wc wc;
	struct pair p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(spoil); i++) {
		ring = open_ring(&p);
		proper(&p.a, &ring[2]);
		spoil[i](&ring[2]);
		ring_doorbell(&p);
		/* Its bytes may still be held back for coalescing when the error comes. */
		check(wc_get(&p.a, &wc, WAIT_MS) && wc.wr_id == 1 &&
		      (wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR),
		      "the request before entry %zu: %s", i, ibv_wc_status_str(wc.status));
		check(wc_get(&p.a, &wc, WAIT_MS) && wc.wr_id == 2 &&
		      wc.status == IBV_WC_LOC_QP_OP_ERR, "entry %zu was taken", i);
		cm_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED);
		pair_free(&p);
	}
	printf("%zu entries\n", i);
}

static void seven_pieces(struct siw_rqe *e) { e->num_sge = 7; }

static void two_wrap(struct siw_rqe *e)
{
	e->num_sge = 2;
	e->sge[1] = e->sge[0];
	e->sge[1].length = ~0u - 3;
}

static void send_8(struct pair *p, int id)
{
	struct ibv_sge from = sge(&p->a, 0, 8);

	post(&p->a, id, IBV_WR_SEND, IBV_SEND_SIGNALED, &from, 1, 0, 0);
	wc_expect(&p->a, id, IBV_WC_SUCCESS);
}

/* A bad receive is the fault of its program, and not that of the peer whose Send takes it. */
static void bad_receive(void (*spoil)(struct siw_rqe *e), bool srq)
{
	struct options opt = defaults;
	struct siw_rqe *ring;
	struct ibv_sge to;
	struct pair p;
	int event;

	opt.srq = srq;
	opt.recv_wr = ENTRIES;
	pair_open(&p, &opt);
	to = sge(&p.b, 0, 8);
	post_recv(&p.b, MAGIC, &to, 1);
	ring = find_ring();
	send_8(&p, 1);
	wc_expect(&p.b, MAGIC, IBV_WC_SUCCESS);
	post_recv(&p.b, 2, &to, 1);
	spoil(&ring[1]);
	send_8(&p, 2);
	wc_expect(&p.b, 2, IBV_WC_LOC_QP_OP_ERR);
	event = async_get(&p.b, WAIT_MS);
	check(event == IBV_EVENT_QP_FATAL, "event %d", event);
	cm_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED);
	pair_free(&p);
}

static void bad_receives(void)
{
	int srq;

	for (srq = 0; srq < 2; srq++) {
		bad_receive(seven_pieces, srq);
		bad_receive(two_wrap, srq);
	}
}

struct scribble {
	struct siw_sqe *ring;
	atomic_bool over;
};

#define put(at, value)	__atomic_store_n(at, value, __ATOMIC_RELAXED)

/* Changes entries between the driver's check and its use of them. */
static void *scribble(void *arg)
{
	struct scribble *s = arg;
	unsigned int seed = 1;
	int i;

	while (!s->over) {
		for (i = 2; i < ENTRIES; i++) {
			struct siw_sqe *e = &s->ring[i];
			unsigned int r = rand_r(&seed);

			put(&e->num_sge, r & 1 ? 255 : 1);
			put(&e->sge[0].length, r & 2 ? ~0u : 8);
			put(&e->flags, SIW_WQE_VALID |
				       (r & 4 ? SIW_WQE_INLINE : SIW_WQE_SIGNALLED));
			put(&e->opcode, r & 24 ? SIW_OP_SEND : 200);
		}
	}
	return NULL;
}

static void scribbled(void)
{
	struct scribble s;
	pthread_t thread;
	struct pair p;
	int i, round;

	for (round = 0; round < ROUNDS; round++) {
		s.ring = open_ring(&p);
		s.over = false;
		for (i = 2; i < ENTRIES; i++)
			proper(&p.a, &s.ring[i]);
		check(!pthread_create(&thread, NULL, scribble, &s), "pthread_create");
		ring_doorbell(&p);
		/* Some entry is bad, or there is no receive for it. */
		cm_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED);
		s.over = true;
		check(!pthread_join(thread, NULL), "pthread_join");
		pair_free(&p);
	}
}

/* After a word from the parent, writes to all rings that the parent has had. */
static void write_to_rings(int word)
{
	struct mapping maps[MAPPINGS];
	int n = find_mappings(maps, MAPPINGS);
	struct siw_sqe *ring = find_ring();
	char c;

	check(read(word, &c, 1) == 1, "the parent is gone");
	check(ring->id == MAGIC, "the ring has changed");
	printf("%d mappings\n", n);
	check(n >= 4, "not the rings of two queue pairs and two queues of completions");
	while (n--)
		memset(maps[n].start, 0xff, maps[n].end - maps[n].start);
	exit(0);
}

/* A child still has the rings of queue pairs that are gone. The memory is nobody else's. */
static void kept(void)
{
	struct pair old, new;
	int word[2], status;
	pid_t child;

	open_ring(&old);
	check(!pipe(word), "pipe: %m");
	child = fork();
	check(child >= 0, "fork: %m");
	if (!child)
		write_to_rings(word[0]);
	pair_free(&old);
	open_ring(&new);
	check(write(word[1], "", 1) == 1, "write: %m");
	check(waitpid(child, &status, 0) == child && !status, "the child: status %#x", status);
	ring_doorbell(&new);
	wc_expect(&new.a, 1, IBV_WC_SUCCESS);
	wc_expect(&new.b, 2, IBV_WC_SUCCESS);
	pair_free(&new);
}

const struct test ring_tests[] = {
	{ "nonsense", nonsense },
	{ "bad_receives", bad_receives },
	{ "scribbled", scribbled },
	{ "kept", kept },
	{ NULL, NULL },
};
