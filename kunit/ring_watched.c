// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ring/user.c, in which a test may change a ring between any two reads, as user space can; and
 * memory for rings, from the heap, so that a sanitizer knows its ends.
 */
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/siw-abi.h>
#include <ring/priv.h>
#include "ring_watched.h"

void (*ring_after_read)(const void *at, size_t size);

static char context;
struct ib_ucontext * const ring_user = (struct ib_ucontext *)&context;

static void tell_read(const void *at, size_t size)
{
	if (ring_after_read)
		ring_after_read(at, size);
}

#undef READ_ONCE
#define READ_ONCE(x) ({						\
	const typeof(x) *at_ = &(x);				\
	typeof(x) read_ = __READ_ONCE(*at_);			\
								\
	tell_read(at_, sizeof(*at_));				\
	read_; })

#undef smp_load_acquire
/* The test has one thread, which needs no order. */
#define smp_load_acquire(p)	READ_ONCE(*(p))

#include <ring/user.c>

int rnic_rmem_alloc(struct rnic_rmem *mem, size_t size, struct ib_ucontext *uctx __maybe_unused)
{
	mem->addr = kzalloc(size, GFP_KERNEL);
	return mem->addr ? 0 : -ENOMEM;
}

void rnic_rmem_free(struct rnic_rmem *mem)
{
	kfree(mem->addr);
	mem->addr = NULL;
}
