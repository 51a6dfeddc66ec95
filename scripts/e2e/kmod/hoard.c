// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A kernel consumer that keeps all protection domains of a device, except for a few, until it is
 * removed.
 *
 *	insmod hoard.ko left=NUMBER		which succeeds if it gets as many as it wants
 */
#define pr_fmt(fmt) "hoard: " fmt

#include <linux/module.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "find.h"

static char *device = "mpa0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "RDMA device");

static int left;
module_param(left, int, 0444);
MODULE_PARM_DESC(left, "how many protection domains it leaves to others");

static struct ib_device *dev;
static struct ib_pd **pds;
static int num;

static void give_back(void)
{
	while (num) {
		ib_dealloc_pd(pds[--num]);
		cond_resched();
	}
	vfree(pds);
	ib_device_put(dev);
}

static int take(int most)
{
	struct ib_pd *pd;

	while (num < most) {
		pd = ib_alloc_pd(dev, 0);
		if (IS_ERR(pd)) {
			pr_err("%d of %d, error %ld\n", num, most, PTR_ERR(pd));
			return PTR_ERR(pd);
		}
		pds[num++] = pd;
		cond_resched();
	}
	return 0;
}

static int __init hoard_init(void)
{
	int ret = -ENOMEM;

	dev = find_device(device);
	if (!dev)
		return -ENODEV;
	pds = vmalloc(array_size(dev->attrs.max_pd, sizeof(*pds)));
	if (pds)
		ret = take(dev->attrs.max_pd - left);
	if (ret)
		give_back();
	return ret;
}

static void __exit hoard_exit(void)
{
	give_back();
}

module_init(hoard_init);
module_exit(hoard_exit);
MODULE_DESCRIPTION("Keeps the protection domains of a device");
MODULE_LICENSE("Dual BSD/GPL");
