// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A message of the length that the port reports, 4 GiB - 1, and one that is a byte longer, which is
 * refused. No guest has the memory, so a region is one block again and again, and the message is
 * that region, as often as there may be scatter/gather entries.
 */
#include <linux/delay.h>
#include <linux/random.h>

#include "memprobe.h"

#define ORDER		10
#define BLOCK		(PAGE_SIZE << ORDER)
#define BLOCKS		256
#define SGES		6	/* max_send_sge, max_recv_sge */
#define WAIT_S		240

/**
 * struct memory - a block and a region of it
 * @block:	the block
 * @mr:		BLOCKS times the block
 * @sg:		that
 */
struct memory {
	u8 *block;
	struct ib_mr *mr;
	struct scatterlist sg[BLOCKS];
};

static struct ib_pd *pd;
static struct pair pair;
static struct memory from, to;

static int make_region(struct memory *m)
{
	int i;

	m->block = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, ORDER);
	m->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, BLOCKS);
	if (!m->block || IS_ERR(m->mr))
		return complain("no memory, or no region");
	sg_init_table(m->sg, BLOCKS);
	for (i = 0; i < BLOCKS; i++)
		sg_set_buf(&m->sg[i], m->block, BLOCK);
	if (ib_dma_map_sg(dev, m->sg, BLOCKS, DMA_BIDIRECTIONAL) != BLOCKS)
		return complain("dma_map_sg");
	i = ib_map_mr_sg(m->mr, m->sg, BLOCKS, NULL, BLOCK);
	return i == BLOCKS ? 0 : complain("map_mr_sg: %d", i);
}

static int register_region(struct memory *m, struct end *e)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR, .mr = m->mr, .key = m->mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE,
	};
	int ret = end_do(e, &wr.wr);

	return ret ? complain("REG_MR: %d", ret) : 0;
}

static void free_region(struct memory *m)
{
	if (!IS_ERR_OR_NULL(m->mr))
		ib_dereg_mr(m->mr);
	free_pages((unsigned long)m->block, ORDER);
}

/* The lengths differ at both ends, so that no piece ends where one of the other end does. */
static void cut(const struct memory *m, struct ib_sge sge[SGES], u64 left, u32 len)
{
	int i;

	for (i = 0; i < SGES; i++) {
		sge[i].addr = m->mr->iova;
		sge[i].lkey = m->mr->lkey;
		sge[i].length = i < SGES - 1 ? len : left;
		left -= sge[i].length;
	}
}

static int post_recv(u64 len)
{
	struct ib_sge sge[SGES];
	struct ib_recv_wr wr = { .sg_list = sge, .num_sge = SGES };

	cut(&to, sge, len, len / SGES - 4095);
	return ib_post_recv(pair.b.id->qp, &wr, NULL);
}

static int post_send(u64 len)
{
	struct ib_sge sge[SGES];
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
				 .sg_list = sge, .num_sge = SGES };

	cut(&from, sge, len, len / SGES);
	return ib_post_send(pair.a.id->qp, &wr, NULL);
}

static int wait_long(struct end *e, struct ib_wc *wc)
{
	unsigned long end = jiffies + WAIT_S * HZ;

	while (ib_poll_cq(e->cq, 1, wc) != 1) {
		if (time_after(jiffies, end))
			return complain("%s: no completion", e->name);
		msleep(20);
	}
	return wc->status ? complain("%s: status %d", e->name, wc->status) : 0;
}

/* Each place of the block has the byte that was written there last, one of the last piece. */
static int compare(u64 len)
{
	u64 last = (len / SGES - 4095) * (SGES - 1), off;
	u32 at;

	for (at = 0; at < BLOCK; at++) {
		off = last + (len - last - 1) / BLOCK * BLOCK + at;
		if (off >= len)
			off -= BLOCK;
		/* from the offset in the message to that in the piece of @from */
		off -= min_t(u64, off / (len / SGES), SGES - 1) * (len / SGES);
		if (to.block[at] != from.block[off % BLOCK])
			return complain("byte %u differs", at);
	}
	return 0;
}

static int send_it(u64 len)
{
	struct ib_wc wc;
	int ret;

	if (post_recv(len + 1) != -EINVAL || post_send(len + 1) != -EINVAL)
		return complain("%llu bytes were not refused", len + 1);
	ret = post_recv(len) ?: post_send(len);
	if (ret)
		return complain("%llu bytes: %d", len, ret);
	ret = wait_long(&pair.b, &wc);
	if (!ret && wc.byte_len != len)
		ret = complain("%u bytes of %llu", wc.byte_len, len);
	ret = ret ?: wait_long(&pair.a, &wc);
	return ret ?: compare(len);
}

static int with_pair(void)
{
	struct ib_port_attr attr;
	int ret;

	ret = ib_query_port(dev, 1, &attr);
	ret = ret ?: make_region(&from);
	ret = ret ?: make_region(&to);
	ret = ret ?: pair_open(&pair, pd, pd, NULL);
	ret = ret ?: register_region(&from, &pair.a);
	ret = ret ?: register_region(&to, &pair.b);
	if (!ret) {
		get_random_bytes(from.block, BLOCK);
		ret = send_it(attr.max_msg_sz);
	}
	pair_close(&pair);
	free_region(&from);
	free_region(&to);
	return ret;
}

int probe_message(void)
{
	int ret;

	pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = with_pair();
	ib_dealloc_pd(pd);
	return ret;
}
