// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The startup machine: a row for each event that has a meaning in a state.
 *
 * The way a failed startup ends depends on what the peer can still understand:
 *
 *	frames not yet exchanged	close TCP (ERR-07, ERR-17, NEG-22)
 *	our Reply not yet sent		send a rejecting Reply, then close TCP (NEG-23)
 *	we may send FPDUs		send a Terminate, code 5 to 7 (P2P-17, P2P-35, P2P-41),
 *					then close TCP
 */
#include <linux/bits.h>
#include <linux/stddef.h>

#include "wire/machine.h"

#define DO(action)	BIT(MPA_DO_##action)
#define TO(state, do)	{ .actions = (do), .next = MPA_##state }

/* Each row has an action or a next state other than 0, which tells it from an empty one. */
static const struct mpa_step table[MPA_STATES][MPA_EVENTS] = {
	[MPA_CONNECTING] = {
		[MPA_ON_TCP_UP]		= TO(WAIT_REPLY, DO(REQUEST)),
		[MPA_ON_TCP_FAILED]	= TO(DONE, DO(TELL)),
		[MPA_ON_LOCAL_ERROR]	= TO(DONE, DO(TELL)),
		[MPA_ON_TIME_OVER]	= TO(DONE, DO(TELL)),
		[MPA_ON_CONSUMER_GONE]	= TO(DONE, DO(TELL)),
		[MPA_ON_DEVICE_GONE]	= TO(DONE, DO(TELL)),
	},
	[MPA_WAIT_REPLY] = {
		[MPA_ON_OLD_PEER]	= TO(CONNECTING, DO(RETRY)),
		[MPA_ON_CLOSED]		= TO(DONE, DO(TELL)),
		[MPA_ON_BAD_FRAME]	= TO(DONE, DO(TELL)),
		[MPA_ON_ACCEPTED]	= TO(OPERATING, DO(ATTACH_OPEN) | DO(TELL)),
		[MPA_ON_ACCEPTED_RTR]	= TO(OPERATING, DO(RTR) | DO(ATTACH_OPEN) | DO(TELL)),
		[MPA_ON_UNMATCHED]	= TO(LINGER, DO(TERMINATE) | DO(TELL)),
		[MPA_ON_REJECTED]	= TO(LINGER, DO(TELL)),
		[MPA_ON_LOCAL_ERROR]	= TO(LINGER, DO(TERMINATE) | DO(TELL)),
		[MPA_ON_TIME_OVER]	= TO(DONE, DO(TELL)),
		[MPA_ON_CONSUMER_GONE]	= TO(DONE, DO(TELL)),
		[MPA_ON_DEVICE_GONE]	= TO(DONE, DO(TELL)),
	},
	[MPA_WAIT_REQUEST] = {
		[MPA_ON_CLOSED]		= TO(DONE, 0),
		[MPA_ON_BYTES]		= TO(DONE, 0),
		[MPA_ON_BAD_FRAME]	= TO(DONE, 0),
		[MPA_ON_REQUEST]	= TO(WAIT_CONSUMER, DO(ASK)),
		[MPA_ON_BUSY]		= TO(ASK_AGAIN, 0),
		/* MPA_DO_ASK failed. */
		[MPA_ON_LOCAL_ERROR]	= TO(LINGER, DO(REJECT)),
		[MPA_ON_TIME_OVER]	= TO(DONE, 0),
		[MPA_ON_CONSUMER_GONE]	= TO(DONE, 0),
		[MPA_ON_DEVICE_GONE]	= TO(DONE, 0),
		[MPA_ON_EVICTED]	= TO(DONE, 0),
	},
	/* MPA_DO_ASK fails when the time is over. */
	[MPA_ASK_AGAIN] = {
		[MPA_ON_CLOSED]		= TO(DONE, 0),
		[MPA_ON_BYTES]		= TO(DONE, 0),
		[MPA_ON_REQUEST]	= TO(WAIT_CONSUMER, DO(ASK)),
		[MPA_ON_BUSY]		= TO(ASK_AGAIN, 0),
		[MPA_ON_LOCAL_ERROR]	= TO(LINGER, DO(REJECT)),
		[MPA_ON_CONSUMER_GONE]	= TO(DONE, 0),
		[MPA_ON_DEVICE_GONE]	= TO(DONE, 0),
	},
	[MPA_WAIT_CONSUMER] = {
		[MPA_ON_CLOSED]		= TO(DONE, 0),
		[MPA_ON_BYTES]		= TO(DONE, 0),
		[MPA_ON_ACCEPT]		= TO(OPERATING, DO(ATTACH) | DO(TELL) | DO(REPLY)),
		[MPA_ON_ACCEPT_RTR]	= TO(WAIT_RTR, DO(ATTACH) | DO(TELL) | DO(REPLY)),
		[MPA_ON_REJECT]		= TO(LINGER, DO(REJECT)),
		[MPA_ON_LOCAL_ERROR]	= TO(LINGER, DO(REJECT)),
		[MPA_ON_TIME_OVER]	= TO(LINGER, DO(REJECT)),
		[MPA_ON_CONSUMER_GONE]	= TO(DONE, 0),
		[MPA_ON_DEVICE_GONE]	= TO(DONE, 0),
	},
	/* The consumer knows the connection already, so only the queue pair can end it. */
	[MPA_WAIT_RTR] = {
		[MPA_ON_RTR]		= TO(OPERATING, DO(OPEN)),
		[MPA_ON_CLOSED]		= TO(OPERATING, DO(LOSE)),
		[MPA_ON_BAD_FRAME]	= TO(OPERATING, DO(LOSE)),
		[MPA_ON_TIME_OVER]	= TO(OPERATING, DO(LOSE)),
		[MPA_ON_CONSUMER_GONE]	= TO(OPERATING, DO(LOSE)),
		[MPA_ON_DEVICE_GONE]	= TO(OPERATING, DO(LOSE)),
	},
	/* The queue pair handles all other events, and the deadline. */
	[MPA_OPERATING] = {
		[MPA_ON_ENDED]		= TO(LINGER, DO(CLOSE)),
	},
	[MPA_LINGER] = {
		[MPA_ON_FLUSHED]	= TO(DONE, 0),
		[MPA_ON_TIME_OVER]	= TO(DONE, DO(ABORT)),
		[MPA_ON_DEVICE_GONE]	= TO(DONE, DO(ABORT)),
		[MPA_ON_EVICTED]	= TO(DONE, DO(ABORT)),
	},
};

const struct mpa_step *mpa_step(enum mpa_state state, enum mpa_event event)
{
	const struct mpa_step *step;

	if ((unsigned int)state >= MPA_STATES || (unsigned int)event >= MPA_EVENTS)
		return NULL;
	step = &table[state][event];
	return step->actions || step->next ? step : NULL;
}
