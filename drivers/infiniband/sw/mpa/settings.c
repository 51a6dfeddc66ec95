// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Settings of a device: /sys/class/infiniband/<dev>/mpa/. A connection uses the values at its
 * start.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "device.h"
#include "wire/startup.h"

/* TCP's maximum. */
#define KEEPALIVE_S_MAX	32767

static const struct {
	const char *name;
	u8 bit;
} rtr_names[] = {
	{ "send", MPA_RTR_SEND },
	{ "write", MPA_RTR_WRITE },
	{ "read", MPA_RTR_READ },
};

static struct rnic_settings *get_settings(struct device *device)
{
	return &rdma_device_to_drv_device(device, struct rnic_dev, ibdev)->set;
}

static ssize_t crc_show(struct device *device, struct device_attribute *attr,
			char *buf)
{
	return sysfs_emit(buf, "%s\n", READ_ONCE(get_settings(device)->crc) ?
				       "required" : "off");
}

static ssize_t crc_store(struct device *device, struct device_attribute *attr,
			 const char *buf, size_t count)
{
	static const char * const names[] = { "off", "required" };
	int i = sysfs_match_string(names, buf);

	if (i < 0)
		return i;
	WRITE_ONCE(get_settings(device)->crc, i);
	return count;
}
static DEVICE_ATTR_RW(crc);

static ssize_t markers_show(struct device *device,
			    struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(get_settings(device)->markers));
}

/* A number between two bounds, else -EINVAL. */
static int parse_number(const char *buf, u32 min, u32 max, u32 *val)
{
	if (kstrtou32(buf, 10, val) || *val < min || *val > max)
		return -EINVAL;
	return 0;
}

/* 0 or 1. */
static ssize_t store_flag(bool *flag, const char *buf, size_t count)
{
	u32 val;
	int ret = parse_number(buf, 0, 1, &val);

	if (ret)
		return ret;
	WRITE_ONCE(*flag, val);
	return count;
}

static ssize_t markers_store(struct device *device,
			     struct device_attribute *attr, const char *buf,
			     size_t count)
{
	return store_flag(&get_settings(device)->markers, buf, count);
}
static DEVICE_ATTR_RW(markers);

static ssize_t revision_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(get_settings(device)->rev));
}

static ssize_t revision_store(struct device *device,
			      struct device_attribute *attr, const char *buf,
			      size_t count)
{
	u32 val;
	int ret = parse_number(buf, 1, MPA_REV_MAX, &val);

	if (ret)
		return ret;
	WRITE_ONCE(get_settings(device)->rev, val);
	return count;
}
static DEVICE_ATTR_RW(revision);

static ssize_t rtr_show(struct device *device, struct device_attribute *attr,
			char *buf)
{
	u8 rtr = READ_ONCE(get_settings(device)->rtr);
	const char *sep = "";
	int i, n = 0;

	if (!rtr)
		return sysfs_emit(buf, "none\n");
	for (i = 0; i < ARRAY_SIZE(rtr_names); i++) {
		if (!(rtr & rtr_names[i].bit))
			continue;
		n += sysfs_emit_at(buf, n, "%s%s", sep, rtr_names[i].name);
		sep = " ";
	}
	return n + sysfs_emit_at(buf, n, "\n");
}

/* One word, @len bytes. */
static int find_rtr_bit(const char *word, size_t len)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rtr_names); i++)
		if (strlen(rtr_names[i].name) == len &&
		    !strncmp(rtr_names[i].name, word, len))
			return rtr_names[i].bit;
	return -EINVAL;
}

static int parse_rtr(const char *buf)
{
	static const char space[] = " \t\n";
	int rtr = 0, bit;
	size_t len;

	for (buf += strspn(buf, space); *buf; buf += strspn(buf, space)) {
		len = strcspn(buf, space);
		bit = find_rtr_bit(buf, len);
		if (bit < 0)
			return bit;
		rtr |= bit;
		buf += len;
	}
	return rtr ?: -EINVAL;
}

static ssize_t rtr_store(struct device *device, struct device_attribute *attr,
			 const char *buf, size_t count)
{
	int rtr = sysfs_streq(buf, "none") ? 0 : parse_rtr(buf);

	if (rtr < 0)
		return rtr;
	WRITE_ONCE(get_settings(device)->rtr, rtr);
	return count;
}
static DEVICE_ATTR_RW(rtr);

static ssize_t rtr_frame_show(struct device *device,
			      struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(get_settings(device)->rtr_frame));
}

static ssize_t rtr_frame_store(struct device *device,
			       struct device_attribute *attr, const char *buf,
			       size_t count)
{
	return store_flag(&get_settings(device)->rtr_frame, buf, count);
}
static DEVICE_ATTR_RW(rtr_frame);

static ssize_t startup_timeout_ms_show(struct device *device,
				       struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(get_settings(device)->startup_timeout_ms));
}

static ssize_t startup_timeout_ms_store(struct device *device,
					struct device_attribute *attr,
					const char *buf, size_t count)
{
	u32 val;
	int ret = parse_number(buf, 100, 600000, &val);

	if (ret)
		return ret;
	WRITE_ONCE(get_settings(device)->startup_timeout_ms, val);
	return count;
}
static DEVICE_ATTR_RW(startup_timeout_ms);

static ssize_t request_timeout_ms_show(struct device *device,
				       struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(get_settings(device)->request_timeout_ms));
}

static ssize_t request_timeout_ms_store(struct device *device,
					struct device_attribute *attr,
					const char *buf, size_t count)
{
	u32 val;
	int ret = parse_number(buf, 100, 600000, &val);

	if (ret)
		return ret;
	WRITE_ONCE(get_settings(device)->request_timeout_ms, val);
	return count;
}
static DEVICE_ATTR_RW(request_timeout_ms);

static ssize_t close_timeout_ms_show(struct device *device,
				     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(get_settings(device)->close_timeout_ms));
}

static ssize_t close_timeout_ms_store(struct device *device,
				      struct device_attribute *attr,
				      const char *buf, size_t count)
{
	u32 val;
	int ret = parse_number(buf, 100, 3600000, &val);

	if (ret)
		return ret;
	WRITE_ONCE(get_settings(device)->close_timeout_ms, val);
	return count;
}
static DEVICE_ATTR_RW(close_timeout_ms);

static ssize_t keepalive_s_show(struct device *device,
				struct device_attribute *attr, char *buf)
{
	s32 val = READ_ONCE(get_settings(device)->keepalive_s);

	if (val <= 0)
		return sysfs_emit(buf, "%s\n", val ? "off" : "default");
	return sysfs_emit(buf, "%d\n", val);
}

static ssize_t keepalive_s_store(struct device *device,
				 struct device_attribute *attr,
				 const char *buf, size_t count)
{
	u32 val = 0;
	int ret;

	if (sysfs_streq(buf, "off")) {
		val = -1;
	} else if (!sysfs_streq(buf, "default")) {
		ret = parse_number(buf, 1, KEEPALIVE_S_MAX, &val);
		if (ret)
			return ret;
	}
	WRITE_ONCE(get_settings(device)->keepalive_s, val);
	return count;
}
static DEVICE_ATTR_RW(keepalive_s);

static ssize_t max_pending_show(struct device *device,
				struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(get_settings(device)->max_pending));
}

static ssize_t max_pending_store(struct device *device,
				 struct device_attribute *attr,
				 const char *buf, size_t count)
{
	u32 val;
	int ret = parse_number(buf, 1, 65536, &val);

	if (ret)
		return ret;
	WRITE_ONCE(get_settings(device)->max_pending, val);
	return count;
}
static DEVICE_ATTR_RW(max_pending);

static ssize_t coalesce_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(get_settings(device)->coalesce));
}

static ssize_t coalesce_store(struct device *device,
			      struct device_attribute *attr,
			      const char *buf, size_t count)
{
	return store_flag(&get_settings(device)->coalesce, buf, count);
}
static DEVICE_ATTR_RW(coalesce);

static ssize_t rnr_wait_ms_show(struct device *device,
				struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(get_settings(device)->rnr_wait_ms));
}

static ssize_t rnr_wait_ms_store(struct device *device,
				 struct device_attribute *attr,
				 const char *buf, size_t count)
{
	u32 val;
	int ret = parse_number(buf, 0, 600000, &val);

	if (ret)
		return ret;
	WRITE_ONCE(get_settings(device)->rnr_wait_ms, val);
	return count;
}
static DEVICE_ATTR_RW(rnr_wait_ms);

static ssize_t shares_show(struct device *device, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(get_settings(device)->shares));
}

static ssize_t shares_store(struct device *device, struct device_attribute *attr,
			    const char *buf, size_t count)
{
	u32 val;
	int ret = parse_number(buf, 1, 65536, &val);

	if (ret)
		return ret;
	WRITE_ONCE(get_settings(device)->shares, val);
	return count;
}
static DEVICE_ATTR_RW(shares);

static struct attribute *settings_attrs[] = {
	&dev_attr_crc.attr,
	&dev_attr_markers.attr,
	&dev_attr_revision.attr,
	&dev_attr_rtr.attr,
	&dev_attr_rtr_frame.attr,
	&dev_attr_startup_timeout_ms.attr,
	&dev_attr_request_timeout_ms.attr,
	&dev_attr_close_timeout_ms.attr,
	&dev_attr_keepalive_s.attr,
	&dev_attr_max_pending.attr,
	&dev_attr_coalesce.attr,
	&dev_attr_rnr_wait_ms.attr,
	&dev_attr_shares.attr,
	NULL
};

/* Directory "mpa" of a device. */
const struct attribute_group rnic_settings_group = {
	.name = "mpa",
	.attrs = settings_attrs,
};

/**
 * rnic_settings_init() - set the defaults
 * @set:	filled in
 */
void rnic_settings_init(struct rnic_settings *set)
{
	*set = (struct rnic_settings) {
		.crc = true,
		.rev = MPA_REV_MAX,
		.rtr = MPA_RTR_ALL,
		.startup_timeout_ms = 10000,
		.request_timeout_ms = 2000,
		.close_timeout_ms = 60000,
		.max_pending = 1024,
		.coalesce = true,
		.rnr_wait_ms = 5000,
		.shares = 8,
	};
}
