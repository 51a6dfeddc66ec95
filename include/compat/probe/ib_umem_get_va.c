// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 7.2, which removed ib_umem_get(). */
#include <rdma/ib_umem.h>

static inline struct ib_umem *probe(struct ib_device *dev)
{
	return ib_umem_get_va(dev, 0, 0, 0);
}
