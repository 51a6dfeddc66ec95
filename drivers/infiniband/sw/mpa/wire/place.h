/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Data Placement (RFC 5041 section 5.3): write payload to memory that a program reads at the same
 * time, because it polls the last byte of its buffer, or words inside it.
 *
 * A piece of memory is written from its first byte to its last, with these guarantees:
 *
 * - Each byte is stored once, so the program may overwrite a byte as soon as it has seen it.
 * - An aligned word of 2, 4 or 8 bytes inside the piece is stored at once, even if its bytes come
 *   from several buffers, so the program may use it as a flag.
 * - A write barrier precedes the store of the last byte, so all bytes before it, of this piece
 *   and of earlier ones, are visible first.
 *
 * memcpy() gives none of them, because it may store the end first, or a byte twice.
 *
 * The last word is not stored before all its bytes are there, or the piece ends.
 */
#ifndef _WIRE_PLACE_H
#define _WIRE_PLACE_H

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#define DDP_PLACE_WORD	8

/* The unit test replaces these two, to record the stores and their order. */
#ifndef ddp_place_store
#define ddp_place_store(to, value)	WRITE_ONCE(*(to), value)
#define ddp_place_order()		smp_wmb() /* pairs with a program that polls */
#endif

/**
 * struct ddp_place - state of writing a piece of memory
 * @to:		address of the next store: an aligned word, or the beginning of the piece
 * @held:	bytes in @word
 * @word:	bytes for @to that are not stored yet
 */
struct ddp_place {
	u8 *to;
	u32 held;
	u8 word[DDP_PLACE_WORD];
};

/* Return: bytes from @to to the end of its aligned word. */
static inline u32 ddp_place_room(const u8 *to)
{
	return DDP_PLACE_WORD - ((unsigned long)to & (DDP_PLACE_WORD - 1));
}

/* Store @size bytes at once; @to is aligned to @size. */
static inline void ddp_place_one(u8 *to, const u8 *from, u32 size)
{
	u16 v16;
	u32 v32;
	u64 v64;

	switch (size) {
	case 8:
		memcpy(&v64, from, 8);
		ddp_place_store((u64 *)to, v64);
		break;
	case 4:
		memcpy(&v32, from, 4);
		ddp_place_store((u32 *)to, v32);
		break;
	case 2:
		memcpy(&v16, from, 2);
		ddp_place_store((u16 *)to, v16);
		break;
	default:
		ddp_place_store(to, *from);
	}
}

/*
 * Store the held bytes, which belong to one aligned word, by as few stores as possible. A write
 * barrier precedes the last of them.
 */
static inline void ddp_place_held(struct ddp_place *p)
{
	const u8 *from = p->word;
	u32 size;

	while (p->held) {
		size = ddp_place_room(p->to);
		size &= -size; /* the largest that is aligned here */
		while (size > p->held)
			size /= 2;
		if (size == p->held)
			ddp_place_order();
		ddp_place_one(p->to, from, size);
		p->to += size;
		from += size;
		p->held -= size;
	}
}

/* Store whole words. The loop is unrolled, because stores are cheaper than its counting. */
static inline void ddp_place_words(u8 *to, const u8 *from, u32 len)
{
	for (; len >= 4 * DDP_PLACE_WORD; len -= 4 * DDP_PLACE_WORD) {
		ddp_place_one(to, from, DDP_PLACE_WORD);
		ddp_place_one(to + 8, from + 8, DDP_PLACE_WORD);
		ddp_place_one(to + 16, from + 16, DDP_PLACE_WORD);
		ddp_place_one(to + 24, from + 24, DDP_PLACE_WORD);
		to += 4 * DDP_PLACE_WORD;
		from += 4 * DDP_PLACE_WORD;
	}
	for (; len; len -= DDP_PLACE_WORD) {
		ddp_place_one(to, from, DDP_PLACE_WORD);
		to += DDP_PLACE_WORD;
		from += DDP_PLACE_WORD;
	}
}

/**
 * ddp_place_begin() - begin a piece of memory
 * @p:	state
 * @to:	first byte of the piece
 */
static inline void ddp_place_begin(struct ddp_place *p, void *to)
{
	p->to = to;
	p->held = 0;
}

/**
 * ddp_place_add() - write the next bytes
 * @p:		state
 * @from:	the bytes
 * @len:	number of bytes, may be 0
 */
static inline void ddp_place_add(struct ddp_place *p, const u8 *from, u32 len)
{
	u32 n;

	while (len) {
		if (p->held == ddp_place_room(p->to))
			ddp_place_held(p);
		if (!p->held && len > DDP_PLACE_WORD && ddp_place_room(p->to) == DDP_PLACE_WORD) {
			/* Keep the last word, because it may be the last of the piece. */
			n = (len - 1) & -DDP_PLACE_WORD;
			ddp_place_words(p->to, from, n);
			p->to += n;
		} else {
			n = min(len, ddp_place_room(p->to) - p->held);
			memcpy(p->word + p->held, from, n);
			p->held += n;
		}
		from += n;
		len -= n;
	}
}

/**
 * ddp_place_end() - store the last bytes of the piece
 * @p:	state; may begin another piece then
 */
static inline void ddp_place_end(struct ddp_place *p)
{
	ddp_place_held(p);
}

#endif
