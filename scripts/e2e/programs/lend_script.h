/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Side b as a scripted peer: a plain TCP socket on which the test writes the bytes of MPA itself.
 */
#ifndef E2E_LEND_SCRIPT_H
#define E2E_LEND_SCRIPT_H

#include "lend.h"

#define REQUEST	"MPA ID Req Frame"
#define REPLY	"MPA ID Rep Frame"
#define HEAD	20
#define CRC	0x40
#define REJECT	0x20
#define ENHANCED	0x10

void script_open(struct lent *l);
void script_free(struct lent *l);
size_t put_frame(uint8_t *to, const char *key, int flags, int rev, const void *pd, size_t len);
size_t put_enhanced(uint8_t *to, const char *key, int flags, const char *pd);
size_t put_send(uint8_t *to, uint32_t msn, const char *text);
void script_send(struct lent *l, const void *bytes, size_t n);
void send_request(struct lent *l, const char *pd);
void send_reply(struct lent *l, int flags, const char *pd);
size_t take_frame(struct lent *l, const char *key, uint8_t *pd);
bool script_ended(struct lent *l);

void begin_state(struct lent *l, enum mpa_stream_state state);
void play_state(struct lent *l, enum mpa_stream_state state);
void reach_state(struct lent *l, enum mpa_stream_state state);

#endif
