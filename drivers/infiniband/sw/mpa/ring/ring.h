/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Rings of work requests and completions. User space maps its rings and may change them at any
 * time, so the functions here return validated private copies.
 */
#ifndef _RNIC_RING_H
#define _RNIC_RING_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "mem/sgl.h"

struct siw_sqe;
struct siw_rqe;
struct siw_cqe;
struct siw_cq_ctrl;

/* Inline data of a work request; the user ABI's limit. */
#define RNIC_MAX_INLINE	80

/**
 * enum rnic_op - operation of a work request
 * @RNIC_OP_WRITE:	RDMA Write
 * @RNIC_OP_READ:	RDMA Read
 * @RNIC_OP_READ_INV:	RDMA Read, then invalidate the local STag (kernel)
 * @RNIC_OP_SEND:	Send
 * @RNIC_OP_SEND_INV:	Send with Invalidate
 * @RNIC_OP_RECV:	receive; never in a send queue
 * @RNIC_OP_LOCAL_INV:	invalidate a local STag (kernel)
 * @RNIC_OP_REG_MR:	fast registration (kernel)
 * @RNIC_OP_N:		number of operations
 */
enum rnic_op {
	RNIC_OP_WRITE,
	RNIC_OP_READ,
	RNIC_OP_READ_INV,
	RNIC_OP_SEND,
	RNIC_OP_SEND_INV,
	RNIC_OP_RECV,
	RNIC_OP_LOCAL_INV,
	RNIC_OP_REG_MR,
	RNIC_OP_N
};

/* rnic_wqe.flags */
#define RNIC_WQE_SIGNALED	0x1	/* complete it in the CQ even if it succeeds */
#define RNIC_WQE_SOLICITED	0x2	/* Send with Solicited Event */
#define RNIC_WQE_FENCE		0x4	/* wait for earlier RDMA Reads */
#define RNIC_WQE_INLINE		0x8	/* inline_data has the message of len bytes */

/**
 * struct rnic_wqe - a send queue's work request
 * @id:		work request id
 * @op:		operation
 * @flags:	RNIC_WQE_*
 * @num_sge:	SGEs in @sge; 0 with RNIC_WQE_INLINE
 * @rkey:	remote STag of Write and Read, STag to invalidate of Send with
 *		Invalidate and local invalidate, new STag of fast registration
 * @len:	bytes of the message
 * @raddr:	remote tagged offset of Write and Read
 * @sge:	local memory
 * @inline_data: the message itself
 * @reg_mr:	region to register
 * @access:	rights that the registration grants
 */
struct rnic_wqe {
	u64 id;
	enum rnic_op op;
	u16 flags;
	u8 num_sge;
	u32 rkey;
	u32 len;
	u64 raddr;
	union {
		struct rnic_sge sge[RNIC_MAX_SGE];
		u8 inline_data[RNIC_MAX_INLINE];
		struct {
			struct ib_mr *reg_mr;
			int access;
		};
	};
};

/**
 * struct rnic_rwqe - a receive work request
 * @id:		work request id
 * @len:	room in bytes
 * @num_sge:	SGEs in @sge
 * @sge:	local memory
 */
struct rnic_rwqe {
	u64 id;
	u32 len;
	u8 num_sge;
	struct rnic_sge sge[RNIC_MAX_SGE];
};

struct rnic_mmap;

/**
 * struct rnic_rmem - memory of a ring
 * @addr:	kernel address
 * @mmap:	entry by which user space maps it; owns the memory, because a mapping may outlive
 *		the ring; NULL for kernel rings
 */
struct rnic_rmem {
	void *addr;
	struct rnic_mmap *mmap;
};

/**
 * struct rnic_sq - send queue ring
 * @mem:	memory
 * @ring:	entries of a user ring
 * @kern:	entries of a kernel ring
 * @size:	entries, power of two
 * @get:	entry that the consumer takes next; written by the consumer
 * @put:	entry that a kernel producer fills next; written by the producer
 * @user:	filled by user space
 * @sig_all:	all work requests are signaled; set by the creator of the QP
 * @held:	user rings: entry @get - 1 was taken but is still VALID, so the provider does not
 *		ring the doorbell; written by the consumer
 * @closed:	the consumer takes no entry behind @end
 * @end:	entry behind the last one that was posted before rnic_sq_close()
 */
struct rnic_sq {
	struct rnic_rmem mem;
	union {
		struct siw_sqe *ring;
		struct rnic_wqe *kern;
	};
	u32 size;
	u32 get;
	u32 put;
	bool user;
	bool sig_all;
	bool held;
	bool closed;
	u32 end;
};

/**
 * struct rnic_rq - receive queue ring, of a QP or an SRQ
 * @mem:	memory
 * @ring:	entries of a user ring
 * @kern:	entries of a kernel ring
 * @size:	entries, power of two
 * @get:	entry that the consumer takes next; written by the consumer
 * @put:	entry that a kernel producer fills next; written by the producer
 * @user:	filled by user space
 */
struct rnic_rq {
	struct rnic_rmem mem;
	union {
		struct siw_rqe *ring;
		struct rnic_rwqe *kern;
	};
	u32 size;
	u32 get;
	u32 put;
	bool user;
};

/**
 * struct rnic_cqe - a completion
 * @id:		work request id
 * @qp:		queue pair
 * @op:		operation completed
 * @status:	its result
 * @len:	bytes received or read
 * @inval_stag:	STag that the peer invalidated, if @invalidated
 * @invalidated: completes the receive of a Send with Invalidate
 */
struct rnic_cqe {
	u64 id;
	struct ib_qp *qp;
	enum rnic_op op;
	enum ib_wc_status status;
	u32 len;
	u32 inval_stag;
	bool invalidated;
};

/**
 * struct rnic_cq_ring - completion ring
 * @mem:	memory
 * @user:	entries of a user ring, else NULL
 * @kern:	entries of a kernel ring, else NULL
 * @ctrl:	arming word of a user ring
 * @armed:	arming word of a kernel ring, enum ib_cq_notify_flags
 * @size:	entries, power of two
 * @put:	entry to fill next
 * @get:	kernel ring: entry to poll next
 */
struct rnic_cq_ring {
	struct rnic_rmem mem;
	struct siw_cqe *user;
	struct ib_wc *kern;
	struct siw_cq_ctrl *ctrl;
	u32 armed;
	u32 size;
	u32 put;
	u32 get;
};

int rnic_sq_init(struct rnic_sq *sq, u32 max_wr, struct ib_ucontext *uctx);
void rnic_sq_free(struct rnic_sq *sq);
int rnic_sq_pop(struct rnic_sq *sq, struct rnic_wqe *wqe);
void rnic_sq_give_back(struct rnic_sq *sq);
bool rnic_sq_pending(struct rnic_sq *sq);
void rnic_sq_close(struct rnic_sq *sq);
void rnic_sq_reopen(struct rnic_sq *sq);
int rnic_sq_push(struct rnic_sq *sq, const struct ib_send_wr *wr);

int rnic_rq_init(struct rnic_rq *rq, u32 max_wr, struct ib_ucontext *uctx);
void rnic_rq_free(struct rnic_rq *rq);
int rnic_rq_pop(struct rnic_rq *rq, struct rnic_rwqe *rwqe);
int rnic_rq_push(struct rnic_rq *rq, const struct ib_recv_wr *wr);
bool rnic_rq_has(const struct rnic_rq *rq, u32 n);

int rnic_cq_ring_init(struct rnic_cq_ring *ring, u32 num_cqe,
		      struct ib_ucontext *uctx);
void rnic_cq_ring_free(struct rnic_cq_ring *ring);
int rnic_cq_ring_push(struct rnic_cq_ring *ring, const struct rnic_cqe *cqe);
bool rnic_cq_ring_poll(struct rnic_cq_ring *ring, struct ib_wc *wc);
void rnic_cq_ring_forget(struct rnic_cq_ring *ring, const struct ib_qp *qp);
bool rnic_cq_ring_empty(const struct rnic_cq_ring *ring);
bool rnic_cq_ring_is_half_full(const struct rnic_cq_ring *ring);
void rnic_cq_ring_arm(struct rnic_cq_ring *ring,
		      enum ib_cq_notify_flags flags);
bool rnic_cq_ring_unread(const struct rnic_cq_ring *ring, u32 age);
bool rnic_cq_ring_disarm(struct rnic_cq_ring *ring, bool solicited);

/* Mapping rings into user space: ib_device_ops, and the key for the response */
u64 rnic_rmem_key(const struct rnic_rmem *mem);
int rnic_rmem_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void rnic_rmem_mmap_free(struct rdma_user_mmap_entry *entry);

#endif /* _RNIC_RING_H */
