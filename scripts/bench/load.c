// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * load MODE OP SIZE FEW MANY COUNT...
 * load idle COUNT...
 *
 * Measures the cost of an operation with a growing number of something. COUNTs rise;
 * MODE says what is counted:
 *
 *   connections  connections, used in turn, one request outstanding in all
 *   regions      memory regions on each side, used in turn
 *   outstanding  requests under way on one connection
 *   moderated    requests to each completion that is asked for, 64 under way
 *
 * OP is send, write or read, of SIZE bytes. For each COUNT it prints a line, "COUNT NS":
 * the time for a message in which the processors were not idle, in kernel and user space of
 * both ends. It is that of the messages by which a run of MANY exceeds one of FEW,
 * so beginning and ending cancel. A clock that counts instructions makes it exact.
 *
 * "idle" is for connections with nothing to do. For each COUNT, "COUNT KIB SLAB VMALLOC":
 * the kernel's memory, and how much of it is of these kinds.
 *
 * One thread drives both ends: a connects, b listens, each in the network namespace
 * of its name.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SERVER		"10.77.0.2"
#define PORT		7600
#define DEPTH		64	/* the most requests under way */
#define MEMORY		65536	/* bytes at each end; the largest message */
#define WAIT_MS		60000
#define MOST		(1 << 20)
#define ARRAY_SIZE(x)	(sizeof(x) / sizeof((x)[0]))

struct end {
	const char *name;
	int netns;
	struct rdma_event_channel *events;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	uint8_t *mem;
	struct ibv_mr **mr;
	size_t mrs;
	struct rdma_cm_id **id;
	size_t ids;
	uint64_t completed;
};

static struct end a = { .name = "a" }, b = { .name = "b" };
static struct rdma_cm_id *listener;
static size_t size = 64;
static size_t moderation = 1;	/* requests to a completion that is asked for */

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

#define check(good, ...)	do { if (!(good)) fail(__VA_ARGS__); } while (0)

/* ---- the two ends ------------------------------------------------------- */

static void enter(const struct end *e)
{
	check(!setns(e->netns, CLONE_NEWNET), "setns %s: %m", e->name);
}

static void *memory(size_t length)
{
	void *mem = mmap(NULL, length, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(mem != MAP_FAILED, "mmap: %m");
	return mem;
}

static void end_init(struct end *e)
{
	char path[64];

	snprintf(path, sizeof(path), "/run/netns/%s", e->name);
	e->netns = open(path, O_RDONLY | O_CLOEXEC);
	check(e->netns >= 0, "%s: %m", path);
	enter(e);
	e->events = rdma_create_event_channel();
	check(e->events, "event channel: %m");
	e->mem = memory(MEMORY);
	e->mr = memory(MOST * sizeof(*e->mr));
	e->id = memory(MOST * sizeof(*e->id));
}

static void add_region(struct end *e)
{
	check(e->mrs < MOST, "too many regions");
	e->mr[e->mrs] = ibv_reg_mr(e->pd, e->mem, size, IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	check(e->mr[e->mrs], "reg_mr %zu: %m", e->mrs);
	e->mrs++;
}

/* The device is known when the first connection is under way. */
static void use_device(struct end *e, struct ibv_context *verbs)
{
	if (e->verbs)
		return;
	e->verbs = verbs;
	e->pd = ibv_alloc_pd(verbs);
	check(e->pd, "alloc_pd: %m");
	e->channel = ibv_create_comp_channel(verbs);
	check(e->channel, "comp channel: %m");
	e->cq = ibv_create_cq(verbs, 4 * DEPTH, NULL, e->channel, 0);
	check(e->cq, "create_cq: %m");
	add_region(e);
}

static struct rdma_cm_id *wait_event(struct end *e, enum rdma_cm_event_type type)
{
	struct pollfd pfd = { .fd = e->events->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	check(poll(&pfd, 1, WAIT_MS) == 1, "%s: timed out waiting for %s", e->name,
	      rdma_event_str(type));
	check(!rdma_get_cm_event(e->events, &event), "get_cm_event: %m");
	check(event->event == type, "%s: event %s (status %d), expected %s", e->name,
	      rdma_event_str(event->event), event->status, rdma_event_str(type));
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static struct sockaddr_in address(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	inet_pton(AF_INET, SERVER, &to.sin_addr);
	return to;
}

static void start_listening(void)
{
	struct sockaddr_in to = address();

	enter(&b);
	check(!rdma_create_id(b.events, &listener, NULL, RDMA_PS_TCP), "create_id: %m");
	check(!rdma_bind_addr(listener, (void *)&to), "bind: %m");
	check(!rdma_listen(listener, 64), "listen: %m");
}

static void make_qp(struct end *e, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	use_device(e, id->verbs);
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	check(!rdma_create_qp(id, e->pd, &attr), "create_qp %zu: %m", e->ids);
	check(e->ids < MOST, "too many connections");
	e->id[e->ids++] = id;
}

static void post_recv(size_t number)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)b.mem, .length = size, .lkey = b.mr[0]->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = number, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	check(!ibv_post_recv(b.id[number]->qp, &wr, &bad), "post_recv: %m");
}

static void add_connection(void)
{
	struct rdma_conn_param param = {
		.responder_resources = DEPTH, .initiator_depth = DEPTH,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct sockaddr_in to = address();
	struct rdma_cm_id *id;
	int i;

	enter(&a);
	check(!rdma_create_id(a.events, &id, NULL, RDMA_PS_TCP), "create_id: %m");
	check(!rdma_resolve_addr(id, NULL, (void *)&to, 2000), "resolve_addr: %m");
	wait_event(&a, RDMA_CM_EVENT_ADDR_RESOLVED);
	check(!rdma_resolve_route(id, 2000), "resolve_route: %m");
	wait_event(&a, RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(&a, id);
	check(!rdma_connect(id, &param), "connect %zu: %m", a.ids);

	enter(&b);
	id = wait_event(&b, RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(&b, id);
	for (i = 0; i < DEPTH; i++)
		post_recv(b.ids - 1);
	check(!rdma_accept(id, &param), "accept %zu: %m", b.ids);
	wait_event(&a, RDMA_CM_EVENT_ESTABLISHED);
	wait_event(&b, RDMA_CM_EVENT_ESTABLISHED);
}

static void grow_connections(size_t count)
{
	while (a.ids < count)
		add_connection();
}

static void grow_regions(size_t count)
{
	while (a.mrs < count) {
		add_region(&a);
		add_region(&b);
	}
}

/* ---- the load ----------------------------------------------------------- */

/*
 * A message goes over the next connection, and names regions far from the last. Its
 * wr_id is the number of requests that it completes, 0 if it asks for no completion.
 */
static void post_one(enum ibv_wr_opcode op, uint64_t number, bool last)
{
	static size_t silent;
	bool asked = ++silent == moderation || last;
	struct ibv_mr *from = a.mr[number * 7919 % a.mrs];
	struct ibv_mr *to = b.mr[number * 7919 % b.mrs];
	struct ibv_sge sge = {
		.addr = (uintptr_t)a.mem, .length = size, .lkey = from->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = asked ? silent : 0,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = asked ? IBV_SEND_SIGNALED : 0,
		.wr.rdma = { .remote_addr = (uintptr_t)b.mem, .rkey = to->rkey },
	};
	struct ibv_send_wr *bad;

	if (asked)
		silent = 0;
	check(!ibv_post_send(a.id[number % a.ids]->qp, &wr, &bad), "post_send: %m");
}

/* Takes all completions out of the queue. Returns whether there were any. */
static bool collect(struct end *e)
{
	struct ibv_wc wc[16];
	int i, n = ibv_poll_cq(e->cq, 16, wc);

	check(n >= 0, "poll_cq");
	for (i = 0; i < n; i++) {
		check(wc[i].status == IBV_WC_SUCCESS, "%s: after %llu messages: %s", e->name,
		      (unsigned long long)e->completed, ibv_wc_status_str(wc[i].status));
		if (e == &b)
			post_recv(wc[i].wr_id);
		e->completed += e == &a ? wc[i].wr_id : 1;
	}
	return n;
}

static bool collect_both(void)
{
	bool some = collect(&a);

	return collect(&b) || some;
}

static void take_event(struct end *e)
{
	struct ibv_cq *cq;
	void *context;

	check(!ibv_get_cq_event(e->channel, &cq, &context), "get_cq_event: %m");
	ibv_ack_cq_events(cq, 1);
}

static void wait_some(void)
{
	struct pollfd pfd[2] = {
		{ .fd = a.channel->fd, .events = POLLIN },
		{ .fd = b.channel->fd, .events = POLLIN },
	};

	if (collect_both())
		return;
	check(!ibv_req_notify_cq(a.cq, 0) && !ibv_req_notify_cq(b.cq, 0), "req_notify: %m");
	if (collect_both())
		return;
	check(poll(pfd, 2, WAIT_MS) > 0, "no completion");
	if (pfd[0].revents)
		take_event(&a);
	if (pfd[1].revents)
		take_event(&b);
}

static uint64_t done(enum ibv_wr_opcode op)
{
	if (op != IBV_WR_SEND)
		return a.completed;
	return a.completed < b.completed ? a.completed : b.completed;
}

static void run(enum ibv_wr_opcode op, uint64_t count, size_t depth)
{
	uint64_t posted = 0;

	a.completed = 0;
	b.completed = 0;
	while (done(op) < count) {
		for (; posted < count && posted < done(op) + depth; posted++)
			post_one(op, posted, posted + 1 == count);
		wait_some();
	}
}

/* A Write completes before it has arrived. The Send behind it cannot overtake it. */
static void run_to_end(enum ibv_wr_opcode op, uint64_t count, size_t depth)
{
	run(op, count, depth);
	if (op == IBV_WR_RDMA_WRITE)
		run(IBV_WR_SEND, a.ids, 1);
}

/* ---- what it costs ------------------------------------------------------ */

/* Bytes of a file of /proc */
static const char *contents(const char *path)
{
	static char text[1 << 20];
	size_t length;
	FILE *file = fopen(path, "r");

	check(file, "%s: %m", path);
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = 0;
	return text;
}

/* The sum of all numbers after NAME */
static uint64_t sum_of(const char *text, const char *name)
{
	uint64_t sum = 0;
	bool found = false;

	while ((text = strstr(text, name))) {
		text += strlen(name);
		sum += strtoull(text + strspn(text, " \t:"), NULL, 10);
		found = true;
	}
	check(found, "no %s", name);
	return sum;
}

/* ns in which a processor was not idle; with one processor, exact */
static uint64_t busy(void)
{
	uint64_t idle = sum_of(contents("/proc/timer_list"), ".idle_sleeptime");
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec - idle;
}

static uint64_t cost(enum ibv_wr_opcode op, uint64_t count, size_t depth)
{
	uint64_t before = busy();

	run_to_end(op, count, depth);
	return busy() - before;
}

/* The first round compares the data that arrived. */
static void warm_up(enum ibv_wr_opcode op, uint64_t count, size_t depth)
{
	struct end *from = op == IBV_WR_RDMA_READ ? &b : &a;
	struct end *to = op == IBV_WR_RDMA_READ ? &a : &b;
	size_t i;

	for (i = 0; i < size; i++)
		from->mem[i] = i * 31 + count + depth;
	memset(to->mem, 0, size);
	run_to_end(op, count, depth);
	check(!memcmp(from->mem, to->mem, size), "what arrived is not what was sent");
}

static void measure(enum ibv_wr_opcode op, uint64_t few, uint64_t many, size_t depth)
{
	uint64_t low, high;

	warm_up(op, few, depth);
	low = cost(op, few, depth);
	high = cost(op, many, depth);
	printf("%.1f\n", ((double)high - (double)low) / (many - few));
	fflush(stdout);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	check(file && fputs(text, file) >= 0 && !fclose(file), "%s: %m", path);
}

/* KiB of memory that is not free, no cache and no program's */
static int64_t kernel_memory(void)
{
	static const char * const others[] = {
		"MemFree:", "Buffers:", "\nCached:", "AnonPages:", "PageTables:",
	};
	const char *text;
	int64_t kib;
	size_t i;

	write_file("/proc/sys/vm/drop_caches", "3");
	write_file("/proc/sys/vm/stat_refresh", "1");
	text = contents("/proc/meminfo");
	kib = sum_of(text, "MemTotal:");
	for (i = 0; i < ARRAY_SIZE(others); i++)
		kib -= sum_of(text, others[i]);
	/* Processors also keep free pages, megabytes of them, which MemFree does not count. */
	return kib - sum_of(contents("/proc/zoneinfo"), " count:") * sysconf(_SC_PAGESIZE) / 1024;
}

/* Waits until the number is stable, because memory of earlier programs is freed late. */
static int64_t settled_memory(void)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	int64_t last, kib = kernel_memory();
	int i;

	for (i = 0; i < 50; i++) {
		last = kib;
		nanosleep(&pause, NULL);
		kib = kernel_memory();
		if (llabs(kib - last) < 64)
			return kib;
	}
	fail("the kernel's memory does not settle");
}

static enum ibv_wr_opcode opcode(const char *name)
{
	if (!strcmp(name, "send"))
		return IBV_WR_SEND;
	if (!strcmp(name, "write"))
		return IBV_WR_RDMA_WRITE;
	check(!strcmp(name, "read"), "OP is send, write or read");
	return IBV_WR_RDMA_READ;
}

static void grow(const char *mode, enum ibv_wr_opcode op, uint64_t few, uint64_t many,
		 size_t count)
{
	size_t depth = !strcmp(mode, "moderated") ? DEPTH : 1;

	if (!strcmp(mode, "connections"))
		grow_connections(count);
	else if (!strcmp(mode, "regions"))
		grow_regions(count);
	else if (!strcmp(mode, "outstanding") && count <= DEPTH)
		depth = count;
	else if (!strcmp(mode, "moderated") && count < DEPTH)
		moderation = count;
	else
		fail("no such mode, or too much: %s %zu", mode, count);
	printf("%zu ", count);
	measure(op, few, many, depth);
}

static void grow_idle(size_t count)
{
	const char *text;

	grow_connections(count);
	printf("%zu %lld", count, (long long)settled_memory());
	text = contents("/proc/meminfo");
	printf(" %llu %llu\n", (unsigned long long)sum_of(text, "Slab:"),
	       (unsigned long long)sum_of(text, "VmallocUsed:"));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	bool idle = argc > 2 && !strcmp(argv[1], "idle");
	uint64_t few = 0, many = 0;
	int i;

	if (!idle) {
		check(argc > 6, "usage: load MODE OP SIZE FEW MANY COUNT...");
		size = strtoul(argv[3], NULL, 10);
		few = strtoull(argv[4], NULL, 10);
		many = strtoull(argv[5], NULL, 10);
		check(size > 0 && size <= MEMORY && many > few, "bad numbers");
	}
	end_init(&a);
	end_init(&b);
	start_listening();
	grow_connections(1);
	for (i = idle ? 2 : 6; i < argc; i++) {
		size_t count = strtoul(argv[i], NULL, 10);

		check(count > 0 && count <= MOST, "bad count: %s", argv[i]);
		if (idle)
			grow_idle(count);
		else
			grow(argv[1], opcode(argv[2]), few, many, count);
	}
	return 0;
}
