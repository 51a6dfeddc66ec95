// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * wire/session.c: every state with every event, against session_rows.c, and what must hold on
 * every path through it.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/string.h>
#include "session_rows.h"
#include "suites.h"

/* The actions' names, in the order they are carried out */
static void spell(char *text, size_t size, u32 bits)
{
	u32 i;

	text[0] = '\0';
	for (i = 0; i < DDP_SESSION_ACTIONS; i++) {
		if (!(bits & BIT(i)))
			continue;
		if (text[0])
			strncat(text, " ", size - strlen(text) - 1);
		strncat(text, session_actions[i], size - strlen(text) - 1);
	}
}

/* SCTP-10: each pair does what the table says, and nothing where the table is silent. */
static void every_pair(struct kunit *test)
{
	u32 state, event, pairs = 0;
	char does[80];

	for (state = 0; state < DDP_SESSION_STATES; state++) {
		for (event = 0; event < DDP_SESSION_EVENTS; event++) {
			const struct ddp_session_step *step = ddp_session_step(state, event);
			const struct session_row *row = session_row_find(state, event);

			KUNIT_EXPECT_EQ_MSG(test, !!step, !!row, "%s, %s", session_states[state],
					    session_events[event]);
			if (!step || !row)
				continue;
			spell(does, sizeof(does), step->actions);
			KUNIT_EXPECT_TRUE_MSG(test, !strcmp(does, row->does), "%s, %s: %s",
					      session_states[state], session_events[event], does);
			KUNIT_EXPECT_TRUE_MSG(test, !strcmp(session_states[step->next], row->next),
					      "%s, %s: to %s", session_states[state],
					      session_events[event], session_states[step->next]);
			pairs++;
		}
	}
	KUNIT_EXPECT_EQ(test, pairs, session_row_pairs());
}

/* A chunk has a step wherever there may be one, so that no byte of a peer goes unjudged. */
static void every_chunk(struct kunit *test)
{
	u32 state, chunk;

	for (state = DDP_IDLE; state < DDP_GONE; state++)
		for (chunk = 0; chunk < DDP_CHUNKS; chunk++)
			KUNIT_EXPECT_TRUE_MSG(test, ddp_session_step(state, chunk), "%s, %s",
					      session_states[state], session_events[chunk]);
}

/* Values beyond the enums mean nothing */
static void out_of_range(struct kunit *test)
{
	u32 i;

	for (i = 0; i < DDP_SESSION_EVENTS; i++) {
		KUNIT_EXPECT_TRUE(test, !ddp_session_step(DDP_SESSION_STATES, i));
		KUNIT_EXPECT_TRUE(test, !ddp_session_step(-1, i));
	}
	for (i = 0; i < DDP_SESSION_STATES; i++) {
		KUNIT_EXPECT_TRUE(test, !ddp_session_step(i, DDP_SESSION_EVENTS));
		KUNIT_EXPECT_TRUE(test, !ddp_session_step(i, -1));
	}
}

static u32 run_events(u32 state, u32 n, const u8 *list)
{
	const struct ddp_session_step *step;
	u32 i;

	for (i = 0; i < n; i++) {
		step = ddp_session_step(state, list[i]);
		if (!step)
			return DDP_SESSION_NONE;
		state = step->next;
	}
	return state;
}

#define RUN(...)	run_events(DDP_IDLE, sizeof((u8[]){ __VA_ARGS__ }), (u8[]){ __VA_ARGS__ })

/* SCTP-11: segments of the responder need none of the initiator, nor the other way round */
static void either_side_first(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, RUN(DDP_ON_INITIATE, DDP_ON_CALL_ACCEPT, DDP_ON_SEND), DDP_ACCEPTED);
	KUNIT_EXPECT_EQ(test, RUN(DDP_ON_ENH_INITIATE, DDP_ON_CALL_ACCEPT, DDP_ON_SEND),
			DDP_ACCEPTED);
	KUNIT_EXPECT_EQ(test, RUN(DDP_ON_CONNECT, DDP_ON_ACCEPT, DDP_ON_SEGMENT), DDP_OPEN);
	KUNIT_EXPECT_EQ(test, RUN(DDP_ON_CONNECT, DDP_ON_ACCEPT, DDP_ON_SEND), DDP_OPEN);
	/* but none before the answer */
	KUNIT_EXPECT_EQ(test, RUN(DDP_ON_CONNECT, DDP_ON_SEND), DDP_SESSION_NONE);
	KUNIT_EXPECT_EQ(test, RUN(DDP_ON_INITIATE, DDP_ON_SEND), DDP_SESSION_NONE);
}

/* What one end did in the session that is on */
struct past {
	u8 steps;
	bool initiator;
	u8 messages;		/* of ours */
	u8 terminates, told, told_end, told_close;
	bool established;	/* the consumer has the session */
	bool arrived;		/* our last message has, for all we know */
};

static u32 paths;

static bool did(const struct ddp_session_step *step, u32 action)
{
	return step->actions & BIT(action);
}

static bool in_session(u32 state)
{
	return state != DDP_IDLE && state != DDP_GONE;
}

static void remember(struct past *past, const struct ddp_session_step *step)
{
	u32 i;

	past->steps++;
	for (i = DDP_DO_INITIATE; i <= DDP_DO_ENH_REJECT; i++)
		past->messages += did(step, i);
	past->initiator |= did(step, DDP_DO_INITIATE) || did(step, DDP_DO_ENH_INITIATE);
	past->terminates += did(step, DDP_DO_TERMINATE);
	past->told += did(step, DDP_DO_TELL);
	past->told_end += did(step, DDP_DO_TELL_END);
	past->told_close += did(step, DDP_DO_TELL_CLOSE);
	past->established |= step->next == DDP_OPEN || step->next == DDP_ACCEPTED;
}

/*
 * Section 6.6: while the Initiate or Accept may be under way no Terminate follows. It has arrived
 * when SCTP says so, when the Initiate is answered, or when a chunk answers the Accept.
 */
static bool shows_arrival(u32 event, const struct past *past)
{
	if (event == DDP_ON_ARRIVED || event == DDP_ON_TERMINATE)
		return true;
	if (past->initiator)
		return event >= DDP_ON_ACCEPT && event <= DDP_ON_UNMATCHED &&
		       event != DDP_ON_ENH_INITIATE;
	return event == DDP_ON_SEGMENT;
}

static void check_step(struct kunit *test, u32 state, u32 event, struct past *past,
		       const struct ddp_session_step *step)
{
	if (shows_arrival(event, past) || !past->messages)
		past->arrived = true;
	if (did(step, DDP_DO_TERMINATE) && in_session(state))
		KUNIT_EXPECT_TRUE_MSG(test, past->arrived, "%s, %s", session_states[state],
				      session_events[event]);
	remember(past, step);
	if (step->actions & (BIT(DDP_DO_INITIATE) | BIT(DDP_DO_ENH_INITIATE) |
			     BIT(DDP_DO_ACCEPT) | BIT(DDP_DO_ENH_ACCEPT)))
		past->arrived = false;
	/* each end opens once and ends once, and roles do not mix */
	KUNIT_EXPECT_LE(test, past->messages, 1);
	KUNIT_EXPECT_LE(test, past->terminates, 1);
	/* the consumer learns each thing once: SCTP-07 */
	KUNIT_EXPECT_LE(test, past->told, past->initiator);
	KUNIT_EXPECT_LE(test, past->told_end, past->established);
	KUNIT_EXPECT_LE(test, past->told_close, 1);
	/* nothing is delivered that does not belong to a session of the consumer */
	if (did(step, DDP_DO_DELIVER))
		KUNIT_EXPECT_TRUE(test, past->established && !past->told_close);
	/* the stream pair is released when a session ends, unless it goes with the association */
	if (step->next == DDP_IDLE && in_session(state))
		KUNIT_EXPECT_TRUE(test, did(step, DDP_DO_RELEASE));
	if (did(step, DDP_DO_RELEASE))
		KUNIT_EXPECT_TRUE(test, in_session(state));
	if (did(step, DDP_DO_ASK))
		KUNIT_EXPECT_TRUE(test, !in_session(state) || did(step, DDP_DO_RELEASE));
}

/* An initiator has one answer, and who has a session has one end of it. */
static void check_end(struct kunit *test, const struct past *past)
{
	paths++;
	if (past->initiator)
		KUNIT_EXPECT_EQ(test, past->told, 1);
	if (past->established)
		KUNIT_EXPECT_EQ(test, past->told_close, 1);
}

static void walk(struct kunit *test, u32 state, struct past past)
{
	const struct ddp_session_step *step;
	struct past then;
	u32 event;

	KUNIT_ASSERT_TRUE_MSG(test, past.steps <= 8, "a path without an end");
	for (event = 0; event < DDP_SESSION_EVENTS; event++) {
		step = ddp_session_step(state, event);
		/* what changes no state is checked, but leads nowhere new */
		if (!step)
			continue;
		then = past;
		check_step(test, state, event, &then, step);
		if (in_session(state) && (!in_session(step->next) || did(step, DDP_DO_RELEASE)))
			check_end(test, &then);
		else if (step->next != state && in_session(step->next))
			walk(test, step->next, then);
	}
}

/* Every path of one session in both roles */
static void every_path(struct kunit *test)
{
	paths = 0;
	walk(test, DDP_IDLE, (struct past){});
	KUNIT_EXPECT_GE(test, paths, 500u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(every_pair),
	KUNIT_CASE(every_chunk),
	KUNIT_CASE(out_of_range),
	KUNIT_CASE(either_side_first),
	KUNIT_CASE(every_path),
	{}
};

struct kunit_suite sctp_session_suite = { .name = "sctp_session", .test_cases = cases };
