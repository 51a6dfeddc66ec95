// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cm_ports [-s SERVER] [-p PORT] TEST...: which server gets a port. TCP has one table of ports,
 * and rdma_cm has one for each port space.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

static const enum rdma_port_space spaces[] = { RDMA_PS_TCP, RDMA_PS_IB };

/* An id of b's that wants to listen on the address. */
static struct rdma_cm_id *make_server(struct pair *p, enum rdma_port_space space,
				      const char *address)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(probe_port()),
	};
	struct rdma_cm_id *id;

	enter(&p->b);
	check(inet_pton(AF_INET, address, &at.sin_addr) == 1, "bad address %s", address);
	check(!rdma_create_id(p->b.events, &id, NULL, space), "create_id: %m");
	check(!rdma_bind_addr(id, (void *)&at), "bind: %m");
	return id;
}

static void must_listen(struct pair *p, struct rdma_cm_id *id)
{
	enter(&p->b);
	check(!rdma_listen(id, 8), "listen: %m");
}

static void must_not_listen(struct pair *p, struct rdma_cm_id *id, int why)
{
	enter(&p->b);
	check(rdma_listen(id, 8), "listens");
	check(errno == why, "listen: %m, expected '%s'", strerror(why));
}

static void destroy(struct rdma_cm_id *id)
{
	check(!rdma_destroy_id(id), "destroy_id: %m");
}

/* A connection reaches the server, and carries data. */
static void reach(struct pair *p, struct rdma_cm_id *server)
{
	struct rdma_cm_event *ev;

	side_resolve(p, &p->a, probe_port());
	side_make_qp(p, &p->a);
	side_connect(p, &p->a, NULL, 0);
	check(!rdma_get_cm_event(p->b.events, &ev), "get_cm_event: %m");
	check(ev->event == RDMA_CM_EVENT_CONNECT_REQUEST, "event %s", rdma_event_str(ev->event));
	check(ev->listen_id == server, "the call went to another server");
	p->b.id = ev->id;
	rdma_ack_cm_event(ev);
	side_make_qp(p, &p->b);
	side_accept(p, &p->b, NULL, 0);
	cm_expect(&p->a, RDMA_CM_EVENT_ESTABLISHED);
	cm_expect(&p->b, RDMA_CM_EVENT_ESTABLISHED);
	hello(p);
	check(!rdma_disconnect(p->a.id), "disconnect: %m");
	cm_expect(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	cm_expect(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	side_free(&p->a);
	side_free(&p->b);
}

/* The second server gets an error, whatever it asks for, and takes nothing away. */
static void rivals(struct pair *p, const char *one, const char *other)
{
	struct rdma_cm_id *first, *second;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		first = make_server(p, spaces[i], one);
		second = make_server(p, spaces[!i], other);
		must_listen(p, first);
		must_not_listen(p, second, EADDRINUSE);
		reach(p, first);
			/* The second server may listen as soon as the port is free. */
		destroy(first);
		must_listen(p, second);
		reach(p, second);
		destroy(second);
	}
}

static void taken(void)
{
	struct pair p;

	pair_init(&p, &defaults);
	rivals(&p, "0.0.0.0", "0.0.0.0");
	rivals(&p, "0.0.0.0", "10.77.0.2");
	rivals(&p, "10.77.0.2", "0.0.0.0");
	rivals(&p, "10.77.0.2", "10.77.0.2");
	pair_free(&p);
}

/* A server for datagrams gets no connection and takes no port, neither before nor after. */
static void datagrams(void)
{
	struct rdma_cm_id *server, *before, *after, *bound;
	struct pair p;

	pair_init(&p, &defaults);
	before = make_server(&p, RDMA_PS_UDP, "0.0.0.0");
	must_listen(&p, before);
	server = make_server(&p, RDMA_PS_TCP, "0.0.0.0");
	must_listen(&p, server);
	reach(&p, server);
	destroy(before);
	after = make_server(&p, RDMA_PS_UDP, "0.0.0.0");
	must_listen(&p, after);
	reach(&p, server);
	destroy(after);
	destroy(server);
	bound = make_server(&p, RDMA_PS_UDP, "10.77.0.2");
	must_not_listen(&p, bound, EOPNOTSUPP);
	destroy(bound);
	pair_free(&p);
}

/* Both servers listen when their host has no device. The first one gets the port. */
static void await_device(void)
{
	struct rdma_cm_id *first, *second;
	struct pair p;

	pair_init(&p, &defaults);
	first = make_server(&p, RDMA_PS_IB, "0.0.0.0");
	second = make_server(&p, RDMA_PS_TCP, "0.0.0.0");
	must_listen(&p, first);
	must_listen(&p, second);
	wait_until_told("listening");
	reach(&p, first);
	destroy(first);
	destroy(second);
	pair_free(&p);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "taken", taken },
		{ "datagrams", datagrams },
		{ "await_device", await_device },
		{ NULL, NULL },
	};

	return run_tests(argc, argv, tests);
}
