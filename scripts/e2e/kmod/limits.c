// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * As many objects as the device says that there may be, and one more, which is refused. A consumer
 * in the kernel needs much less memory for them than a program.
 */
#include <linux/vmalloc.h>

#include "memprobe.h"

#define FAST_PAGES	dev->attrs.max_fast_reg_page_list_len

static struct ib_pd *pd;
static struct ib_cq *cq;
static struct ib_srq *srq;

static void *make_pd(void)
{
	return ib_alloc_pd(dev, 0);
}

static void free_pd(void *pd)
{
	ib_dealloc_pd(pd);
}

static void *make_cq(void)
{
	struct ib_cq_init_attr attr = { .cqe = 1 };

	return ib_create_cq(dev, NULL, NULL, NULL, &attr);
}

static void free_cq(void *cq)
{
	ib_destroy_cq(cq);
}

static void *make_srq(void)
{
	struct ib_srq_init_attr attr = {
		.attr = { .max_wr = 1, .max_sge = 1 }, .srq_type = IB_SRQT_BASIC,
	};

	return ib_create_srq(pd, &attr);
}

static void free_srq(void *srq)
{
	ib_destroy_srq(srq);
}

/* A ring takes a page, so there is none for receives. */
static void *make_qp(void)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC, .send_cq = cq, .recv_cq = cq, .srq = srq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};

	return ib_create_qp(pd, &attr);
}

static void free_qp(void *qp)
{
	ib_destroy_qp(qp);
}

static void *make_mr(void)
{
	return ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 1);
}

static void free_mr(void *mr)
{
	ib_dereg_mr(mr);
}

/**
 * struct kind - a kind of objects
 * @name:	for messages
 * @make:	makes one
 * @free:	frees it
 * @have:	number of those that the test itself needs
 */
struct kind {
	const char *name;
	void *(*make)(void);
	void (*free)(void *object);
	int have;
};

/* One is refused for the limit; when one goes, there is another. */
static int at_limit(const struct kind *k, void **last)
{
	void *more = k->make();

	if (!IS_ERR(more)) {
		k->free(more);
		return complain("%s: one above the limit was made", k->name);
	}
	if (PTR_ERR(more) != -ENOMEM)
		return complain("%s: error %ld", k->name, PTR_ERR(more));
	k->free(*last);
	*last = k->make();
	return 0;
}

static int make_all(const struct kind *k, void **objects, int most)
{
	int n, ret = 0;

	for (n = 0; n < most; n++) {
		objects[n] = k->make();
		if (IS_ERR(objects[n]))
			break;
		cond_resched();
	}
	if (n < most)
		ret = complain("%s: %d of %d, error %ld", k->name, n, most, PTR_ERR(objects[n]));
	else
		ret = at_limit(k, &objects[n - 1]);
	if (n && IS_ERR(objects[n - 1])) {
		n--;
		ret = complain("%s: none in place of one that is gone", k->name);
	}
	while (n) {
		k->free(objects[--n]);
		cond_resched();
	}
	return ret;
}

static int reach(const struct kind *k, int limit)
{
	void **objects;
	int ret;

	if (limit <= k->have)
		return complain("%s: the limit is %d", k->name, limit);
	objects = vmalloc(array_size(limit, sizeof(*objects)));
	if (!objects)
		return -ENOMEM;
	ret = make_all(k, objects, limit - k->have);
	vfree(objects);
	return ret;
}

static int reach_all(void)
{
	static const struct kind pds = { "pds", make_pd, free_pd, 1 };
	static const struct kind cqs = { "cqs", make_cq, free_cq, 1 };
	static const struct kind srqs = { "srqs", make_srq, free_srq, 1 };
	static const struct kind qps = { "qps", make_qp, free_qp };
	static const struct kind mrs = { "mrs", make_mr, free_mr };
	int ret;

	ret = reach(&pds, dev->attrs.max_pd);
	ret = ret ?: reach(&cqs, dev->attrs.max_cq);
	ret = ret ?: reach(&srqs, dev->attrs.max_srq);
	ret = ret ?: reach(&qps, dev->attrs.max_qp);
	return ret ?: reach(&mrs, dev->attrs.max_mr);
}

/* A region for fast registration takes as many pages as the device says. */
static int fast_pages(void)
{
	struct scatterlist *sg = kcalloc(FAST_PAGES + 1, sizeof(*sg), GFP_KERNEL);
	struct ib_mr *mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, FAST_PAGES);
	struct ib_mr *more = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, FAST_PAGES + 1);
	int i, n = 0;

	if (!IS_ERR(more))
		ib_dereg_mr(more);
	if (sg && !IS_ERR(mr)) {
		sg_init_table(sg, FAST_PAGES + 1);
		for (i = 0; i <= FAST_PAGES; i++)
			sg_set_page(&sg[i], ZERO_PAGE(0), PAGE_SIZE, 0);
		if (ib_dma_map_sg(dev, sg, FAST_PAGES + 1, DMA_TO_DEVICE))
			n = ib_map_mr_sg(mr, sg, FAST_PAGES + 1, NULL, PAGE_SIZE);
	}
	if (!IS_ERR(mr))
		ib_dereg_mr(mr);
	kfree(sg);
	if (more != ERR_PTR(-EINVAL))
		return complain("a region of more than %u pages: %pe", FAST_PAGES, more);
	return n == FAST_PAGES ? 0 : complain("%d of %u pages were mapped", n, FAST_PAGES);
}

static int with_srq(void)
{
	int ret;

	srq = make_srq();
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	ret = fast_pages() ?: reach_all();
	ib_destroy_srq(srq);
	return ret;
}

static int with_cq(void)
{
	int ret;

	cq = make_cq();
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ret = with_srq();
	ib_destroy_cq(cq);
	return ret;
}

int probe_limits(void)
{
	int ret;

	pd = make_pd();
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = with_cq();
	ib_dealloc_pd(pd);
	return ret;
}
