// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * wire/session.c: two ends with a stream each way, in the order of the DDP-SSNs. What can happen
 * to the two, in every order, is explored as a graph.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/string.h>
#include "session_rows.h"
#include "suites.h"

#define QUEUE		5
#define SEEN_BITS	12
#define SEEN		BIT(SEEN_BITS)

struct end {
	u8 state;
	bool watches;
	u8 n;
	u8 queue[QUEUE];
};

struct pair {
	struct end end[2];
};

/* Who initiates */
enum talk {
	FIRST,
	BOTH,
	SECOND_AND_TERSE,	/* it sends no Terminate after the first's (section 6.2) */
};

struct explorer {
	struct kunit *test;
	enum talk talk;
	u64 seen[SEEN];
	struct pair todo[SEEN / 2];
	u32 n_todo, n_seen;
	u32 illegal;		/* chunks in none of the sequences */
	bool used[SESSION_ROWS][DDP_SESSION_EVENTS];
};

/* A state of the two: for each its state, whether it watches, and the chunks under way to it */
static u64 encode_pair(const struct pair *p)
{
	u64 n = 1;
	u32 i, k;

	for (i = 0; i < 2; i++) {
		n = n << 4 | p->end[i].state;
		n = n << 1 | p->end[i].watches;
		for (k = 0; k < QUEUE; k++)
			n = n << 4 | (k < p->end[i].n ? p->end[i].queue[k] + 1 : 0);
	}
	return n;
}

static bool did(const struct ddp_session_step *step, u32 action)
{
	return step->actions & BIT(action);
}

/* Return: true if it was not seen before. */
static bool mark_seen(struct explorer *x, const struct pair *p)
{
	u64 n = encode_pair(p);
	u32 at = (n * 0x9e3779b97f4a7c15ull) >> (64 - SEEN_BITS);

	while (x->seen[at]) {
		if (x->seen[at] == n)
			return false;
		at = (at + 1) % SEEN;
	}
	x->seen[at] = n;
	x->n_seen++;
	return true;
}

static void send_chunk(struct explorer *x, struct end *to, u32 chunk)
{
	KUNIT_ASSERT_TRUE(x->test, to->n < QUEUE);
	to->queue[to->n++] = chunk;
}

/* @event at end @i, whose chunks go to the other */
static void apply_event(struct explorer *x, struct pair *p, u32 i, u32 event)
{
	const struct ddp_session_step *step = ddp_session_step(p->end[i].state, event);
	struct end *end = &p->end[i], *peer = &p->end[!i];
	const struct session_row *row = session_row_find(end->state, event);
	u32 kind;

	KUNIT_ASSERT_TRUE(x->test, step && row);
	x->illegal += row->kind;
	x->used[row - session_rows][event] = true;
	for (kind = 0; kind < DDP_DO_RDMAP_TERM; kind++) {
		static const u8 chunks[] = {
			[DDP_DO_INITIATE] = DDP_ON_INITIATE,
			[DDP_DO_ENH_INITIATE] = DDP_ON_ENH_INITIATE,
			[DDP_DO_ACCEPT] = DDP_ON_ACCEPT, [DDP_DO_ENH_ACCEPT] = DDP_ON_ENH_ACCEPT,
			[DDP_DO_REJECT] = DDP_ON_REJECT, [DDP_DO_ENH_REJECT] = DDP_ON_ENH_REJECT,
		};

		if (kind != DDP_DO_DELIVER && did(step, kind))
			send_chunk(x, peer, chunks[kind]);
	}
	if (event == DDP_ON_SEND || did(step, DDP_DO_RDMAP_TERM))
		send_chunk(x, peer, DDP_ON_SEGMENT);
	if (did(step, DDP_DO_TERMINATE))
		send_chunk(x, peer, DDP_ON_TERMINATE);
	if (event == DDP_ON_ARRIVED)
		end->watches = false;
	if (did(step, DDP_DO_WATCH))
		end->watches = true;
	if (did(step, DDP_DO_RELEASE) && !did(step, DDP_DO_WATCH))
		end->watches = false;
	end->state = step->next;
}

/* Take the oldest chunk for end @i off, an enhanced Accept as one that fits or not. */
static void take_chunk(struct explorer *x, struct pair *p, u32 i, bool fits)
{
	u32 chunk = p->end[i].queue[0];

	p->end[i].n--;
	memmove(p->end[i].queue, p->end[i].queue + 1, p->end[i].n);
	apply_event(x, p, i, chunk == DDP_ON_ENH_ACCEPT && !fits ? DDP_ON_UNMATCHED : chunk);
}

/* May end @i raise a local event now? */
static bool may_happen(const struct explorer *x, const struct pair *p, u32 i, u32 event)
{
	const struct end *end = &p->end[i], *peer = &p->end[!i];

	switch (event) {
	case DDP_ON_CONNECT:
	case DDP_ON_CONNECT_ENH:
		/* only when SCTP has acknowledged the last session's chunks */
		if (peer->n || (x->talk == FIRST && i) || (x->talk == SECOND_AND_TERSE && !i))
			return false;
		break;
	case DDP_ON_SEND:
		if (peer->n > 1)
			return false;
		break;
	case DDP_ON_ARRIVED:
		if (!end->watches)
			return false;
		break;
	case DDP_ON_LOST:
		return false;
	}
	return ddp_session_step(end->state, event);
}

/*
 * Both consumers go, and everything under way arrives. Then no session may be left, nor a stream
 * pair that waits for something, unless a peer was terse.
 */
static void wind_down(struct explorer *x, struct pair p)
{
	static const u8 last[] = { DDP_ON_CLOSE, DDP_ON_ARRIVED, DDP_ON_TIME_OVER };
	u32 i, k, illegal = x->illegal;
	bool stuck;

	for (i = 0; i < 200; i++) {
		if (p.end[i % 2].n) {
			take_chunk(x, &p, i % 2, true);
			continue;
		}
		for (k = 0; k < ARRAY_SIZE(last); k++) {
			if (may_happen(x, &p, i % 2, last[k])) {
				apply_event(x, &p, i % 2, last[k]);
				break;
			}
		}
	}
	x->illegal = illegal;
	stuck = x->talk == SECOND_AND_TERSE && p.end[0].state == DDP_DRAIN;
	KUNIT_ASSERT_TRUE(x->test, !p.end[0].n && !p.end[1].n);
	KUNIT_ASSERT_TRUE_MSG(x->test, p.end[1].state == DDP_IDLE &&
			      p.end[0].state == (stuck ? DDP_DRAIN : DDP_IDLE),
			      "%s and %s", session_states[p.end[0].state],
			      session_states[p.end[1].state]);
}

static void add_pair(struct explorer *x, const struct pair *p)
{
	if (!mark_seen(x, p))
		return;
	KUNIT_ASSERT_TRUE(x->test, x->n_todo < ARRAY_SIZE(x->todo) && x->n_seen < SEEN / 2);
	x->todo[x->n_todo++] = *p;
}

/* Everything that can happen next at end @i of @p */
static void go_on(struct explorer *x, const struct pair *p, u32 i)
{
	struct pair then;
	u32 event, fits;

	for (event = DDP_CHUNKS; event < DDP_SESSION_EVENTS; event++) {
		if (!may_happen(x, p, i, event))
			continue;
		then = *p;
		apply_event(x, &then, i, event);
		add_pair(x, &then);
	}
	for (fits = 0; fits < 2 && p->end[i].n; fits++) {
		then = *p;
		take_chunk(x, &then, i, fits);
		add_pair(x, &then);
	}
	if (x->talk == SECOND_AND_TERSE && i && p->end[i].state == DDP_PEER_ENDED && !p->end[0].n) {
		then = *p;
		then.end[i].state = DDP_IDLE;
		then.end[i].watches = false;
		add_pair(x, &then);
	}
}

static void explore(struct explorer *x, enum talk talk)
{
	struct pair p = { { { .state = DDP_IDLE }, { .state = DDP_IDLE } } };

	x->talk = talk;
	x->n_seen = 0;
	memset(x->seen, 0, sizeof(x->seen));
	add_pair(x, &p);
	while (x->n_todo) {
		p = x->todo[--x->n_todo];
		wind_down(x, p);
		go_on(x, &p, 0);
		go_on(x, &p, 1);
	}
	KUNIT_EXPECT_GE(x->test, x->n_seen, 300u);
}

static struct explorer *new_explorer(struct kunit *test)
{
	struct explorer *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);

	if (x)
		x->test = test;
	return x;
}

/* Legal, but not between two of us, where nothing is illegal and nothing gets lost */
static bool needs_stranger(const struct session_row *row, u32 event)
{
	return row->kind == ILLEGAL || event == DDP_ON_LOST || !strcmp(row->state, "failing") ||
	       (!strcmp(row->state, "idle") && event == DDP_ON_TERMINATE) ||
	       (!strcmp(row->state, "initiated-enh") && event == DDP_ON_REJECT);
}

/*
 * SCTP-09, SCTP-10: whatever the two consumers do, and whenever chunks and acknowledgments arrive,
 * no end gets a chunk that is illegal, each session ends, and every legal row is used.
 */
static void by_the_rules(struct kunit *test)
{
	struct explorer *x = new_explorer(test);
	u32 i, event;

	KUNIT_ASSERT_NOT_NULL(test, x);
	explore(x, FIRST);
	explore(x, SECOND_AND_TERSE);
	KUNIT_EXPECT_EQ(test, x->illegal, 0u);
	for (i = 0; i < SESSION_ROWS; i++)
		for (event = 0; event < DDP_SESSION_EVENTS; event++)
			if (session_row_lists(session_rows[i].events, session_events[event]))
				KUNIT_EXPECT_EQ_MSG(test, x->used[i][event],
						    !needs_stranger(&session_rows[i], event),
						    "%s, %s", session_rows[i].state,
						    session_events[event]);
}

/* Initiates that cross are in no sequence. Then both sessions end, and the next can begin. */
static void both_initiate(struct kunit *test)
{
	struct explorer *x = new_explorer(test);

	KUNIT_ASSERT_NOT_NULL(test, x);
	explore(x, BOTH);
	KUNIT_EXPECT_GE(test, x->illegal, 1u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(by_the_rules),
	KUNIT_CASE(both_initiate),
	{}
};

struct kunit_suite sctp_talk_suite = { .name = "sctp_talk", .test_cases = cases };
