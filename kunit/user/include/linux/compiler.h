/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_LINUX_COMPILER_H
#define _SHIM_LINUX_COMPILER_H

#define __READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define READ_ONCE(x)		__READ_ONCE(x)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)

#endif
