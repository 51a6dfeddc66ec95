// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of lend_probe: a program holds the lock of its own socket, for as long as it likes. Others
 * connect meanwhile. The peer is scripted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "lend_script.h"

/*
 * A task in a system call on @fd that needs a missing page. SO_GET_FILTER copies to it with the
 * socket locked.
 */
struct holder {
	pthread_t thread;
	int fd, faults;
	void *page;
};

static void *read_filter(void *ctx)
{
	struct holder *h = ctx;
	socklen_t num = 1;

	check(!getsockopt(h->fd, SOL_SOCKET, SO_GET_FILTER, h->page, &num), "SO_GET_FILTER: %m");
	return NULL;
}

static void set_filter(int fd)
{
	struct sock_filter accept = { .code = BPF_RET | BPF_K, .k = -1 };
	struct sock_fprog prog = { .len = 1, .filter = &accept };

	check(!setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)), "filter: %m");
}

static void make_missing_page(struct holder *h)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING };

	h->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(h->page != MAP_FAILED, "mmap: %m");
	h->faults = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	check(h->faults >= 0 && !ioctl(h->faults, UFFDIO_API, &api), "userfaultfd: %m");
	reg.range.start = (uintptr_t)h->page;
	check(!ioctl(h->faults, UFFDIO_REGISTER, &reg), "UFFDIO_REGISTER: %m");
}

/* Return when the task is in its system call, and waits for the page. */
static void start_holder(struct holder *h, int fd, void *(*call)(void *))
{
	struct pollfd pfd = { .events = POLLIN };

	h->fd = fd;
	make_missing_page(h);
	check(!pthread_create(&h->thread, NULL, call, h), "thread");
	pfd.fd = h->faults;
	check(poll(&pfd, 1, WAIT_MS) == 1 && pfd.revents == POLLIN, "no fault, events %x",
	      pfd.revents);
}

/* Return when the task has the lock. */
static void hold_lock(struct holder *h, int fd)
{
	set_filter(fd);
	start_holder(h, fd, read_filter);
}

static void release_lock(struct holder *h)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)h->page, PAGE } };

	check(!ioctl(h->faults, UFFDIO_ZEROPAGE, &zero), "UFFDIO_ZEROPAGE: %m");
	check(!pthread_join(h->thread, NULL), "join");
	close(h->faults);
	munmap(h->page, PAGE);
}

/* Two other programs, by rdma_cm */
static void others_connect(void)
{
	struct pair p;

	pair_open(&p, &defaults);
	hello(&p);
	pair_close(&p);
}

/*
 * The end of the queue pair cuts the startup, which has dropped it when ibv_destroy_qp() returns,
 * and next locks the socket.
 */
static void locked_startup(void)
{
	struct holder h;
	struct lent l;

	reach_state(&l, MPA_STREAM_STARTING);
	hold_lock(&h, l.a);
	check(!ibv_destroy_qp(l.p.a.id->qp), "destroy_qp: %m");
	l.p.a.id->qp = NULL;
	others_connect();
	is_refused(l.a);
	release_lock(&h);
	wait_failure(l.a, ECONNABORTED);
	script_free(&l);
}

/* A task that resets a queue pair */
struct resetter {
	pthread_t thread;
	struct ibv_qp *qp;
	atomic_int tid;
};

static void *reset_qp(void *ctx)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct resetter *r = ctx;

	r->tid = gettid();
	check(!ibv_modify_qp(r->qp, &attr, IBV_QP_STATE), "modify_qp RESET: %m");
	return NULL;
}

/* Return when the task waits in the kernel for something that no signal ends. */
static void start_reset(struct resetter *r)
{
	char path[64], state = 0;
	FILE *f;

	check(!pthread_create(&r->thread, NULL, reset_qp, r), "thread");
	while (!r->tid)
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", r->tid);
	while (state != 'D') {
		f = fopen(path, "r");
		check(f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1, "RESET did not wait");
		fclose(f);
	}
}

/*
 * The queue pair's worker has to end the connection, and others need the worker: the queue has a
 * single one (lend.sh). RESET waits for it.
 */
static void locked_worker(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct resetter r = { };
	struct holder h;
	struct lent l;

	reach_state(&l, MPA_STREAM_ESTABLISHED);
	hold_lock(&h, l.a);
	check(!ibv_modify_qp(l.p.a.id->qp, &attr, IBV_QP_STATE), "modify_qp: %m");
	others_connect();
	check(status_of(l.a).state == MPA_STREAM_ESTABLISHED, "state %u", status_of(l.a).state);
	r.qp = l.p.a.id->qp;
	start_reset(&r);
	release_lock(&h);
	check(!pthread_join(r.thread, NULL), "join");
	wait_for(l.a, MPA_STREAM_CLOSED);
	script_free(&l);
}

static void *set_addrform(void *ctx)
{
	struct holder *h = ctx;

	check(setsockopt(h->fd, IPPROTO_IPV6, IPV6_ADDRFORM, h->page, sizeof(int)) &&
	      errno == EBUSY, "IPV6_ADDRFORM: %m");
	return NULL;
}

/* The stream is established when the task reads the value. */
static void set_addrform_late(struct lent *l, struct holder *h)
{
	static const int form = AF_INET;
	struct uffdio_copy copy = { .len = PAGE };
	void *page = calloc(1, PAGE);

	check(page, "no memory");
	memcpy(page, &form, sizeof(form));
	begin_state(l, MPA_STREAM_ESTABLISHED);
	play_state(l, MPA_STREAM_ESTABLISHED);
	wait_for(l->a, MPA_STREAM_ESTABLISHED);
	copy.dst = (uintptr_t)h->page;
	copy.src = (uintptr_t)page;
	check(!ioctl(h->faults, UFFDIO_COPY, &copy), "UFFDIO_COPY: %m");
	check(!pthread_join(h->thread, NULL), "join");
	is_refused(l->a);
	script_free(l);
	close(h->faults);
	munmap(h->page, PAGE);
	free(page);
}

/* A task is in IPV6_ADDRFORM, and has not read the value, when the socket gets the protocol. */
static void set_ulp_meanwhile(struct lent *l, struct holder *h, const char *server)
{
	probe_server(server, 0);
	tcp_connect(l);
	make_device(l, &l->p.a);
	start_holder(h, l->a, set_addrform);
	set_ulp(l->a);
}

/* See addrform. */
static void addrform_before(void)
{
	struct holder h;
	struct lent l;

	set_ulp_meanwhile(&l, &h, "::ffff:10.77.0.2");
	set_addrform_late(&l, &h);
}

/* The same, but the connection is of IPv6 when the socket gets the protocol, and later of IPv4. */
static void addrform_again(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct holder h;
	struct lent l;

	set_ulp_meanwhile(&l, &h, "fd77::2");
	check(!connect(l.a, &none, sizeof(none)), "disconnect: %m");
	close(l.b);
	probe_server("::ffff:10.77.0.2", 0);
	tcp_join(&l, tcp_listen(&l.p.b));
	set_addrform_late(&l, &h);
}

const struct test lend_lock_tests[] = {
	{ "locked_startup", locked_startup },
	{ "locked_worker", locked_worker },
	{ "addrform_before", addrform_before },
	{ "addrform_again", addrform_again },
	{ NULL, NULL },
};
