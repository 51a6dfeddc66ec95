// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The options of SOL_MPA, by which a program starts and answers an MPA stream on its own TCP
 * connection: they are copied once and checked here. lend.c does the rest.
 */
#include <linux/file.h>
#include <linux/slab.h>
#include <rdma/rdma_mpa.h>

#include "conn/lent.h"
#include "device.h"
#include "lend.h"
#include "tcp/ulp.h"

/* Copy bytes of the program. Return: them, NULL if there are none, or an error pointer. */
static void *copy_bytes(u64 from, u32 len, u32 max)
{
	if (len > max)
		return ERR_PTR(-EINVAL);
	return len ? memdup_user(u64_to_user_ptr(from), len) : NULL;
}

static bool is_good_start(const struct mpa_start *s)
{
	if (s->reserved)
		return false;
	if (s->role == MPA_INITIATOR)
		return !s->last_len;
	return s->role == MPA_RESPONDER && !s->private_data_len && !s->ird && !s->ord;
}

/* The program shows that a queue pair is its own by the ib_uverbs file that has it. */
static int find_qp_and_start(struct rnic_ulp *u, const struct mpa_start *s,
			     struct rnic_lent_start *start)
{
	struct file *verbs = fget(s->verbs_fd);
	struct rnic_dev *dev;
	int ret;

	if (!verbs)
		return -EBADF;
	dev = rnic_dev_find_qp(verbs, s->qp_num, &start->ibqp);
	fput(verbs);
	if (!dev)
		return -EPERM;
	ret = rnic_lend_start(u, dev, start, NULL, NULL);
	rnic_dev_put(dev);
	return ret;
}

static int set_start(struct rnic_ulp *u, sockptr_t val, unsigned int len)
{
	struct rnic_lent_start start = {};
	struct mpa_start s;
	void *pd, *last;
	int ret;

	if (len != sizeof(s))
		return -EINVAL;
	if (copy_from_sockptr(&s, val, sizeof(s)))
		return -EFAULT;
	if (!is_good_start(&s))
		return -EINVAL;
	pd = copy_bytes(s.private_data, s.private_data_len, MPA_PRIVATE_DATA_MAX);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	last = copy_bytes(s.last, s.last_len, RNIC_LAST_MAX);
	ret = PTR_ERR_OR_ZERO(last);
	if (!ret) {
		start.initiator = s.role == MPA_INITIATOR;
		start.ird = s.ird;
		start.ord = s.ord;
		start.pd = pd;
		start.pd_len = s.private_data_len;
		start.last = last;
		start.last_len = s.last_len;
		ret = find_qp_and_start(u, &s, &start);
		kfree(last);
	}
	kfree(pd);
	return ret;
}

static int set_answer(struct rnic_ulp *u, sockptr_t val, unsigned int len, bool accept)
{
	struct mpa_answer a;
	void *pd;
	int ret;

	if (len != sizeof(a))
		return -EINVAL;
	if (copy_from_sockptr(&a, val, sizeof(a)))
		return -EFAULT;
	if (a.reserved || (!accept && (a.ird || a.ord)))
		return -EINVAL;
	pd = copy_bytes(a.private_data, a.private_data_len, MPA_PRIVATE_DATA_MAX);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = rnic_lend_answer(u, accept, &a, pd);
	kfree(pd);
	return ret;
}

static int set_option(struct rnic_ulp *u, int option, sockptr_t val, unsigned int len)
{
	switch (option) {
	case MPA_START:
		return set_start(u, val, len);
	case MPA_ACCEPT:
	case MPA_REJECT:
		return set_answer(u, val, len, option == MPA_ACCEPT);
	default:
		return -ENOPROTOOPT;
	}
}

static int read_option(struct rnic_ulp *u, int option, char __user *val, int __user *len)
{
	struct mpa_status *status;
	int room, ret = 0;

	if (option != MPA_STATUS)
		return -ENOPROTOOPT;
	if (get_user(room, len))
		return -EFAULT;
	if (room < (int)sizeof(*status))
		return -EINVAL;
	status = kmalloc(sizeof(*status), GFP_KERNEL);
	if (!status)
		return -ENOMEM;
	rnic_lend_status(u, status);
	if (put_user((int)sizeof(*status), len) || copy_to_user(val, status, sizeof(*status)))
		ret = -EFAULT;
	kfree(status);
	return ret;
}

static const struct rnic_ulp_user lend_user = {
	.init		= rnic_lend_open,
	.set		= set_option,
	.get		= read_option,
	.poll		= rnic_lend_poll,
	.close		= rnic_lend_close,
	.release	= rnic_lend_free,
};

/**
 * rnic_lend_init() - offer the protocol "mpa" to programs
 *
 * Context: process.
 * Return: 0 or -errno.
 */
int rnic_lend_init(void)
{
	return rnic_ulp_register(&lend_user);
}

/**
 * rnic_lend_exit() - undo rnic_lend_init()
 *
 * Context: process.
 */
void rnic_lend_exit(void)
{
	rnic_ulp_unregister();
}
