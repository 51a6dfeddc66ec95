// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer in the kernel destroys a queue pair whose completions are unread in a completion
 * queue that another queue pair shares. Loading the module runs the test: it can be loaded if the
 * test passes.
 */
#include <linux/completion.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "find.h"

#define DEVICE	"mpa0"
#define EACH	3	/* receives of either queue pair, posted in one go */

static struct ib_device *dev;
static struct ib_pd *pd;
static struct ib_cq *cq;
static struct ib_qp *stays, *goes;
static DECLARE_COMPLETION(told);

static void tell(struct ib_cq *unused, void *context)
{
	complete(&told);
}

static struct ib_qp *make_qp(void)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	struct ib_qp *qp = ib_create_qp(pd, &attr);
	int ret;

	if (IS_ERR(qp))
		return qp;
	ret = ib_modify_qp(qp, &error, IB_QP_STATE);
	if (!ret)
		return qp;
	ib_destroy_qp(qp);
	return ERR_PTR(ret);
}

/* Posts to a queue pair in error. All of it is flushed before the upcall. */
static int flush_some(struct ib_qp *qp, u64 first)
{
	struct ib_recv_wr wr[EACH] = {};
	int i, ret;

	for (i = 0; i < EACH; i++) {
		wr[i].wr_id = first + i;
		wr[i].next = i + 1 < EACH ? &wr[i + 1] : NULL;
	}
	reinit_completion(&told);
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	ret = ib_post_recv(qp, wr, NULL);
	if (!ret && !wait_for_completion_timeout(&told, 30 * HZ))
		ret = -ETIMEDOUT;
	return ret;
}

/* All completions of the remaining queue pair come, in order, and none of the other one. */
static int look(void)
{
	struct ib_wc wc;
	int n = 0;

	while (ib_poll_cq(cq, 1, &wc) == 1) {
		if (wc.qp != stays || wc.wr_id != n++) {
			pr_err("kernel_queue: completion %llu is of %s\n", wc.wr_id,
			       wc.qp == stays ? "its queue pair" : "one that is gone");
			return -EUCLEAN;
		}
	}
	return n == 2 * EACH ? 0 : -ENODATA;
}

static int run(void)
{
	int ret;

	ret = flush_some(stays, 0);
	if (!ret)
		ret = flush_some(goes, 1000);
	if (!ret)
		ret = flush_some(stays, EACH);
	if (!ret)
		ret = flush_some(goes, 2000);
	ib_destroy_qp(goes);
	return ret ?: look();
}

static int with_queues(void)
{
	int ret;

	stays = make_qp();
	if (IS_ERR(stays))
		return PTR_ERR(stays);
	goes = make_qp();
	ret = IS_ERR(goes) ? PTR_ERR(goes) : run();
	ib_destroy_qp(stays);
	return ret;
}

static int with_cq(void)
{
	struct ib_cq_init_attr attr = { .cqe = 64 };
	int ret;

	cq = ib_create_cq(dev, tell, NULL, NULL, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ret = with_queues();
	ib_destroy_cq(cq);
	return ret;
}

static int __init kernel_queue_init(void)
{
	int ret;

	dev = find_device(DEVICE);
	if (!dev)
		return -ENODEV;
	pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(pd)) {
		ret = PTR_ERR(pd);
	} else {
		ret = with_cq();
		ib_dealloc_pd(pd);
	}
	ib_device_put(dev);
	return ret;
}

/* Nothing is left but the code. */
static void __exit kernel_queue_exit(void)
{
}

module_init(kernel_queue_init);
module_exit(kernel_queue_exit);
MODULE_DESCRIPTION("Test of completions of a queue pair that is gone");
MODULE_LICENSE("Dual BSD/GPL");
