// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * startups ADDRESS PORT N: begins N connections to a peer that does not answer, says
 * "connecting", and waits to be killed.
 */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

static struct rdma_event_channel *events;
static struct rdma_addrinfo *to;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(1);
}

static void await_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(events, &ev))
		die("rdma_get_cm_event");
	if (ev->event != type) {
		fprintf(stderr, "%s %d\n", rdma_event_str(ev->event), ev->status);
		exit(1);
	}
	rdma_ack_cm_event(ev);
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (!pd)
		pd = ibv_alloc_pd(id->verbs);
	if (!cq)
		cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	if (!pd || !cq)
		die("objects");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (rdma_create_qp(id, pd, &attr))
		die("rdma_create_qp");
}

static struct rdma_cm_id *make_id(void)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(events, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, to->ai_dst_addr, 2000))
		die("rdma_resolve_addr");
	await_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, 2000))
		die("rdma_resolve_route");
	await_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(id);
	return id;
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	struct rdma_conn_param param = { .retry_count = 7 };
	struct rdma_cm_id **ids;
	int i, n;

	if (argc != 4) {
		fputs("usage: startups ADDRESS PORT N\n", stderr);
		return 2;
	}
	n = atoi(argv[3]);
	ids = calloc(n, sizeof(*ids));
	events = rdma_create_event_channel();
	if (!ids || !events || rdma_getaddrinfo(argv[1], argv[2], &hints, &to))
		die("start");
	for (i = 0; i < n; i++)
		ids[i] = make_id();
	for (i = 0; i < n; i++)
		if (rdma_connect(ids[i], &param))
			die("rdma_connect");
	puts("connecting");
	fflush(stdout);
	pause();
	return 0;
}
