// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * wire/machine.c: every state with every event, against a table written by hand
 * from the ledger, and what must hold on every path through it.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/string.h>
#include <wire/machine.h>
#include "suites.h"

static const char * const states[] = {
	[MPA_CONNECTING] = "connecting", [MPA_WAIT_REPLY] = "wait reply",
	[MPA_WAIT_REQUEST] = "wait request", [MPA_ASK_AGAIN] = "ask again",
	[MPA_WAIT_CONSUMER] = "wait consumer",
	[MPA_WAIT_RTR] = "wait rtr", [MPA_OPERATING] = "operating",
	[MPA_LINGER] = "linger", [MPA_DONE] = "done",
};

static const char * const events[] = {
	[MPA_ON_NOTHING] = "nothing", [MPA_ON_TCP_UP] = "tcp up",
	[MPA_ON_TCP_FAILED] = "tcp failed", [MPA_ON_OLD_PEER] = "old peer",
	[MPA_ON_CLOSED] = "closed", [MPA_ON_BYTES] = "bytes",
	[MPA_ON_BAD_FRAME] = "bad frame", [MPA_ON_REQUEST] = "request",
	[MPA_ON_BUSY] = "busy",
	[MPA_ON_ACCEPTED] = "accepted", [MPA_ON_ACCEPTED_RTR] = "accepted, rtr",
	[MPA_ON_UNMATCHED] = "unmatched", [MPA_ON_REJECTED] = "rejected",
	[MPA_ON_ACCEPT] = "accept", [MPA_ON_ACCEPT_RTR] = "accept, rtr",
	[MPA_ON_REJECT] = "reject", [MPA_ON_RTR] = "rtr",
	[MPA_ON_LOCAL_ERROR] = "local error", [MPA_ON_TIME_OVER] = "time over",
	[MPA_ON_CONSUMER_GONE] = "consumer gone", [MPA_ON_DEVICE_GONE] = "device gone",
	[MPA_ON_EVICTED] = "evicted",
	[MPA_ON_ENDED] = "ended", [MPA_ON_FLUSHED] = "flushed",
};

static const char * const actions[] = {
	[MPA_DO_REQUEST] = "Request", [MPA_DO_RETRY] = "retry", [MPA_DO_ASK] = "ask",
	[MPA_DO_RTR] = "RtR", [MPA_DO_ATTACH] = "attach",
	[MPA_DO_ATTACH_OPEN] = "attach-open", [MPA_DO_OPEN] = "open", [MPA_DO_LOSE] = "lose",
	[MPA_DO_REJECT] = "Reject", [MPA_DO_TERMINATE] = "Terminate",
	[MPA_DO_TELL] = "tell", [MPA_DO_REPLY] = "Reply",
	[MPA_DO_CLOSE] = "close", [MPA_DO_ABORT] = "abort",
};

static_assert(ARRAY_SIZE(states) == MPA_STATES);
static_assert(ARRAY_SIZE(events) == MPA_EVENTS);
static_assert(ARRAY_SIZE(actions) == MPA_ACTIONS);

/*
 * Pairs that are not here must have no step. Sorted by event, not by state, so that a row that was
 * forgotten for one state shows.
 */
static const struct {
	const char *event, *state, *does, *next;
} expected[] = {
	/* CONN-05, NEG-20 */
	{ "tcp up", "connecting", "Request", "wait reply" },
	/* ERR-01, CONN-19 */
	{ "tcp failed", "connecting", "tell", "done" },
	/* P2P-46, P2P-47 */
	{ "old peer", "wait reply", "retry", "connecting" },
	/* CONN-24, ERR-01 */
	{ "closed", "wait reply", "tell", "done" },
	{ "closed", "wait request", "", "done" },
	{ "closed", "ask again", "", "done" },
	{ "closed", "wait consumer", "", "done" },
	{ "closed", "wait rtr", "lose", "operating" },
	/* NEG-16, DUAL-07; behind a Reply FPDUs are welcome (NEG-25, DUAL-08) */
	{ "bytes", "wait request", "", "done" },
	{ "bytes", "ask again", "", "done" },
	{ "bytes", "wait consumer", "", "done" },
	/* NEG-04 to NEG-06, NEG-22, NEG-27, NEG-33, ERR-07, ERR-17: no frame, no FPDU */
	{ "bad frame", "wait reply", "tell", "done" },
	{ "bad frame", "wait request", "", "done" },
	{ "bad frame", "wait rtr", "lose", "operating" },
	/* NEG-21, CONN-10 */
	{ "request", "wait request", "ask", "wait consumer" },
	{ "busy", "wait request", "", "ask again" },
	{ "request", "ask again", "ask", "wait consumer" },
	{ "busy", "ask again", "", "ask again" },
	/* NEG-29, CONN-25 */
	{ "accepted", "wait reply", "attach-open tell", "operating" },
	/* HIST-16, HIST-17 */
	{ "accepted, rtr", "wait reply", "RtR attach-open tell", "operating" },
	/* P2P-17, P2P-35 */
	{ "unmatched", "wait reply", "Terminate tell", "linger" },
	/* NEG-28, CONN-15 */
	{ "rejected", "wait reply", "tell", "linger" },
	/* NEG-25, NEG-30, CONN-11 */
	{ "accept", "wait consumer", "attach tell Reply", "operating" },
	/* HIST-16, HIST-18: nothing is sent before the RtR frame */
	{ "accept, rtr", "wait consumer", "attach tell Reply", "wait rtr" },
	{ "rtr", "wait rtr", "open", "operating" },
	/* NEG-23, NEG-24 */
	{ "reject", "wait consumer", "Reject", "linger" },
	/* P2P-41: a Terminate where FPDUs may be sent; GAP-05: else a reject */
	{ "local error", "connecting", "tell", "done" },
	{ "local error", "wait reply", "Terminate tell", "linger" },
	{ "local error", "wait request", "Reject", "linger" },
	{ "local error", "ask again", "Reject", "linger" },
	{ "local error", "wait consumer", "Reject", "linger" },
	/*
	 * NEG-34, NEG-35; a good Request is answered (NEG-23). When there is no time to ask again,
	 * asking fails.
	 */
	{ "time over", "connecting", "tell", "done" },
	{ "time over", "wait reply", "tell", "done" },
	{ "time over", "wait request", "", "done" },
	{ "time over", "wait consumer", "Reject", "linger" },
	{ "time over", "wait rtr", "lose", "operating" },
	{ "time over", "linger", "abort", "done" },
	{ "consumer gone", "connecting", "tell", "done" },
	{ "consumer gone", "wait reply", "tell", "done" },
	{ "consumer gone", "wait request", "", "done" },
	{ "consumer gone", "ask again", "", "done" },
	{ "consumer gone", "wait consumer", "", "done" },
	{ "consumer gone", "wait rtr", "lose", "operating" },
	{ "device gone", "connecting", "tell", "done" },
	{ "device gone", "wait reply", "tell", "done" },
	{ "device gone", "wait request", "", "done" },
	{ "device gone", "ask again", "", "done" },
	{ "device gone", "wait consumer", "", "done" },
	{ "device gone", "wait rtr", "lose", "operating" },
	{ "device gone", "linger", "abort", "done" },
	/* SEC-13: only where the peer is waited for */
	{ "evicted", "wait request", "", "done" },
	{ "evicted", "linger", "abort", "done" },
	/* CONN-20, ERR-11 */
	{ "ended", "operating", "close", "linger" },
	{ "flushed", "linger", "", "done" },
};

/* The actions' names, in the order they are carried out */
static void spell(char *text, size_t size, u32 bits)
{
	u32 i;

	text[0] = '\0';
	for (i = 0; i < MPA_ACTIONS; i++) {
		if (!(bits & BIT(i)))
			continue;
		if (text[0])
			strncat(text, " ", size - strlen(text) - 1);
		strncat(text, actions[i], size - strlen(text) - 1);
	}
}

static int find(u32 state, u32 event)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(expected); i++)
		if (!strcmp(expected[i].state, states[state]) &&
		    !strcmp(expected[i].event, events[event]))
			return i;
	return -1;
}

/* Each pair does what the table says, and nothing where the table is silent. */
static void every_pair(struct kunit *test)
{
	u32 state, event, rows = 0;
	char does[80];

	for (state = 0; state < MPA_STATES; state++) {
		for (event = 0; event < MPA_EVENTS; event++) {
			const struct mpa_step *step = mpa_step(state, event);
			int i = find(state, event);

			KUNIT_EXPECT_EQ_MSG(test, !!step, i >= 0, "%s, %s", states[state],
					    events[event]);
			if (!step || i < 0)
				continue;
			spell(does, sizeof(does), step->actions);
			KUNIT_EXPECT_TRUE_MSG(test, !strcmp(does, expected[i].does),
					      "%s, %s: %s", states[state], events[event], does);
			KUNIT_EXPECT_TRUE_MSG(test, !strcmp(states[step->next], expected[i].next),
					      "%s, %s: to %s", states[state], events[event],
					      states[step->next]);
			rows++;
		}
	}
	KUNIT_EXPECT_EQ(test, rows, (u32)ARRAY_SIZE(expected));
}

/* Values beyond the enums mean nothing */
static void out_of_range(struct kunit *test)
{
	u32 i;

	for (i = 0; i < MPA_EVENTS; i++)
		KUNIT_EXPECT_TRUE(test, !mpa_step(MPA_STATES, i));
	for (i = 0; i < MPA_STATES; i++) {
		KUNIT_EXPECT_TRUE(test, !mpa_step(i, MPA_EVENTS));
		KUNIT_EXPECT_TRUE(test, !mpa_step(i, -1));
	}
}

/* The actions on the way to a state */
struct past {
	u8 steps;
	u8 told, closed, attached, retried, busy;
	u8 requests, answers, rtrs, terminates;
	bool accepted;		/* the consumer accepted */
};

static u32 paths;

static bool did(const struct mpa_step *step, u32 action)
{
	return step->actions & BIT(action);
}

static void remember(struct past *past, u32 event, const struct mpa_step *step)
{
	past->steps++;
	past->accepted |= event == MPA_ON_ACCEPT || event == MPA_ON_ACCEPT_RTR;
	past->told += did(step, MPA_DO_TELL);
	past->closed += did(step, MPA_DO_CLOSE);
	past->attached += did(step, MPA_DO_ATTACH) + did(step, MPA_DO_ATTACH_OPEN);
	past->retried += did(step, MPA_DO_RETRY);
	past->busy += event == MPA_ON_BUSY;
	past->requests += did(step, MPA_DO_REQUEST);
	past->answers += did(step, MPA_DO_REPLY) + did(step, MPA_DO_REJECT);
	past->rtrs += did(step, MPA_DO_RTR);
	past->terminates += did(step, MPA_DO_TERMINATE);
}

/* Checks what every step must keep to */
static void check_step(struct kunit *test, bool initiator, const struct past *past,
		       const struct mpa_step *step, u32 event)
{
	bool attach = did(step, MPA_DO_ATTACH) || did(step, MPA_DO_ATTACH_OPEN);

	/* NEG-30: the peer's bytes open a responder's stream, not the attaching */
	if (!initiator)
		KUNIT_EXPECT_FALSE(test, did(step, MPA_DO_ATTACH_OPEN));
	/* a Terminate needs a peer in Full Operation */
	if (did(step, MPA_DO_TERMINATE))
		KUNIT_EXPECT_TRUE(test, initiator ? past->requests : past->answers);
	/* a queue pair that is attached owns the stream */
	KUNIT_EXPECT_EQ(test, past->attached,
			step->next == MPA_WAIT_RTR || step->next == MPA_OPERATING || past->closed);
	if (attach)
		KUNIT_EXPECT_EQ(test, past->attached, 1);
	/* only an attached queue pair is opened, or loses its stream */
	if (did(step, MPA_DO_OPEN) || did(step, MPA_DO_LOSE))
		KUNIT_EXPECT_TRUE(test, past->attached && !attach);
	/* roles do not mix */
	KUNIT_EXPECT_FALSE(test, initiator ? past->answers : past->requests + past->rtrs);
	KUNIT_EXPECT_LE(test, past->requests, 1 + past->retried);
	KUNIT_EXPECT_LE(test, past->answers, 1);
	KUNIT_EXPECT_LE(test, past->rtrs, 1);
	KUNIT_EXPECT_LE(test, past->terminates, 1);
	KUNIT_EXPECT_LE(test, past->told, 1);
	KUNIT_EXPECT_LE(test, past->closed, past->told);
	/* the step after a failed action cannot fail: see carry_out_actions() in the driver */
	if (event == MPA_ON_LOCAL_ERROR)
		KUNIT_EXPECT_EQ(test, step->actions &
				(BIT(MPA_DO_REQUEST) | BIT(MPA_DO_ASK) | BIT(MPA_DO_RTR) |
				 BIT(MPA_DO_ATTACH) | BIT(MPA_DO_ATTACH_OPEN) |
				 BIT(MPA_DO_REPLY)), 0u);
}

/* iw_cm's contract: one answer to connect(), one to accept(), one close each */
static void check_end(struct kunit *test, bool initiator, const struct past *past)
{
	paths++;
	if (initiator)
		KUNIT_EXPECT_EQ(test, past->told, 1);
	else if (past->told)
		KUNIT_EXPECT_TRUE(test, past->accepted);
	if (past->attached || (!initiator && past->told))
		KUNIT_EXPECT_EQ(test, past->closed, 1);
	else
		KUNIT_EXPECT_EQ(test, past->closed, 0);
}

static void walk(struct kunit *test, bool initiator, u32 state, struct past past)
{
	const struct mpa_step *step;
	struct past then;
	u32 event;

	KUNIT_ASSERT_TRUE_MSG(test, past.steps <= 9, "a path without an end");
	if (state == MPA_DONE) {
		check_end(test, initiator, &past);
		return;
	}
	for (event = 0; event < MPA_EVENTS; event++) {
		step = mpa_step(state, event);
		/* the driver does not offer enhancements twice */
		if (!step || (event == MPA_ON_OLD_PEER && past.retried))
			continue;
		/* a path that asks many times is as one that asks twice */
		if (event == MPA_ON_BUSY && past.busy == 2)
			continue;
		then = past;
		remember(&then, event, step);
		check_step(test, initiator, &then, step, event);
		walk(test, initiator, step->next, then);
	}
}

/* Every path of both roles: CONN-16, CONN-24, NEG-30, and iw_cm's contract */
static void every_path(struct kunit *test)
{
	paths = 0;
	walk(test, true, MPA_CONNECTING, (struct past){});
	KUNIT_EXPECT_GE(test, paths, 20u);
	paths = 0;
	walk(test, false, MPA_WAIT_REQUEST, (struct past){});
	KUNIT_EXPECT_GE(test, paths, 20u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(every_pair),
	KUNIT_CASE(out_of_range),
	KUNIT_CASE(every_path),
	{}
};

struct kunit_suite startup_machine_suite = { .name = "startup_machine", .test_cases = cases };
