// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* limits_probe TEST...: how much one program can take of a shared device. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

#define MANY	50
#define MR_SIZE	(16 << 20)

static struct ibv_context *try_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = NULL;
	int i, err = ENODEV;

	check(list, "device list: %m");
	for (i = 0; list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name))
			continue;
		verbs = ibv_open_device(list[i]);
		err = errno;
	}
	ibv_free_device_list(list);
	errno = err;
	return verbs;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_context *verbs = try_device(name);

	check(verbs, "%s: %m", name);
	return verbs;
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq, int wr)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = wr, .max_recv_wr = wr,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(pd, &attr);
}

static void to_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "modify_qp: %m");
}

static void ask(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	check(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "query_qp: %m");
}

static void receive(struct ibv_qp *qp, uint64_t id)
{
	struct ibv_sge none = { 0 };	/* the provider wants one */
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &none, .num_sge = 1 }, *bad;
	int ret = ibv_post_recv(qp, &wr, &bad);

	check(!ret, "post_recv: %s", strerror(abs(ret)));
}

/* The event comes although the queue was armed after its completion. */
static void await_event(struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *got;
	void *context;

	check(poll(&pfd, 1, WAIT_MS) == 1, "no event");
	check(!ibv_get_cq_event(channel, &got, &context), "get_cq_event: %m");
	check(got == cq, "an event of another queue");
	ibv_ack_cq_events(got, 1);
}

/*
 * Queue pairs in error, and completions unread in queues with a channel. While the program
 * waits nothing may run for them. Then a system call makes the device see receives and armings.
 */
static void idle(void)
{
	struct ibv_context *verbs = open_device("mpa0");
	struct ibv_comp_channel *channel = ibv_create_comp_channel(verbs);
	struct ibv_pd *pd = ibv_alloc_pd(verbs);
	struct side s[MANY] = { 0 };
	struct ibv_qp *qp[MANY];
	int i;

	check(channel && pd, "channel, pd: %m");
	for (i = 0; i < MANY; i++) {
		s[i].name = "idle";
		s[i].cq = ibv_create_cq(verbs, 16, NULL, channel, 0);
		check(s[i].cq, "create_cq: %m");
		qp[i] = make_qp(pd, s[i].cq, 16);
		check(qp[i], "create_qp: %m");
		to_error(qp[i]);
		receive(qp[i], 1);
	}
	alarm(0);	/* the scenario has a limit */
	wait_until_told("waiting");
	for (i = 0; i < MANY; i++) {
		check(!ibv_req_notify_cq(s[i].cq, 0), "arm");
		ask(qp[i]);
		await_event(channel, s[i].cq);
		wc_expect(&s[i], 1, IBV_WC_WR_FLUSH_ERR);
		receive(qp[i], 2);
		ask(qp[i]);
		wc_expect(&s[i], 2, IBV_WC_WR_FLUSH_ERR);
		/* Soon after it the device also sees receives without a system call. */
		receive(qp[i], 3);
		wc_expect(&s[i], 3, IBV_WC_WR_FLUSH_ERR);
	}
}

/* Makes one object; the caller repeats that until it is refused. */
static void *one_cq(struct ibv_pd *pd)
{
	return ibv_create_cq(pd->context, 1048576, NULL, NULL, 0);
}

static void *one_qp(struct ibv_pd *pd)
{
	static struct ibv_cq *cq;

	if (!cq)
		cq = ibv_create_cq(pd->context, 16, NULL, NULL, 0);
	check(cq, "create_cq: %m");
	return make_qp(pd, cq, 32768);
}

static void *one_srq(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 32768, .max_sge = 1 } };

	return ibv_create_srq(pd, &attr);
}

/* No two pages are neighbours in memory, so each page is a block of its own. */
static char *scattered(size_t size)
{
	char *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t first, at;

	check(mem != MAP_FAILED, "mmap: %m");
	check(!madvise(mem, size, MADV_NOHUGEPAGE), "madvise: %m");
	for (first = 0; first < 2 * PAGE; first += PAGE)
		for (at = first; at < size; at += 2 * PAGE)
			mem[at] = 1;
	return mem;
}

static void *one_mr(struct ibv_pd *pd)
{
	static char *mem;

	if (!mem)
		mem = scattered(MR_SIZE);
	return ibv_reg_mr(pd, mem, MR_SIZE, IBV_ACCESS_LOCAL_WRITE);
}

/*
 * Makes more and more of them. It has to be refused for want of memory long before it has made
 * most of them, and without the OOM killer.
 */
static void fill_memory(void *(*one)(struct ibv_pd *pd), int most)
{
	struct ibv_context *verbs = open_device("mpa0");
	struct ibv_pd *pd = ibv_alloc_pd(verbs);
	int n = 0;

	check(pd, "alloc_pd: %m");
	/* With no memory left, a page of our own code that has to be read would get us killed. */
	check(!mlockall(MCL_CURRENT), "mlockall: %m");
	alarm(0);	/* the scenario has a limit */
	while (one(pd))
		check(++n < most, "%d of them, and no end", n);
	check(errno == ENOMEM, "refused after %d: %m", n);
	printf("refused after %d\n", n);
}

static void many_cqs(void)
{
	fill_memory(one_cq, 40);
}

static void many_qps(void)
{
	fill_memory(one_qp, 40);
}

static void many_srqs(void)
{
	fill_memory(one_srq, 80);
}

static void many_mrs(void)
{
	fill_memory(one_mr, 2000);
}

/* --- a user's share of the objects --- */

#define ENOUGH	100	/* more than a share */

static void *small_pd(struct ibv_pd *pd)
{
	return ibv_alloc_pd(pd->context);
}

static void *small_cq(struct ibv_pd *pd)
{
	return ibv_create_cq(pd->context, 1, NULL, NULL, 0);
}

static void *small_srq(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return ibv_create_srq(pd, &attr);
}

static void *small_qp(struct ibv_pd *pd)
{
	static struct ibv_cq *cq;

	if (!cq)
		cq = ibv_create_cq(pd->context, 1, NULL, NULL, 0);
	check(cq, "create_cq: %m");
	return make_qp(pd, cq, 1);
}

static void *small_mr(struct ibv_pd *pd)
{
	static char byte;

	return ibv_reg_mr(pd, &byte, 1, IBV_ACCESS_LOCAL_WRITE);
}

static void *another_context(struct ibv_pd *pd)
{
	(void)pd;
	return try_device("mpa0");
}

/* Makes such objects until it is refused or has enough. */
static void count(const char *what, void *(*one)(struct ibv_pd *pd), struct ibv_pd *pd)
{
	int n = 0;

	while (n < ENOUGH && one(pd))
		n++;
	/* The rdma controller refuses with EAGAIN. */
	check(n == ENOUGH || errno == ENOMEM || errno == EAGAIN, "%s, refused after %d: %m",
	      what, n);
	printf("%s %d\n", what, n);
}

/* Takes all that it gets, and keeps it. The first object of each kind is needed for others. */
static void take_share(struct ibv_context *verbs)
{
	struct ibv_pd *pd = ibv_alloc_pd(verbs);

	check(pd, "alloc_pd: %m");
	count("qps", small_qp, pd);
	count("srqs", small_srq, pd);
	count("mrs", small_mr, pd);
	count("cqs", small_cq, pd);
	count("pds", small_pd, pd);
}

static void share(void)
{
	take_share(open_device("mpa0"));
	alarm(0);	/* the scenario has a limit */
	wait_until_told("waiting");
}

/* Nothing is left for the user until the program is told. */
static void share_later(void)
{
	struct ibv_context *verbs = open_device("mpa0");
	int i;

	for (i = 0; i < ENOUGH; i++) {
		check(!ibv_alloc_pd(verbs), "got a protection domain");
		check(errno == ENOMEM, "alloc_pd: %m");
	}
	alarm(0);	/* the scenario has a limit */
	wait_until_told("waiting");
	check(ibv_alloc_pd(verbs), "alloc_pd: %m");
}

static int number(const char *name)
{
	const char *text = getenv(name);

	check(text, "no %s", name);
	return atoi(text);
}

/* Root opens the context, and then the program becomes another user. */
static void share_inherited(void)
{
	struct ibv_context *verbs = open_device("mpa0");
	int uid = number("USER_ID");

	check(!setresuid(uid, uid, uid), "setresuid: %m");
	take_share(verbs);
}

/* Gives the process, which is in a user namespace of its own, ten uids there. */
static void map_uids(pid_t pid)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	map = fopen(path, "w");
	check(map && fputs("0 100000 10\n", map) >= 0 && !fclose(map), "%s: %m", path);
}

/* A user has many uids, as in a container without root, and the program uses one of those. */
static void share_namespace(void)
{
	int uid = number("USER_ID"), ready[2], mapped[2], status;
	char byte = 0;
	pid_t pid;

	check(!pipe(ready) && !pipe(mapped), "pipe: %m");
	pid = fork();
	check(pid >= 0, "fork: %m");
	if (pid) {
		close(ready[1]);
		check(read(ready[0], &byte, 1) == 1, "the child ended");
		map_uids(pid);
		check(write(mapped[1], &byte, 1) == 1, "write: %m");
		check(waitpid(pid, &status, 0) == pid && !status, "status %d", status);
		return;
	}
	check(!setresuid(uid, uid, uid) && !unshare(CLONE_NEWUSER), "unshare: %m");
	check(write(ready[1], &byte, 1) == 1 && read(mapped[0], &byte, 1) == 1, "pipe: %m");
	check(!setuid(5), "setuid: %m");
	take_share(open_device("mpa0"));
}

/* A listener on a port of its own. Return: NULL if it is refused. */
static void *another_listener(struct ibv_pd *pd)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *at;
	const char *address = getenv("ADDRESS");
	struct rdma_cm_id *id;

	(void)pd;
	check(address && !getaddrinfo(address, "0", &hints, &at), "ADDRESS");
	check(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), "create_id: %m");
	check(!rdma_bind_addr(id, at->ai_addr), "bind_addr: %m");
	freeaddrinfo(at);
	return rdma_listen(id, 1) ? NULL : id;
}

static void share_contexts(void)
{
	count("contexts", another_context, NULL);
	alarm(0);	/* the scenario has a limit */
	wait_until_told("waiting");
}

static void share_listeners(void)
{
	count("listeners", another_listener, NULL);
	alarm(0);	/* the scenario has a limit */
	wait_until_told("waiting");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "idle", idle },
		{ "many_cqs", many_cqs },
		{ "many_qps", many_qps },
		{ "many_srqs", many_srqs },
		{ "many_mrs", many_mrs },
		{ "share", share },
		{ "share_later", share_later },
		{ "share_inherited", share_inherited },
		{ "share_namespace", share_namespace },
		{ "share_contexts", share_contexts },
		{ "share_listeners", share_listeners },
		{ NULL, NULL },
	};

	return run_tests(argc, argv, tests);
}
