// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Limits on the objects of a device.
 */
#include "core/dev.h"

static const int limits[RNIC_OBJ_N] = {
	[RNIC_OBJ_UCONTEXT]	= RNIC_MAX_UCONTEXT,
	[RNIC_OBJ_PD]		= RNIC_MAX_PD,
	[RNIC_OBJ_CQ]		= RNIC_MAX_CQ,
	[RNIC_OBJ_SRQ]		= RNIC_MAX_SRQ,
	[RNIC_OBJ_QP]		= RNIC_MAX_QP,
	[RNIC_OBJ_MR]		= RNIC_MAX_MR,
};

/**
 * rnic_dev_charge() - count a new object
 * @dev:	the device
 * @obj:	its kind
 *
 * Context: any.
 * Return: false at the limit.
 */
bool rnic_dev_charge(struct rnic_dev *dev, enum rnic_obj obj)
{
	return atomic_add_unless(&dev->num[obj], 1, limits[obj]);
}

/**
 * rnic_dev_uncharge() - undo rnic_dev_charge()
 * @dev:	the device
 * @obj:	its kind
 *
 * Context: any.
 */
void rnic_dev_uncharge(struct rnic_dev *dev, enum rnic_obj obj)
{
	WARN_ON_ONCE(atomic_dec_return(&dev->num[obj]) < 0);
}
