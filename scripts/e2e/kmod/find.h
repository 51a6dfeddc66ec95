/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Finds a device by its name, because 7.2 no longer exports ib_device_get_by_name().
 */
#ifndef _KMOD_FIND_H
#define _KMOD_FIND_H

#include <linux/string.h>
#include <rdma/ib_verbs.h>

static const char *find_name;
static struct ib_device *find_found;

static int find_add(struct ib_device *dev)
{
	if (!find_found && !strcmp(dev_name(&dev->dev), find_name) && ib_device_try_get(dev))
		find_found = dev;
	return -EOPNOTSUPP;	/* no client of it */
}

/* Returns a device that stays until ib_device_put(), or NULL. Called once in a module. */
static struct ib_device *find_device(const char *name)
{
	static struct ib_client client = { .name = "find", .add = find_add };

	find_name = name;
	if (ib_register_client(&client))
		return NULL;
	ib_unregister_client(&client);
	return find_found;
}

#endif /* _KMOD_FIND_H */
