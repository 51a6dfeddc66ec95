// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections of a kernel consumer to itself, the verbs around them, and the list of tests.
 *
 *	insmod memprobe.ko test=NAME		which succeeds if the test passes
 *
 * Every wait is bounded. Complaints go to the kernel's log.
 */
#define pr_fmt(fmt) "memprobe: " fmt

#include <linux/delay.h>
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <net/net_namespace.h>

#include "find.h"
#include "memprobe.h"

#define WAIT_S		10

static char *test = "";
module_param(test, charp, 0444);
MODULE_PARM_DESC(test, "which test");

static char *device = "mpa0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "RDMA device");

static char *address = "10.77.9.1";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "IPv4 address of the device's interface");

static uint port = 20000;
module_param(port, uint, 0444);
MODULE_PARM_DESC(port, "the first TCP port to use");

uint slow = 1;
module_param(slow, uint, 0444);
MODULE_PARM_DESC(slow, "factor for time-outs");

struct ib_device *dev;

/* Prints a complaint. Return: -EINVAL. */
int complain(const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	pr_err("%pV\n", &vaf);
	va_end(args);
	return -EINVAL;
}

/* ---- connections -------------------------------------------------------- */

static void qp_event(struct ib_event *event, void *context)
{
	struct end *e = context;

	if (event->event == IB_EVENT_QP_ACCESS_ERR)
		WRITE_ONCE(e->failed, true);
}

static int make_qp(struct end *e)
{
	struct ib_cq_init_attr cq_attr = { .cqe = 64 };
	struct ib_qp_init_attr attr = {
		.event_handler = qp_event,
		.qp_context = e,
		.srq = e->srq,
		.cap = {
			.max_send_wr = 16, .max_recv_wr = 16,
			.max_send_sge = dev->attrs.max_send_sge,
			.max_recv_sge = dev->attrs.max_recv_sge,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_cq *cq;

	if (!e->send_cq) {
		cq = ib_create_cq(dev, NULL, NULL, NULL, &cq_attr);
		if (IS_ERR(cq))
			return PTR_ERR(cq);
		e->cq = cq;
	}
	attr.send_cq = e->send_cq ?: e->cq;
	attr.recv_cq = e->recv_cq ?: e->cq;
	return rdma_create_qp(e->id, e->pd, &attr);
}

static struct sockaddr_in next_address(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };

	to.sin_addr.s_addr = in_aton(address);
	to.sin_port = htons(port++);
	return to;
}

static const struct rdma_conn_param conn_param = {
	.responder_resources = 8,
	.initiator_depth = 8,
};

/* Accepts. Return: 0, or -errno, which the handler has to return, so that rdma_cm destroys @id. */
int end_answer(struct end *b, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = conn_param;
	int ret;

	b->id = id;
	ret = make_qp(b);
	if (!ret)
		ret = rdma_accept(id, &param);
	if (ret) {
		if (id->qp)
			rdma_destroy_qp(id);
		if (b->cq)
			ib_destroy_cq(b->cq);
		b->cq = NULL;
		b->id = NULL;
	}
	return ret;
}

/* The handler of an end's id, whose context is the end */
int end_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct end *e = id->context;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return end_answer(e, id);
	if (e->events < EVENTS) {
		e->event[e->events++] = event->event;
		complete(&e->told);
	}
	return 0;
}

/* Return: the connection's next event, an enum rdma_cm_event_type, or a negative errno. */
int end_next(struct end *e)
{
	if (!wait_for_completion_timeout(&e->told, WAIT_S * slow * HZ))
		return complain("%s: no event", e->name);
	return e->event[e->expected++];
}

/* The next event of the connection has to be @event. */
int end_expect(struct end *e, enum rdma_cm_event_type event)
{
	int seen = end_next(e);

	if (seen < 0 || seen == event)
		return min(seen, 0);
	return complain("%s: %s, not %s", e->name, rdma_event_msg(seen), rdma_event_msg(event));
}

void end_init(struct end *e, const char *name, struct ib_pd *pd)
{
	e->name = name;
	e->pd = pd;
	init_completion(&e->told);
}

/* Listens at the next port. Return: the id, which @handler gets the requests of, or NULL. */
struct rdma_cm_id *listen(rdma_cm_event_handler handler, void *context, int backlog,
			  struct sockaddr_in *at)
{
	struct rdma_cm_id *id;

	id = rdma_create_id(&init_net, handler, context, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		complain("create_id: %ld", PTR_ERR(id));
		return NULL;
	}
	*at = next_address();
	if (!rdma_bind_addr(id, (struct sockaddr *)at) && !rdma_listen(id, backlog))
		return id;
	complain("cannot listen");
	rdma_destroy_id(id);
	return NULL;
}

/* Finds the way to a listener. */
int end_resolve(struct end *a, struct sockaddr_in *to)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, end_event, a, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return complain("create_id: %ld", PTR_ERR(id));
	a->id = id;
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)to, 5000))
		return complain("resolve_addr");
	ret = end_expect(a, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (ret)
		return ret;
	if (rdma_resolve_route(id, 5000))
		return complain("resolve_route");
	return end_expect(a, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* Begins to connect. */
int end_call(struct end *a)
{
	struct rdma_conn_param param = conn_param;
	int ret;

	ret = make_qp(a);
	if (ret)
		return complain("%s's queue pair: %d", a->name, ret);
	ret = rdma_connect(a->id, &param);
	return ret ? complain("%s: connect: %d", a->name, ret) : 0;
}

static int connect(struct pair *p)
{
	int ret = end_call(&p->a);

	if (!ret)
		ret = end_expect(&p->a, RDMA_CM_EVENT_ESTABLISHED);
	return ret ?: end_expect(&p->b, RDMA_CM_EVENT_ESTABLISHED);
}

static int join(struct pair *p)
{
	struct sockaddr_in to;
	int ret;

	p->listener = listen(end_event, &p->b, 4, &to);
	if (!p->listener)
		return -EINVAL;
	ret = end_resolve(&p->a, &to);
	return ret ?: connect(p);
}

static void pair_init(struct pair *p, struct ib_pd *a, struct ib_pd *b)
{
	memset(p, 0, sizeof(*p));
	end_init(&p->a, "a", a);
	end_init(&p->b, "b", b);
}

/* A connection; to be closed also when this fails. */
int pair_open(struct pair *p, struct ib_pd *a, struct ib_pd *b, struct ib_srq *srq)
{
	pair_init(p, a, b);
	p->b.srq = srq;
	return join(p);
}

/* The same, with completion queues of the test's at a */
int pair_open_on(struct pair *p, struct ib_pd *pd, struct ib_cq *send_cq, struct ib_cq *recv_cq)
{
	pair_init(p, pd, pd);
	p->a.send_cq = send_cq;
	p->a.recv_cq = recv_cq;
	return join(p);
}

/* Also frees an end that was opened in part. */
void end_free(struct end *e)
{
	if (!e->id)
		return;
	if (e->id->qp) {
		rdma_disconnect(e->id);
		rdma_destroy_qp(e->id);
	}
	rdma_destroy_id(e->id);
	if (e->cq)
		ib_destroy_cq(e->cq);
}

/* Also closes a connection that was opened in part. */
void pair_close(struct pair *p)
{
	end_free(&p->a);
	end_free(&p->b);
	if (p->listener)
		rdma_destroy_id(p->listener);
}

/* ---- work requests ------------------------------------------------------ */

/* Waits for the next completion. */
int end_wait(struct end *e, struct ib_wc *wc)
{
	unsigned long end = jiffies + WAIT_S * slow * HZ;

	while (ib_poll_cq(e->cq, 1, wc) != 1) {
		if (time_after(jiffies, end))
			return complain("%s: no completion", e->name);
		usleep_range(500, 1000);
	}
	return 0;
}

/* Carries out one request. Return: its enum ib_wc_status, or a negative errno. */
int end_do(struct end *e, struct ib_send_wr *wr)
{
	struct ib_wc wc;
	int ret;

	wr->send_flags |= IB_SEND_SIGNALED;
	ret = ib_post_send(e->id->qp, wr, NULL);
	if (ret)
		return complain("%s: post_send: %d", e->name, ret);
	ret = end_wait(e, &wc);
	return ret ?: wc.status;
}

int end_post_recv(struct end *e, u64 addr, u32 len, u32 lkey)
{
	struct ib_sge sge = { .addr = addr, .length = len, .lkey = lkey };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = len ? 1 : 0 };
	int ret;

	if (e->srq)
		ret = ib_post_srq_recv(e->srq, &wr, NULL);
	else
		ret = ib_post_recv(e->id->qp, &wr, NULL);
	return ret ? complain("%s: post_recv: %d", e->name, ret) : 0;
}

/* RDMA Write from, or Read to @local, an address of the kernel's. Return: as end_do(). */
int end_rdma(struct end *e, enum ib_wr_opcode op, void *local, u32 len, u64 to, u32 rkey)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)local,
		.length = len,
		.lkey = e->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = { .opcode = op, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = to,
		.rkey = rkey,
	};

	return end_do(e, &wr.wr);
}

/* An empty Send with Invalidate. Return: as end_do(). */
int end_send_inv(struct end *e, u32 rkey)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_INV, .ex.invalidate_rkey = rkey };

	return end_do(e, &wr);
}

/* Return: as end_do(). */
int end_local_inv(struct end *e, u32 rkey)
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = rkey };

	return end_do(e, &wr);
}

/* ---- memory ------------------------------------------------------------- */

static struct page *nth_page_of(const struct region *r, unsigned int n)
{
	return r->pages + REGION_PAGES - 1 - n;
}

static int map(struct region *r)
{
	unsigned int i, off;
	int n;

	sg_init_table(r->sg, REGION_PAGES);
	for (i = 0; i < REGION_PAGES; i++) {
		off = i ? 0 : r->off;
		sg_set_page(&r->sg[i], nth_page_of(r, i), PAGE_SIZE - off, off);
	}
	n = ib_dma_map_sg(dev, r->sg, REGION_PAGES, DMA_BIDIRECTIONAL);
	if (n != REGION_PAGES)
		return complain("dma_map_sg: %d", n);
	n = ib_map_mr_sg(r->mr, r->sg, REGION_PAGES, NULL, PAGE_SIZE);
	return n == REGION_PAGES ? 0 : complain("map_mr_sg: %d", n);
}

/* Makes pages to register, from offset @off of the first. To be freed even if this fails. */
int region_make(struct region *r, struct ib_pd *pd, u32 off)
{
	struct ib_mr *mr;

	memset(r, 0, sizeof(*r));
	r->off = off;
	r->pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, get_order(REGION_PAGES * PAGE_SIZE));
	if (!r->pages)
		return complain("no pages");
	mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, REGION_PAGES);
	if (IS_ERR(mr))
		return complain("alloc_mr: %ld", PTR_ERR(mr));
	r->mr = mr;
	return map(r);
}

/* Registers it with the next key. Return: as end_do(). */
int region_reg(struct region *r, struct end *e, int access)
{
	struct ib_reg_wr wr = { .wr.opcode = IB_WR_REG_MR, .mr = r->mr, .access = access };

	ib_update_fast_reg_key(r->mr, ib_inc_rkey(r->mr->rkey));
	wr.key = r->mr->rkey;
	return end_do(e, &wr.wr);
}

/* Returns the place of a byte of it. */
u8 *region_at(const struct region *r, u32 offset)
{
	offset += r->off;
	return (u8 *)page_address(nth_page_of(r, offset / PAGE_SIZE)) + offset % PAGE_SIZE;
}

void region_free(struct region *r)
{
	if (r->mr)
		ib_dereg_mr(r->mr);
	if (r->pages)
		__free_pages(r->pages, get_order(REGION_PAGES * PAGE_SIZE));
}

/* ---- tests -------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(void);
} tests[] = {
	{ "stags", probe_stags },
	{ "srq_pd", probe_srq_pd },
	{ "offsets", probe_offsets },
	{ "inval", probe_inval },
	{ "global", probe_global },
	{ "spin", probe_spin },
	{ "blocks", probe_blocks },
	{ "late", probe_late },
	{ "undrained", probe_undrained },
	{ "full", probe_full },
	{ "limits", probe_limits },
	{ "message", probe_message },
	{ "lend", probe_lend },
	{ "crowd", probe_crowd },
};

static int run(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tests); i++)
		if (!strcmp(tests[i].name, test))
			return tests[i].run();
	return complain("no such test: %s", test);
}

static int __init memprobe_init(void)
{
	int ret;

	dev = find_device(device);
	if (!dev)
		return complain("no device %s", device);
	ret = run();
	ib_device_put(dev);
	return ret;
}

static void __exit memprobe_exit(void)
{
}

module_init(memprobe_init);
module_exit(memprobe_exit);
MODULE_DESCRIPTION("Tests of memory regions from inside the kernel");
MODULE_LICENSE("Dual BSD/GPL");
