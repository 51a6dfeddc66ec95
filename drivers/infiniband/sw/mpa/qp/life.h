/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The life of a queue pair as a table: how it gets and loses a connection. The state of the verbs
 * is separate, and decides what the consumer may do. This file knows no lock and no socket.
 *
 *	IDLE -> CLAIMED -> ATTACHED -> RUNNING -> (FINISHED) -> (FAILED) -> DOWN -> GONE
 *
 * A RESET moves it from DOWN to CLAIMED and then to IDLE, so it has one connection between two
 * RESETs.
 */
#ifndef _RNIC_LIFE_H
#define _RNIC_LIFE_H

#include <linux/types.h>

/**
 * enum rnic_life - stage in the life of a queue pair
 * @RNIC_IDLE:		no connection since it was created, or since RESET
 * @RNIC_CLAIMED:	only a startup that attaches a connection, or a consumer that resets, may
 *			use the data path
 * @RNIC_ATTACHED:	it has a connection, and the startup has the stream
 * @RNIC_RUNNING:	the data path sends and receives
 * @RNIC_FINISHED:	the worker sent FIN, because the consumer closed and all was sent
 * @RNIC_FAILED:	the data path ended the connection; it receives no more, and sends no
 *			more than a Terminate
 * @RNIC_DOWN:		the worker took the connection down
 * @RNIC_GONE:		it is being destroyed
 * @RNIC_LIVES:		number of stages
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
 * enum rnic_move - cause of a move to another stage
 * @RNIC_MOVE_CLAIM:	a startup is about to attach a connection
 * @RNIC_MOVE_RESET:	the consumer resets
 * @RNIC_MOVE_RELEASE:	the reset is done, or the startup could not attach
 * @RNIC_MOVE_ATTACH:	the startup has attached the connection
 * @RNIC_MOVE_BEGIN:	the startup hands the stream over
 * @RNIC_MOVE_FINISH:	the worker sends FIN
 * @RNIC_MOVE_FAIL:	the data path found an error, or received a Terminate
 * @RNIC_MOVE_END:	the worker takes the connection down
 * @RNIC_MOVE_DESTROY:	the consumer destroys it
 * @RNIC_MOVES:		number of causes
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
 * rnic_life_step() - get the next stage from the table
 * @life:	current stage
 * @move:	cause of the move
 * @next:	set to the next stage
 *
 * Return: false if the move is not allowed at this stage; then @next is not set.
 */
bool rnic_life_step(enum rnic_life life, enum rnic_move move, enum rnic_life *next);

#endif /* _RNIC_LIFE_H */
