// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A queue pair cannot be made, because the program asks the kernel itself, and leaves no place for
 * the driver's answer. ib_uverbs frees the object without its events, so there must be none.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "probe.h"

#define ROUNDS	3000
#define ATTRS	10

struct request {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[ATTRS];
};

static void add_attr(struct request *r, uint16_t id, uint16_t len, uint64_t data)
{
	struct ib_uverbs_attr *a = &r->attrs[r->hdr.num_attrs++];

	check(r->hdr.num_attrs <= ATTRS, "too many attributes");
	a->attr_id = id;
	a->len = len;
	a->flags = UVERBS_ATTR_F_MANDATORY;
	a->data = data;
	r->hdr.length += sizeof(*a);
}

static void try_create(struct side *s)
{
	struct ib_uverbs_qp_cap cap = { .max_send_wr = 1, .max_send_sge = 1 }, granted;
	struct request r = {
		.hdr = {
			.length = sizeof(r.hdr),
			.object_id = UVERBS_OBJECT_QP,
			.method_id = UVERBS_METHOD_QP_CREATE,
			.driver_id = RDMA_DRIVER_SIW,
		},
	};
	uint32_t number;

	add_attr(&r, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	add_attr(&r, UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, s->pd->handle);
	add_attr(&r, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, 0, s->srq->handle);
	add_attr(&r, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, 0, s->cq->handle);
	add_attr(&r, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, 0, s->cq->handle);
	/* An event would come as one of the other queue pair, so that it can be read. */
	add_attr(&r, UVERBS_ATTR_CREATE_QP_USER_HANDLE, sizeof(uint64_t), (uintptr_t)s->id->qp);
	add_attr(&r, UVERBS_ATTR_CREATE_QP_CAP, sizeof(cap), (uintptr_t)&cap);
	add_attr(&r, UVERBS_ATTR_CREATE_QP_TYPE, sizeof(uint64_t), IB_UVERBS_QPT_RC);
	add_attr(&r, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(granted), (uintptr_t)&granted);
	add_attr(&r, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, sizeof(number), (uintptr_t)&number);
	check(ioctl(s->id->verbs->cmd_fd, RDMA_VERBS_IOCTL, &r), "a queue pair was made");
	check(errno == EINVAL, "create: %m, not EINVAL");
}

static void create_unanswered(void)
{
	struct options opt = defaults;
	struct pair p;
	int i;

	opt.srq = true;
	pair_open(&p, &opt);
	for (i = 0; i < ROUNDS; i++)
		try_create(&p.a);
	check(async_get(&p.a, 0) < 0, "there are events of a queue pair that was never made");
	hello(&p);
	pair_free(&p);
}

const struct test create_tests[] = {
	{ "create_unanswered", create_unanswered },
	{ NULL, NULL },
};
