// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The sequences of RFC 5043 section 6: a row for each chunk that is legal in a state, and for each
 * other event that has a meaning there; and for each state a row for the chunks that are not legal.
 *
 * Section 6.1 ends each session whose chunks follow none of the sequences. But section 6.6 forbids
 * a message that may arrive before the one sent before it, because chunks are unordered. So while
 * our Initiate or Accept may be under way, the Terminate waits (FAILING, ENDING) until SCTP has
 * acknowledged it, or until a chunk of the peer shows that it has arrived.
 *
 * A plain Accept is no answer to an enhanced Initiate, nor the other way round. But an enhanced
 * Initiate may have a plain Reject, because RFC 6581 demands the enhanced one only of a responder
 * that would accept the same session without the enhancement (SCTP-03).
 *
 * rdma_mpa.ko does not link this file: see sctp.c.
 */
#include <linux/bits.h>
#include <linux/stddef.h>

#include "wire/session.h"

#define DO(action)	BIT(DDP_DO_##action)
#define TO(state, do)	{ .actions = (do), .next = DDP_##state }

static const struct ddp_session_step legal[DDP_SESSION_STATES][DDP_SESSION_EVENTS] = {
	[DDP_IDLE] = {
		[DDP_ON_INITIATE]	= TO(ASKED, DO(ASK)),
		[DDP_ON_ENH_INITIATE]	= TO(ASKED_ENH, DO(ASK)),
		/* It is not answered, because the peer may do the same. */
		[DDP_ON_TERMINATE]	= TO(IDLE, 0),
		[DDP_ON_CONNECT]	= TO(INITIATED, DO(INITIATE)),
		[DDP_ON_CONNECT_ENH]	= TO(INITIATED_ENH, DO(ENH_INITIATE)),
		[DDP_ON_LOST]		= TO(GONE, 0),
	},
	[DDP_INITIATED] = {
		[DDP_ON_ACCEPT]		= TO(OPEN, DO(TELL)),
		[DDP_ON_REJECT]		= TO(IDLE, DO(TELL) | DO(RELEASE)),
		[DDP_ON_TERMINATE]	= TO(IDLE, DO(TELL) | DO(RELEASE)),
		/* The wrong answer is illegal, but shows that the Initiate has arrived. */
		[DDP_ON_ENH_ACCEPT]	= TO(DRAIN, DO(TERMINATE) | DO(TELL)),
		[DDP_ON_ENH_REJECT]	= TO(DRAIN, DO(TERMINATE) | DO(TELL)),
		[DDP_ON_UNMATCHED]	= TO(DRAIN, DO(TERMINATE) | DO(TELL)),
		[DDP_ON_CLOSE]		= TO(GIVEN_UP, DO(TELL)),
		[DDP_ON_TIME_OVER]	= TO(GIVEN_UP, DO(TELL)),
		[DDP_ON_LOST]		= TO(GONE, DO(TELL)),
	},
	[DDP_INITIATED_ENH] = {
		[DDP_ON_ENH_ACCEPT]	= TO(OPEN, DO(TELL)),
		[DDP_ON_UNMATCHED]	= TO(DRAIN, DO(RDMAP_TERM) | DO(TERMINATE) | DO(TELL)),
		[DDP_ON_REJECT]		= TO(IDLE, DO(TELL) | DO(RELEASE)),
		[DDP_ON_ENH_REJECT]	= TO(IDLE, DO(TELL) | DO(RELEASE)),
		[DDP_ON_TERMINATE]	= TO(IDLE, DO(TELL) | DO(RELEASE)),
		[DDP_ON_ACCEPT]		= TO(DRAIN, DO(TERMINATE) | DO(TELL)),
		[DDP_ON_CLOSE]		= TO(GIVEN_UP, DO(TELL)),
		[DDP_ON_TIME_OVER]	= TO(GIVEN_UP, DO(TELL)),
		[DDP_ON_LOST]		= TO(GONE, DO(TELL)),
	},
	/* A Terminate before the answer is in no sequence, so the answer is awaited. */
	[DDP_GIVEN_UP] = {
		[DDP_ON_ACCEPT]		= TO(DRAIN, DO(TERMINATE)),
		[DDP_ON_ENH_ACCEPT]	= TO(DRAIN, DO(TERMINATE)),
		[DDP_ON_UNMATCHED]	= TO(DRAIN, DO(TERMINATE)),
		[DDP_ON_REJECT]		= TO(IDLE, DO(RELEASE)),
		[DDP_ON_ENH_REJECT]	= TO(IDLE, DO(RELEASE)),
		[DDP_ON_TERMINATE]	= TO(IDLE, DO(RELEASE)),
		[DDP_ON_LOST]		= TO(GONE, 0),
	},
	/* Only the consumer's own decision is a Reject. Any other is a Terminate (section 6.4). */
	[DDP_ASKED] = {
		[DDP_ON_TERMINATE]	= TO(IDLE, DO(TERMINATE) | DO(TELL_CLOSE) | DO(RELEASE)),
		[DDP_ON_CALL_ACCEPT]	= TO(ACCEPTED, DO(ACCEPT) | DO(WATCH)),
		[DDP_ON_CALL_REJECT]	= TO(IDLE, DO(REJECT) | DO(RELEASE)),
		[DDP_ON_NO_ROOM]	= TO(IDLE, DO(TERMINATE) | DO(RELEASE)),
		[DDP_ON_CLOSE]		= TO(IDLE, DO(TERMINATE) | DO(RELEASE)),
		[DDP_ON_TIME_OVER]	= TO(IDLE, DO(TERMINATE) | DO(TELL_CLOSE) | DO(RELEASE)),
		[DDP_ON_LOST]		= TO(GONE, DO(TELL_CLOSE)),
	},
	[DDP_ASKED_ENH] = {
		[DDP_ON_TERMINATE]	= TO(IDLE, DO(TERMINATE) | DO(TELL_CLOSE) | DO(RELEASE)),
		[DDP_ON_CALL_ACCEPT]	= TO(ACCEPTED, DO(ENH_ACCEPT) | DO(WATCH)),
		[DDP_ON_CALL_REJECT]	= TO(IDLE, DO(ENH_REJECT) | DO(RELEASE)),
		[DDP_ON_REFUSE]		= TO(IDLE, DO(ENH_REJECT) | DO(RELEASE)),
		[DDP_ON_NO_ROOM]	= TO(IDLE, DO(TERMINATE) | DO(RELEASE)),
		[DDP_ON_CLOSE]		= TO(IDLE, DO(TERMINATE) | DO(RELEASE)),
		[DDP_ON_TIME_OVER]	= TO(IDLE, DO(TERMINATE) | DO(TELL_CLOSE) | DO(RELEASE)),
		[DDP_ON_LOST]		= TO(GONE, DO(TELL_CLOSE)),
	},
	/* The initiator sends a chunk only after the Accept. */
	[DDP_ACCEPTED] = {
		[DDP_ON_SEGMENT]	= TO(OPEN, DO(DELIVER)),
		[DDP_ON_TERMINATE]	= TO(PEER_ENDED, DO(TELL_END)),
		[DDP_ON_SEND]		= TO(ACCEPTED, 0),
		[DDP_ON_CLOSE]		= TO(ENDING, 0),
		[DDP_ON_ARRIVED]	= TO(OPEN, 0),
		[DDP_ON_LOST]		= TO(GONE, DO(TELL_CLOSE)),
	},
	[DDP_OPEN] = {
		[DDP_ON_SEGMENT]	= TO(OPEN, DO(DELIVER)),
		[DDP_ON_TERMINATE]	= TO(PEER_ENDED, DO(TELL_END)),
		[DDP_ON_SEND]		= TO(OPEN, 0),
		[DDP_ON_CLOSE]		= TO(ENDED, DO(TERMINATE)),
		[DDP_ON_LOST]		= TO(GONE, DO(TELL_CLOSE)),
	},
	[DDP_ENDING] = {
		[DDP_ON_SEGMENT]	= TO(ENDED, DO(DELIVER) | DO(TERMINATE)),
		[DDP_ON_TERMINATE]	= TO(IDLE, DO(TERMINATE) | DO(TELL_CLOSE) | DO(RELEASE)),
		[DDP_ON_ARRIVED]	= TO(ENDED, DO(TERMINATE)),
		[DDP_ON_LOST]		= TO(GONE, DO(TELL_CLOSE)),
	},
	/* An Initiate shows that no chunk of the peer's old session is under way (section 6.6). */
	[DDP_ENDED] = {
		[DDP_ON_SEGMENT]	= TO(ENDED, DO(DELIVER)),
		[DDP_ON_TERMINATE]	= TO(IDLE, DO(TELL_CLOSE) | DO(RELEASE)),
		[DDP_ON_INITIATE]	= TO(ASKED, DO(TELL_CLOSE) | DO(RELEASE) | DO(ASK)),
		[DDP_ON_ENH_INITIATE]	= TO(ASKED_ENH, DO(TELL_CLOSE) | DO(RELEASE) | DO(ASK)),
		[DDP_ON_TIME_OVER]	= TO(DRAIN, DO(TELL_CLOSE)),
		[DDP_ON_LOST]		= TO(GONE, DO(TELL_CLOSE)),
	},
	[DDP_PEER_ENDED] = {
		[DDP_ON_SEND]		= TO(PEER_ENDED, 0),
		[DDP_ON_CLOSE]		= TO(IDLE, DO(TERMINATE) | DO(TELL_CLOSE) | DO(RELEASE)),
		[DDP_ON_LOST]		= TO(GONE, DO(TELL_CLOSE)),
	},
	[DDP_FAILING] = {
		[DDP_ON_TERMINATE]	= TO(IDLE, DO(TERMINATE) | DO(RELEASE)),
		[DDP_ON_ARRIVED]	= TO(DRAIN, DO(TERMINATE)),
		[DDP_ON_LOST]		= TO(GONE, 0),
	},
	[DDP_DRAIN] = {
		[DDP_ON_TERMINATE]	= TO(IDLE, DO(RELEASE)),
		[DDP_ON_INITIATE]	= TO(ASKED, DO(RELEASE) | DO(ASK)),
		[DDP_ON_ENH_INITIATE]	= TO(ASKED_ENH, DO(RELEASE) | DO(ASK)),
		[DDP_ON_LOST]		= TO(GONE, 0),
	},
};

/* The step of each chunk without a row above (section 6.1). */
static const struct ddp_session_step illegal[DDP_SESSION_STATES] = {
	[DDP_IDLE]		= TO(IDLE, DO(TERMINATE)),
	[DDP_INITIATED]		= TO(FAILING, DO(WATCH) | DO(TELL)),
	[DDP_INITIATED_ENH]	= TO(FAILING, DO(WATCH) | DO(TELL)),
	[DDP_GIVEN_UP]		= TO(FAILING, DO(WATCH)),
	[DDP_ASKED]		= TO(DRAIN, DO(TERMINATE) | DO(TELL_CLOSE)),
	[DDP_ASKED_ENH]		= TO(DRAIN, DO(TERMINATE) | DO(TELL_CLOSE)),
	[DDP_ACCEPTED]		= TO(FAILING, DO(WATCH) | DO(TELL_CLOSE)),
	[DDP_OPEN]		= TO(DRAIN, DO(TERMINATE) | DO(TELL_CLOSE)),
	[DDP_ENDING]		= TO(FAILING, DO(WATCH) | DO(TELL_CLOSE)),
	[DDP_ENDED]		= TO(DRAIN, DO(TELL_CLOSE)),
	[DDP_PEER_ENDED]	= TO(DRAIN, DO(TERMINATE) | DO(TELL_CLOSE)),
	[DDP_FAILING]		= TO(FAILING, 0),
	[DDP_DRAIN]		= TO(DRAIN, 0),
};

const struct ddp_session_step *ddp_session_step(enum ddp_session_state state,
						enum ddp_session_event event)
{
	const struct ddp_session_step *step;

	if ((unsigned int)state >= DDP_SESSION_STATES || (unsigned int)event >= DDP_SESSION_EVENTS)
		return NULL;
	step = &legal[state][event];
	if (!step->next && event < DDP_CHUNKS)
		step = &illegal[state];
	return step->next ? step : NULL;
}
