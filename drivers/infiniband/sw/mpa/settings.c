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

/* A number between two bounds, else -EINVAL. */
static int parse_number(const char *buf, u32 min, u32 max, u32 *val)
{
	if (kstrtou32(buf, 10, val) || *val < min || *val > max)
		return -EINVAL;
	return 0;
}

/**
 * struct plain_setting - a setting that is a number, or a flag
 * @attr:	its file
 * @at:		offset of its field in struct rnic_settings
 * @is_flag:	the field is a bool, else a u32
 * @min:	smallest value
 * @max:	largest value
 */
struct plain_setting {
	struct device_attribute attr;
	size_t at;
	bool is_flag;
	u32 min;
	u32 max;
};

static ssize_t show_plain(struct device *device, struct device_attribute *attr, char *buf)
{
	const struct plain_setting *s = container_of(attr, struct plain_setting, attr);
	const void *field = (const void *)get_settings(device) + s->at;

	return sysfs_emit(buf, "%u\n", s->is_flag ? READ_ONCE(*(const bool *)field) :
						    READ_ONCE(*(const u32 *)field));
}

static ssize_t store_plain(struct device *device, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	const struct plain_setting *s = container_of(attr, struct plain_setting, attr);
	void *field = (void *)get_settings(device) + s->at;
	u32 val;
	int ret = parse_number(buf, s->min, s->max, &val);

	if (ret)
		return ret;
	if (s->is_flag)
		WRITE_ONCE(*(bool *)field, val);
	else
		WRITE_ONCE(*(u32 *)field, val);
	return count;
}

#define PLAIN(name_, is_flag_, min_, max_)					\
	static struct plain_setting plain_##name_ = {				\
		.attr = {							\
			.attr = { .name = __stringify(name_), .mode = 0644 },	\
			.show = show_plain,					\
			.store = store_plain,					\
		},								\
		.at = offsetof(struct rnic_settings, name_),			\
		.is_flag = is_flag_,						\
		.min = min_,							\
		.max = max_,							\
	}
#define NUMBER(name_, min_, max_) PLAIN(name_, false, min_, max_)
#define FLAG(name_) PLAIN(name_, true, 0, 1)

FLAG(markers);
FLAG(rtr_frame);
FLAG(coalesce);
NUMBER(revision, 1, MPA_REV_MAX);
NUMBER(startup_timeout_ms, 100, 600000);
NUMBER(accept_timeout_ms, 100, 600000);
NUMBER(request_timeout_ms, 100, 600000);
NUMBER(close_timeout_ms, 100, 3600000);
NUMBER(max_pending, 1, 65536);
NUMBER(rnr_wait_ms, 0, 600000);
NUMBER(shares, 1, 65536);

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

static struct attribute *settings_attrs[] = {
	&dev_attr_crc.attr,
	&plain_markers.attr.attr,
	&plain_revision.attr.attr,
	&dev_attr_rtr.attr,
	&plain_rtr_frame.attr.attr,
	&plain_startup_timeout_ms.attr.attr,
	&plain_accept_timeout_ms.attr.attr,
	&plain_request_timeout_ms.attr.attr,
	&plain_close_timeout_ms.attr.attr,
	&dev_attr_keepalive_s.attr,
	&plain_max_pending.attr.attr,
	&plain_coalesce.attr.attr,
	&plain_rnr_wait_ms.attr.attr,
	&plain_shares.attr.attr,
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
		.revision = MPA_REV_MAX,
		.rtr = MPA_RTR_ALL,
		.startup_timeout_ms = 10000,
		.accept_timeout_ms = 60000,
		.request_timeout_ms = 2000,
		.close_timeout_ms = 60000,
		.max_pending = 1024,
		.coalesce = true,
		.rnr_wait_ms = 5000,
		.shares = 8,
	};
}
