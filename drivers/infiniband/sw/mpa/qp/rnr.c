// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The receive of a Send that arrives: it is taken, or the Send waits for it.
 *
 * A Send that waits stays in TCP's receive queue, and so does all that is behind it, so that TCP's
 * window stops the peer (RFC 5041 section 7.1). Programs that were written on InfiniBand rely on
 * that, because there the sender repeats the message (RNR retry).
 */
#include <compat/timer.h>

#include "core/dev.h"
#include "qp/priv.h"
#include "qp/srq.h"

/* Jiffies between two looks for a receive of a shared queue that others use */
#define SRQ_PAUSE	(HZ / 20UL)

/**
 * rnic_receive_fail() - end the connection, and complete the receive that was taken
 * @qp:		queue pair with the data path
 * @status:	error of the receive
 *
 * Sets the error state before the consumer sees the receive fail.
 *
 * Context: process or softirq, socket locked.
 */
void rnic_receive_fail(struct rnic_qp *qp, enum ib_wc_status status)
{
	rnic_qp_error(qp);
	rnic_recv_complete(qp, status, 0, 0, false, true);
}

static void end_wait(struct rnic_qp *qp)
{
	if (!qp->rx.rnr)
		return;
	WRITE_ONCE(qp->rx.rnr, false);
	timer_delete(&qp->again);
}

/**
 * rnic_receive_take() - take the oldest receive for a Send that arrives
 * @qp:	queue pair with the data path, which has none
 *
 * Ends the wait of that Send.
 *
 * Context: process or softirq, socket locked.
 * Return: 1; 0 if none is posted; -EINVAL if the oldest is malformed, which ends the connection.
 */
int rnic_receive_take(struct rnic_qp *qp)
{
	struct rnic_rx *rx = &qp->rx;
	int ret;

	ret = qp->srq ? rnic_srq_pop(qp, &rx->rwqe) : rnic_rq_pop(&qp->rq, &rx->rwqe);
	if (!ret)
		return 0;
	end_wait(qp);
	rx->receives++;
	rx->have_rwqe = true;
	if (ret < 0) {
		rnic_receive_fail(qp, IB_WC_LOC_QP_OP_ERR);
		return ret;
	}
	rnic_sgl_init(&rx->sgl, rx->rwqe.sge, rx->rwqe.num_sge, rx->rwqe.len);
	return 1;
}

static void begin_wait(struct rnic_qp *qp)
{
	qp->rx.rnr_since = jiffies;
	WRITE_ONCE(qp->rx.rnr, true);
	rnic_stat_inc(qp->dev, RNIC_STAT_RX_RNR_WAITS);
	/* Store @rnr before looking once more. Pairs with rnic_post_recv(). */
	smp_mb();
	if (!qp->srq && rnic_rq_has(&qp->rq, 1))
		rnic_qp_kick(qp);
}

/*
 * Return: jiffies for which the Send has waited in vain. It does not while others take receives of
 * its shared receive queue, because the consumer posts them then.
 */
static unsigned long count_wait(const struct rnic_qp *qp)
{
	unsigned long since = qp->rx.rnr_since, taken;
	long waited;

	if (!qp->rx.rnr)
		return 0;
	taken = qp->srq ? READ_ONCE(qp->srq->taken) : since;
	waited = jiffies - (time_after(taken, since) ? taken : since);
	/* Another processor may have written a newer time. */
	return max(waited, 0L);
}

/*
 * Return: jiffies until the next look. While others take receives of the shared queue it is a
 * moment at most, so that this one has a chance.
 */
static unsigned long choose_pause(const struct rnic_qp *qp, unsigned long waited)
{
	const struct rnic_rx *rx = &qp->rx;
	unsigned long pause = (jiffies - rx->rnr_since) / 4;

	if (qp->srq)
		pause = min(pause, max(waited / 4, SRQ_PAUSE));
	return clamp(pause, 1UL, rx->rnr_wait - waited);
}

/**
 * rnic_receive_await() - let a Send wait for a receive
 * @qp:	queue pair with the data path, for which rnic_receive_take() found none
 *
 * Sets @rx.rnr. The Send waits also if the peer has closed behind it, but not if the consumer has
 * closed. A kernel consumer that posts a receive wakes the worker. User space posts without a
 * system call, so look again after a quarter of the time that has passed, because that finds the
 * receive soon enough in few looks.
 *
 * Context: process or softirq, socket locked.
 * Return: false if the Send may not wait, or has waited long enough.
 */
bool rnic_receive_await(struct rnic_qp *qp)
{
	struct rnic_rx *rx = &qp->rx;
	unsigned long waited = count_wait(qp);

	if (waited >= rx->rnr_wait || rnic_qp_state(qp) != IB_QPS_RTS) {
		end_wait(qp);
		return false;
	}
	if (!rx->rnr)
		begin_wait(qp);
	mod_timer(&qp->again, jiffies + choose_pause(qp, waited));
	return true;
}
