/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The life of a connection as a table, for both roles: RFC 5044 section 7.1,
 * RFC 6581, and the proposal of an RtR frame. What has happened goes in, what
 * is to be done comes out. It knows no socket and no clock.
 *
 *	initiator  CONNECTING -> WAIT_REPLY ---------------------------\
 *							    OPERATING -> LINGER -> DONE
 *	responder  WAIT_REQUEST -> WAIT_CONSUMER ------> (WAIT_RTR) ---/
 *
 * Any state may go to LINGER or DONE; WAIT_REPLY goes back to CONNECTING once.
 */
#ifndef _WIRE_MACHINE_H
#define _WIRE_MACHINE_H

#include <linux/types.h>

/**
 * enum mpa_state - where a connection stands
 * @MPA_CONNECTING:	TCP connects (initiator)
 * @MPA_WAIT_REPLY:	Request sent (initiator)
 * @MPA_WAIT_REQUEST:	waiting for a Request (responder)
 * @MPA_WAIT_CONSUMER:	the consumer was asked (responder)
 * @MPA_WAIT_RTR:	accepted, and the RtR frame is due (responder)
 * @MPA_OPERATING:	Full Operation: the stream is the queue pair's
 * @MPA_LINGER:		over; what is left to send goes out, then FIN
 * @MPA_DONE:		nothing more will happen
 * @MPA_STATES:		how many
 */
enum mpa_state {
	MPA_CONNECTING,
	MPA_WAIT_REPLY,
	MPA_WAIT_REQUEST,
	MPA_WAIT_CONSUMER,
	MPA_WAIT_RTR,
	MPA_OPERATING,
	MPA_LINGER,
	MPA_DONE,
	MPA_STATES
};

/**
 * enum mpa_event - what has happened
 * @MPA_ON_NOTHING:	nothing yet
 * @MPA_ON_TCP_UP:	TCP is connected
 * @MPA_ON_TCP_FAILED:	TCP did not connect
 * @MPA_ON_OLD_PEER:	an enhanced Request was answered by a close, before any
 *			byte: the peer may know revision 1 only (P2P-47)
 * @MPA_ON_CLOSED:	TCP ended otherwise while a frame or the consumer was due
 * @MPA_ON_BYTES:	bytes arrived where none may (DUAL-07)
 * @MPA_ON_BAD_FRAME:	what arrives is not the frame that is due, or not to be used
 * @MPA_ON_REQUEST:	a good Request
 * @MPA_ON_ACCEPTED:	an accepting Reply that suits us
 * @MPA_ON_ACCEPTED_RTR: the same, and the peer waits for our RtR frame
 * @MPA_ON_UNMATCHED:	an accepting Reply that does not suit us (codes 6, 7)
 * @MPA_ON_REJECTED:	a rejecting Reply
 * @MPA_ON_ACCEPT:	the consumer accepts
 * @MPA_ON_ACCEPT_RTR:	the same, and the peer will send an RtR frame
 * @MPA_ON_REJECT:	the consumer rejects
 * @MPA_ON_RTR:		a good RtR frame
 * @MPA_ON_LOCAL_ERROR:	an action could not be carried out, or the consumer asks
 *			for the impossible
 * @MPA_ON_TIME_OVER:	the deadline passed
 * @MPA_ON_CONSUMER_GONE: nobody waits for the startup any more
 * @MPA_ON_DEVICE_GONE:	the device goes
 * @MPA_ON_EVICTED:	others need its place, and only the peer is waited for
 * @MPA_ON_ENDED:	the queue pair gives the stream back
 * @MPA_ON_FLUSHED:	all is sent, and the peer closed too
 * @MPA_EVENTS:		how many
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
 * enum mpa_action - what is to be done, in this order
 * @MPA_DO_REQUEST:	send the Request
 * @MPA_DO_RETRY:	connect again, for a Request without enhancements
 * @MPA_DO_ASK:		tell the consumer of the Request
 * @MPA_DO_RTR:		send the RtR frame
 * @MPA_DO_ATTACH:	bind the queue pair; it sends nothing before it received
 *			a valid FPDU (NEG-30), or before MPA_DO_OPEN
 * @MPA_DO_ATTACH_OPEN:	bind the queue pair; it may send at once
 * @MPA_DO_OPEN:		let the queue pair send, which is bound
 * @MPA_DO_LOSE:		have the queue pair, which is bound, end the connection
 * @MPA_DO_REJECT:	send a rejecting Reply
 * @MPA_DO_TERMINATE:	send a Terminate
 * @MPA_DO_TELL:	tell the consumer how the startup ended
 * @MPA_DO_REPLY:	send the accepting Reply; the consumer knows by now, so what the
 *			peer does next cannot reach him first
 * @MPA_DO_CLOSE:	tell the consumer that the connection is over
 * @MPA_DO_ABORT:	reset TCP, unless it was closed gracefully and has all
 * @MPA_ACTIONS:	how many
 *
 * An action that fails is followed by none, but by MPA_ON_LOCAL_ERROR in the same
 * state. Once a queue pair is attached nothing fails any more: it ends the
 * connection.
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
 * struct mpa_step - one entry of the table
 * @actions:	bits, 1 << enum mpa_action
 * @next:	the state when they are done
 */
struct mpa_step {
	u16 actions;
	u8 next;
};

/**
 * mpa_step() - look an event up
 * @state:	where the connection stands
 * @event:	what has happened
 *
 * Return: what to do, or NULL when the event means nothing in this state: it
 * changes nothing.
 */
const struct mpa_step *mpa_step(enum mpa_state state, enum mpa_event event);

#endif
