/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How the driver allocates what user space or a peer decides about.
 */
#ifndef _RNIC_GFP_H
#define _RNIC_GFP_H

#include <linux/gfp.h>

/*
 * For memory whose size or number user space or a peer decides. It is charged to the cgroup of
 * the task. An allocation that fails returns an error, and the OOM killer does not run.
 */
#define RNIC_GFP		(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

#endif /* _RNIC_GFP_H */
