// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.11. */
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

static_assert(__same_type(((struct ib_device_ops *)0)->create_cq,
			  (int (*)(struct ib_cq *, const struct ib_cq_init_attr *,
				   struct uverbs_attr_bundle *))0));
