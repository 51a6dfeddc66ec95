/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA streams on connections that programs use already.
 */
#ifndef _RNIC_LEND_H
#define _RNIC_LEND_H

#include <linux/poll.h>
#include <linux/types.h>

struct mpa_answer;
struct mpa_status;
struct rnic_dev;
struct rnic_lent_start;
struct rnic_ulp;

#define RNIC_LAST_MAX	(64 << 10)	/* bytes of a last streaming message */

int rnic_lend_start(struct rnic_ulp *u, struct rnic_dev *dev, struct rnic_lent_start *start,
		    void (*event)(void *context), void *context);
int rnic_lend_answer(struct rnic_ulp *u, bool accept, const struct mpa_answer *a, const void *pd);
void rnic_lend_status(struct rnic_ulp *u, struct mpa_status *status);
__poll_t rnic_lend_poll(struct rnic_ulp *u);
int rnic_lend_open(struct rnic_ulp *u);
bool rnic_lend_close(struct rnic_ulp *u);
void rnic_lend_free(struct rnic_ulp *u);

/* lend_user.c */
int rnic_lend_init(void);
void rnic_lend_exit(void);

#endif
