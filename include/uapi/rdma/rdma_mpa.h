/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * An MPA stream on a TCP connection that a program already uses (RFC 5044 section 7.1.5).
 * Documentation/streams.rst explains all of it.
 *
 *	setsockopt(fd, IPPROTO_TCP, TCP_ULP, MPA_ULP, sizeof(MPA_ULP) - 1);
 *	setsockopt(fd, SOL_MPA, MPA_START, &start, sizeof(start));
 *	poll() for POLLIN; getsockopt(fd, SOL_MPA, MPA_STATUS, &status, &len);
 */
#ifndef _UAPI_RDMA_MPA_H
#define _UAPI_RDMA_MPA_H

#include <linux/types.h>

#define MPA_ULP		"mpa"
#define SOL_MPA		0x6d70

#define MPA_PRIVATE_DATA_MAX	512

/*
 * Options. MPA_START, MPA_ACCEPT and MPA_REJECT are set, MPA_STATUS is read. A set option takes the
 * struct, and the bytes to which it points.
 */
enum mpa_option {
	MPA_START	= 1,	/* struct mpa_start */
	MPA_ACCEPT	= 2,	/* struct mpa_answer */
	MPA_REJECT	= 3,	/* struct mpa_answer: private data only */
	MPA_STATUS	= 4,	/* struct mpa_status */
};

enum mpa_role {
	MPA_INITIATOR	= 1,	/* sends the Request at once */
	MPA_RESPONDER	= 2,	/* waits for the Request of the peer */
};

struct mpa_start {
	__s32 verbs_fd;		/* cmd_fd of the ibv_context that has the queue pair */
	__u32 qp_num;		/* a queue pair in INIT */
	__u16 role;		/* enum mpa_role */
	__u16 ird;		/* initiator: inbound and outbound RDMA Reads */
	__u16 ord;
	__u16 private_data_len;	/* initiator */
	__u32 last_len;		/* responder: at most 64 KiB */
	__u32 reserved;		/* 0 */
	__aligned_u64 private_data;
	__aligned_u64 last;	/* last streaming message, sent when Requests are heard */
};

struct mpa_answer {
	__u16 ird;
	__u16 ord;
	__u16 private_data_len;
	__u16 reserved;		/* 0 */
	__aligned_u64 private_data;
};

enum mpa_stream_state {
	MPA_STREAM_PLAIN	= 0,	/* never started */
	MPA_STREAM_STARTING	= 1,
	MPA_STREAM_REQUESTED	= 2,	/* responder: MPA_ACCEPT or MPA_REJECT is due */
	MPA_STREAM_ESTABLISHED	= 3,
	MPA_STREAM_REJECTED	= 4,	/* TCP is the program's again */
	MPA_STREAM_FAILED	= 5,	/* see error; TCP is gone */
	MPA_STREAM_CLOSED	= 6,	/* it was established and has ended; TCP is gone */
};

#define MPA_STREAM_CRC		(1 << 0)
#define MPA_STREAM_TX_MARKERS	(1 << 1)
#define MPA_STREAM_RX_MARKERS	(1 << 2)

struct mpa_status {
	__u16 state;		/* enum mpa_stream_state */
	__u16 error;		/* an errno, if it failed or was rejected */
	__u16 ird;		/* agreed on; the peer's offer in MPA_STREAM_REQUESTED */
	__u16 ord;
	__u8 revision;
	__u8 flags;		/* MPA_STREAM_* bits, when established */
	__u16 private_data_len;	/* the peer's */
	__u8 private_data[MPA_PRIVATE_DATA_MAX];
};

#endif
