/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The driver's three work queues.
 */
#ifndef _RNIC_WQ_H
#define _RNIC_WQ_H

struct workqueue_struct;

/* Workers of queue pairs, lingering, and deadlines */
extern struct workqueue_struct *rnic_wq;
/* Startups of rdma_cm's connections, and listeners; runs one work item at a time */
extern struct workqueue_struct *rnic_startup_wq;
/* Startups and lingering of lent connections; a work item may wait for the program */
extern struct workqueue_struct *rnic_lent_wq;

int rnic_wq_init(void);
void rnic_wq_exit(void);

#endif
