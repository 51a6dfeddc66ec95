// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A queue pair that a kernel consumer destroys without draining it, while the poller of its
 * completion queues is late.
 *
 * ksoftirqd polls the queues (IB_POLL_SOFTIRQ). The test holds it back by irq_poll_disable() from
 * before the first post until the queue pair is gone, so each completion of it is still in a queue
 * then, or was never put there. A consumer frees the contexts of its work requests and its memory
 * after ib_destroy_qp(). Here a context gets another done() instead, which counts, and the memory
 * gets another pattern.
 */
#include <linux/atomic.h>
#include <linux/irq_poll.h>

#include "memprobe.h"

#define ORDER		9
#define SIZE		(PAGE_SIZE << ORDER)
#define WRITES		10	/* of SIZE; more than TCP takes if the peer does not read */
#define WORKS		(WRITES + 5)
#define MARKS		8
#define OLD		0x11	/* in the source until the queue pair is gone */
#define NEW		0x6b	/* in all memory of its side after that */
#define WAIT		(30 * HZ)

/**
 * struct work - context of a work request
 * @cqe:	names done()
 * @over:	it was completed
 * @status:	result
 * @nth:	number of works of its array that were completed before it
 */
struct work {
	struct ib_cqe cqe;
	struct completion over;
	enum ib_wc_status status;
	int nth;
};

static struct ib_pd *pd;
static struct ib_cq *scq, *rcq;
static struct work works[WORKS], sent[MARKS], received[MARKS];
static int num_sent, num_received;
static atomic_t of_gone;
/* of the side whose queue pair goes: Writes come from @source; Reads and receives go to @sink */
static u8 *source, *sink, *peers;

static void work_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct work *w = container_of(wc->wr_cqe, struct work, cqe);

	w->status = wc->status;
	if (w >= sent && w < sent + MARKS)
		w->nth = num_sent++;
	if (w >= received && w < received + MARKS)
		w->nth = num_received++;
	complete(&w->over);
}

static void freed_work_done(struct ib_cq *cq, struct ib_wc *wc)
{
	atomic_inc(&of_gone);
}

static void init_works(struct work *w, int n)
{
	for (; n--; w++) {
		w->cqe.done = work_done;
		init_completion(&w->over);
	}
}

/* What a consumer does after ib_destroy_qp() */
static void free_works(void)
{
	int i;

	for (i = 0; i < WORKS; i++)
		works[i].cqe.done = freed_work_done;
	memset(source, NEW, SIZE);
	memset(sink, NEW, SIZE);
}

/* ---- the poller ---------------------------------------------------------- */

static void hold_back(void)
{
	irq_poll_disable(&scq->iop);
	irq_poll_disable(&rcq->iop);
}

static void resume_polling(struct ib_cq *cq)
{
	irq_poll_enable(&cq->iop);
	/* irq_poll_sched() did nothing when the driver called this. */
	cq->comp_handler(cq, cq->cq_context);
}

static void let_go(void)
{
	resume_polling(scq);
	resume_polling(rcq);
}

/* ---- work requests ------------------------------------------------------- */

static int post_send(struct ib_qp *qp, struct work *w, enum ib_wr_opcode op, u8 *local, u32 len)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)local, .length = len, .lkey = pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = { .wr_cqe = &w->cqe, .opcode = op, .sg_list = &sge, .num_sge = len ? 1 : 0,
			.send_flags = IB_SEND_SIGNALED },
		.remote_addr = (uintptr_t)peers,
		.rkey = pd->unsafe_global_rkey,
	};
	int ret = ib_post_send(qp, &wr.wr, NULL);

	return ret ? complain("post_send: %d", ret) : 0;
}

static int post_recv(struct ib_qp *qp, struct work *w)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)sink, .length = SIZE, .lkey = pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &w->cqe, .sg_list = &sge, .num_sge = 1 };
	int ret = ib_post_recv(qp, &wr, NULL);

	return ret ? complain("post_recv: %d", ret) : 0;
}

static int post_all(struct ib_qp *qp)
{
	int i, ret;

	init_works(works, WORKS);
	ret = post_send(qp, &works[0], IB_WR_SEND, source, 0);
	ret = ret ?: post_send(qp, &works[1], IB_WR_SEND, source, 0);
	ret = ret ?: post_send(qp, &works[2], IB_WR_RDMA_READ, sink, SIZE);
	for (i = 3; i < WRITES + 3 && !ret; i++)
		ret = post_send(qp, &works[i], IB_WR_RDMA_WRITE, source, SIZE);
	for (; i < WORKS && !ret; i++)
		ret = post_recv(qp, &works[i]);
	return ret;
}

/*
 * Post requests that come to all stages: b has a receive for the first Send only. It takes nothing
 * behind the second, so the Read has no answer, and TCP does not take all Writes.
 */
static int load(struct pair *p)
{
	struct ib_wc wc;
	int ret;

	ret = end_post_recv(&p->b, 0, 0, 0);
	ret = ret ?: post_all(p->a.id->qp);
	return ret ?: end_wait(&p->b, &wc);
}

/* A Send each way; the completions at a are in @sent and @received. */
static int mark(struct pair *p, int i)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct ib_wc wc;
	int ret;

	ret = end_post_recv(&p->b, 0, 0, 0);
	ret = ret ?: post_send(p->a.id->qp, &sent[i], IB_WR_SEND, source, 0);
	ret = ret ?: end_wait(&p->b, &wc);
	ret = ret ?: post_recv(p->a.id->qp, &received[i]);
	return ret ?: end_do(&p->b, &wr);
}

static int mark_some(struct pair *p, int from)
{
	int i, ret = 0;

	for (i = from; i < from + MARKS / 4 && !ret; i++)
		ret = mark(p, i);
	return ret;
}

static int expect_marks(struct work *w, const char *what)
{
	int i;

	for (i = 0; i < MARKS; i++, w++) {
		if (!wait_for_completion_timeout(&w->over, WAIT))
			return complain("%s %d was not completed", what, i);
		if (w->status || w->nth != i)
			return complain("%s %d: status %d, as number %d", what, i, w->status,
					w->nth);
	}
	return 0;
}

static int expect_none_of_gone(void)
{
	int n = atomic_read(&of_gone);

	return n ? complain("%d completions of a queue pair that is gone", n) : 0;
}

static int expect_no_access(void)
{
	if (memchr_inv(sink, NEW, SIZE))
		return complain("something came for a queue pair that is gone");
	if (memchr(peers, NEW, SIZE))
		return complain("memory was sent after the queue pair was gone");
	return 0;
}

/* ---- cases --------------------------------------------------------------- */

static int open_pair(struct pair *p)
{
	return pair_open_on(p, pd, scq, rcq);
}

/* The pollers resume behind the completions that the queue pair left. */
static int leave_behind(struct pair *stays, struct pair *goes)
{
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	struct ib_qp *qp = goes->a.id->qp;
	int ret;

	hold_back();
	ret = mark_some(stays, 0);
	ret = ret ?: load(goes);
	ret = ret ?: mark_some(stays, MARKS / 4);
	/* Also with completions in the queues already, some between those of the other. */
	ret = ret ?: ib_modify_qp(qp, &error, IB_QP_STATE);
	ret = ret ?: end_post_recv(&goes->b, 0, 0, 0);
	ret = ret ?: end_expect(&goes->a, RDMA_CM_EVENT_DISCONNECTED);
	ret = ret ?: mark_some(stays, 2 * MARKS / 4);
	rdma_destroy_qp(goes->a.id);
	free_works();
	let_go();
	ret = ret ?: mark_some(stays, 3 * MARKS / 4);
	ret = ret ?: expect_marks(sent, "Send");
	ret = ret ?: expect_marks(received, "receive");
	return ret ?: expect_none_of_gone();
}

static int destroy_in_error(void)
{
	struct pair stays, goes = {};
	int ret;

	ret = open_pair(&stays);
	ret = ret ?: open_pair(&goes);
	ret = ret ?: leave_behind(&stays, &goes);
	pair_close(&goes);
	pair_close(&stays);
	return ret;
}

/* In the middle of a Write, with a Read outstanding */
static int destroy_connected(void)
{
	struct pair p;
	int ret;

	ret = open_pair(&p);
	if (!ret) {
		hold_back();
		ret = load(&p);
		rdma_destroy_qp(p.a.id);
		free_works();
		let_go();
		ret = ret ?: end_post_recv(&p.b, 0, 0, 0);
		ret = ret ?: end_expect(&p.b, RDMA_CM_EVENT_DISCONNECTED);
	}
	pair_close(&p);
	return ret ?: expect_no_access();
}

static int drain(struct ib_qp *qp)
{
	int i;

	ib_drain_qp(qp);
	for (i = 0; i < WORKS; i++)
		if (!completion_done(&works[i].over))
			return complain("drained without work request %d", i);
	return 0;
}

static int drain_connected(void)
{
	struct pair p;
	int ret;

	ret = open_pair(&p);
	ret = ret ?: load(&p);
	ret = ret ?: drain(p.a.id->qp);
	if (!ret) {
		rdma_destroy_qp(p.a.id);
		free_works();
	}
	pair_close(&p);
	return ret;
}

/* Never connected: what is posted lies there until the end, or is flushed. */
static int without_connection(struct ib_qp *qp, bool drained)
{
	int ret;

	hold_back();
	ret = post_all(qp);
	if (drained) {
		let_go();
		ret = ret ?: drain(qp);
		/* and once more, in error */
		ret = ret ?: post_all(qp) ?: drain(qp);
		hold_back();
	}
	ib_destroy_qp(qp);
	free_works();
	let_go();
	return ret;
}

static int destroy_unconnected(bool drained)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC, .send_cq = scq, .recv_cq = rcq,
		.cap = { .max_send_wr = WORKS + 1, .max_recv_wr = WORKS + 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ib_qp *qp = ib_create_qp(pd, &attr);

	if (IS_ERR(qp))
		return complain("create_qp: %ld", PTR_ERR(qp));
	return without_connection(qp, drained);
}

static int all_cases(void)
{
	int ret;

	memset(source, OLD, SIZE);
	memset(peers, OLD, SIZE);
	init_works(sent, MARKS);
	init_works(received, MARKS);
	ret = destroy_connected();
	ret = ret ?: destroy_in_error();
	ret = ret ?: destroy_unconnected(false);
	ret = ret ?: destroy_unconnected(true);
	return ret ?: drain_connected();
}

static int with_queues(void)
{
	int ret;

	scq = ib_alloc_cq(dev, NULL, 256, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(scq))
		return complain("alloc_cq: %ld", PTR_ERR(scq));
	rcq = ib_alloc_cq(dev, NULL, 256, 0, IB_POLL_SOFTIRQ);
	ret = PTR_ERR_OR_ZERO(rcq);
	if (!ret) {
		ret = all_cases();
		ib_free_cq(rcq);
	}
	ib_free_cq(scq);
	/* No poller runs any more. */
	return ret ?: expect_none_of_gone();
}

int probe_undrained(void)
{
	int ret = -ENOMEM;

	pd = ib_alloc_pd(dev, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	source = (u8 *)__get_free_pages(GFP_KERNEL, ORDER);
	sink = (u8 *)__get_free_pages(GFP_KERNEL, ORDER);
	peers = (u8 *)__get_free_pages(GFP_KERNEL, ORDER);
	if (source && sink && peers)
		ret = with_queues();
	free_pages((unsigned long)source, ORDER);
	free_pages((unsigned long)sink, ORDER);
	free_pages((unsigned long)peers, ORDER);
	ib_dealloc_pd(pd);
	return ret;
}
