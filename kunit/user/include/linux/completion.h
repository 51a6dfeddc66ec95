/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_LINUX_COMPLETION_H
#define _SHIM_LINUX_COMPLETION_H

struct completion {
	unsigned int done;
};

#define init_completion(c)		((c)->done = 0)
#define complete(c)			((c)->done++)
#define completion_done(c)		((c)->done != 0)

#endif
