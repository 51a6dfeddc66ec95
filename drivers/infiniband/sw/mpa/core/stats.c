// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Counters: one row each, in the order of enum rnic_stat.
 */
#include <linux/build_bug.h>
#include <rdma/ib_verbs.h>

#include "core/dev.h"

static const struct rdma_stat_desc stat_descs[] = {
	[RNIC_STAT_TX_FPDUS]	= { .name = "tx_fpdus" },
	[RNIC_STAT_RX_FPDUS]	= { .name = "rx_fpdus" },
	[RNIC_STAT_TX_BYTES]	= { .name = "tx_bytes" },
	[RNIC_STAT_RX_BYTES]	= { .name = "rx_bytes" },
	[RNIC_STAT_TX_MSG]	= { .name = "tx_write" },
	[RNIC_STAT_TX_MSG + 1]	= { .name = "tx_read_request" },
	[RNIC_STAT_TX_MSG + 2]	= { .name = "tx_read_response" },
	[RNIC_STAT_TX_MSG + 3]	= { .name = "tx_send" },
	[RNIC_STAT_TX_MSG + 4]	= { .name = "tx_send_inv" },
	[RNIC_STAT_TX_MSG + 5]	= { .name = "tx_send_se" },
	[RNIC_STAT_TX_MSG + 6]	= { .name = "tx_send_se_inv" },
	[RNIC_STAT_TX_MSG + 7]	= { .name = "tx_terminate" },
	[RNIC_STAT_RX_MSG]	= { .name = "rx_write" },
	[RNIC_STAT_RX_MSG + 1]	= { .name = "rx_read_request" },
	[RNIC_STAT_RX_MSG + 2]	= { .name = "rx_read_response" },
	[RNIC_STAT_RX_MSG + 3]	= { .name = "rx_send" },
	[RNIC_STAT_RX_MSG + 4]	= { .name = "rx_send_inv" },
	[RNIC_STAT_RX_MSG + 5]	= { .name = "rx_send_se" },
	[RNIC_STAT_RX_MSG + 6]	= { .name = "rx_send_se_inv" },
	[RNIC_STAT_RX_MSG + 7]	= { .name = "rx_terminate" },
	[RNIC_STAT_RX_TERM]	= { .name = "rx_terminate_other" },
	[RNIC_STAT_RX_TERM + 1]	= { .name = "rx_terminate_mpa_closed" },
	[RNIC_STAT_RX_TERM + 2]	= { .name = "rx_terminate_mpa_crc" },
	[RNIC_STAT_RX_TERM + 3]	= { .name = "rx_terminate_mpa_marker" },
	[RNIC_STAT_RX_TERM + 4]	= { .name = "rx_terminate_mpa_frame" },
	[RNIC_STAT_RX_TERM + 5]	= { .name = "rx_terminate_mpa_local" },
	[RNIC_STAT_RX_TERM + 6]	= { .name = "rx_terminate_mpa_ird" },
	[RNIC_STAT_RX_TERM + 7]	= { .name = "rx_terminate_mpa_rtr" },
	[RNIC_STAT_RX_TERM + 8]	= { .name = "rx_terminate_ddp_t_stag" },
	[RNIC_STAT_RX_TERM + 9]	= { .name = "rx_terminate_ddp_t_bounds" },
	[RNIC_STAT_RX_TERM + 10]	= { .name = "rx_terminate_ddp_t_assoc" },
	[RNIC_STAT_RX_TERM + 11]	= { .name = "rx_terminate_ddp_t_wrap" },
	[RNIC_STAT_RX_TERM + 12]	= { .name = "rx_terminate_ddp_t_version" },
	[RNIC_STAT_RX_TERM + 13]	= { .name = "rx_terminate_ddp_u_qn" },
	[RNIC_STAT_RX_TERM + 14]	= { .name = "rx_terminate_ddp_u_nobuf" },
	[RNIC_STAT_RX_TERM + 15]	= { .name = "rx_terminate_ddp_u_msn" },
	[RNIC_STAT_RX_TERM + 16]	= { .name = "rx_terminate_ddp_u_mo" },
	[RNIC_STAT_RX_TERM + 17]	= { .name = "rx_terminate_ddp_u_toolong" },
	[RNIC_STAT_RX_TERM + 18]	= { .name = "rx_terminate_ddp_u_version" },
	[RNIC_STAT_RX_TERM + 19]	= { .name = "rx_terminate_ddp_local" },
	[RNIC_STAT_RX_TERM + 20]	= { .name = "rx_terminate_rdmap_stag" },
	[RNIC_STAT_RX_TERM + 21]	= { .name = "rx_terminate_rdmap_bounds" },
	[RNIC_STAT_RX_TERM + 22]	= { .name = "rx_terminate_rdmap_access" },
	[RNIC_STAT_RX_TERM + 23]	= { .name = "rx_terminate_rdmap_assoc" },
	[RNIC_STAT_RX_TERM + 24]	= { .name = "rx_terminate_rdmap_wrap" },
	[RNIC_STAT_RX_TERM + 25]	= { .name = "rx_terminate_rdmap_noinval" },
	[RNIC_STAT_RX_TERM + 26]	= { .name = "rx_terminate_rdmap_version" },
	[RNIC_STAT_RX_TERM + 27]	= { .name = "rx_terminate_rdmap_opcode" },
	[RNIC_STAT_RX_TERM + 28]	= { .name = "rx_terminate_rdmap_catastrophic" },
	[RNIC_STAT_RX_TERM + 29]	= { .name = "rx_terminate_rdmap_unspecified" },
	[RNIC_STAT_RX_TERM + 30]	= { .name = "rx_terminate_rdmap_local" },
	[RNIC_STAT_RX_CRC_ERRORS]	= { .name = "rx_crc_errors" },
	[RNIC_STAT_RX_FRAMING_ERRORS]	= { .name = "rx_framing_errors" },
	[RNIC_STAT_RX_HEADER_ERRORS]	= { .name = "rx_header_errors" },
	[RNIC_STAT_RX_ACCESS_ERRORS]	= { .name = "rx_access_errors" },
	[RNIC_STAT_RX_RNR_WAITS]	= { .name = "rx_rnr_waits" },
	[RNIC_STAT_RX_NO_RECEIVE]	= { .name = "rx_no_receive" },
	[RNIC_STAT_STARTUPS_OK]		= { .name = "startups_ok" },
	[RNIC_STAT_STARTUPS_FAILED]	= { .name = "startups_failed" },
	[RNIC_STAT_STARTUPS_TIMEOUT]	= { .name = "startups_timeout" },
	[RNIC_STAT_STARTUPS_FALLBACK]	= { .name = "startups_fallback" },
	[RNIC_STAT_STARTUPS_REJECTED]	= { .name = "startups_rejected" },
	[RNIC_STAT_STARTUPS_EVICTED]	= { .name = "startups_evicted" },
	[RNIC_STAT_PENDING_OVERFLOW]	= { .name = "pending_overflow" },
	[RNIC_STAT_BACKLOG_OVERFLOW]	= { .name = "backlog_overflow" },
	[RNIC_STAT_CONN_RESET]		= { .name = "conn_reset" },
	[RNIC_STAT_CQ_OVERFLOW]		= { .name = "cq_overflow" },
	[RNIC_STAT_BAD_WQES]		= { .name = "bad_wqes" },
	[RNIC_STAT_DOORBELLS]		= { .name = "doorbells" },
	[RNIC_STAT_TX_HELD]		= { .name = "tx_held" },
};

static_assert(ARRAY_SIZE(stat_descs) == RNIC_STAT_N);

/**
 * rnic_stats_alloc_port() - ib_device_ops.alloc_hw_port_stats
 * @ibdev:	the device
 * @port:	its port
 *
 * Context: process.
 * Return: the counters' names and values, freed by ib_core; NULL without memory.
 */
struct rdma_hw_stats *rnic_stats_alloc_port(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(stat_descs, RNIC_STAT_N, 0);
}

/**
 * rnic_stat_read() - read a counter
 * @dev:	the device
 * @stat:	the counter
 *
 * Context: any.
 * Return: the sum of all CPUs.
 */
u64 rnic_stat_read(const struct rnic_dev *dev, enum rnic_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->stats, cpu)->v[stat]);
	return sum;
}

/**
 * rnic_stats_get() - ib_device_ops.get_hw_stats
 * @ibdev:	the device
 * @stats:	set to the values
 * @port:	its port; 0 is the device, which has no counters
 * @index:	counter wanted; all are read
 *
 * Context: process.
 * Return: the number of counters read, or -EINVAL.
 */
int rnic_stats_get(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		   u32 port, int index)
{
	int i;

	if (!port || !stats)
		return -EINVAL;
	for (i = 0; i < RNIC_STAT_N; i++)
		stats->value[i] = rnic_stat_read(rnic_dev(ibdev), i);
	return RNIC_STAT_N;
}
