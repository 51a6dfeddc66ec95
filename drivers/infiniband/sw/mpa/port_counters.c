// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ports/1/counters in sysfs: the traffic of the port under the names of InfiniBand.
 *
 * Monitoring programs look for these files. node_exporter of Prometheus reports no RDMA device of
 * a host, if one of them has no such folder.
 */
#include <rdma/ib_sysfs.h>

#include "device.h"

struct port_counter {
	struct ib_port_attribute attr;
	enum rnic_stat stat;
	u8 shift;	/* unit of the file, in bytes, as a power of 2 */
};

static ssize_t show_counter(struct ib_device *ibdev, u32 port, struct ib_port_attribute *attr,
			    char *buf)
{
	const struct port_counter *c = container_of(attr, struct port_counter, attr);

	return sysfs_emit(buf, "%llu\n", rnic_stat_read(rnic_dev(ibdev), c->stat) >> c->shift);
}

#define PORT_COUNTER(name_, stat_, shift_)					\
	static struct port_counter name_ = {					\
		.attr = {							\
			.attr = { .name = __stringify(name_), .mode = 0444 },	\
			.show = show_counter,					\
		},								\
		.stat = stat_,							\
		.shift = shift_,						\
	}

PORT_COUNTER(port_xmit_packets, RNIC_STAT_TX_FPDUS, 0);
PORT_COUNTER(port_rcv_packets, RNIC_STAT_RX_FPDUS, 0);
/* InfiniBand counts data in words of 4 bytes. */
PORT_COUNTER(port_xmit_data, RNIC_STAT_TX_BYTES, 2);
PORT_COUNTER(port_rcv_data, RNIC_STAT_RX_BYTES, 2);

static struct attribute *attrs[] = {
	&port_xmit_packets.attr.attr,
	&port_rcv_packets.attr.attr,
	&port_xmit_data.attr.attr,
	&port_rcv_data.attr.attr,
	NULL
};

static const struct attribute_group group = {
	.name = "counters",
	.attrs = attrs,
};

const struct attribute_group *rnic_port_groups[] = { &group, NULL };
