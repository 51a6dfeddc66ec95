/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The table of wire/session.c, written by hand. */
#ifndef _KUNIT_SESSION_ROWS_H
#define _KUNIT_SESSION_ROWS_H

#include <wire/session.h>

extern const char * const session_states[DDP_SESSION_STATES];
extern const char * const session_events[DDP_SESSION_EVENTS];
extern const char * const session_actions[DDP_SESSION_ACTIONS];

/* Is the chunk in one of the legal sequences? */
enum { LEGAL, ILLEGAL };

/* @events in @state do @does and lead to @next. */
struct session_row {
	u8 kind;
	const char *state, *events, *does, *next;
};

#define SESSION_ROWS	77

extern const struct session_row session_rows[SESSION_ROWS];

/* Return: true if @word is one of the words of @list. */
bool session_row_lists(const char *list, const char *word);

/* Return: the row of the two, or NULL. */
const struct session_row *session_row_find(u32 state, u32 event);

/* Return: number of pairs of a state and an event in the table. */
u32 session_row_pairs(void);

#endif
