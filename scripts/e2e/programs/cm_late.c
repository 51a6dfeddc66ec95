// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* cm_late PORT: a server that prints when a request arrives, and rejects it after SIGUSR1. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

int main(int argc, char **argv)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	struct rdma_event_channel *events;
	struct rdma_cm_id *server, *id;
	struct rdma_cm_event *ev;

	check(argc == 2, "usage: cm_late PORT");
	any.sin6_port = htons(atoi(argv[1]));
	events = rdma_create_event_channel();
	check(events, "event channel: %m");
	check(!rdma_create_id(events, &server, NULL, RDMA_PS_TCP), "create_id: %m");
	check(!rdma_bind_addr(server, (void *)&any), "bind: %m");
	check(!rdma_listen(server, 8), "listen: %m");
	check(!rdma_get_cm_event(events, &ev), "get_cm_event: %m");
	check(ev->event == RDMA_CM_EVENT_CONNECT_REQUEST, "event %s", rdma_event_str(ev->event));
	id = ev->id;
	rdma_ack_cm_event(ev);
	wait_until_told("called");
	check(!rdma_reject(id, NULL, 0), "reject: %m");
	check(!rdma_destroy_id(id), "destroy_id: %m");
	check(!rdma_destroy_id(server), "destroy_id: %m");
	rdma_destroy_event_channel(events);
	return 0;
}
