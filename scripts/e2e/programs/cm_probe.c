// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* cm_probe [-s SERVER] [-p PORT] TEST...: connecting, refusing, disconnecting. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/pkt_sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

static const int lengths[] = { 0, 1, 2, 3, 4, 5, 8, 60, 100, 200, 251, 252, 253, 254, 255 };

static void same_data(const struct cm_seen *seen, int len, int seed, const char *what)
{
	check(seen->data_len == len, "%s: %d bytes, not %d", what, seen->data_len, len);
	same(seen->data, len, seed, what);
}

/* Makes all that is needed, and a connects. Returns b's connection request. */
static struct cm_seen call(struct pair *p, const struct options *opt, const void *data, int len)
{
	struct cm_seen seen;

	pair_init(p, opt);
	pair_listen(p);
	side_resolve(p, &p->a, probe_port());
	side_make_qp(p, &p->a);
	side_connect(p, &p->a, data, len);
	seen = cm_expect(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST);
	p->b.id = seen.id;
	return seen;
}

/* Private data of each length arrives whole, in the request and in the reply. */
static void private_data(void)
{
	uint8_t there[256], back[256];
	struct cm_seen seen;
	struct pair p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		int len = lengths[i], rlen = lengths[ARRAY_SIZE(lengths) - 1 - i];

		printf("length %d, reply %d\n", len, rlen);
		fill(there, sizeof(there), i);
		fill(back, sizeof(back), i + 100);
		seen = call(&p, &defaults, there, len);
		same_data(&seen, len, i, "request");
		side_make_qp(&p, &p.b);
		side_accept(&p, &p.b, back, rlen);
		seen = cm_expect(&p.a, RDMA_CM_EVENT_ESTABLISHED);
		same_data(&seen, rlen, i + 100, "reply");
		cm_expect(&p.b, RDMA_CM_EVENT_ESTABLISHED);
		hello(&p);
		pair_close(&p);
	}
}

/* The listener rejects, and private data says why. */
static void reject(void)
{
	struct cm_seen seen;
	uint8_t why[256];
	struct pair p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		printf("length %d\n", lengths[i]);
		fill(why, sizeof(why), i);
		call(&p, &defaults, NULL, 0);
		enter(&p.b);
		check(!rdma_reject(p.b.id, why, lengths[i]), "reject: %m");
		seen = cm_expect(&p.a, RDMA_CM_EVENT_REJECTED);
		check(seen.status == -ECONNREFUSED || seen.status == ECONNREFUSED,
		      "status %d", seen.status);
		same_data(&seen, lengths[i], i, "reject");
		pair_free(&p);
	}
}

/* Connecting must fail: with that event and status, or rdma_connect() itself with that errno. */
static void fail_to_connect(enum rdma_cm_event_type type, int status, int error)
{
	struct rdma_conn_param cp = { .retry_count = 7 };
	struct cm_seen seen;
	struct pair p;

	pair_init(&p, &defaults);
	side_resolve(&p, &p.a, probe_port());
	side_make_qp(&p, &p.a);
	enter(&p.a);
	if (rdma_connect(p.a.id, &cp)) {
		check(errno == error, "connect: %m");
	} else {
		seen = cm_expect(&p.a, type);
		check(seen.status == status, "status %d", seen.status);
	}
	pair_free(&p);
}

/* Nobody listens: a learns that at once. */
static void refused(void)
{
	fail_to_connect(RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, ECONNREFUSED);
}

/* A router says that it cannot reach the peer: a learns that at once, and as rdma_cm tells it. */
static void unreachable(void)
{
	fail_to_connect(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, EHOSTUNREACH);
}

/* b sees what a asks for: see rdma_get_cm_event(3), responder_resources. */
static void ird_ord(void)
{
	struct options opt = defaults;
	struct cm_seen seen;
	struct pair p;

	opt.ird = 3;
	opt.ord = 5;
	seen = call(&p, &opt, NULL, 0);
	check(seen.ird == 5 && seen.ord == 3,
	      "responder_resources %d (not 5), initiator_depth %d (not 3)",
	      seen.ird, seen.ord);
	p.opt.ird = 5;
	p.opt.ord = 3;
	side_make_qp(&p, &p.b);
	side_accept(&p, &p.b, NULL, 0);
	cm_expect(&p.a, RDMA_CM_EVENT_ESTABLISHED);
	cm_expect(&p.b, RDMA_CM_EVENT_ESTABLISHED);
	hello(&p);
	pair_close(&p);
}

#define READS 12

/* More Reads than either may have outstanding, in both directions at once */
static void read_both_ways(struct pair *p)
{
	struct ibv_sge to_a, to_b;
	int i;

	fill(p->a.mem, PAGE, 1);
	fill(p->b.mem, PAGE, 2);
	for (i = 0; i < READS; i++) {
		to_a = sge(&p->a, (i + 1) * PAGE, PAGE);
		to_b = sge(&p->b, (i + 1) * PAGE, PAGE);
		post(&p->a, i, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &to_a, 1,
		     (uintptr_t)p->b.mem, p->b.mr->rkey);
		post(&p->b, i, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &to_b, 1,
		     (uintptr_t)p->a.mem, p->a.mr->rkey);
	}
	for (i = 0; i < READS; i++) {
		wc_expect(&p->a, i, IBV_WC_SUCCESS);
		wc_expect(&p->b, i, IBV_WC_SUCCESS);
		same(p->a.mem + (i + 1) * PAGE, PAGE, 2, "read by a");
		same(p->b.mem + (i + 1) * PAGE, PAGE, 1, "read by b");
	}
}

/* The depths that an end asks for, and those that the established connection reports to it */
struct depths {
	int ird, ord;
	int resources, depth;
};

static void told(struct side *s, const struct depths *want)
{
	struct cm_seen seen = cm_expect(s, RDMA_CM_EVENT_ESTABLISHED);

	check(seen.ird == want->resources && seen.ord == want->depth,
	      "%s: responder_resources %d (not %d), initiator_depth %d (not %d)", s->name,
	      seen.ird, want->resources, seen.ord, want->depth);
}

/*
 * Each end raises its IRD to the Reads that the other one will have outstanding, and lowers its
 * ORD to those that the other one serves. The initiator gets the responder's depths: its IRD as
 * responder_resources, its ORD as initiator_depth. The responder gets its own depths: its ORD
 * as responder_resources, its IRD as initiator_depth. siw and irdma do the same, and SMB Direct
 * in the kernel relies on it; rdma_get_cm_event(3) has it the other way round.
 */
static void connect_depths(bool reads)
{
	static const struct {
		struct depths a, b;
	} cases[] = {
		{ { 3, 5, 7, 2 }, { 7, 2, 2, 7 } },
		{ { 3, 9, 9, 3 }, { 4, 6, 3, 9 } },
		{ { 8, 1, 1, 8 }, { 1, 8, 8, 1 } },
	};
	struct options opt = defaults;
	struct pair p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		printf("case %zu\n", i);
		opt.ird = cases[i].a.ird;
		opt.ord = cases[i].a.ord;
		call(&p, &opt, NULL, 0);
		p.opt.ird = cases[i].b.ird;
		p.opt.ord = cases[i].b.ord;
		side_make_qp(&p, &p.b);
		side_accept(&p, &p.b, NULL, 0);
		told(&p.a, &cases[i].a);
		told(&p.b, &cases[i].b);
		hello(&p);
		if (reads)
			read_both_ways(&p);
		pair_close(&p);
	}
}

static void depths(void)
{
	connect_depths(false);
}

static void reads_crossed(void)
{
	connect_depths(true);
}

/* Neither side grants a read: connections, sends and writes work without. */
static void no_reads(void)
{
	struct options opt = defaults;
	struct ibv_sge e;
	struct pair p;

	opt.ird = 0;
	opt.ord = 0;
	pair_open(&p, &opt);
	hello(&p);
	fill(p.a.mem, PAGE, 1);
	e = sge(&p.a, 0, PAGE);
	post(&p.a, 1, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &e, 1, (uintptr_t)p.b.mem,
	     p.b.mr->rkey);
	wc_expect(&p.a, 1, IBV_WC_SUCCESS);
	hello(&p);
	same(p.b.mem, PAGE, 1, "write");
	pair_close(&p);
}

/* The passive side disconnects first; then both do so at once. */
static void disconnects(void)
{
	struct pair p;
	int i;

	for (i = 0; i < 5; i++) {
		pair_open(&p, &defaults);
		hello(&p);
		check(!rdma_disconnect(p.b.id), "disconnect: %m");
		if (i & 1)
			rdma_disconnect(p.a.id);
		cm_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED);
		cm_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED);
		pair_free(&p);
	}
}

/* Few enough for TCP to take them while nothing is acknowledged */
#define WORDS		8
#define WORD_SIZE	1000

static void await_words(struct pair *p)
{
	struct ibv_sge to;
	int i;

	hello(p);
	for (i = 0; i < WORDS; i++) {
		to = sge(&p->b, i * WORD_SIZE, WORD_SIZE);
		post_recv(&p->b, i, &to, 1);
	}
}

/* The Sends complete though nobody receives them, and then a disconnects. */
static void say_words(struct pair *p)
{
	struct ibv_sge from;
	int i;

	fill(p->a.mem, WORDS * WORD_SIZE, 1);
	for (i = 0; i < WORDS; i++) {
		from = sge(&p->a, i * WORD_SIZE, WORD_SIZE);
		post(&p->a, i, IBV_WR_SEND, IBV_SEND_SIGNALED, &from, 1, 0, 0);
	}
	for (i = 0; i < WORDS; i++)
		wc_expect(&p->a, i, IBV_WC_SUCCESS);
	check(!rdma_disconnect(p->a.id), "disconnect: %m");
}

/* The wait is long, because TCP tries again after longer and longer pauses. */
static void hear_words(struct pair *p)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < WORDS; i++) {
		check(wc_get(&p->b, &wc, 4 * WAIT_MS), "word %d did not arrive", i);
		check(wc.wr_id == (uint64_t)i && wc.status == IBV_WC_SUCCESS,
		      "word %d: %s", i, ibv_wc_status_str(wc.status));
	}
	same(p->b.mem, WORDS * WORD_SIZE, 1, "words");
	cm_expect(&p->b, RDMA_CM_EVENT_DISCONNECTED);
}

/*
 * Two programs send while the cable is cut. One waits for the end of its connection, the other
 * drains its queue pair at once. Their messages arrive when the cable is mended. The scenario
 * cuts and mends it, and sends a signal each time.
 */
static void outage(void)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct pair p, hurry;

	pair_open(&p, &defaults);
	await_words(&p);
	/* Both on one port, one after the other. */
	check(!rdma_destroy_id(p.listener), "destroy listener: %m");
	p.listener = NULL;
	pair_open(&hurry, &defaults);
	await_words(&hurry);
	wait_until_told("connected");
	say_words(&p);
	say_words(&hurry);
	check(!ibv_modify_qp(hurry.a.id->qp, &error, IBV_QP_STATE), "to ERR: %m");
	cm_expect(&p.a, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&hurry.a, RDMA_CM_EVENT_DISCONNECTED);
	wc_none(&p.b, 0);
	wc_none(&hurry.b, 0);
	wait_until_told("parted");
	hear_words(&p);
	hear_words(&hurry);
	pair_free(&p);
	pair_free(&hurry);
}

/*
 * A reject while the cable is cut for longer than the device keeps the connection: the caller
 * gets it, with its private data, when the cable is mended.
 */
static void reject_outage(void)
{
	struct pollfd heard = { .events = POLLIN };
	struct cm_seen seen;
	uint8_t why[100];
	struct pair p;

	fill(why, sizeof(why), 5);
	call(&p, &defaults, NULL, 0);
	wait_until_told("called");
	enter(&p.b);
	check(!rdma_reject(p.b.id, why, sizeof(why)), "reject: %m");
	wait_until_told("rejected");
	heard.fd = p.a.events->fd;
	check(poll(&heard, 1, 4 * WAIT_MS) == 1, "the caller gets no event");
	seen = cm_expect(&p.a, RDMA_CM_EVENT_REJECTED);
	same_data(&seen, sizeof(why), 5, "reject");
	heard.fd = p.b.events->fd;
	check(!poll(&heard, 1, 0), "called again");
	pair_free(&p);
}

/* The caller goes away before it is answered; so does the listener. */
static void abandoned(void)
{
	struct cm_seen seen;
	struct pair p;

	call(&p, &defaults, NULL, 0);
	side_free(&p.a);
	side_make_qp(&p, &p.b);
	{
		struct rdma_conn_param cp = { .responder_resources = 1 };

		enter(&p.b);
		if (!rdma_accept(p.b.id, &cp)) {
			seen = cm_wait(&p.b);
			printf("accept of a dead call: %s\n", rdma_event_str(seen.type));
		}
	}
	pair_free(&p);

	call(&p, &defaults, NULL, 0);
	side_free(&p.b);
	check(!rdma_destroy_id(p.listener), "destroy listener: %m");
	p.listener = NULL;
	seen = cm_wait(&p.a);
	check(seen.type == RDMA_CM_EVENT_REJECTED ||
	      seen.type == RDMA_CM_EVENT_UNREACHABLE ||
	      seen.type == RDMA_CM_EVENT_CONNECT_ERROR, "event %s",
	      rdma_event_str(seen.type));
	pair_free(&p);
}

/* The listener accepts when it is told to. */
static void late_answer(void)
{
	struct pair p;

	call(&p, &defaults, NULL, 0);
	side_make_qp(&p, &p.b);
	wait_until_told("called");
	side_accept(&p, &p.b, NULL, 0);
	cm_expect(&p.a, RDMA_CM_EVENT_ESTABLISHED);
	cm_expect(&p.b, RDMA_CM_EVENT_ESTABLISHED);
	hello(&p);
	pair_close(&p);
}

/* The listener accepts only when the caller has been told that it is rejected. */
static void no_answer(void)
{
	struct rdma_conn_param cp = { .responder_resources = 1 };
	struct cm_seen seen;
	struct pair p;

	call(&p, &defaults, NULL, 0);
	side_make_qp(&p, &p.b);
	seen = cm_expect(&p.a, RDMA_CM_EVENT_REJECTED);
	check(seen.status == -ECONNREFUSED && !seen.data_len, "status %d, %d bytes", seen.status,
	      seen.data_len);
	enter(&p.b);
	check(rdma_accept(p.b.id, &cp), "accepted what is over");
	check(errno == ECONNABORTED, "accept: %m");
	pair_free(&p);
}

#define CALLERS 24

static struct side callers[CALLERS], answers[CALLERS];

/* Let all callers connect before b answers any. Each sends its number. */
static void call_all(struct pair *p, const struct options *opt)
{
	uint8_t number;
	int i;

	pair_init(p, opt);
	pair_listen(p);
	for (i = 0; i < CALLERS; i++) {
		callers[i] = p->a;
		side_resolve(p, &callers[i], probe_port());
		side_make_qp(p, &callers[i]);
	}
	for (i = 0; i < CALLERS; i++) {
		number = i;
		side_connect(p, &callers[i], &number, sizeof(number));
	}
}

static void free_calls(struct pair *p, int answered)
{
	int i;

	for (i = 0; i < CALLERS; i++)
		side_free(&callers[i]);
	for (i = 0; i < answered; i++)
		cm_expect(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	for (i = 0; i < answered; i++)
		side_free(&answers[i]);
	pair_free(p);
}

/*
 * Many callers connect before anybody answers; then all are answered. The requests must be
 * reported in the order in which they were made, because perftest relies on it.
 */
static void burst(void)
{
	struct cm_seen seen;
	struct pair p;
	int i, n = 0;

	call_all(&p, &defaults);
	for (i = 0; i < CALLERS; i++) {
		seen = cm_expect(&p.b, RDMA_CM_EVENT_CONNECT_REQUEST);
		check(seen.data[0] == i, "call %u is reported as number %d", seen.data[0], i);
		answers[i] = p.b;
		answers[i].id = seen.id;
		side_make_qp(&p, &answers[i]);
	}
	for (i = 0; i < CALLERS; i++)
		side_accept(&p, &answers[i], NULL, 0);
	for (i = 0; i < CALLERS; i++) {
		cm_expect(&p.a, RDMA_CM_EVENT_ESTABLISHED);
		cm_expect(&p.b, RDMA_CM_EVENT_ESTABLISHED);
		n++;
	}
	printf("%d connections\n", n);
	free_calls(&p, CALLERS);
}

#define SMALL_BACKLOG	3

static void answer_calls(struct pair *p, int n)
{
	int asked = 0, established = 0;
	struct cm_seen seen;

	while (established < n) {
		seen = cm_wait(&p->b);
		if (seen.type == RDMA_CM_EVENT_ESTABLISHED) {
			established++;
			continue;
		}
		check(seen.type == RDMA_CM_EVENT_CONNECT_REQUEST && asked < n, "b: event %s",
		      rdma_event_str(seen.type));
		answers[asked] = p->b;
		answers[asked].id = seen.id;
		side_make_qp(p, &answers[asked]);
		side_accept(p, &answers[asked++], NULL, 0);
	}
	while (n--)
		cm_expect(&p->a, RDMA_CM_EVENT_ESTABLISHED);
}

/* The device has less room than the backlog has places. It must refuse no caller. */
static void crowd_waits(void)
{
	struct options opt = defaults;
	struct pair p;

	opt.backlog = SMALL_BACKLOG;
	call_all(&p, &opt);
	answer_calls(&p, CALLERS);
	free_calls(&p, CALLERS);
}

/* All callers that the backlog has no place for must be refused, before b answers any. */
static void crowd_refused(void)
{
	struct options opt = defaults;
	struct cm_seen seen;
	struct pair p;
	int i;

	opt.backlog = SMALL_BACKLOG;
	call_all(&p, &opt);
	for (i = SMALL_BACKLOG; i < CALLERS; i++) {
		seen = cm_expect(&p.a, RDMA_CM_EVENT_REJECTED);
		check(seen.status == -ECONNREFUSED, "status %d", seen.status);
	}
	printf("refused %d\n", CALLERS - SMALL_BACKLOG);
	answer_calls(&p, SMALL_BACKLOG);
	free_calls(&p, SMALL_BACKLOG);
}

/* Does TCP have that type of service, and the priority that belongs to it, on this side? */
static void has_tos(struct side *s, uint8_t tos, int priority)
{
	bool v6 = rdma_get_local_addr(s->id)->sa_family == AF_INET6;
	char line[1024], want[64];
	bool found = false;
	FILE *ss;

	snprintf(want, sizeof(want), "%s:%#x class_id:%#x", v6 ? "tclass" : "tos", tos, priority);
	enter(s);
	ss = popen("ss -Htn --tos state established", "r");
	check(ss, "ss: %m");
	while (fgets(line, sizeof(line), ss)) {
		fputs(line, stdout);
		found |= !!strstr(line, want);
	}
	check(!pclose(ss), "ss failed");
	check(found, "%s: no %s", s->name, want);
}

/* A type of service for each direction: the caller's, and the listener's. */
static void tos(void)
{
	struct options opt = defaults;
	struct pair p;

	opt.tos = 0x28;
	opt.listen_tos = 0x70;
	pair_open(&p, &opt);
	hello(&p);
	has_tos(&p.a, opt.tos, TC_PRIO_BULK);
	has_tos(&p.b, opt.listen_tos, TC_PRIO_INTERACTIVE);
	pair_close(&p);
}

/* Two processes share this about the queue pairs of one of them. */
struct named {
	atomic_uint qpn;
	atomic_uint calls;
	atomic_bool over;
};

/* Connects to nobody, again and again, with a queue pair of another process. */
static void name_them(struct named *n)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct pair p;

	pair_init(&p, &defaults);
	while (!n->over) {
		side_resolve(&p, &p.a, probe_port());
		param.qp_num = n->qpn;
		check(rdma_connect(p.a.id, &param), "connected another process's queue pair");
		/* The queue pair may exist or not. */
		check(errno == EPERM || errno == EINVAL, "connect: %m");
		n->calls += errno == EPERM;
		check(!rdma_destroy_id(p.a.id), "destroy_id: %m");
	}
}

/* Another process names queue pairs that are destroyed at any moment of its connect. */
static void named(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct named *n = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			       -1, 0);
	struct pair p;
	int i, status;
	pid_t pid;

	check(n != MAP_FAILED, "mmap: %m");
	pid = fork();
	check(pid >= 0, "fork: %m");
	if (!pid) {
		/* Also when the other one fails. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		name_them(n);
		exit(0);
	}
	pair_init(&p, &defaults);
	side_resolve(&p, &p.a, probe_port());
	side_make_qp(&p, &p.a);
	attr.send_cq = p.a.cq;
	attr.recv_cq = p.a.cq;
	for (i = 0; i < 300; i++) {
		struct ibv_qp *qp = ibv_create_qp(p.a.pd, &attr);

		check(qp, "create_qp: %m");
		n->qpn = qp->qp_num;
		usleep(random() % 2000);
		check(!ibv_destroy_qp(qp), "destroy_qp: %m");
	}
	n->over = true;
	check(waitpid(pid, &status, 0) == pid && !status, "the other process: status %d", status);
	check(n->calls, "no call named one that was there");
	printf("%u calls named one that was there\n", n->calls);
	pair_free(&p);
}

/* Connects, uses the connection and disconnects, again and again. */
static void rounds(void)
{
	struct pair p;
	int i;

	for (i = 0; i < 100; i++) {
		pair_open(&p, &defaults);
		hello(&p);
		pair_close(&p);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "private_data", private_data },
		{ "reject", reject },
		{ "tos", tos },
		{ "refused", refused },
		{ "unreachable", unreachable },
		{ "ird_ord", ird_ord },
		{ "depths", depths },
		{ "reads_crossed", reads_crossed },
		{ "no_reads", no_reads },
		{ "disconnects", disconnects },
		{ "outage", outage },
		{ "reject_outage", reject_outage },
		{ "abandoned", abandoned },
		{ "late_answer", late_answer },
		{ "no_answer", no_answer },
		{ "burst", burst },
		{ "crowd_waits", crowd_waits },
		{ "crowd_refused", crowd_refused },
		{ "named", named },
		{ "rounds", rounds },
		{ NULL, NULL },
	};

	return run_tests(argc, argv, tests);
}
