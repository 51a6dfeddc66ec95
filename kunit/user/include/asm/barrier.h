/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)
