// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The driver's three work queues.
 */
#include <linux/workqueue.h>

#include "core/wq.h"

/*
 * The queue pairs. The priority is normal, because a program can keep their workers busy, and other
 * programs need the processors, too. Administrators find it in sysfs (WQ_SYSFS): performance.rst
 */
struct workqueue_struct *rnic_wq;
/*
 * Startups run one at a time, so that connections are opened and reported in the order of the
 * program's requests. perftest relies on that order to pair its queue pairs. They have the priority
 * of iw_cm's workers, which run next and take over without a switch.
 */
struct workqueue_struct *rnic_startup_wq;
/*
 * Startups and ends of connections that programs lend. A program can hold the lock of its own
 * socket for as long as it likes, because some socket options are copied under that lock to memory
 * that may be slow to come (FUSE, userfaultfd). Then only works of this queue wait for it.
 */
struct workqueue_struct *rnic_lent_wq;

/**
 * rnic_wq_init() - allocate the work queues
 *
 * Context: process; module start.
 * Return: 0, or -ENOMEM.
 */
int rnic_wq_init(void)
{
	rnic_wq = alloc_workqueue("rdma_mpa", WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS, 0);
	if (!rnic_wq)
		return -ENOMEM;
	rnic_startup_wq = alloc_ordered_workqueue("rdma_mpa_startup", WQ_MEM_RECLAIM);
	if (!rnic_startup_wq)
		goto destroy_wq;
	rnic_lent_wq = alloc_workqueue("rdma_mpa_lent", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (rnic_lent_wq)
		return 0;
	destroy_workqueue(rnic_startup_wq);
destroy_wq:
	destroy_workqueue(rnic_wq);
	return -ENOMEM;
}

/**
 * rnic_wq_exit() - undo rnic_wq_init()
 *
 * Context: process; all devices are gone.
 */
void rnic_wq_exit(void)
{
	destroy_workqueue(rnic_lent_wq);
	destroy_workqueue(rnic_startup_wq);
	destroy_workqueue(rnic_wq);
}
