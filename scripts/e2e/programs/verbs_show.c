// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pairs are shown, as by "rdma resource show qp", while they are destroyed. The kernel asks
 * the driver for their state meanwhile, also when the driver has destroyed them already.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "probe.h"

#define SECONDS	8
#define QPS	4
#define ANSWER	65536

struct shower {
	uint32_t device;
	atomic_bool over;
	unsigned long shown;
};

/* Return: the number of messages in one dump of a device's queue pairs. */
static unsigned long show_qps(int nl, uint32_t device)
{
	static char answer[ANSWER];
	struct {
		struct nlmsghdr hdr;
		struct nlattr attr;
		uint32_t device;
	} ask = {
		.hdr = {
			.nlmsg_len = sizeof(ask),
			.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_QP_GET),
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.attr = { .nla_len = 8, .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX },
		.device = device,
	};
	unsigned long n = 0;
	struct nlmsghdr *msg;
	ssize_t len;

	check(send(nl, &ask, sizeof(ask), 0) == sizeof(ask), "send: %m");
	for (;;) {
		len = recv(nl, answer, sizeof(answer), 0);
		check(len > 0, "recv: %m");
		for (msg = (void *)answer; NLMSG_OK(msg, len); msg = NLMSG_NEXT(msg, len)) {
			check(msg->nlmsg_type != NLMSG_ERROR, "the kernel shows nothing");
			if (msg->nlmsg_type == NLMSG_DONE)
				return n;
			n++;
		}
	}
}

static void *keep_showing(void *arg)
{
	int nl = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	struct shower *sh = arg;

	check(nl >= 0, "socket: %m");
	while (!atomic_load(&sh->over))
		sh->shown += show_qps(nl, sh->device);
	close(nl);
	return NULL;
}

static void make_and_destroy(struct side *s)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = { .max_send_wr = 4096, .max_recv_wr = 4096, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qps[QPS];
	int i;

	for (i = 0; i < QPS; i++) {
		qps[i] = ibv_create_qp(s->pd, &attr);
		check(qps[i], "create: %m");
	}
	for (i = 0; i < QPS; i++)
		check(!ibv_destroy_qp(qps[i]), "destroy: %m");
}

static void show_destroyed(void)
{
	struct shower sh = {};
	pthread_t thread;
	struct pair p;
	double end;

	pair_open(&p, &defaults);
	sh.device = ibv_get_device_index(p.a.id->verbs->device);
	check(!pthread_create(&thread, NULL, keep_showing, &sh), "thread: %m");
	for (end = now() + SECONDS; now() < end;)
		make_and_destroy(&p.a);
	atomic_store(&sh.over, true);
	check(!pthread_join(thread, NULL), "join: %m");
	check(sh.shown, "no queue pair was shown");
	printf("%lu queue pairs shown\n", sh.shown);
	hello(&p);
	pair_free(&p);
}

const struct test show_tests[] = {
	{ "show_destroyed", show_destroyed },
	{ NULL, NULL },
};
