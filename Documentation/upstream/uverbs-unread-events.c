// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Makes a kernel without 0002-uverbs-one-unread-event.patch keep as many completion events as this
 * program asks for, because nobody reads them. Needs a software RDMA device on the interface that
 * has ADDRESS, and no privilege.
 *
 *	cc -o flood uverbs-unread-events.c -lrdmacm -libverbs
 *	./flood ADDRESS COUNT		exit status 0 if the kernel kept one event, 1 if more
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <rdma/rdma_cma.h>

static void check(int ret, const char *what)
{
	if (ret) {
		perror(what);
		exit(2);
	}
}

/* A queue pair in error completes all that is posted, so it needs no peer. */
static struct ibv_qp *make_qp(struct ibv_context *context, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_qp *qp;

	check(!pd, "ibv_alloc_pd");
	qp = ibv_create_qp(pd, &init);
	check(!qp, "ibv_create_qp");
	check(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "ibv_modify_qp");
	return qp;
}

static void complete_one(struct ibv_qp *qp, struct ibv_cq *cq)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	check(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
	check(ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	while (!ibv_poll_cq(cq, 1, &wc))
		;
}

static unsigned long read_events(struct ibv_comp_channel *channel)
{
	unsigned long events = 0;
	struct ibv_cq *cq;
	void *context;

	check(fcntl(channel->fd, F_SETFL, O_NONBLOCK), "fcntl");
	while (!ibv_get_cq_event(channel, &cq, &context))
		events++;
	return events;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct ibv_comp_channel *channel;
	unsigned long i, count, events;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	if (argc != 3 || !inet_aton(argv[1], &address.sin_addr)) {
		fputs("usage: flood ADDRESS COUNT\n", stderr);
		return 2;
	}
	count = strtoul(argv[2], NULL, 0);
	check(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_bind_addr(id, (struct sockaddr *)&address), "rdma_bind_addr");
	channel = ibv_create_comp_channel(id->verbs);
	check(!channel, "ibv_create_comp_channel");
	cq = ibv_create_cq(id->verbs, 1, NULL, channel, 0);
	check(!cq, "ibv_create_cq");
	qp = make_qp(id->verbs, cq);

	for (i = 0; i < count; i++)
		complete_one(qp, cq);
	system("grep -e SUnreclaim /proc/meminfo");
	events = read_events(channel);
	printf("%lu completions, %lu events unread\n", count, events);
	return events > 1;
}
