// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * attr_probe TEST...: each limit that ibv_query_device() and ibv_query_port() report is reached,
 * and one above it is refused. kmod/limits.c does so with the number of objects and the length of a
 * message.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "probe.h"

#define MAX_CONTEXTS	65536	/* Documentation/limits.rst; no attribute has it */
#define MAX_INLINE	80	/* the same */

static struct ibv_context *verbs;
static struct ibv_device_attr dev;
static struct ibv_port_attr port;
static struct ibv_pd *pd;

static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int i, err = ENODEV;

	check(list, "device list: %m");
	for (i = 0; list[i] && !context; i++) {
		if (strcmp(ibv_get_device_name(list[i]), "mpa0"))
			continue;
		context = ibv_open_device(list[i]);
		err = errno;
	}
	ibv_free_device_list(list);
	errno = err;
	return context;
}

static void start(void)
{
	alarm(0);	/* the scenario has a limit */
	verbs = open_device();
	check(verbs, "mpa0: %m");
	check(!ibv_query_device(verbs, &dev), "query_device: %m");
	check(!ibv_query_port(verbs, 1, &port), "query_port: %m");
	pd = ibv_alloc_pd(verbs);
	check(pd, "alloc_pd: %m");
}

/* One above a limit */
static void refused(const void *object, const char *what)
{
	check(!object, "%s: not refused", what);
	check(errno == EINVAL, "%s: %m, not EINVAL", what);
}

/* ---- queues -------------------------------------------------------------- */

static struct ibv_cq *make_cq(int cqe)
{
	struct ibv_cq *cq = ibv_create_cq(verbs, cqe, NULL, NULL, 0);

	check(cq, "create_cq %d: %m", cqe);
	return cq;
}

static struct ibv_qp *try_qp(struct ibv_cq *cq, struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .cap = cap,
	};

	return ibv_create_qp(pd, &attr);
}

static struct ibv_qp_cap most(void)
{
	return (struct ibv_qp_cap) {
		.max_send_wr = dev.max_qp_wr, .max_recv_wr = dev.max_qp_wr,
		.max_send_sge = dev.max_sge, .max_recv_sge = dev.max_sge,
		.max_inline_data = MAX_INLINE,
	};
}

static struct ibv_sge none;	/* the provider wants one */

static int try_recv(struct ibv_qp *qp, struct ibv_srq *srq)
{
	struct ibv_recv_wr wr = { .sg_list = &none, .num_sge = 1 }, *bad;

	return srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad);
}

static int try_write(struct ibv_qp *qp)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &none, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

static void to_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "modify_qp: %m");
}

/* Poll what was flushed. Return: how many there are, until none comes for a while. */
static int count_flushed(struct ibv_cq *cq, int want)
{
	double end = now() + WAIT_MS / 1e3;
	struct ibv_wc wc[64];
	int n, i, num = 0;

	while (num < want && now() < end) {
		n = ibv_poll_cq(cq, ARRAY_SIZE(wc), wc);
		check(n >= 0, "poll_cq");
		for (i = 0; i < n; i++)
			check(wc[i].status == IBV_WC_WR_FLUSH_ERR, "status %d", wc[i].status);
		num += n;
		if (n)
			end = now() + WAIT_MS / 1e3;
		else
			usleep(100);
	}
	return num;
}

/* The whole of both queues is used. */
static void full_queues(struct ibv_qp *qp, struct ibv_cq *cq)
{
	int i;

	for (i = 0; i < dev.max_qp_wr; i++)
		check(!try_recv(qp, NULL) && !try_write(qp), "request %d was refused", i);
	check(try_recv(qp, NULL), "one receive more was taken");
	check(try_write(qp), "one Write more was taken");
	to_error(qp);
	i = count_flushed(cq, 2 * dev.max_qp_wr);
	check(i == 2 * dev.max_qp_wr, "%d were flushed", i);
}

/* max_qp_wr, max_sge, inline data */
static void qps(void)
{
	static const struct {
		const char *name;
		struct ibv_qp_cap more;
	} above[] = {
		{ "send_wr", { .max_send_wr = 1 } }, { "recv_wr", { .max_recv_wr = 1 } },
		{ "send_sge", { .max_send_sge = 1 } }, { "recv_sge", { .max_recv_sge = 1 } },
		{ "inline_data", { .max_inline_data = 1 } },
	};
	struct ibv_qp_cap cap;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	size_t i;

	start();
	cq = make_cq(2 * dev.max_qp_wr);
	for (i = 0; i < ARRAY_SIZE(above); i++) {
		cap = most();
		cap.max_send_wr += above[i].more.max_send_wr;
		cap.max_recv_wr += above[i].more.max_recv_wr;
		cap.max_send_sge += above[i].more.max_send_sge;
		cap.max_recv_sge += above[i].more.max_recv_sge;
		cap.max_inline_data += above[i].more.max_inline_data;
		refused(try_qp(cq, cap), above[i].name);
	}
	qp = try_qp(cq, most());
	check(qp, "create_qp: %m");
	full_queues(qp, cq);
}

/* max_srq_wr, max_srq_sge */
static void srqs(void)
{
	struct ibv_srq_init_attr init = { 0 };
	struct ibv_srq *srq;
	int i;

	start();
	init.attr = (struct ibv_srq_attr) { .max_wr = dev.max_srq_wr + 1, .max_sge = 1 };
	refused(ibv_create_srq(pd, &init), "srq_wr");
	init.attr = (struct ibv_srq_attr) { .max_wr = 1, .max_sge = dev.max_srq_sge + 1 };
	refused(ibv_create_srq(pd, &init), "srq_sge");
	init.attr = (struct ibv_srq_attr) { .max_wr = dev.max_srq_wr, .max_sge = dev.max_srq_sge };
	srq = ibv_create_srq(pd, &init);
	check(srq, "create_srq: %m");
	for (i = 0; i < dev.max_srq_wr; i++)
		check(!try_recv(NULL, srq), "receive %d was refused", i);
	check(try_recv(NULL, srq), "one receive more was taken");
}

/* Post a receive that is flushed. A full queue has entries again when the worker has run. */
static void flush_one(struct ibv_qp *qp)
{
	double end = now() + WAIT_MS / 1e3;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	while (try_recv(qp, NULL)) {
		check(now() < end, "the receives are not flushed");
		check(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "query_qp: %m");
		usleep(100);
	}
}

static int next_event(void)
{
	struct ibv_async_event event;

	check(!ibv_get_async_event(verbs, &event), "get_async_event: %m");
	ibv_ack_async_event(&event);
	return event.event_type;
}

/* max_cqe, and the vectors */
static void cqs(void)
{
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int i;

	start();
	refused(ibv_create_cq(verbs, dev.max_cqe + 1, NULL, NULL, 0), "cqe");
	refused(ibv_create_cq(verbs, 1, NULL, NULL, verbs->num_comp_vectors), "vector");
	cq = ibv_create_cq(verbs, dev.max_cqe, NULL, NULL, verbs->num_comp_vectors - 1);
	check(cq && cq->cqe == dev.max_cqe, "create_cq: %m");
	qp = try_qp(cq, most());
	check(qp, "create_qp: %m");
	to_error(qp);
	for (i = 0; i <= dev.max_cqe; i++)
		flush_one(qp);
	i = next_event();
	check(i == IBV_EVENT_CQ_ERR, "event %d", i);
	i = count_flushed(cq, dev.max_cqe);
	check(i == dev.max_cqe, "only %d completions", i);
	printf("%d completions\n", i);
}

/* ---- memory -------------------------------------------------------------- */

/*
 * max_mr_size: no machine of ours has so much memory. None of it is there, so a length that is
 * allowed fails for that.
 */
static void mr_size(void)
{
	char *gone = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	start();
	check(gone != MAP_FAILED && !munmap(gone, PAGE), "mmap: %m");
	check(!ibv_reg_mr(pd, gone, dev.max_mr_size, 0) && errno == EFAULT,
	      "max_mr_size: %m, not EFAULT");
	refused(ibv_reg_mr(pd, gone, dev.max_mr_size + PAGE, 0), "max_mr_size + a page");
	refused(ibv_reg_mr(pd, gone, dev.max_mr_size + 1, 0), "max_mr_size + 1");
}

/* ---- connections --------------------------------------------------------- */

static void expect_depth(struct side *s, int depth)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	check(!ibv_query_qp(s->id->qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC,
			    &init), "query_qp: %m");
	check(attr.max_rd_atomic == depth && attr.max_dest_rd_atomic == depth,
	      "%s: depths %d, %d", s->name, attr.max_rd_atomic, attr.max_dest_rd_atomic);
}

static void refused_depths(int ird, int ord, const char *what)
{
	struct rdma_conn_param param = { .responder_resources = ird, .initiator_depth = ord };
	struct options opt = defaults;
	struct pair p;

	pair_prepare(&p, &opt);
	refused(rdma_connect(p.a.id, &param) ? NULL : &p, what);
	pair_free(&p);
}

/* max_qp_rd_atom, max_qp_init_rd_atom, max_res_rd_atom */
static void depths(void)
{
	struct options opt = defaults;
	struct ibv_sge in;
	struct pair p;
	int i;

	start();
	check(dev.max_res_rd_atom == dev.max_qp * dev.max_qp_rd_atom, "max_res_rd_atom %d",
	      dev.max_res_rd_atom);
	opt.ird = dev.max_qp_rd_atom;
	opt.ord = dev.max_qp_init_rd_atom;
	opt.send_wr = 2 * opt.ord;
	opt.cqe = opt.send_wr;
	pair_open(&p, &opt);
	expect_depth(&p.a, opt.ord);
	expect_depth(&p.b, opt.ird);
	in = sge(&p.a, 0, PAGE);
	for (i = 0; i < opt.send_wr; i++)
		post(&p.a, i, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &in, 1, (uintptr_t)p.b.mem,
		     p.b.mr->rkey);
	for (i = 0; i < opt.send_wr; i++)
		wc_expect(&p.a, i, IBV_WC_SUCCESS);
	pair_close(&p);
	refused_depths(opt.ird + 1, opt.ord, "max_qp_rd_atom");
	refused_depths(opt.ird, opt.ord + 1, "max_qp_init_rd_atom");
}

/* ---- tables, and what iWARP has not --------------------------------------- */

/* phys_port_cnt, gid_tbl_len, pkey_tbl_len, max_pkeys */
static void tables(void)
{
	struct ibv_port_attr attr;
	union ibv_gid gid;
	uint16_t pkey;

	start();
	check(ibv_query_port(verbs, dev.phys_port_cnt + 1, &attr), "another port");
	check(!ibv_query_gid(verbs, 1, port.gid_tbl_len - 1, &gid), "query_gid: %m");
	check(ibv_query_gid(verbs, 1, port.gid_tbl_len, &gid), "another GID");
	check(!ibv_query_pkey(verbs, 1, port.pkey_tbl_len - 1, &pkey), "query_pkey: %m");
	check(ibv_query_pkey(verbs, 1, port.pkey_tbl_len, &pkey), "another partition key");
	check(dev.max_pkeys == port.pkey_tbl_len, "max_pkeys %u", dev.max_pkeys);
}

static void refuse_types(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET };
	struct ibv_cq *cq = make_cq(1);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct ibv_qp_init_attr attr = {
			.qp_type = types[i], .send_cq = cq, .recv_cq = cq,
			.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
				 .max_recv_sge = 1 },
		};

		check(!ibv_create_qp(pd, &attr), "type %d: not refused", types[i]);
		check(errno == EOPNOTSUPP, "type %d: %m", types[i]);
	}
}

static void refuse_atomic(void)
{
	struct options opt = defaults;
	struct ibv_sge in;
	struct pair p;

	pair_open(&p, &opt);
	in = sge(&p.a, 0, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .sg_list = &in,
				  .num_sge = 1 };
	check(try_send(&p.a, &wr), "an atomic operation was taken");
	pair_close(&p);
}

/* Attributes of what the device does not have are 0, and it is refused. */
static void nothing(void)
{
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1 };
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = 3, .fd = -1 };

	start();
	check(!dev.max_mw && !dev.max_ah && !dev.max_fmr && !dev.max_map_per_fmr, "mw, ah, fmr");
	check(!dev.max_mcast_grp && !dev.max_mcast_qp_attach && !dev.max_total_mcast_qp_attach,
	      "multicast");
	check(!dev.max_raw_ipv6_qp && !dev.max_raw_ethy_qp, "raw");
	check(!dev.max_ee && !dev.max_rdd && !dev.max_ee_rd_atom && !dev.max_ee_init_rd_atom, "RD");
	check(dev.atomic_cap == IBV_ATOMIC_NONE, "atomic operations");
	check(!ibv_alloc_mw(pd, IBV_MW_TYPE_1) && !ibv_alloc_mw(pd, IBV_MW_TYPE_2), "a window");
	check(!ibv_create_ah(pd, &ah), "an address handle");
	check(!ibv_open_xrcd(verbs, &xrcd), "an XRC domain");
	refuse_types();
	refuse_atomic();
}

/* Contexts, of which no attribute tells */
static void contexts(void)
{
	struct rlimit files = { 3 * MAX_CONTEXTS, 3 * MAX_CONTEXTS };
	int n = 1;

	check(!setrlimit(RLIMIT_NOFILE, &files), "setrlimit: %m");
	start();
	while (open_device())
		check(++n <= MAX_CONTEXTS, "%d contexts, and no end", n);
	check(errno == ENOMEM && n == MAX_CONTEXTS, "refused after %d: %m", n);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "qps", qps },
		{ "srqs", srqs },
		{ "cqs", cqs },
		{ "mr_size", mr_size },
		{ "depths", depths },
		{ "tables", tables },
		{ "nothing", nothing },
		{ "contexts", contexts },
		{ NULL, NULL },
	};

	return run_tests(argc, argv, tests);
}
