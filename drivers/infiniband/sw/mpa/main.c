// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Start and end of the module.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/stringify.h>

#include "core/wq.h"
#include "device.h"
#include "lend.h"
#include "tcp/chunk.h"

static int __init rnic_init(void)
{
	int ret;

	ret = rnic_chunk_init();
	if (ret)
		return ret;
	ret = rnic_wq_init();
	if (ret)
		goto chunk_exit;
	ret = rnic_lend_init();
	if (ret)
		goto wq_exit;
	ret = rnic_link_init();
	if (ret)
		goto lend_exit;
	return 0;

lend_exit:
	rnic_lend_exit();
wq_exit:
	rnic_wq_exit();
chunk_exit:
	rnic_chunk_exit();
	return ret;
}

static void __exit rnic_exit(void)
{
	rnic_link_exit();
	rnic_dev_remove_all();
	/*
	 * The task that gave the last answer to a request of a dead device may have been preempted
	 * on its way out of our code (rnic_rdmacm_find_answered()), and iw_cm does not hold us.
	 */
	synchronize_rcu_tasks();
	rnic_lend_exit();
	rnic_wq_exit();
	rnic_chunk_exit();
}

module_init(rnic_init);
module_exit(rnic_exit);

MODULE_DESCRIPTION("Software iWARP RNIC over TCP with MPA");
MODULE_ALIAS("tcp-ulp-mpa");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(__stringify(RNIC_VERSION)); /* Kbuild takes it from dkms.conf */
