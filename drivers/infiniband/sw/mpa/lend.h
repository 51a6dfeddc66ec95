/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA streams on connections that programs use already.
 */
#ifndef _RNIC_LEND_H
#define _RNIC_LEND_H

int rnic_lend_init(void);
void rnic_lend_exit(void);

#endif
