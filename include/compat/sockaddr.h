/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Socket addresses.
 */
#ifndef _COMPAT_SOCKADDR_H
#define _COMPAT_SOCKADDR_H

#include <linux/net.h>
#include <linux/socket.h>

/* Type of the address for kernel_bind() and kernel_connect(). Since 6.19 it has no size. */
#ifdef COMPAT_HAS_sockaddr_unsized
#define compat_sockaddr sockaddr_unsized
#else
#define compat_sockaddr sockaddr
#endif

#endif /* _COMPAT_SOCKADDR_H */
