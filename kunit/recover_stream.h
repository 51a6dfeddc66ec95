/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A stream of FPDUs by the model, put into wire/recover.c in pieces of any order,
 * and the FPDUs that it has to find. Shared by the two suites of the recovery.
 */
#ifndef _KUNIT_RECOVER_STREAM_H
#define _KUNIT_RECOVER_STREAM_H

#include <kunit/test.h>
#include <wire/recover.h>
#include "model.h"

#define STREAM_FPDUS	64
#define STREAM_MAX	(2 * MODEL_MAX)
#define STREAM_RING	131072
#define STREAM_ENTRIES	512

/**
 * struct stream - FPDUs in a row, and how much of them has arrived
 * @pos:	stream position of the first
 * @markers:	with Markers
 * @crc:	their CRC is checked
 * @n:		number of FPDUs
 * @total:	bytes
 * @at:		offset of each; @at[@n] is @total
 * @len:	ULPDU length of each
 * @seen:	reported by the engine
 * @judged:	@seen and @rc.next are held to the oracle after each piece
 * @wire:	the bytes
 * @have:	1 for each byte the engine took
 * @ulpdu:	room for one ULPDU
 * @rc:		the engine
 */
struct stream {
	u32 pos;
	bool markers;
	bool crc;
	u32 n;
	u32 total;
	u32 at[STREAM_FPDUS + 1];
	u32 len[STREAM_FPDUS];
	bool seen[STREAM_FPDUS];
	bool judged;
	u8 *wire;
	u8 *have;
	u8 *ulpdu;
	struct mpa_recover_room room;
	struct mpa_recover rc;
};

/* KUnit's init: a struct stream in test->priv. */
int stream_setup(struct kunit *test);

/* An empty stream from @pos. */
void stream_begin(struct stream *s, u32 pos, bool markers, bool crc);

/* One more FPDU; its index. */
u32 stream_add(struct stream *s, u32 len);

/* Nothing has arrived (again). */
void stream_restart(struct stream *s);

/*
 * @len bytes from offset @off arrive; bytes taken, or -1 if the engine did
 * anything it must not.
 */
int stream_put(struct stream *s, u32 off, u32 len);

/* Take out what is found now; false as above. */
bool stream_drain(struct stream *s);

/* All is delivered. */
bool stream_complete(const struct stream *s);

/* Compute the CRC of FPDU @i anew, after bytes were tampered with. */
void stream_fix(struct stream *s, u32 i);

#endif
