// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A peer may invalidate a valid region that grants it something, and whose REG_MR its own
 * connection carried. A refused invalidation ends the connection and leaves the region as it is.
 */
#include "memprobe.h"

/* The connection that registers the region; two connections have one protection domain */
enum by {
	NOBODY,
	THIS,		/* the connection on which it is invalidated */
	OTHER,
	EARLIER,	/* one that is gone */
	TWICE		/* this one; and the peer has invalidated it before */
};

static const struct row {
	const char *name;
	enum by by;
	int access;
	bool old_key;
	bool good;
} rows[] = {
	{ "one's own", THIS, ALL_RIGHTS, .good = true },
	{ "of one right", THIS, IB_ACCESS_REMOTE_READ, .good = true },
	{ "without a right", THIS, IB_ACCESS_LOCAL_WRITE },
	{ "an old key", THIS, ALL_RIGHTS, .old_key = true },
	{ "never registered", NOBODY, ALL_RIGHTS },
	{ "invalidated before", TWICE, ALL_RIGHTS },
	{ "another connection's", OTHER, ALL_RIGHTS },
	{ "an earlier connection's", EARLIER, ALL_RIGHTS },
};

/* Another connection, through which a region can be read that stays valid */
static struct pair other;

static int receive_inv(struct pair *p, u32 rkey)
{
	struct ib_wc wc;
	int ret;

	ret = end_post_recv(&p->b, 0, 0, 0);
	if (ret)
		return ret;
	end_send_inv(&p->a, rkey);
	ret = end_wait(&p->b, &wc);
	if (ret)
		return ret;
	return wc.status ?: wc.wc_flags & IB_WC_WITH_INVALIDATE && wc.ex.invalidate_rkey == rkey ?
		IB_WC_SUCCESS : IB_WC_GENERAL_ERR;
}

static int registered(struct pair *p, struct region *r, const struct row *row)
{
	struct pair earlier;
	int ret = 0;

	switch (row->by) {
	case NOBODY:
		return 0;
	case THIS:
		return region_reg(r, &p->b, row->access);
	case OTHER:
		return region_reg(r, &other.b, row->access);
	case EARLIER:
		ret = pair_open(&earlier, p->a.pd, p->b.pd, NULL);
		ret = ret ?: region_reg(r, &earlier.b, row->access);
		pair_close(&earlier);
		return ret;
	case TWICE:
		ret = region_reg(r, &p->b, row->access);
		return ret ?: receive_inv(p, r->mr->rkey);
	}
	return ret;
}

/* Is the region as before? A consumer reads it through the other connection. */
static int look_at(const struct region *r, const struct row *row)
{
	bool valid = row->by == THIS || row->by == OTHER || row->by == EARLIER;
	int ret;

	if (!valid || !(row->access & IB_ACCESS_REMOTE_READ))
		return 0;
	ret = end_rdma(&other.a, IB_WR_RDMA_READ, region_at(r, PAGE_SIZE), 8, r->mr->iova,
		       r->mr->rkey);
	return ret ? complain("it is not valid any more: %d", ret) : 0;
}

static int try(struct pair *p, struct region *r, const struct row *row)
{
	u32 rkey = r->mr->rkey;
	int ret;

	ret = registered(p, r, row);
	if (ret)
		return complain("REG_MR: %d", ret);
	if (!row->old_key)
		rkey = r->mr->rkey;
	ret = receive_inv(p, rkey);
	if (row->good)
		return ret ? complain("refused, with status %d", ret) : 0;
	if (ret != IB_WC_WR_FLUSH_ERR)
		return complain("not refused, but status %d", ret);
	ret = end_expect(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	ret = ret ?: look_at(r, row);
	if (ret)
		return ret;
	/* The consumer itself may invalidate it through any queue pair, even if it is not valid. */
	ret = end_local_inv(&other.b, r->mr->rkey);
	return ret ? complain("LOCAL_INV: %d", ret) : 0;
}

static int one_row(struct ib_pd *pd, const struct row *row)
{
	struct region r = {};
	struct pair p;
	int ret;

	ret = pair_open(&p, pd, pd, NULL);
	if (!ret)
		ret = region_make(&r, pd, 0);
	if (!ret)
		ret = try(&p, &r, row);
	pair_close(&p);
	region_free(&r);
	return ret ? complain("invalidation of %s", row->name) : 0;
}

int probe_inval(void)
{
	struct ib_pd *pd = ib_alloc_pd(dev, 0);
	unsigned int i;
	int ret;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = pair_open(&other, pd, pd, NULL);
	for (i = 0; i < ARRAY_SIZE(rows) && !ret; i++)
		ret = one_row(pd, &rows[i]);
	pair_close(&other);
	ib_dealloc_pd(pd);
	return ret;
}
