/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Devices: creation, lookup, events of their network device, removal.
 */
#ifndef _RNIC_DEVICE_H
#define _RNIC_DEVICE_H

#include "core/dev.h"

struct file;

/* device.c */
int rnic_dev_create(const char *name, struct net_device *ndev);
void rnic_dev_remove_all(void);
struct rnic_dev *rnic_dev_find_netdev(const struct net_device *ndev);
struct rnic_dev *rnic_dev_find_qp(const struct file *verbs, u32 qpn, struct ib_qp **ibqp);
bool rnic_dev_is_ours(const struct ib_device *ibdev);
void rnic_dev_put(struct rnic_dev *dev);
void rnic_dev_address_event(struct rnic_dev *dev);
void rnic_dev_forget_netdev(const struct net_device *ndev);

/* port.c */
void rnic_port_take_speed(struct rnic_dev *dev, struct net_device *ndev);
int rnic_port_attach(struct rnic_dev *dev, struct net_device *ndev);
void rnic_port_set_guid(struct rnic_dev *dev);
bool rnic_port_set_apart(struct rnic_dev *dev, u32 salt);
void rnic_port_detach(struct rnic_dev *dev);
void rnic_port_link_event(struct rnic_dev *dev);
void rnic_port_link_catch_up(struct rnic_dev *dev);
bool rnic_port_take_gid(struct rnic_dev *dev);
void rnic_port_tell_gid(struct rnic_dev *dev);
void rnic_port_rename_event(struct rnic_dev *dev);
int rnic_port_query(struct ib_device *ibdev, u32 port,
		    struct ib_port_attr *attr);
int rnic_port_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int rnic_port_query_gid(struct ib_device *ibdev, u32 port, int index,
			union ib_gid *gid);
int rnic_port_immutable(struct ib_device *ibdev, u32 port,
			struct ib_port_immutable *immutable);
struct net_device *rnic_port_get_netdev(struct ib_device *ibdev, u32 port);

/* port_counters.c */
extern const struct attribute_group *rnic_port_groups[];

/* settings.c */
extern const struct attribute_group rnic_settings_group;
void rnic_settings_init(struct rnic_settings *set);

/* link.c */
int rnic_link_init(void);
void rnic_link_exit(void);

#endif /* _RNIC_DEVICE_H */
