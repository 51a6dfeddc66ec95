/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SHIM_ASM_BARRIER_H
#define _SHIM_ASM_BARRIER_H

#define smp_mb()			__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_mb__after_atomic()		smp_mb()
#define smp_load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)		__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_store_mb(x, v)		__atomic_store_n(&(x), v, __ATOMIC_SEQ_CST)
#define smp_wmb()			__atomic_thread_fence(__ATOMIC_RELEASE) /* a stand-in */

#endif
