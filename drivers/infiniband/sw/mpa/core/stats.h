/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Counters of one device, shown by "rdma statistic show link <dev>/1" and in
 * /sys/class/infiniband/<dev>/ports/1/hw_counters/.
 */
#ifndef _RNIC_STATS_H
#define _RNIC_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

/**
 * enum rnic_stat - index of a counter
 * @RNIC_STAT_TX_FPDUS: FPDUs encoded, without Terminates
 * @RNIC_STAT_RX_FPDUS: FPDUs received and carried out
 * @RNIC_STAT_TX_BYTES: bytes of DDP payload encoded
 * @RNIC_STAT_RX_BYTES: bytes of DDP payload placed
 * @RNIC_STAT_TX_MSG: first of the eight counters of messages sent
 * @RNIC_STAT_TX_LAST: last of these
 * @RNIC_STAT_RX_MSG: first of the eight counters of messages received
 * @RNIC_STAT_RX_LAST: last of these
 * @RNIC_STAT_RX_TERM: first of the counters of Terminates received, by the error reported
 * @RNIC_STAT_RX_TERM_LAST: last of these
 * @RNIC_STAT_RX_CRC_ERRORS: FPDUs with a wrong CRC
 * @RNIC_STAT_RX_FRAMING_ERRORS: FPDUs with wrong length or Marker
 * @RNIC_STAT_RX_HEADER_ERRORS: DDP or RDMAP headers refused
 * @RNIC_STAT_RX_ACCESS_ERRORS: accesses refused to the peer: STag, bounds, rights or PD
 * @RNIC_STAT_RX_RNR_WAITS: Sends that had to wait for a receive
 * @RNIC_STAT_RX_NO_RECEIVE: Sends that found no receive in time
 * @RNIC_STAT_STARTUPS_OK: connections that reached RDMA mode
 * @RNIC_STAT_STARTUPS_FAILED: startups that ended in an error
 * @RNIC_STAT_STARTUPS_TIMEOUT: startups whose deadline passed
 * @RNIC_STAT_STARTUPS_FALLBACK: startups repeated with MPA revision 1
 * @RNIC_STAT_STARTUPS_REJECTED: startups rejected, by either side
 * @RNIC_STAT_STARTUPS_EVICTED: silent startups that were ended to make room
 * @RNIC_STAT_PENDING_OVERFLOW: times that pending connections had to wait for room
 * @RNIC_STAT_BACKLOG_OVERFLOW: connections refused because a listener's backlog was full
 * @RNIC_STAT_CONN_RESET: connections that ended without a close, or before it was done
 * @RNIC_STAT_CQ_OVERFLOW: completions that found their CQ full
 * @RNIC_STAT_BAD_WQES: work requests refused when taken from a ring
 * @RNIC_STAT_DOORBELLS: doorbells rung by user space
 * @RNIC_STAT_TX_HELD: doorbells whose bytes waited for more
 * @RNIC_STAT_N: number of counters
 *
 * The two blocks of message counters are in the order of the RDMAP opcodes, so that
 * RNIC_STAT_TX_MSG + opcode is the counter of that opcode. A message is counted
 * after its last byte was encoded or placed. The counters of Terminates are in the order of enum
 * wire_err, and the first counts those whose codes have no row there.
 */
enum rnic_stat {
	RNIC_STAT_TX_FPDUS,
	RNIC_STAT_RX_FPDUS,
	RNIC_STAT_TX_BYTES,
	RNIC_STAT_RX_BYTES,
	RNIC_STAT_TX_MSG,
	RNIC_STAT_TX_LAST = RNIC_STAT_TX_MSG + 7,
	RNIC_STAT_RX_MSG,
	RNIC_STAT_RX_LAST = RNIC_STAT_RX_MSG + 7,
	RNIC_STAT_RX_TERM,
	RNIC_STAT_RX_TERM_LAST = RNIC_STAT_RX_TERM + 30,
	RNIC_STAT_RX_CRC_ERRORS,
	RNIC_STAT_RX_FRAMING_ERRORS,
	RNIC_STAT_RX_HEADER_ERRORS,
	RNIC_STAT_RX_ACCESS_ERRORS,
	RNIC_STAT_RX_RNR_WAITS,
	RNIC_STAT_RX_NO_RECEIVE,
	RNIC_STAT_STARTUPS_OK,
	RNIC_STAT_STARTUPS_FAILED,
	RNIC_STAT_STARTUPS_TIMEOUT,
	RNIC_STAT_STARTUPS_FALLBACK,
	RNIC_STAT_STARTUPS_REJECTED,
	RNIC_STAT_STARTUPS_EVICTED,
	RNIC_STAT_PENDING_OVERFLOW,
	RNIC_STAT_BACKLOG_OVERFLOW,
	RNIC_STAT_CONN_RESET,
	RNIC_STAT_CQ_OVERFLOW,
	RNIC_STAT_BAD_WQES,
	RNIC_STAT_DOORBELLS,
	RNIC_STAT_TX_HELD,
	RNIC_STAT_N
};

/**
 * struct rnic_stats - a CPU's share of a device's counters
 * @v:	values, by enum rnic_stat
 */
struct rnic_stats {
	u64 v[RNIC_STAT_N];
};

struct ib_device;
struct rdma_hw_stats;
struct rnic_dev;

u64 rnic_stat_read(const struct rnic_dev *dev, enum rnic_stat stat);
struct rdma_hw_stats *rnic_stats_alloc_port(struct ib_device *ibdev, u32 port);
int rnic_stats_get(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		   u32 port, int index);

/* Context: any. dev is a struct rnic_dev *. */
#define rnic_stat_add(dev, stat, n) \
	this_cpu_add((dev)->stats->v[stat], n)
#define rnic_stat_inc(dev, stat) \
	rnic_stat_add(dev, stat, 1)

#endif /* _RNIC_STATS_H */
