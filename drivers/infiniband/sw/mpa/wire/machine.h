/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The states of a connection as a table, for both roles: RFC 5044 section 7.1, RFC 6581, and
 * the proposal of an RtR frame. mpa_step() maps a state and an event to actions and the next
 * state. It knows no socket and no clock.
 *
 *	initiator  CONNECTING -> WAIT_REPLY ---------------------------\
 *							    OPERATING -> LINGER -> DONE
 *	responder  WAIT_REQUEST -> WAIT_CONSUMER ------> (WAIT_RTR) ---/
 *			  \-> ASK_AGAIN -/
 *
 * A startup that fails goes to LINGER or DONE at once, but from WAIT_RTR through OPERATING.
 * WAIT_REPLY goes back to CONNECTING once, and ASK_AGAIN to itself while time is left.
 */
#ifndef _WIRE_MACHINE_H
#define _WIRE_MACHINE_H

#include <linux/types.h>

/**
 * enum mpa_state - state of a connection
 * @MPA_CONNECTING:	TCP connects (initiator)
 * @MPA_WAIT_REPLY:	the Request was sent (initiator)
 * @MPA_WAIT_REQUEST:	waiting for a Request (responder)
 * @MPA_ASK_AGAIN:	the consumer could not be asked yet (responder)
 * @MPA_WAIT_CONSUMER:	waiting for the consumer to accept or reject (responder)
 * @MPA_WAIT_RTR:	accepted, waiting for the RtR frame (responder)
 * @MPA_OPERATING:	Full Operation: the queue pair has the stream
 * @MPA_LINGER:		the connection ends; TCP sends the rest, then the FIN
 * @MPA_DONE:		final state
 * @MPA_STATES:		number of states
 */
enum mpa_state {
	MPA_CONNECTING,
	MPA_WAIT_REPLY,
	MPA_WAIT_REQUEST,
	MPA_ASK_AGAIN,
	MPA_WAIT_CONSUMER,
	MPA_WAIT_RTR,
	MPA_OPERATING,
	MPA_LINGER,
	MPA_DONE,
	MPA_STATES
};

/**
 * enum mpa_event - event that may change the state
 * @MPA_ON_NOTHING:	no event
 * @MPA_ON_TCP_UP:	TCP is connected
 * @MPA_ON_TCP_FAILED:	TCP did not connect
 * @MPA_ON_OLD_PEER:	the peer closed on an enhanced Request without sending a byte, so it
 *			may know revision 1 only (P2P-47)
 * @MPA_ON_CLOSED:	TCP ended otherwise while we waited for a frame or the consumer
 * @MPA_ON_BYTES:	the initiator sent bytes before our Reply (DUAL-07)
 * @MPA_ON_BAD_FRAME:	the bytes are not the expected frame, or it cannot be used
 * @MPA_ON_REQUEST:	a valid Request arrived, or it is time to ask the consumer again
 * @MPA_ON_BUSY:	the consumer cannot be asked now
 * @MPA_ON_ACCEPTED:	an accepting Reply arrived, and its parameters match ours
 * @MPA_ON_ACCEPTED_RTR: the same, and the peer waits for our RtR frame
 * @MPA_ON_UNMATCHED:	an accepting Reply arrived with other parameters (codes 6, 7)
 * @MPA_ON_REJECTED:	a rejecting Reply arrived
 * @MPA_ON_ACCEPT:	the consumer accepts
 * @MPA_ON_ACCEPT_RTR:	the same, and the peer will send an RtR frame
 * @MPA_ON_REJECT:	the consumer rejects
 * @MPA_ON_RTR:		a valid RtR frame arrived
 * @MPA_ON_LOCAL_ERROR:	an action failed, the consumer accepted with parameters that cannot be
 *			met, or its listener is gone
 * @MPA_ON_TIME_OVER:	the deadline passed
 * @MPA_ON_CONSUMER_GONE: the consumer gave the startup up
 * @MPA_ON_DEVICE_GONE:	the device is removed
 * @MPA_ON_EVICTED:	other connections need the place of one that waits for its peer
 * @MPA_ON_ENDED:	the queue pair gave the stream back
 * @MPA_ON_FLUSHED:	TCP has sent all bytes, and the peer closed too
 * @MPA_EVENTS:		number of events
 */
enum mpa_event {
	MPA_ON_NOTHING,
	MPA_ON_TCP_UP,
	MPA_ON_TCP_FAILED,
	MPA_ON_OLD_PEER,
	MPA_ON_CLOSED,
	MPA_ON_BYTES,
	MPA_ON_BAD_FRAME,
	MPA_ON_REQUEST,
	MPA_ON_BUSY,
	MPA_ON_ACCEPTED,
	MPA_ON_ACCEPTED_RTR,
	MPA_ON_UNMATCHED,
	MPA_ON_REJECTED,
	MPA_ON_ACCEPT,
	MPA_ON_ACCEPT_RTR,
	MPA_ON_REJECT,
	MPA_ON_RTR,
	MPA_ON_LOCAL_ERROR,
	MPA_ON_TIME_OVER,
	MPA_ON_CONSUMER_GONE,
	MPA_ON_DEVICE_GONE,
	MPA_ON_EVICTED,
	MPA_ON_ENDED,
	MPA_ON_FLUSHED,
	MPA_EVENTS
};

/**
 * enum mpa_action - actions of a step, in the order in which they are carried out
 * @MPA_DO_REQUEST:	send the Request
 * @MPA_DO_RETRY:	connect again, to send a Request without enhancements
 * @MPA_DO_ASK:		report the Request to the consumer
 * @MPA_DO_RTR:		send the RtR frame
 * @MPA_DO_ATTACH:	attach the queue pair; it sends nothing before it received a valid FPDU
 *			(NEG-30), or before MPA_DO_OPEN
 * @MPA_DO_ATTACH_OPEN:	attach the queue pair; it may send at once
 * @MPA_DO_OPEN:		let the attached queue pair send
 * @MPA_DO_LOSE:		let the attached queue pair end the connection
 * @MPA_DO_REJECT:	send a rejecting Reply
 * @MPA_DO_TERMINATE:	send a Terminate
 * @MPA_DO_TELL:	report the result of the startup to the consumer
 * @MPA_DO_REPLY:	send the accepting Reply; it comes after MPA_DO_TELL, so that the
 *			consumer learns of the connection before anything the peer does next
 * @MPA_DO_CLOSE:	report the end of the connection to the consumer
 * @MPA_DO_ABORT:	reset TCP, unless it was closed gracefully and has all bytes
 * @MPA_ACTIONS:	number of actions
 *
 * If an action fails, those behind it are not carried out, and MPA_ON_LOCAL_ERROR happens in the
 * same state; or MPA_ON_BUSY, if MPA_DO_ASK is to be tried again. Actions after the attach do not
 * fail, because the queue pair ends the connection instead.
 */
enum mpa_action {
	MPA_DO_REQUEST,
	MPA_DO_RETRY,
	MPA_DO_ASK,
	MPA_DO_RTR,
	MPA_DO_ATTACH,
	MPA_DO_ATTACH_OPEN,
	MPA_DO_OPEN,
	MPA_DO_LOSE,
	MPA_DO_REJECT,
	MPA_DO_TERMINATE,
	MPA_DO_TELL,
	MPA_DO_REPLY,
	MPA_DO_CLOSE,
	MPA_DO_ABORT,
	MPA_ACTIONS
};

/**
 * struct mpa_step - an entry of the table
 * @actions:	bits, 1 << enum mpa_action
 * @next:	enum mpa_state after the actions
 */
struct mpa_step {
	u16 actions;
	u8 next;
};

/**
 * mpa_step() - get the table entry of an event
 * @state:	state of the connection
 * @event:	the event
 *
 * Return: the entry, or NULL if the event changes nothing in this state.
 */
const struct mpa_step *mpa_step(enum mpa_state state, enum mpa_event event);

#endif
