// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * More callers at a time than the listener of a kernel consumer has work entries in iw_cm, while
 * the consumer takes its time with each. All are answered in their order. If the listener goes
 * away, those that wait learn of it, and not only when the time of the consumer is over.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "memprobe.h"

#define CALLERS		6
#define BACKLOG		1
#define NAP_MS		(300 * slow)

/* From the listener, one handler at a time */
struct crowd {
	struct rdma_cm_id *listener;
	struct completion asked;
	struct end a[CALLERS];
	struct end b[CALLERS];
	int n;
};

static struct ib_pd *pd;

/* An id of a request begins with the listener's context. */
static int answer_slowly(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct crowd *crowd = id->context;
	struct end *b;
	int ret;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	complete(&crowd->asked);
	msleep(NAP_MS);
	b = &crowd->b[crowd->n];
	end_init(b, "b", pd);
	id->event_handler = end_event;
	id->context = b;
	ret = end_answer(b, id);
	if (!ret)
		crowd->n++;
	return ret;
}

/* All call before anybody is answered. */
static int call_all(struct crowd *crowd)
{
	struct sockaddr_in to;
	int i, ret = 0;

	init_completion(&crowd->asked);
	crowd->listener = listen(answer_slowly, crowd, BACKLOG, &to);
	if (!crowd->listener)
		return -EINVAL;
	for (i = 0; i < CALLERS && !ret; i++) {
		end_init(&crowd->a[i], "a", pd);
		ret = end_resolve(&crowd->a[i], &to);
	}
	for (i = 0; i < CALLERS && !ret; i++)
		ret = end_call(&crowd->a[i]);
	return ret;
}

static void hang_up(struct crowd *crowd)
{
	int i;

	for (i = 0; i < CALLERS; i++)
		end_free(&crowd->a[i]);
	if (crowd->listener)
		rdma_destroy_id(crowd->listener);
	for (i = 0; i < crowd->n; i++)
		end_free(&crowd->b[i]);
}

static __be16 port_of(const struct sockaddr_storage *address)
{
	return ((const struct sockaddr_in *)address)->sin_port;
}

/* In the order of the calls */
static int expect_answers(struct crowd *crowd)
{
	int i, ret = 0;

	for (i = 0; i < CALLERS && !ret; i++)
		ret = end_expect(&crowd->a[i], RDMA_CM_EVENT_ESTABLISHED);
	for (i = 0; i < CALLERS && !ret; i++)
		if (port_of(&crowd->a[i].id->route.addr.src_addr) !=
		    port_of(&crowd->b[i].id->route.addr.dst_addr))
			ret = complain("answer %d was not for caller %d", i, i);
	return ret;
}

/* Some were accepted by then. */
static int expect_refusals(struct crowd *crowd)
{
	int i, event, refused = 0;

	for (i = 0; i < CALLERS; i++) {
		event = end_next(&crowd->a[i]);
		if (event < 0)
			return event;
		if (event == RDMA_CM_EVENT_REJECTED)
			refused++;
		else if (event != RDMA_CM_EVENT_ESTABLISHED)
			return complain("a: %s", rdma_event_msg(event));
	}
	return refused > BACKLOG ? 0 : complain("%d were refused", refused);
}

static int answer_all(struct crowd *crowd)
{
	int ret = call_all(crowd);

	return ret ?: expect_answers(crowd);
}

static int stop_listening(struct crowd *crowd)
{
	int ret = call_all(crowd);

	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&crowd->asked, 10 * slow * HZ))
		return complain("nobody was asked");
	/* The others are at the listener, or wait for it. */
	msleep(NAP_MS / 3);
	rdma_destroy_id(crowd->listener);
	crowd->listener = NULL;
	return expect_refusals(crowd);
}

static int run(int (*test)(struct crowd *crowd))
{
	struct crowd *crowd = kzalloc(sizeof(*crowd), GFP_KERNEL);
	int ret;

	if (!crowd)
		return -ENOMEM;
	ret = test(crowd);
	hang_up(crowd);
	kfree(crowd);
	return ret;
}

int probe_crowd(void)
{
	int ret;

	pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = run(answer_all) ?: run(stop_listening);
	ib_dealloc_pd(pd);
	return ret;
}
