/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The legal sequences of a DDP stream session over SCTP as a table, for both roles: RFC 5043
 * section 6, and the same with enhanced messages (RFC 6581 section 7, SCTP-10).
 * ddp_session_step() maps a state and an event to actions and the next state. It knows no socket
 * and no clock.
 *
 *	initiator  IDLE -> INITIATED ---------\        /-> PEER_ENDED --\
 *	                                       OPEN                    IDLE
 *	responder  IDLE -> ASKED -> ACCEPTED -/        \-> ENDED -------/
 *
 * INITIATED and ASKED have a twin each for an enhanced Initiate. A rejected session goes back to
 * IDLE at once. ENDING is between ACCEPTED and ENDED. GIVEN_UP, FAILING and DRAIN are sessions
 * without a consumer, in which the peer may still send.
 *
 * SCTP delivers the chunks unordered. The sequences are about the order of the DDP-SSNs, so the
 * caller raises the event of a chunk when all chunks of the session with a lower DDP-SSN have
 * arrived. DDP may place a segment before that. A chunk that ddp_sctp_parse() refuses has no place
 * in the order, so its event is raised at once.
 */
#ifndef _WIRE_SESSION_H
#define _WIRE_SESSION_H

#include <linux/types.h>

#include "wire/sctp.h"

/**
 * enum ddp_session_state - state of a session, at one end of a stream pair
 * @DDP_SESSION_NONE:	no state; it tells an empty row of the table
 * @DDP_IDLE:		no session; the peer may begin one, and we may when SCTP has acknowledged
 *			all chunks of the last one
 * @DDP_INITIATED:	the Initiate was sent (initiator)
 * @DDP_INITIATED_ENH:	the enhanced Initiate was sent (initiator)
 * @DDP_GIVEN_UP:	the consumer does not wait for the answer any more (initiator)
 * @DDP_ASKED:		an Initiate arrived; the consumer accepts or rejects (responder)
 * @DDP_ASKED_ENH:	an enhanced Initiate arrived (responder)
 * @DDP_ACCEPTED:	the Accept was sent, and may still be under way (responder)
 * @DDP_OPEN:		both ends may send segments
 * @DDP_ENDING:		the consumer ended the session while the Accept may be under way (responder)
 * @DDP_ENDED:		our Terminate was sent; the peer may still send
 * @DDP_PEER_ENDED:	the peer's Terminate arrived; we may still send
 * @DDP_FAILING:	after an error; our Terminate waits for the message before it to arrive
 * @DDP_DRAIN:		our Terminate was sent; the peer's chunks are dropped until its Terminate or
 *			its next Initiate, because only one end must send a Terminate
 * @DDP_GONE:		final state: the association ended
 * @DDP_SESSION_STATES:	number of states
 */
enum ddp_session_state {
	DDP_SESSION_NONE,
	DDP_IDLE,
	DDP_INITIATED,
	DDP_INITIATED_ENH,
	DDP_GIVEN_UP,
	DDP_ASKED,
	DDP_ASKED_ENH,
	DDP_ACCEPTED,
	DDP_OPEN,
	DDP_ENDING,
	DDP_ENDED,
	DDP_PEER_ENDED,
	DDP_FAILING,
	DDP_DRAIN,
	DDP_GONE,
	DDP_SESSION_STATES
};

/**
 * enum ddp_session_event - event that may change the state
 * @DDP_ON_SEGMENT:	a DDP segment. The event of a valid chunk is its enum ddp_sctp_kind.
 * @DDP_ON_INITIATE:	an Initiate
 * @DDP_ON_ACCEPT:	an Accept
 * @DDP_ON_REJECT:	a Reject
 * @DDP_ON_TERMINATE:	a Terminate
 * @DDP_ON_ENH_INITIATE: an enhanced Initiate
 * @DDP_ON_ENH_ACCEPT:	an enhanced Accept, whose parameters match ours
 * @DDP_ON_ENH_REJECT:	an enhanced Reject
 * @DDP_ON_UNMATCHED:	an enhanced Accept with other parameters: mpa_conclude() returned an error
 * @DDP_ON_BAD:		a chunk that ddp_sctp_parse() refused, or an enhanced Initiate to an end
 *			that does not do enhanced setup
 * @DDP_CHUNKS:		number of events that are chunks; each has a step in each state but
 *			DDP_GONE
 * @DDP_ON_CONNECT:	the consumer asks for a session
 * @DDP_ON_CONNECT_ENH:	the same, with depths or an RTR to negotiate (P2P-43)
 * @DDP_ON_CALL_ACCEPT:	the consumer accepts
 * @DDP_ON_CALL_REJECT:	the consumer rejects
 * @DDP_ON_REFUSE:	the provider rejects by itself: ddp_sctp_must_refuse() (SCTP-08)
 * @DDP_ON_NO_ROOM:	the Initiate cannot be reported, because too many wait for their consumer,
 *			or its acceptance cannot be carried out
 * @DDP_ON_SEND:	the consumer sends a segment
 * @DDP_ON_CLOSE:	the consumer ends the session, or is gone; nothing is sent after it
 * @DDP_ON_ARRIVED:	SCTP has acknowledged our last message; see DDP_DO_WATCH
 * @DDP_ON_TIME_OVER:	the deadline of the consumer's call passed
 * @DDP_ON_LOST:	the association ended
 * @DDP_SESSION_EVENTS:	number of events
 */
enum ddp_session_event {
	DDP_ON_SEGMENT		= DDP_SCTP_SEGMENT,
	DDP_ON_INITIATE		= DDP_SCTP_INITIATE,
	DDP_ON_ACCEPT		= DDP_SCTP_ACCEPT,
	DDP_ON_REJECT		= DDP_SCTP_REJECT,
	DDP_ON_TERMINATE	= DDP_SCTP_TERMINATE,
	DDP_ON_ENH_INITIATE	= DDP_SCTP_ENH_INITIATE,
	DDP_ON_ENH_ACCEPT	= DDP_SCTP_ENH_ACCEPT,
	DDP_ON_ENH_REJECT	= DDP_SCTP_ENH_REJECT,
	DDP_ON_UNMATCHED	= DDP_SCTP_KINDS,
	DDP_ON_BAD,
	DDP_CHUNKS,
	DDP_ON_CONNECT		= DDP_CHUNKS,
	DDP_ON_CONNECT_ENH,
	DDP_ON_CALL_ACCEPT,
	DDP_ON_CALL_REJECT,
	DDP_ON_REFUSE,
	DDP_ON_NO_ROOM,
	DDP_ON_SEND,
	DDP_ON_CLOSE,
	DDP_ON_ARRIVED,
	DDP_ON_TIME_OVER,
	DDP_ON_LOST,
	DDP_SESSION_EVENTS
};

/**
 * enum ddp_session_action - actions of a step, in the order in which they are carried out
 * @DDP_DO_DELIVER:	the segment is in order: DDP may deliver it
 * @DDP_DO_INITIATE:	send the Initiate
 * @DDP_DO_ENH_INITIATE: send the enhanced Initiate
 * @DDP_DO_ACCEPT:	send the Accept
 * @DDP_DO_ENH_ACCEPT:	send the enhanced Accept
 * @DDP_DO_REJECT:	send the Reject
 * @DDP_DO_ENH_REJECT:	send the enhanced Reject; on DDP_ON_REFUSE that of ddp_sctp_refuse()
 * @DDP_DO_RDMAP_TERM:	send RDMAP's Terminate, a DDP segment, with the error of mpa_conclude()
 * @DDP_DO_TERMINATE:	send the session's Terminate, our last chunk
 * @DDP_DO_WATCH:	raise DDP_ON_ARRIVED when SCTP has acknowledged our last message, at once if
 *			it has already
 * @DDP_DO_TELL:	report the outcome to the consumer that connects: accepted with the peer's
 *			Private Data, rejected with it, terminated, or failed
 * @DDP_DO_TELL_END:	report the peer's Terminate to the consumer, who may still send
 * @DDP_DO_TELL_CLOSE:	report the end of the session to the consumer, or that an Initiate is void
 * @DDP_DO_RELEASE:	the session is over, and both DDP-SSNs begin at 0 again
 * @DDP_DO_ASK:		report the Initiate, with its Private Data, to the consumer. If that cannot
 *			be done, DDP_ON_NO_ROOM or DDP_ON_REFUSE follows.
 * @DDP_SESSION_ACTIONS: number of actions
 */
enum ddp_session_action {
	DDP_DO_DELIVER,
	DDP_DO_INITIATE,
	DDP_DO_ENH_INITIATE,
	DDP_DO_ACCEPT,
	DDP_DO_ENH_ACCEPT,
	DDP_DO_REJECT,
	DDP_DO_ENH_REJECT,
	DDP_DO_RDMAP_TERM,
	DDP_DO_TERMINATE,
	DDP_DO_WATCH,
	DDP_DO_TELL,
	DDP_DO_TELL_END,
	DDP_DO_TELL_CLOSE,
	DDP_DO_RELEASE,
	DDP_DO_ASK,
	DDP_SESSION_ACTIONS
};

/**
 * struct ddp_session_step - an entry of the table
 * @actions:	bits, 1 << enum ddp_session_action
 * @next:	enum ddp_session_state after the actions
 */
struct ddp_session_step {
	u16 actions;
	u8 next;
};

/**
 * ddp_session_step() - get the table entry of an event
 * @state:	state of the session
 * @event:	the event
 *
 * A chunk that is in none of the legal sequences has the entry that ends the session.
 *
 * Return: the entry, or NULL if the event changes nothing in this state. A call of the consumer
 * without an entry is not allowed there.
 */
const struct ddp_session_step *ddp_session_step(enum ddp_session_state state,
						enum ddp_session_event event);

#endif
