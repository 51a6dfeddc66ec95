// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Limits on the objects of a device, and each user's share of them.
 *
 * A user without CAP_SYS_ADMIN gets one part in rnic_settings.shares of each limit, so that no
 * user takes the last object from the others. One such part is in reserve for users with
 * CAP_SYS_ADMIN and for kernel consumers, so that all other users together do not take the last
 * object either. With one share there is no reserve.
 *
 * A share belongs to the user who opened the context, because a program may change its uid, or
 * pass the file on. It exists while there is such a context, which outlives the context's objects.
 * Kernel consumers have no share. rdma_cm does not say whose context a listener is for, so that is
 * of the share of the user who listens, and kernel consumers listen as root.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "core/dev.h"

static const int limits[RNIC_OBJ_N] = {
	[RNIC_OBJ_UCONTEXT]	= RNIC_MAX_UCONTEXT,
	[RNIC_OBJ_PD]		= RNIC_MAX_PD,
	[RNIC_OBJ_CQ]		= RNIC_MAX_CQ,
	[RNIC_OBJ_SRQ]		= RNIC_MAX_SRQ,
	[RNIC_OBJ_QP]		= RNIC_MAX_QP,
	[RNIC_OBJ_MR]		= RNIC_MAX_MR,
	[RNIC_OBJ_LISTENER]	= RNIC_MAX_LISTENER,
};

/**
 * rnic_user() - find the user whose share the calling task has
 *
 * Context: process.
 * Return: the user.
 */
kuid_t rnic_user(void)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t inside;

	/*
	 * In a user namespace the task may choose among many uids, so it counts as the user who
	 * made the outermost namespace. If that is root, as for the containers of a system
	 * service, each namespace is a user: the one that is root in it.
	 */
	if (ns == &init_user_ns)
		return current_uid();
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	inside = make_kuid(ns, 0);
	return uid_eq(ns->owner, GLOBAL_ROOT_UID) && uid_valid(inside) ? inside : ns->owner;
}

/**
 * rnic_share_get() - get the calling user's share for a context or a listener
 * @dev:	the device
 *
 * Context: process.
 * Return: the share, for rnic_share_put(); NULL without memory.
 */
struct rnic_share *rnic_share_get(struct rnic_dev *dev)
{
	struct rnic_share *mine = kzalloc(sizeof(*mine), RNIC_GFP), *share;

	if (!mine)
		return NULL;
	mine->user = rnic_user();
	xa_lock_irq(&dev->shares);
	share = __xa_cmpxchg(&dev->shares, __kuid_val(mine->user), NULL, mine, RNIC_GFP);
	if (xa_is_err(share)) {
		share = NULL;
	} else {
		share = share ?: mine;
		share->refs++;
	}
	xa_unlock_irq(&dev->shares);
	if (share != mine)
		kfree(mine);
	return share;
}

/**
 * rnic_share_put() - undo rnic_share_get()
 * @dev:	the device
 * @share:	the share; the context has no objects any more, and the listener is not counted
 *
 * Context: process.
 */
void rnic_share_put(struct rnic_dev *dev, struct rnic_share *share)
{
	bool last;

	xa_lock_irq(&dev->shares);
	last = !--share->refs;
	if (last)
		__xa_erase(&dev->shares, __kuid_val(share->user));
	xa_unlock_irq(&dev->shares);
	if (last)
		kfree(share);
}

/* Not atomic_add_unless(), because the number may be above the limit. */
static bool count_object(atomic_t *num, int limit)
{
	int have = atomic_read(num);

	do {
		if (have >= limit)
			return false;
	} while (!atomic_try_cmpxchg(num, &have, have + 1));
	return true;
}

/* Count an object within the user's share and outside of the reserve. */
static bool charge_share(struct rnic_dev *dev, enum rnic_obj obj, struct rnic_share *share)
{
	u32 shares = READ_ONCE(dev->set.shares);
	int part = max(limits[obj] / shares, 1U);

	if (!count_object(&share->num[obj], part))
		return false;
	if (count_object(&dev->num[obj], limits[obj] - (shares > 1 ? part : 0)))
		return true;
	atomic_dec(&share->num[obj]);
	return false;
}

/**
 * rnic_dev_charge() - count a new object
 * @dev:	the device
 * @obj:	its kind
 * @share:	share of the user who pays, NULL for a kernel consumer
 *
 * Context: process.
 * Return: false at the limit of the device; without CAP_SYS_ADMIN also at the limit of the share,
 * and when only the reserve is left.
 */
bool rnic_dev_charge(struct rnic_dev *dev, enum rnic_obj obj, struct rnic_share *share)
{
	if (share && charge_share(dev, obj, share))
		return true;
	/* Ask for the capability last, because security modules log who lacks it. */
	if (share && !capable(CAP_SYS_ADMIN))
		return false;
	if (!count_object(&dev->num[obj], limits[obj]))
		return false;
	if (share)
		atomic_inc(&share->num[obj]);
	return true;
}

/**
 * rnic_dev_uncharge() - undo rnic_dev_charge()
 * @dev:	the device
 * @obj:	its kind
 * @share:	as in rnic_dev_charge()
 *
 * Context: any.
 */
void rnic_dev_uncharge(struct rnic_dev *dev, enum rnic_obj obj, struct rnic_share *share)
{
	WARN_ON_ONCE(atomic_dec_return(&dev->num[obj]) < 0);
	if (share)
		WARN_ON_ONCE(atomic_dec_return(&share->num[obj]) < 0);
}
