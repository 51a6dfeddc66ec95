/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_ASM_BARRIER_H
#define _SHIM_ASM_BARRIER_H

#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE) /* a stand-in */

#endif
