/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tracepoints at the driver's doors: Documentation/tracing.rst explains each.
 *
 * An event says what happened to which queue pair, in numbers. It never shows bytes of a
 * message, a work request's id (which often is a pointer), or an address of this machine's
 * memory. So a received segment is shown without its TO, because that is an address here. In
 * a segment that is sent, TO is the peer's address.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_mpa

#if !defined(_RNIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _RNIC_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>

#include "ring/ring.h"
#include "wire/ddp.h"
#include "wire/err.h"
#include "wire/machine.h"

/* Names of values, for TP_printk() and for programs that read events in binary form. */
#define RNIC_TRACE_OPS					\
	RNIC_NAME(RNIC_OP_WRITE, "write")		\
	RNIC_NAME(RNIC_OP_READ, "read")			\
	RNIC_NAME(RNIC_OP_READ_INV, "read_inv")		\
	RNIC_NAME(RNIC_OP_SEND, "send")			\
	RNIC_NAME(RNIC_OP_SEND_INV, "send_inv")		\
	RNIC_NAME(RNIC_OP_RECV, "recv")			\
	RNIC_NAME(RNIC_OP_LOCAL_INV, "local_inv")	\
	RNIC_NAME_LAST(RNIC_OP_REG_MR, "reg_mr")

#define RNIC_TRACE_OPCODES				\
	RNIC_NAME(RDMAP_WRITE, "write")			\
	RNIC_NAME(RDMAP_READ_REQ, "read_request")	\
	RNIC_NAME(RDMAP_READ_RESP, "read_response")	\
	RNIC_NAME(RDMAP_SEND, "send")			\
	RNIC_NAME(RDMAP_SEND_INV, "send_inv")		\
	RNIC_NAME(RDMAP_SEND_SE, "send_se")		\
	RNIC_NAME(RDMAP_SEND_SE_INV, "send_se_inv")	\
	RNIC_NAME_LAST(RDMAP_TERMINATE, "terminate")

#define RNIC_TRACE_STATUSES				\
	RNIC_NAME(IB_WC_SUCCESS, "success")		\
	RNIC_NAME(IB_WC_LOC_LEN_ERR, "loc_len_err")	\
	RNIC_NAME(IB_WC_LOC_QP_OP_ERR, "loc_qp_op_err")	\
	RNIC_NAME(IB_WC_LOC_PROT_ERR, "loc_prot_err")	\
	RNIC_NAME(IB_WC_WR_FLUSH_ERR, "wr_flush_err")	\
	RNIC_NAME(IB_WC_MW_BIND_ERR, "mw_bind_err")	\
	RNIC_NAME(IB_WC_REM_ACCESS_ERR, "rem_access_err") \
	RNIC_NAME_LAST(IB_WC_REM_OP_ERR, "rem_op_err")

#define RNIC_TRACE_STATES				\
	RNIC_NAME(MPA_CONNECTING, "connecting")		\
	RNIC_NAME(MPA_WAIT_REPLY, "wait_reply")		\
	RNIC_NAME(MPA_WAIT_REQUEST, "wait_request")	\
	RNIC_NAME(MPA_ASK_AGAIN, "ask_again")		\
	RNIC_NAME(MPA_WAIT_CONSUMER, "wait_consumer")	\
	RNIC_NAME(MPA_WAIT_RTR, "wait_rtr")		\
	RNIC_NAME(MPA_OPERATING, "operating")		\
	RNIC_NAME(MPA_LINGER, "linger")			\
	RNIC_NAME_LAST(MPA_DONE, "done")

#define RNIC_TRACE_EVENTS				\
	RNIC_NAME(MPA_ON_TCP_UP, "tcp_up")		\
	RNIC_NAME(MPA_ON_TCP_FAILED, "tcp_failed")	\
	RNIC_NAME(MPA_ON_OLD_PEER, "old_peer")		\
	RNIC_NAME(MPA_ON_CLOSED, "closed")		\
	RNIC_NAME(MPA_ON_BYTES, "bytes")		\
	RNIC_NAME(MPA_ON_BAD_FRAME, "bad_frame")	\
	RNIC_NAME(MPA_ON_REQUEST, "request")		\
	RNIC_NAME(MPA_ON_BUSY, "busy")			\
	RNIC_NAME(MPA_ON_ACCEPTED, "accepted")		\
	RNIC_NAME(MPA_ON_ACCEPTED_RTR, "accepted_rtr")	\
	RNIC_NAME(MPA_ON_UNMATCHED, "unmatched")	\
	RNIC_NAME(MPA_ON_REJECTED, "rejected")		\
	RNIC_NAME(MPA_ON_ACCEPT, "accept")		\
	RNIC_NAME(MPA_ON_ACCEPT_RTR, "accept_rtr")	\
	RNIC_NAME(MPA_ON_REJECT, "reject")		\
	RNIC_NAME(MPA_ON_RTR, "rtr")			\
	RNIC_NAME(MPA_ON_LOCAL_ERROR, "local_error")	\
	RNIC_NAME(MPA_ON_TIME_OVER, "time_over")	\
	RNIC_NAME(MPA_ON_CONSUMER_GONE, "consumer_gone") \
	RNIC_NAME(MPA_ON_DEVICE_GONE, "device_gone")	\
	RNIC_NAME(MPA_ON_EVICTED, "evicted")		\
	RNIC_NAME(MPA_ON_ENDED, "ended")		\
	RNIC_NAME_LAST(MPA_ON_FLUSHED, "flushed")

#undef RNIC_NAME
#undef RNIC_NAME_LAST
#define RNIC_NAME(value, name) 1 +
#define RNIC_NAME_LAST(value, name) 1
/* Every value has a name, except MPA_ON_NOTHING, because that changes no state. */
static_assert(RNIC_TRACE_OPS == RNIC_OP_N);
static_assert(RNIC_TRACE_OPCODES == RDMAP_OPCODE_MAX);
static_assert(RNIC_TRACE_STATES == MPA_STATES);
static_assert(RNIC_TRACE_EVENTS + 1 == MPA_EVENTS);
#undef RNIC_NAME
#undef RNIC_NAME_LAST
#define RNIC_NAME(value, name) TRACE_DEFINE_ENUM(value);
#define RNIC_NAME_LAST(value, name) TRACE_DEFINE_ENUM(value);
RNIC_TRACE_OPS
RNIC_TRACE_OPCODES
RNIC_TRACE_STATUSES
RNIC_TRACE_STATES
RNIC_TRACE_EVENTS
#undef RNIC_NAME
#undef RNIC_NAME_LAST
#define RNIC_NAME(value, name) { value, name },
#define RNIC_NAME_LAST(value, name) { value, name }

#define rnic_show_layer(layer) __print_symbolic(layer,	\
	{ TERM_LAYER_RDMAP, "rdmap" },			\
	{ TERM_LAYER_DDP, "ddp" },			\
	{ TERM_LAYER_LLP, "mpa" })

#define rnic_show_flags(flags) __print_flags(flags, "|",	\
	{ RNIC_WQE_SIGNALED, "signaled" },			\
	{ RNIC_WQE_SOLICITED, "solicited" },			\
	{ RNIC_WQE_FENCE, "fence" },				\
	{ RNIC_WQE_INLINE, "inline" })

/* The device's name. Not a __string(), because 6.10 changed the arguments of __assign_str(). */
#define RNIC_TRACE_DEV(ibdev) __dynamic_array(char, dev, strlen((ibdev)->name) + 1)
#define RNIC_TRACE_SET_DEV(ibdev) \
	strscpy(__get_str(dev), (ibdev)->name, __get_dynamic_array_len(dev))

/* The driver took a work request from a send queue; @number counts the queue pair's requests. */
TRACE_EVENT(rnic_post,
	TP_PROTO(const struct ib_qp *qp, u32 number, const struct rnic_wqe *wqe),
	TP_ARGS(qp, number, wqe),
	TP_STRUCT__entry(
		RNIC_TRACE_DEV(qp->device)
		__field(u32, qpn)
		__field(u32, wr)
		__field(u32, op)
		__field(u32, flags)
		__field(u32, bytes)
		__field(u32, stag)
		__field(u64, to)
	),
	TP_fast_assign(
		bool remote = wqe->op == RNIC_OP_WRITE || wqe->op == RNIC_OP_READ ||
			      wqe->op == RNIC_OP_READ_INV;

		RNIC_TRACE_SET_DEV(qp->device);
		__entry->qpn = qp->qp_num;
		__entry->wr = number;
		__entry->op = wqe->op;
		__entry->flags = wqe->flags;
		__entry->bytes = wqe->len;
		__entry->stag = wqe->op == RNIC_OP_SEND ? 0 : wqe->rkey;
		__entry->to = remote ? wqe->raddr : 0;
	),
	TP_printk("dev=%s qpn=%u wr=%u op=%s flags=%s bytes=%u stag=0x%08x to=0x%llx",
		  __get_str(dev), __entry->qpn, __entry->wr,
		  __print_symbolic(__entry->op, RNIC_TRACE_OPS),
		  rnic_show_flags(__entry->flags), __entry->bytes, __entry->stag, __entry->to)
);

/* An FPDU was encoded. For a Read Request the event shows the requested length as bytes. */
TRACE_EVENT(rnic_fpdu_sent,
	TP_PROTO(const struct ib_qp *qp, const struct ddp_seg *seg, u32 bytes),
	TP_ARGS(qp, seg, bytes),
	TP_STRUCT__entry(
		RNIC_TRACE_DEV(qp->device)
		__field(u32, qpn)
		__field(u32, opcode)
		__field(u32, last)
		__field(u32, bytes)
		__field(u32, msn)
		__field(u32, mo)
		__field(u32, stag)
		__field(u64, to)
	),
	TP_fast_assign(
		bool read = seg->opcode == RDMAP_READ_REQ;

		RNIC_TRACE_SET_DEV(qp->device);
		__entry->qpn = qp->qp_num;
		__entry->opcode = seg->opcode;
		__entry->last = seg->last;
		__entry->bytes = read ? seg->read.size : bytes;
		__entry->msn = seg->msn;
		__entry->mo = seg->mo;
		__entry->stag = read ? seg->read.src_stag : seg->stag;
		__entry->to = read ? seg->read.src_to : seg->to;
	),
	TP_printk("dev=%s qpn=%u opcode=%s last=%u bytes=%u msn=%u mo=%u stag=0x%08x to=0x%llx",
		  __get_str(dev), __entry->qpn,
		  __print_symbolic(__entry->opcode, RNIC_TRACE_OPCODES),
		  __entry->last, __entry->bytes, __entry->msn, __entry->mo, __entry->stag,
		  __entry->to)
);

/* A valid FPDU arrived, and it is the next of its queue. It may still be refused. */
TRACE_EVENT(rnic_fpdu_received,
	TP_PROTO(const struct ib_qp *qp, const struct ddp_seg *seg),
	TP_ARGS(qp, seg),
	TP_STRUCT__entry(
		RNIC_TRACE_DEV(qp->device)
		__field(u32, qpn)
		__field(u32, opcode)
		__field(u32, last)
		__field(u32, bytes)
		__field(u32, msn)
		__field(u32, mo)
		__field(u32, stag)
	),
	TP_fast_assign(
		bool read = seg->opcode == RDMAP_READ_REQ;
		bool named = seg->tagged || rdmap_is_inval(seg->opcode);

		RNIC_TRACE_SET_DEV(qp->device);
		__entry->qpn = qp->qp_num;
		__entry->opcode = seg->opcode;
		__entry->last = seg->last;
		__entry->bytes = read ? seg->read.size : seg->len;
		__entry->msn = seg->tagged ? 0 : seg->msn;
		__entry->mo = seg->tagged ? 0 : seg->mo;
		__entry->stag = read ? seg->read.src_stag : named ? seg->stag : 0;
	),
	TP_printk("dev=%s qpn=%u opcode=%s last=%u bytes=%u msn=%u mo=%u stag=0x%08x",
		  __get_str(dev), __entry->qpn,
		  __print_symbolic(__entry->opcode, RNIC_TRACE_OPCODES),
		  __entry->last, __entry->bytes, __entry->msn, __entry->mo, __entry->stag)
);

/* A completion goes to the CQ. @number is that of the work request; a receive has none. */
TRACE_EVENT(rnic_completion,
	TP_PROTO(const struct rnic_cqe *cqe, u32 number),
	TP_ARGS(cqe, number),
	TP_STRUCT__entry(
		RNIC_TRACE_DEV(cqe->qp->device)
		__field(u32, qpn)
		__field(u32, wr)
		__field(u32, op)
		__field(u32, status)
		__field(u32, bytes)
	),
	TP_fast_assign(
		RNIC_TRACE_SET_DEV(cqe->qp->device);
		__entry->qpn = cqe->qp->qp_num;
		__entry->wr = cqe->op == RNIC_OP_RECV ? 0 : number;
		__entry->op = cqe->op;
		__entry->status = cqe->status;
		__entry->bytes = cqe->len;
	),
	TP_printk("dev=%s qpn=%u wr=%u op=%s status=%s bytes=%u",
		  __get_str(dev), __entry->qpn, __entry->wr,
		  __print_symbolic(__entry->op, RNIC_TRACE_OPS),
		  __print_symbolic(__entry->status, RNIC_TRACE_STATUSES), __entry->bytes)
);

/*
 * An endpoint goes from one state to another. A responder has no queue pair until its
 * consumer accepts.
 */
TRACE_EVENT(rnic_state,
	TP_PROTO(const struct ib_device *ibdev, const struct ib_qp *qp, const struct socket *sock,
		 bool initiator, u32 from, u32 event, u32 to, int status),
	TP_ARGS(ibdev, qp, sock, initiator, from, event, to, status),
	TP_STRUCT__entry(
		RNIC_TRACE_DEV(ibdev)
		__field(u32, qpn)
		__field(u32, initiator)
		__field(u32, lport)
		__field(u32, rport)
		__field(u32, from)
		__field(u32, event)
		__field(u32, to)
		__field(s32, status)
	),
	TP_fast_assign(
		RNIC_TRACE_SET_DEV(ibdev);
		__entry->qpn = qp ? qp->qp_num : 0;
		__entry->initiator = initiator;
		__entry->lport = sock ? sock->sk->sk_num : 0;
		__entry->rport = sock ? ntohs(sock->sk->sk_dport) : 0;
		__entry->from = from;
		__entry->event = event;
		__entry->to = to;
		__entry->status = status;
	),
	TP_printk("dev=%s qpn=%u role=%s lport=%u rport=%u from=%s event=%s to=%s status=%d",
		  __get_str(dev), __entry->qpn,
		  __print_symbolic(__entry->initiator, { 0, "responder" }, { 1, "initiator" }),
		  __entry->lport, __entry->rport,
		  __print_symbolic(__entry->from, RNIC_TRACE_STATES),
		  __print_symbolic(__entry->event, RNIC_TRACE_EVENTS),
		  __print_symbolic(__entry->to, RNIC_TRACE_STATES), __entry->status)
);

/* An error ends a connection: this end found it (@local), or the peer's Terminate arrived. */
TRACE_EVENT(rnic_error,
	TP_PROTO(const struct ib_qp *qp, const struct rdmap_term *term, bool local),
	TP_ARGS(qp, term, local),
	TP_STRUCT__entry(
		RNIC_TRACE_DEV(qp->device)
		__field(u32, qpn)
		__field(u32, local)
		__field(u32, layer)
		__field(u32, etype)
		__field(u32, code)
		__array(char, name, 20)
	),
	TP_fast_assign(
		RNIC_TRACE_SET_DEV(qp->device);
		__entry->qpn = qp->qp_num;
		__entry->local = local;
		__entry->layer = term->layer;
		__entry->etype = term->etype;
		__entry->code = term->code;
		strscpy(__entry->name, wire_err_name(term->layer, term->etype, term->code),
			sizeof(__entry->name));
	),
	TP_printk("dev=%s qpn=%u by=%s layer=%s type=%u code=0x%02x name=%s",
		  __get_str(dev), __entry->qpn,
		  __print_symbolic(__entry->local, { 0, "peer" }, { 1, "local" }),
		  rnic_show_layer(__entry->layer), __entry->etype, __entry->code, __entry->name)
);

/*
 * A queue pair loses its connection: because of an @error, which rnic_error has reported;
 * because TCP @lost it; because the @consumer closed it; or else because the peer closed it.
 */
TRACE_EVENT(rnic_close,
	TP_PROTO(const struct ib_qp *qp, bool error, bool lost, bool consumer),
	TP_ARGS(qp, error, lost, consumer),
	TP_STRUCT__entry(
		RNIC_TRACE_DEV(qp->device)
		__field(u32, qpn)
		__field(u32, by)
	),
	TP_fast_assign(
		RNIC_TRACE_SET_DEV(qp->device);
		__entry->qpn = qp->qp_num;
		__entry->by = error ? 0 : lost ? 1 : consumer ? 2 : 3;
	),
	TP_printk("dev=%s qpn=%u by=%s", __get_str(dev), __entry->qpn,
		  __print_symbolic(__entry->by, { 0, "error" }, { 1, "lost" }, { 2, "consumer" },
				   { 3, "peer" }))
);

#endif /* _RNIC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH qp
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
