/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User space: the verbs' objects, as far as rings and memory regions know them. */
#ifndef _SHIM_RDMA_IB_VERBS_H
#define _SHIM_RDMA_IB_VERBS_H

#include <asm/barrier.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>

#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))

struct ib_device;
struct ib_ucontext;
struct ib_udata;
struct ib_umem;
struct rdma_user_mmap_entry;
struct scatterlist;
struct vm_area_struct;

enum ib_access_flags {
	IB_ACCESS_LOCAL_WRITE	= 1 << 0,
	IB_ACCESS_REMOTE_WRITE	= 1 << 1,
	IB_ACCESS_REMOTE_READ	= 1 << 2,
	IB_ACCESS_REMOTE_ATOMIC	= 1 << 3,
};

enum ib_mr_type {
	IB_MR_TYPE_MEM_REG,
};

enum ib_wc_status {
	IB_WC_SUCCESS,
	IB_WC_LOC_LEN_ERR,
	IB_WC_LOC_QP_OP_ERR,
	IB_WC_LOC_EEC_OP_ERR,
	IB_WC_LOC_PROT_ERR,
	IB_WC_WR_FLUSH_ERR,
	IB_WC_MW_BIND_ERR,
	IB_WC_BAD_RESP_ERR,
	IB_WC_LOC_ACCESS_ERR,
	IB_WC_REM_INV_REQ_ERR,
	IB_WC_REM_ACCESS_ERR,
	IB_WC_REM_OP_ERR,
	IB_WC_FATAL_ERR		= 19,
	IB_WC_GENERAL_ERR	= 21,
};

enum ib_wc_opcode {
	IB_WC_SEND,
	IB_WC_RDMA_WRITE,
	IB_WC_RDMA_READ,
	IB_WC_LOCAL_INV		= 6,
	IB_WC_REG_MR		= 8,
	IB_WC_RECV		= 1 << 7,
};

enum ib_wc_flags {
	IB_WC_WITH_INVALIDATE	= 1 << 3,
};

enum ib_cq_notify_flags {
	IB_CQ_SOLICITED			= 1 << 0,
	IB_CQ_NEXT_COMP			= 1 << 1,
	IB_CQ_SOLICITED_MASK		= IB_CQ_SOLICITED | IB_CQ_NEXT_COMP,
	IB_CQ_REPORT_MISSED_EVENTS	= 1 << 2,
};

enum ib_wr_opcode {
	IB_WR_RDMA_WRITE,
	IB_WR_RDMA_WRITE_WITH_IMM,
	IB_WR_SEND,
	IB_WR_SEND_WITH_IMM,
	IB_WR_RDMA_READ,
	IB_WR_ATOMIC_CMP_AND_SWP,
	IB_WR_ATOMIC_FETCH_AND_ADD,
	IB_WR_BIND_MW		= 8,
	IB_WR_SEND_WITH_INV,
	IB_WR_RDMA_READ_WITH_INV = 11,
	IB_WR_LOCAL_INV,
	IB_WR_REG_MR		= 32,
};

enum ib_send_flags {
	IB_SEND_FENCE		= 1 << 0,
	IB_SEND_SIGNALED	= 1 << 1,
	IB_SEND_SOLICITED	= 1 << 2,
	IB_SEND_INLINE		= 1 << 3,
};

struct rdma_restrack_entry {
	bool user;
};

struct ib_pd {
	struct rdma_restrack_entry res;
};

struct ib_qp {
	u32 qp_num;
};

struct ib_mr {
	struct ib_device *device;
	struct ib_pd *pd;
	u32 lkey;
	u32 rkey;
	u64 iova;
	u64 length;
	unsigned int page_size;
};

struct ib_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

struct ib_wc {
	u64 wr_id;
	enum ib_wc_status status;
	enum ib_wc_opcode opcode;
	u32 byte_len;
	struct ib_qp *qp;
	union {
		u32 invalidate_rkey;
	} ex;
	int wc_flags;
};

struct ib_send_wr {
	u64 wr_id;
	struct ib_sge *sg_list;
	int num_sge;
	enum ib_wr_opcode opcode;
	int send_flags;
	union {
		u32 invalidate_rkey;
	} ex;
};

struct ib_rdma_wr {
	struct ib_send_wr wr;
	u64 remote_addr;
	u32 rkey;
};

struct ib_reg_wr {
	struct ib_send_wr wr;
	struct ib_mr *mr;
	u32 key;
	int access;
};

struct ib_recv_wr {
	u64 wr_id;
	struct ib_sge *sg_list;
	int num_sge;
};

static inline const struct ib_rdma_wr *rdma_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, struct ib_rdma_wr, wr);
}

static inline const struct ib_reg_wr *reg_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, struct ib_reg_wr, wr);
}

static inline bool rdma_is_kernel_res(const struct rdma_restrack_entry *res)
{
	return !res->user;
}

#endif
