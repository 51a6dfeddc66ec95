// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.17. */
#include <rdma/ib_verbs.h>

static_assert(__same_type(((struct ib_device_ops *)0)->reg_user_mr,
			  (struct ib_mr *(*)(struct ib_pd *, u64, u64, u64, int, struct ib_dmah *,
					     struct ib_udata *))0));
