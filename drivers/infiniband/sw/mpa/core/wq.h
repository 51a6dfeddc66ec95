/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The driver's two work queues.
 */
#ifndef _RNIC_WQ_H
#define _RNIC_WQ_H

struct workqueue_struct;

/* Workers of queue pairs, lingering, and deadlines */
extern struct workqueue_struct *rnic_wq;
/* Startups and listeners; runs one work item at a time */
extern struct workqueue_struct *rnic_startup_wq;

int rnic_wq_init(void);
void rnic_wq_exit(void);

#endif
