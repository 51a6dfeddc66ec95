/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The part of qemu's plugin interface, version 1, that profile.c uses. Debian has no header for it.
 */
#ifndef _QEMU_PLUGIN_H
#define _QEMU_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
enum { NO_REGISTERS, INLINE_ADD_U64 = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
					   void (*fn)(plugin_id id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*fn)(unsigned int cpu, void *data), int registers,
					  void *data);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *to,
					      uint64_t value);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

#endif
