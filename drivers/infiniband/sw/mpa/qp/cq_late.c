// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Late arming of completion queues.
 *
 * User space arms its CQ by a store into mapped memory, which the driver does not see before the
 * next completion. NICs raise an event at once if a CQ with unread completions is armed, and
 * programs rely on that (perftest -e polls once after each event). So a timer looks again at a CQ
 * with an event channel while a completion is unread. Each pause is twice the one before. The
 * timer stops some seconds after the last completion, because an idle program must not cost CPU
 * time. The next completion starts it again, and so does a system call that queries or modifies a
 * queue pair of the CQ.
 *
 * After a late event the pauses begin anew, because the program reads a completion and arms again.
 * Each completion allows that once, unless a look finds it read, because a program that only arms
 * would cost CPU time forever.
 *
 * A program that got an event arms the CQ before it polls. So if the only unread completion had
 * its event, the first looks do not raise another one.
 */
#include <compat/timer.h>

#include "qp/cq.h"

/* Longest pause between two looks for a late arming, about half of the time until the last */
#define LATE_MAX	(4 * HZ)
/* Looks without another event for a single completion that had one */
#define TOLD_LOOKS	3

/*
 * Start the timer. It is not a work item, because a worker would take the CPU from the program,
 * and the scheduler would move that to another one.
 */
static void start_timer(struct rnic_cq *cq, unsigned long pause)
{
	cq->pause = pause;
	mod_timer(&cq->late, jiffies + pause);
}

/**
 * rnic_cq_watch_locked() - look for a late arming soon
 * @cq:	the CQ, @lock held; nothing happens unless it is a user CQ with an event channel
 *
 * Context: any.
 */
void rnic_cq_watch_locked(struct rnic_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	/* @cq_context of a user CQ is its event channel, or NULL. */
	if (cq->ring.user && cq->ibcq.cq_context &&
	    (!timer_pending(&cq->late) || cq->pause > 1))
		start_timer(cq, 1);
}

/**
 * rnic_cq_watch() - look for a late arming soon
 * @cq:	the CQ; nothing happens unless it is a user CQ with an event channel
 *
 * Context: any.
 */
void rnic_cq_watch(struct rnic_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	rnic_cq_watch_locked(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * rnic_cq_take_arming() - disarm the ring if its newest completion causes an upcall
 * @cq:		the CQ, @lock held
 * @solicited:	a solicited completion is among the new ones
 *
 * Context: any.
 * Return: true if the caller must make the upcall.
 */
bool rnic_cq_take_arming(struct rnic_cq *cq, bool solicited)
{
	bool call;

	lockdep_assert_held(&cq->lock);
	call = rnic_cq_ring_disarm(&cq->ring, solicited);
	cq->spare = call && cq->ring.user && !rnic_cq_ring_unread(&cq->ring, 1) ?
		    TOLD_LOOKS : 0;
	return call;
}

/* Return: true if this look must not raise an event, because the program may be about to poll. */
static bool use_spare_look(struct rnic_cq *cq)
{
	return cq->spare && cq->spare--;
}

static void look_for_late_arming(struct timer_list *timer)
{
	struct rnic_cq *cq = container_of(timer, struct rnic_cq, late);
	bool unread, call = false;

	spin_lock_irq(&cq->lock);
	unread = rnic_cq_ring_unread(&cq->ring, 0);
	if (!unread)
		cq->quick = 0;
	if (unread && !use_spare_look(cq))
		call = rnic_cq_take_arming(cq, rnic_cq_ring_unread(&cq->ring, cq->plain));
	if (call && cq->quick) {
		cq->quick--;
		start_timer(cq, 1);
	} else if (unread && !timer_pending(timer) && 2 * cq->pause <= LATE_MAX) {
		start_timer(cq, 2 * cq->pause);
	}
	spin_unlock_irq(&cq->lock);
	if (call && cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

/**
 * rnic_cq_late_init() - prepare the timer of a new CQ
 * @cq:	the CQ
 */
void rnic_cq_late_init(struct rnic_cq *cq)
{
	timer_setup(&cq->late, look_for_late_arming, 0);
}

/**
 * rnic_cq_late_exit() - stop the timer and wait for it
 * @cq:	the CQ; nothing completes into it any more
 *
 * Context: process.
 */
void rnic_cq_late_exit(struct rnic_cq *cq)
{
	timer_delete_sync(&cq->late);
}
