// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connecting two namespaces from one thread, and the small verbs around it.
 *
 * Every wait is bounded, by WAIT_MS for one event and by an alarm for the
 * whole test, so that a device that loses a completion fails and does not hang.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

#define TEST_SECONDS 40

/* A slow kernel needs a factor, as in lib.sh. */
int slow(void)
{
	const char *factor = getenv("E2E_SLOW");
	int n = factor ? atoi(factor) : 1;

	return n > 1 ? n : 1;
}

static const char *server = "10.77.0.2";
static int port = 7471;

const struct options defaults = {
	.send_wr = 64, .recv_wr = 64, .cqe = 256, .ird = 8, .ord = 8,
	.inline_size = 64, .backlog = 64,
};

void fail_at(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "%s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/*
 * The time that the kernel's timers have. In a virtual machine on a busy host it may be a second
 * behind CLOCK_MONOTONIC, so a timer seems to end too early by that.
 */
double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Prints where it is, and waits for SIGUSR1, because something outside has to be done first. */
void wait_until_told(const char *where)
{
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	check(!sigprocmask(SIG_BLOCK, &set, NULL), "sigprocmask: %m");
	puts(where);
	fflush(stdout);
	check(!sigwait(&set, &got), "sigwait");
}

int probe_port(void)
{
	return port;
}

void probe_server(const char *address, int to)
{
	if (address)
		server = address;
	if (to)
		port = to;
}

/* ---- connections -------------------------------------------------------- */

void enter(const struct side *s)
{
	check(!setns(s->netns, CLONE_NEWNET), "setns %s: %m", s->name);
}

static void side_init(struct side *s, const char *name)
{
	char path[64];

	memset(s, 0, sizeof(*s));
	s->name = name;
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	s->netns = open(path, O_RDONLY | O_CLOEXEC);
	check(s->netns >= 0, "%s: %m", path);
	s->events = rdma_create_event_channel();
	check(s->events, "event channel: %m");
	s->mem = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(s->mem != MAP_FAILED, "mmap: %m");
}

void pair_init(struct pair *p, const struct options *opt)
{
	memset(p, 0, sizeof(*p));
	p->opt = *opt;
	side_init(&p->a, "a");
	side_init(&p->b, "b");
}

static void make_addr(struct sockaddr_storage *ss, int to)
{
	struct sockaddr_in *v4 = (void *)ss;
	struct sockaddr_in6 *v6 = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, server, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(to);
		return;
	}
	check(inet_pton(AF_INET6, server, &v6->sin6_addr) == 1,
	      "bad address %s", server);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(to);
}

/* The server's address and the port of this test */
void probe_address(struct sockaddr_storage *ss)
{
	make_addr(ss, port);
}

static void set_tos(struct rdma_cm_id *id, uint8_t tos)
{
	check(!tos || !rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)),
	      "set_option: %m");
}

void pair_listen(struct pair *p)
{
	struct sockaddr_storage ss;

	enter(&p->b);
	make_addr(&ss, port);
	check(!rdma_create_id(p->b.events, &p->listener, NULL, RDMA_PS_TCP),
	      "create_id: %m");
	check(!rdma_bind_addr(p->listener, (void *)&ss), "bind: %m");
	set_tos(p->listener, p->opt.listen_tos);
	check(!rdma_listen(p->listener, p->opt.backlog), "listen: %m");
}

/* Wait for the next connection event of one side and take what it carries. */
static struct cm_seen cm_next(struct side *s, const char *wanted)
{
	struct pollfd pfd = { .fd = s->events->fd, .events = POLLIN };
	struct cm_seen seen = { 0 };
	struct rdma_cm_event *ev;

	check(poll(&pfd, 1, WAIT_MS) == 1, "%s: no connection event, expected %s",
	      s->name, wanted);
	check(!rdma_get_cm_event(s->events, &ev), "get_cm_event: %m");
	seen.type = ev->event;
	seen.status = ev->status;
	seen.id = ev->id;
	seen.ird = ev->param.conn.responder_resources;
	seen.ord = ev->param.conn.initiator_depth;
	seen.data_len = ev->param.conn.private_data_len;
	if (seen.data_len && ev->param.conn.private_data)
		memcpy(seen.data, ev->param.conn.private_data, seen.data_len);
	rdma_ack_cm_event(ev);
	return seen;
}

struct cm_seen cm_wait(struct side *s)
{
	return cm_next(s, "any");
}

struct cm_seen cm_expect(struct side *s, enum rdma_cm_event_type type)
{
	struct cm_seen seen = cm_next(s, rdma_event_str(type));

	check(seen.type == type, "%s: event %s (status %d), expected %s", s->name,
	      rdma_event_str(seen.type), seen.status, rdma_event_str(type));
	return seen;
}

void side_resolve(struct pair *p, struct side *s, int to)
{
	struct sockaddr_storage ss;

	enter(s);
	make_addr(&ss, to);
	check(!rdma_create_id(s->events, &s->id, NULL, RDMA_PS_TCP),
	      "create_id: %m");
	set_tos(s->id, p->opt.tos);
	check(!rdma_resolve_addr(s->id, NULL, (void *)&ss, 1000),
	      "resolve_addr: %m");
	cm_expect(s, RDMA_CM_EVENT_ADDR_RESOLVED);
	check(!rdma_resolve_route(s->id, WAIT_MS), "resolve_route: %m");
	cm_expect(s, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void make_srq(struct pair *p, struct side *s)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = p->opt.recv_wr, .max_sge = 6 },
	};

	s->srq = ibv_create_srq(s->pd, &attr);
	check(s->srq, "create_srq: %m");
}

void side_make_qp(struct pair *p, struct side *s)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = p->opt.sig_all,
		.cap = {
			.max_send_wr = p->opt.send_wr,
			.max_recv_wr = p->opt.recv_wr,
			.max_send_sge = 6,
			.max_recv_sge = 6,
			.max_inline_data = p->opt.inline_size,
		},
	};

	s->pd = ibv_alloc_pd(s->id->verbs);
	check(s->pd, "alloc_pd: %m");
	s->channel = ibv_create_comp_channel(s->id->verbs);
	check(s->channel, "comp_channel: %m");
	s->cq = ibv_create_cq(s->id->verbs, p->opt.cqe, NULL, s->channel, 0);
	check(s->cq, "create_cq: %m");
	s->mr = ibv_reg_mr(s->pd, s->mem, MEM_SIZE, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	check(s->mr, "reg_mr: %m");
	if (p->opt.srq && !s->srq)
		make_srq(p, s);
	attr.srq = s->srq;
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	check(!rdma_create_qp(s->id, s->pd, &attr), "create_qp: %m");
}

static struct rdma_conn_param conn_param(struct pair *p, const void *data, int len)
{
	struct rdma_conn_param cp = {
		.private_data = data,
		.private_data_len = len,
		.responder_resources = p->opt.ird,
		.initiator_depth = p->opt.ord,
		.retry_count = 7,
	};

	return cp;
}

void side_connect(struct pair *p, struct side *s, const void *data, int len)
{
	struct rdma_conn_param cp = conn_param(p, data, len);

	enter(s);
	check(!rdma_connect(s->id, &cp), "connect: %m");
}

void side_accept(struct pair *p, struct side *s, const void *data, int len)
{
	struct rdma_conn_param cp = conn_param(p, data, len);

	enter(s);
	check(!rdma_accept(s->id, &cp), "accept: %m");
}

/* Side a can post, and has not connected yet. */
void pair_prepare(struct pair *p, const struct options *opt)
{
	pair_init(p, opt);
	pair_listen(p);
	side_resolve(p, &p->a, port);
	side_make_qp(p, &p->a);
}

void pair_join(struct pair *p)
{
	side_connect(p, &p->a, NULL, 0);
	p->b.id = cm_expect(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	side_make_qp(p, &p->b);
	side_accept(p, &p->b, NULL, 0);
	cm_expect(&p->a, RDMA_CM_EVENT_ESTABLISHED);
	cm_expect(&p->b, RDMA_CM_EVENT_ESTABLISHED);
	p->a.connected = true;
	p->b.connected = true;
}

void pair_open(struct pair *p, const struct options *opt)
{
	pair_prepare(p, opt);
	pair_join(p);
}

void side_free(struct side *s)
{
	if (s->id && s->id->qp)
		rdma_destroy_qp(s->id);
	if (s->srq)
		check(!ibv_destroy_srq(s->srq), "destroy_srq: %m");
	if (s->mr)
		check(!ibv_dereg_mr(s->mr), "dereg_mr: %m");
	if (s->cq)
		check(!ibv_destroy_cq(s->cq), "destroy_cq: %m");
	if (s->channel)
		check(!ibv_destroy_comp_channel(s->channel), "channel: %m");
	if (s->pd)
		check(!ibv_dealloc_pd(s->pd), "dealloc_pd: %m");
	if (s->id)
		check(!rdma_destroy_id(s->id), "destroy_id: %m");
	s->srq = NULL;
	s->mr = NULL;
	s->cq = NULL;
	s->channel = NULL;
	s->pd = NULL;
	s->id = NULL;
}

void pair_free(struct pair *p)
{
	side_free(&p->a);
	side_free(&p->b);
	if (p->listener)
		check(!rdma_destroy_id(p->listener), "destroy listener: %m");
	rdma_destroy_event_channel(p->a.events);
	rdma_destroy_event_channel(p->b.events);
	munmap(p->a.mem, MEM_SIZE);
	munmap(p->b.mem, MEM_SIZE);
	close(p->a.netns);
	close(p->b.netns);
}

/* An orderly end: a disconnects, both must get the event, all objects must go. */
void pair_close(struct pair *p)
{
	check(!rdma_disconnect(p->a.id), "disconnect: %m");
	cm_expect(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	pair_free(p);
}

/* ---- work requests ------------------------------------------------------ */

struct ibv_sge sge(struct side *s, size_t offset, size_t length)
{
	struct ibv_sge e = {
		.addr = (uintptr_t)s->mem + offset,
		.length = length,
		.lkey = s->mr->lkey,
	};

	return e;
}

int try_send(struct side *s, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(s->id->qp, wr, &bad);
}

void post(struct side *s, uint64_t id, enum ibv_wr_opcode op, unsigned int flags,
	  struct ibv_sge *list, int count, uint64_t remote, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.wr_id = id, .opcode = op, .send_flags = flags,
		.sg_list = list, .num_sge = count,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};
	int ret = try_send(s, &wr);

	check(!ret, "%s: post_send %u: %s", s->name, op, strerror(ret));
}

void post_recv(struct side *s, uint64_t id, struct ibv_sge *list, int count)
{
	struct ibv_recv_wr wr = {
		.wr_id = id, .sg_list = list, .num_sge = count,
	}, *bad;
	int ret;

	if (s->srq)
		ret = ibv_post_srq_recv(s->srq, &wr, &bad);
	else
		ret = ibv_post_recv(s->id->qp, &wr, &bad);
	check(!ret, "%s: post_recv: %s", s->name, strerror(ret));
}

bool wc_get(struct side *s, struct ibv_wc *wc, int ms)
{
	double end = now() + ms / 1e3;
	int n;

	do {
		n = ibv_poll_cq(s->cq, 1, wc);
		check(n >= 0, "%s: poll_cq %d", s->name, n);
		if (n)
			return true;
		usleep(100);
	} while (now() < end);
	return false;
}

struct ibv_wc wc_expect(struct side *s, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	check(wc_get(s, &wc, WAIT_MS), "%s: no completion of %llu", s->name,
	      (unsigned long long)id);
	check(wc.wr_id == id, "%s: completion of %llu (%s), expected %llu", s->name,
	      (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status),
	      (unsigned long long)id);
	check(wc.status == status, "%s: %llu completed with '%s', expected '%s'",
	      s->name, (unsigned long long)id, ibv_wc_status_str(wc.status),
	      ibv_wc_status_str(status));
	check(status || wc.qp_num == s->id->qp->qp_num, "%s: wrong qp_num", s->name);
	return wc;
}

void wc_none(struct side *s, int ms)
{
	struct ibv_wc wc;

	check(!wc_get(s, &wc, ms), "%s: unexpected completion %llu (%s)",
	      s->name, (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
}

/* The next async event of the side's device, or -1 if none comes in time. */
int async_get(struct side *s, int ms)
{
	struct pollfd pfd = { .fd = s->id->verbs->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	if (poll(&pfd, 1, ms) != 1)
		return -1;
	check(!ibv_get_async_event(s->id->verbs, &ev), "async event: %m");
	ibv_ack_async_event(&ev);
	return ev.event_type;
}

/* One byte from a to b: afterwards both directions may be used. */
void hello(struct pair *p)
{
	struct ibv_sge to = sge(&p->b, MEM_SIZE - 1, 1);
	struct ibv_sge from = sge(&p->a, MEM_SIZE - 1, 1);

	post_recv(&p->b, 9001, &to, 1);
	post(&p->a, 9000, IBV_WR_SEND, IBV_SEND_SIGNALED, &from, 1, 0, 0);
	wc_expect(&p->a, 9000, IBV_WC_SUCCESS);
	wc_expect(&p->b, 9001, IBV_WC_SUCCESS);
}

/* ---- memory ------------------------------------------------------------- */

static uint8_t pattern(size_t i, unsigned int seed)
{
	return (i * 167 + (i >> 8) * 13 + (i >> 16) * 7 + seed * 31 + 5) & 0xff;
}

void fill(uint8_t *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = pattern(i, seed);
}

void same(const uint8_t *p, size_t len, unsigned int seed, const char *what)
{
	size_t i;

	for (i = 0; i < len; i++)
		check(p[i] == pattern(i, seed), "%s: byte %zu of %zu is %02x, not %02x",
		      what, i, len, p[i], pattern(i, seed));
}

/* ---- main --------------------------------------------------------------- */

int run_tests(int argc, char **argv, const struct test *tests)
{
	const struct test *t;
	int opt;

	while ((opt = getopt(argc, argv, "lp:s:")) != -1) {
		if (opt == 'p')
			probe_server(NULL, atoi(optarg));
		else if (opt == 's')
			probe_server(optarg, 0);
		else if (opt == 'l')
			for (t = tests; t->name; t++)
				puts(t->name);
		else
			return 2;
	}
	for (; optind < argc; optind++) {
		for (t = tests; t->name; t++)
			if (!strcmp(t->name, argv[optind]))
				break;
		check(t->name, "no test %s", argv[optind]);
		printf("%s\n", t->name);
		fflush(stdout);
		alarm(TEST_SECONDS * slow());
		t->run();
		alarm(0);
		port++;
	}
	return 0;
}

int run_groups(int argc, char **argv, const struct test *const *groups, size_t num)
{
	struct test all[96] = { 0 };
	const struct test *t;
	size_t i, n = 0;

	for (i = 0; i < num; i++)
		for (t = groups[i]; t->name; t++) {
			check(n < ARRAY_SIZE(all) - 1, "too many tests");
			all[n++] = *t;
		}
	return run_tests(argc, argv, all);
}
