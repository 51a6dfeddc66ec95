/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Who has a TCP port.
 */
#ifndef _RNIC_PORT_H
#define _RNIC_PORT_H

#include <linux/types.h>

struct sock;

bool rnic_port_has_only_connections(const struct sock *sk, u16 port);

#endif /* _RNIC_PORT_H */
