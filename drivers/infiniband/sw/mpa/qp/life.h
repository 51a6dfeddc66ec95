/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The life of a queue pair as a table: how it gets a connection, and loses it. It stands
 * beside the state of the verbs, which says what the consumer may do. It knows no lock and no
 * socket.
 *
 *	IDLE -> CLAIMED -> ATTACHED -> RUNNING -> (FINISHED) -> (FAILED) -> DOWN -> GONE
 *
 * A RESET leads from DOWN to CLAIMED and on to IDLE. So there is one connection between two
 * RESETs.
 */
#ifndef _RNIC_LIFE_H
#define _RNIC_LIFE_H

#include <linux/types.h>

/**
 * enum rnic_life - where a queue pair stands
 * @RNIC_IDLE:		no connection since it was made, or since RESET
 * @RNIC_CLAIMED:	whoever claimed it has the data path to itself: a startup that attaches
 *			a connection, or a consumer that resets
 * @RNIC_ATTACHED:	it has a connection, and the startup has the stream
 * @RNIC_RUNNING:	the data path sends and receives
 * @RNIC_FINISHED:	the worker sent FIN, because the consumer closed and all is sent
 * @RNIC_FAILED:	the data path ended the connection; it receives no more, and sends no
 *			more than a Terminate
 * @RNIC_DOWN:		the worker took the connection down
 * @RNIC_GONE:		it is being destroyed
 * @RNIC_LIVES:		how many
 */
enum rnic_life {
	RNIC_IDLE,
	RNIC_CLAIMED,
	RNIC_ATTACHED,
	RNIC_RUNNING,
	RNIC_FINISHED,
	RNIC_FAILED,
	RNIC_DOWN,
	RNIC_GONE,
	RNIC_LIVES
};

/**
 * enum rnic_move - who moves it
 * @RNIC_MOVE_CLAIM:	a startup is about to attach a connection
 * @RNIC_MOVE_RESET:	the consumer resets
 * @RNIC_MOVE_RELEASE:	either is through with it, without a connection
 * @RNIC_MOVE_ATTACH:	the startup has attached the connection
 * @RNIC_MOVE_BEGIN:	the startup hands the stream over
 * @RNIC_MOVE_FINISH:	the worker sends FIN
 * @RNIC_MOVE_FAIL:	the data path found an error, or received a Terminate
 * @RNIC_MOVE_END:	the worker takes the connection down
 * @RNIC_MOVE_DESTROY:	the consumer destroys it, and nobody has a reference any more
 * @RNIC_MOVES:		how many
 */
enum rnic_move {
	RNIC_MOVE_CLAIM,
	RNIC_MOVE_RESET,
	RNIC_MOVE_RELEASE,
	RNIC_MOVE_ATTACH,
	RNIC_MOVE_BEGIN,
	RNIC_MOVE_FINISH,
	RNIC_MOVE_FAIL,
	RNIC_MOVE_END,
	RNIC_MOVE_DESTROY,
	RNIC_MOVES
};

/**
 * rnic_life_step() - look a move up
 * @life:	where the queue pair stands
 * @move:	who moves it
 * @next:	set to where that leads
 *
 * Return: false when it may not be moved so from there; @next is left alone.
 */
bool rnic_life_step(enum rnic_life life, enum rnic_move move, enum rnic_life *next);

#endif /* _RNIC_LIFE_H */
