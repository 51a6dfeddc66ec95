/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Both ends of one RDMA connection, driven by a single thread.
 *
 * Side a lives in network namespace "a" and connects, side b lives in "b" and
 * listens.  The thread enters a namespace (setns) for every call that makes a
 * socket, so the data crosses the wire between the two, yet a test can look at
 * both ends in a fixed order and needs no second process to agree with.
 */
#ifndef E2E_PROBE_H
#define E2E_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>
#include <infiniband/verbs.h>

#define PAGE		4096
#define MEM_SIZE	(3 << 20)
#define WAIT_MS		(8000 * slow())
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct side {
	const char *name;
	int netns;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *mem;
	bool connected;
};

struct options {
	int send_wr, recv_wr, cqe;
	int ird, ord;
	int inline_size;
	int backlog;
	uint8_t tos, listen_tos;	/* 0: not set */
	bool srq, sig_all;
};

struct pair {
	struct side a, b;
	struct rdma_cm_id *listener;
	struct options opt;
};

/* The contents of a connection management event; filled by cm_wait(). */
struct cm_seen {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	int ird, ord;
	int data_len;
	uint8_t data[256];
};

/* One named test of a program; run_tests() is its main(). */
struct test {
	const char *name;
	void (*run)(void);
};

int run_tests(int argc, char **argv, const struct test *tests);
int run_groups(int argc, char **argv, const struct test *const *groups, size_t num);

/* Fail the test, naming the place. */
void __attribute__((noreturn, format(printf, 3, 4)))
fail_at(const char *file, int line, const char *fmt, ...);
#define fail(...)	fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define check(cond, ...)	do { if (!(cond)) fail(__VA_ARGS__); } while (0)

extern const struct options defaults;

/* Connections, in steps and as a whole. */
void enter(const struct side *s);
void pair_init(struct pair *p, const struct options *opt);
void pair_listen(struct pair *p);
void side_resolve(struct pair *p, struct side *s, int port);
void side_make_qp(struct pair *p, struct side *s);
void side_connect(struct pair *p, struct side *s, const void *data, int len);
void side_accept(struct pair *p, struct side *s, const void *data, int len);
void side_free(struct side *s);
struct cm_seen cm_wait(struct side *s);
struct cm_seen cm_expect(struct side *s, enum rdma_cm_event_type type);
void pair_prepare(struct pair *p, const struct options *opt);
void pair_join(struct pair *p);
void pair_open(struct pair *p, const struct options *opt);
void pair_close(struct pair *p);
void pair_free(struct pair *p);
int probe_port(void);
void probe_address(struct sockaddr_storage *ss);
void probe_server(const char *address, int port);
double now(void);
int slow(void);
void wait_until_told(const char *where);

/* Work requests. */
struct ibv_sge sge(struct side *s, size_t offset, size_t length);
int try_send(struct side *s, struct ibv_send_wr *wr);
void post(struct side *s, uint64_t id, enum ibv_wr_opcode op, unsigned int flags,
	  struct ibv_sge *list, int count, uint64_t remote, uint32_t rkey);
void post_recv(struct side *s, uint64_t id, struct ibv_sge *list, int count);
bool wc_get(struct side *s, struct ibv_wc *wc, int ms);
struct ibv_wc wc_expect(struct side *s, uint64_t id, enum ibv_wc_status status);
void wc_none(struct side *s, int ms);
int async_get(struct side *s, int ms);
void hello(struct pair *p);

/* Memory. */
void fill(uint8_t *p, size_t len, unsigned int seed);
void same(const uint8_t *p, size_t len, unsigned int seed, const char *what);

extern const struct test data_tests[], watch_tests[], queue_tests[], error_tests[],
	ring_tests[], rnr_tests[], create_tests[], show_tests[];

#endif
