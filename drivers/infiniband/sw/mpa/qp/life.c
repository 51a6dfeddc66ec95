// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The life of a queue pair: a row for each move, with the places from which it is allowed.
 */
#include <linux/bits.h>

#include "qp/life.h"

#define FROM(life)	BIT(RNIC_##life)

static const struct {
	u16 from;	/* bits, 1 << enum rnic_life */
	enum rnic_life to;
} moves[RNIC_MOVES] = {
	[RNIC_MOVE_CLAIM]	= { FROM(IDLE), RNIC_CLAIMED },
	[RNIC_MOVE_RESET]	= { FROM(IDLE) | FROM(DOWN), RNIC_CLAIMED },
	[RNIC_MOVE_RELEASE]	= { FROM(CLAIMED), RNIC_IDLE },
	[RNIC_MOVE_ATTACH]	= { FROM(CLAIMED), RNIC_ATTACHED },
	[RNIC_MOVE_BEGIN]	= { FROM(ATTACHED), RNIC_RUNNING },
	[RNIC_MOVE_FINISH]	= { FROM(RUNNING), RNIC_FINISHED },
	[RNIC_MOVE_FAIL]	= { FROM(RUNNING) | FROM(FINISHED), RNIC_FAILED },
	[RNIC_MOVE_END]		= { FROM(RUNNING) | FROM(FINISHED) | FROM(FAILED), RNIC_DOWN },
	[RNIC_MOVE_DESTROY]	= { FROM(IDLE) | FROM(DOWN), RNIC_GONE },
};

bool rnic_life_step(enum rnic_life life, enum rnic_move move, enum rnic_life *next)
{
	if ((unsigned int)life >= RNIC_LIVES || (unsigned int)move >= RNIC_MOVES ||
	    !(moves[move].from & BIT(life)))
		return false;
	*next = moves[move].to;
	return true;
}
