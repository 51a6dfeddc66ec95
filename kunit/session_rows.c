// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Every state of wire/session.c with every event that has a meaning there, written by hand from
 * RFC 5043 section 6 and RFC 6581 section 7.
 */
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "session_rows.h"

const char * const session_states[] = {
	[DDP_SESSION_NONE] = "none", [DDP_IDLE] = "idle", [DDP_INITIATED] = "initiated",
	[DDP_INITIATED_ENH] = "initiated-enh", [DDP_GIVEN_UP] = "given-up",
	[DDP_ASKED] = "asked", [DDP_ASKED_ENH] = "asked-enh", [DDP_ACCEPTED] = "accepted",
	[DDP_OPEN] = "open", [DDP_ENDING] = "ending", [DDP_ENDED] = "ended",
	[DDP_PEER_ENDED] = "peer-ended", [DDP_FAILING] = "failing", [DDP_DRAIN] = "drain",
	[DDP_GONE] = "gone",
};

const char * const session_events[] = {
	[DDP_ON_SEGMENT] = "segment", [DDP_ON_INITIATE] = "Initiate", [DDP_ON_ACCEPT] = "Accept",
	[DDP_ON_REJECT] = "Reject", [DDP_ON_TERMINATE] = "Terminate",
	[DDP_ON_ENH_INITIATE] = "Enh-Initiate", [DDP_ON_ENH_ACCEPT] = "Enh-Accept",
	[DDP_ON_ENH_REJECT] = "Enh-Reject", [DDP_ON_UNMATCHED] = "unmatched",
	[DDP_ON_BAD] = "bad", [DDP_ON_CONNECT] = "connect", [DDP_ON_CONNECT_ENH] = "connect-enh",
	[DDP_ON_CALL_ACCEPT] = "accept", [DDP_ON_CALL_REJECT] = "reject",
	[DDP_ON_REFUSE] = "refuse", [DDP_ON_NO_ROOM] = "no-room", [DDP_ON_SEND] = "send",
	[DDP_ON_CLOSE] = "close", [DDP_ON_ARRIVED] = "arrived", [DDP_ON_TIME_OVER] = "time-over",
	[DDP_ON_LOST] = "lost",
};

const char * const session_actions[] = {
	[DDP_DO_DELIVER] = "deliver", [DDP_DO_INITIATE] = "Initiate",
	[DDP_DO_ENH_INITIATE] = "Enh-Initiate", [DDP_DO_ACCEPT] = "Accept",
	[DDP_DO_ENH_ACCEPT] = "Enh-Accept", [DDP_DO_REJECT] = "Reject",
	[DDP_DO_ENH_REJECT] = "Enh-Reject", [DDP_DO_RDMAP_TERM] = "rdmap-term",
	[DDP_DO_TERMINATE] = "Terminate", [DDP_DO_WATCH] = "watch", [DDP_DO_TELL] = "tell",
	[DDP_DO_TELL_END] = "tell-end", [DDP_DO_TELL_CLOSE] = "tell-close",
	[DDP_DO_RELEASE] = "release", [DDP_DO_ASK] = "ask",
};

static_assert(ARRAY_SIZE(session_states) == DDP_SESSION_STATES);
static_assert(ARRAY_SIZE(session_events) == DDP_SESSION_EVENTS);
static_assert(ARRAY_SIZE(session_actions) == DDP_SESSION_ACTIONS);

/* All messages that neither end nor follow the beginning of a session */
#define UNDUE	"Initiate Enh-Initiate Accept Enh-Accept unmatched Reject Enh-Reject"

/* A pair that is not here must be NULL. */
const struct session_row session_rows[SESSION_ROWS] = {
	/* 6.1, 6.2, 6.6: a session begins with an Initiate, and what else comes gets a Terminate */
	{ LEGAL, "idle", "connect", "Initiate", "initiated" },
	{ LEGAL, "idle", "connect-enh", "Enh-Initiate", "initiated-enh" },
	{ LEGAL, "idle", "Initiate", "ask", "asked" },
	{ LEGAL, "idle", "Enh-Initiate", "ask", "asked-enh" },
	{ ILLEGAL, "idle", "Accept Enh-Accept unmatched Reject Enh-Reject segment bad",
	  "Terminate", "idle" },
	{ LEGAL, "idle", "Terminate", "", "idle" },
	/* 6.2 to 6.4: the answer, in the form of the Initiate */
	{ LEGAL, "initiated", "Accept", "tell", "open" },
	{ LEGAL, "initiated", "Reject Terminate", "tell release", "idle" },
	{ ILLEGAL, "initiated", "Enh-Accept Enh-Reject unmatched", "Terminate tell", "drain" },
	{ ILLEGAL, "initiated", "Initiate Enh-Initiate segment bad", "watch tell", "failing" },
	{ LEGAL, "initiated", "close time-over", "tell", "given-up" },
	{ LEGAL, "initiated-enh", "Enh-Accept", "tell", "open" },
	{ LEGAL, "initiated-enh", "Reject Enh-Reject Terminate", "tell release", "idle" },
	{ LEGAL, "initiated-enh", "unmatched", "rdmap-term Terminate tell", "drain" },
	{ ILLEGAL, "initiated-enh", "Accept", "Terminate tell", "drain" },
	{ ILLEGAL, "initiated-enh", "Initiate Enh-Initiate segment bad", "watch tell", "failing" },
	{ LEGAL, "initiated-enh", "close time-over", "tell", "given-up" },
	{ LEGAL, "given-up", "Accept Enh-Accept unmatched", "Terminate", "drain" },
	{ LEGAL, "given-up", "Reject Enh-Reject Terminate", "release", "idle" },
	{ ILLEGAL, "given-up", "Initiate Enh-Initiate segment bad", "watch", "failing" },
	/* 6.3, 6.4: only the ULP rejects, except SCTP-08 */
	{ LEGAL, "asked", "accept", "Accept watch", "accepted" },
	{ LEGAL, "asked", "reject", "Reject release", "idle" },
	{ LEGAL, "asked", "no-room close", "Terminate release", "idle" },
	{ LEGAL, "asked", "time-over", "Terminate tell-close release", "idle" },
	{ ILLEGAL, "asked", "Terminate", "Terminate tell-close release", "idle" },
	{ ILLEGAL, "asked", UNDUE " segment bad", "Terminate tell-close", "drain" },
	{ LEGAL, "asked-enh", "accept", "Enh-Accept watch", "accepted" },
	{ LEGAL, "asked-enh", "reject refuse", "Enh-Reject release", "idle" },
	{ LEGAL, "asked-enh", "no-room close", "Terminate release", "idle" },
	{ LEGAL, "asked-enh", "time-over", "Terminate tell-close release", "idle" },
	{ ILLEGAL, "asked-enh", "Terminate", "Terminate tell-close release", "idle" },
	{ ILLEGAL, "asked-enh", UNDUE " segment bad", "Terminate tell-close", "drain" },
	/* 6.2, 6.6: segments both ways, the responder's at once; no Terminate before the Accept */
	{ LEGAL, "accepted", "send", "", "accepted" },
	{ LEGAL, "accepted", "arrived", "", "open" },
	{ LEGAL, "accepted", "segment", "deliver", "open" },
	{ LEGAL, "accepted", "Terminate", "tell-end", "peer-ended" },
	{ LEGAL, "accepted", "close", "", "ending" },
	{ ILLEGAL, "accepted", UNDUE " bad", "watch tell-close", "failing" },
	{ LEGAL, "open", "send", "", "open" },
	{ LEGAL, "open", "segment", "deliver", "open" },
	{ LEGAL, "open", "Terminate", "tell-end", "peer-ended" },
	{ LEGAL, "open", "close", "Terminate", "ended" },
	{ ILLEGAL, "open", UNDUE " bad", "Terminate tell-close", "drain" },
	{ LEGAL, "ending", "arrived", "Terminate", "ended" },
	{ LEGAL, "ending", "segment", "deliver Terminate", "ended" },
	{ LEGAL, "ending", "Terminate", "Terminate tell-close release", "idle" },
	{ ILLEGAL, "ending", UNDUE " bad", "watch tell-close", "failing" },
	/* 6.2: each end may send a Terminate, at least one must */
	{ LEGAL, "ended", "segment", "deliver", "ended" },
	{ LEGAL, "ended", "Terminate", "tell-close release", "idle" },
	{ LEGAL, "ended", "time-over", "tell-close", "drain" },
	{ LEGAL, "ended", "Initiate", "tell-close release ask", "asked" },
	{ LEGAL, "ended", "Enh-Initiate", "tell-close release ask", "asked-enh" },
	{ ILLEGAL, "ended", "Accept Enh-Accept unmatched Reject Enh-Reject bad", "tell-close",
	  "drain" },
	{ LEGAL, "peer-ended", "send", "", "peer-ended" },
	{ LEGAL, "peer-ended", "close", "Terminate tell-close release", "idle" },
	{ ILLEGAL, "peer-ended", UNDUE " segment Terminate bad", "Terminate tell-close", "drain" },
	/* after an error: one Terminate, then silence */
	{ LEGAL, "failing", "arrived", "Terminate", "drain" },
	{ LEGAL, "failing", "Terminate", "Terminate release", "idle" },
	{ ILLEGAL, "failing", UNDUE " segment bad", "", "failing" },
	{ LEGAL, "drain", "Terminate", "release", "idle" },
	{ LEGAL, "drain", "Initiate", "release ask", "asked" },
	{ LEGAL, "drain", "Enh-Initiate", "release ask", "asked-enh" },
	/* what was under way when our Terminate was sent, and all else */
	{ LEGAL, "drain", "segment", "", "drain" },
	{ ILLEGAL, "drain", "Accept Enh-Accept unmatched Reject Enh-Reject bad", "", "drain" },
	/* 11.3 */
	{ LEGAL, "idle", "lost", "", "gone" },
	{ LEGAL, "initiated", "lost", "tell", "gone" },
	{ LEGAL, "initiated-enh", "lost", "tell", "gone" },
	{ LEGAL, "given-up", "lost", "", "gone" },
	{ LEGAL, "asked", "lost", "tell-close", "gone" },
	{ LEGAL, "asked-enh", "lost", "tell-close", "gone" },
	{ LEGAL, "accepted", "lost", "tell-close", "gone" },
	{ LEGAL, "open", "lost", "tell-close", "gone" },
	{ LEGAL, "ending", "lost", "tell-close", "gone" },
	{ LEGAL, "ended", "lost", "tell-close", "gone" },
	{ LEGAL, "peer-ended", "lost", "tell-close", "gone" },
	{ LEGAL, "failing", "lost", "", "gone" },
	{ LEGAL, "drain", "lost", "", "gone" },
};

bool session_row_lists(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list) {
		if (!strncmp(list, word, len) && (!list[len] || list[len] == ' '))
			return true;
		list = strchr(list, ' ');
		list = list ? list + 1 : NULL;
	}
	return false;
}

const struct session_row *session_row_find(u32 state, u32 event)
{
	u32 i;

	for (i = 0; i < SESSION_ROWS; i++)
		if (!strcmp(session_rows[i].state, session_states[state]) &&
		    session_row_lists(session_rows[i].events, session_events[event]))
			return &session_rows[i];
	return NULL;
}

u32 session_row_pairs(void)
{
	const char *at;
	u32 i, n = 0;

	for (i = 0; i < SESSION_ROWS; i++)
		for (at = session_rows[i].events, n++; strchr(at, ' '); at = strchr(at, ' ') + 1)
			n++;
	return n;
}
