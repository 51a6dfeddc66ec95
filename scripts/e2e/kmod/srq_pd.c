// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pair and shared receive queue may have different protection domains. A receive is checked
 * against the shared receive queue's domain, everything else against the queue pair's.
 */
#include "memprobe.h"

#define LEN		100

/* The test's own domains. Domain 0 is the queue pair's. */
static struct ib_pd *pd[2];

/* The domains of the shared receive queue and of the region */
struct row {
	int srq;
	int region;
};

/* Registers regions of domain 1, because only a queue pair of that domain can. */
static struct pair helper;

static struct ib_srq *make_srq(struct ib_pd *of)
{
	struct ib_srq_init_attr attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};

	return ib_create_srq(of, &attr);
}

/* The peer sends into the region. */
static int try_receive(struct pair *p, struct region *r, const struct row *row)
{
	bool good = row->region == row->srq, done;
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .num_sge = 1 };
	struct ib_sge sge = { .length = LEN, .lkey = p->a.pd->local_dma_lkey };
	struct ib_wc wc;
	int ret;

	sge.addr = (uintptr_t)region_at(r, PAGE_SIZE);
	wr.sg_list = &sge;
	memset(region_at(r, PAGE_SIZE), 0x5a, LEN);
	ret = end_post_recv(&p->b, r->mr->iova, LEN, r->mr->lkey);
	if (ret)
		return ret;
	end_do(&p->a, &wr);
	ret = end_wait(&p->b, &wc);
	if (ret)
		return ret;
	done = wc.status == IB_WC_SUCCESS;
	if (done != good)
		return complain("receive ended with status %d", wc.status);
	if (good && memcmp(region_at(r, 0), region_at(r, PAGE_SIZE), LEN))
		return complain("what was received is not what was sent");
	if (!good && *region_at(r, 0))
		return complain("something was received all the same");
	return 0;
}

/* The peer reads from the region. */
static int try_read(struct pair *p, struct region *r, const struct row *row)
{
	bool good = !row->region;
	int ret = end_rdma(&p->a, IB_WR_RDMA_READ, region_at(r, PAGE_SIZE), LEN, r->mr->iova,
			   r->mr->rkey);

	if (ret < 0)
		return ret;
	return (ret == IB_WC_SUCCESS) == good ? 0 : complain("Read ended with status %d", ret);
}

/* The peer invalidates the region. */
static int try_invalidate(struct pair *p, struct region *r, const struct row *row)
{
	bool good = !row->region;
	struct ib_wc wc;
	int ret;

	/* No page is needed: the Send is empty. */
	ret = end_post_recv(&p->b, 0, 0, 0);
	if (ret)
		return ret;
	end_send_inv(&p->a, r->mr->rkey);
	if (!good)
		return end_expect(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	ret = end_wait(&p->b, &wc);
	if (ret)
		return ret;
	return wc.status == IB_WC_SUCCESS && wc.wc_flags & IB_WC_WITH_INVALIDATE ? 0 :
		complain("invalidation ended with status %d", wc.status);
}

static int (* const deeds[])(struct pair *p, struct region *r, const struct row *row) = {
	try_receive, try_read, try_invalidate,
};

static int one_deed(unsigned int deed, struct region *r, const struct row *row)
{
	struct ib_srq *srq = make_srq(pd[row->srq]);
	struct pair p;
	int ret;

	if (IS_ERR(srq))
		return complain("create_srq: %ld", PTR_ERR(srq));
	ret = pair_open(&p, pd[0], pd[0], srq);
	if (!ret)
		ret = region_reg(r, row->region ? &helper.b : &p.b, ALL_RIGHTS);
	if (ret)
		complain("REG_MR: %d", ret);
	else
		ret = deeds[deed](&p, r, row);
	pair_close(&p);
	ib_destroy_srq(srq);
	return ret ? complain("srq %d, region %d, deed %u", row->srq, row->region, deed) : 0;
}

static int one_row(const struct row *row)
{
	struct region r;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(deeds) && !ret; i++) {
		ret = region_make(&r, pd[row->region], 0);
		if (!ret)
			ret = one_deed(i, &r, row);
		region_free(&r);
	}
	return ret;
}

static int all_rows(void)
{
	struct row row;
	int ret;

	ret = pair_open(&helper, pd[1], pd[1], NULL);
	for (row.srq = 0; row.srq < 2; row.srq++)
		for (row.region = 0; row.region < 2; row.region++)
			ret |= ret ? 0 : one_row(&row);
	pair_close(&helper);
	return ret;
}

int probe_srq_pd(void)
{
	int ret;

	pd[0] = ib_alloc_pd(dev, 0);
	if (IS_ERR(pd[0]))
		return PTR_ERR(pd[0]);
	pd[1] = ib_alloc_pd(dev, 0);
	ret = PTR_ERR_OR_ZERO(pd[1]);
	if (!ret) {
		ret = all_rows();
		ib_dealloc_pd(pd[1]);
	}
	ib_dealloc_pd(pd[0]);
	return ret;
}
