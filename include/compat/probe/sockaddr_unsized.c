// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Linux 6.19: kernel_bind() and kernel_connect() take it. */
#include <linux/net.h>

static_assert(__same_type(&kernel_bind,
			  (int (*)(struct socket *, struct sockaddr_unsized *, int))0));
