/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA framing (RFC 5044 sections 4 to 6): FPDUs, Markers, CRC, MULPDU.
 *
 * A stream position is the number of bytes since SeqStart, modulo 2^32. SeqStart is the first
 * byte behind the last startup frame of a direction.
 *
 * Few peers ask for Markers. The functions that run for each FPDU are inline and short without
 * them.
 */
#ifndef _WIRE_MPA_H
#define _WIRE_MPA_H

#include <linux/minmax.h>
#include <linux/types.h>

#include "wire/err.h"

#define MPA_LEN_SIZE		2	/* ULPDU_Length field */
#define MPA_CRC_SIZE		4
#define MPA_MARKER_SIZE		4
#define MPA_MARKER_SPACING	512
#define MPA_MULPDU_MIN		128
#define MPA_ULPDU_MAX		64768
/* Smallest FPDU without Markers: length, one byte of ULPDU, PAD, CRC (FRM-08). */
#define MPA_FPDU_MIN		8
/* Largest FPDU on the wire: 64768 bytes with 128 Markers (vector B18). */
#define MPA_FPDU_MAX		65288
/* ULPDU bytes that the receiver keeps for the header parser: room for a whole Terminate */
#define MPA_RX_HDR_MAX		72

/**
 * mpa_mulpdu() - compute the largest ULPDU for a segment size (SEG-01 to SEG-04)
 * @emss:	effective maximum segment size in bytes
 * @markers:	Markers are inserted in the outgoing direction (the peer's M bit)
 *
 * Return: MULPDU, 128 to 64768.
 */
u32 mpa_mulpdu(u32 emss, bool markers);

/* Return: bytes that Markers add to an FPDU at @pos that has @size bytes without them. */
u32 mpa_markers_in(u32 pos, u32 size);

/**
 * mpa_fpdu_size() - compute the size of an FPDU on the wire
 * @pos:	stream position of its first byte
 * @ulpdu_len:	ULPDU length, 1 to MPA_ULPDU_MAX
 * @markers:	Markers are inserted in this direction
 *
 * Return: bytes, with Markers, PAD and CRC.
 */
static inline u32 mpa_fpdu_size(u32 pos, u32 ulpdu_len, bool markers)
{
	u32 size = ((MPA_LEN_SIZE + ulpdu_len + 3) & ~3u) + MPA_CRC_SIZE;

	return markers ? size + mpa_markers_in(pos, size) : size;
}

/* Return: what is left of @room bytes at @pos without the bytes of the Markers there. */
u32 mpa_room_without_markers(u32 pos, u32 room);

/**
 * mpa_ulpdu_fit() - compute the largest ULPDU whose FPDU fits (SEG-06, appendix D.3)
 * @pos:	stream position of the FPDU's first byte
 * @room:	bytes available
 * @markers:	Markers are inserted in this direction
 *
 * Return: ULPDU length, at most MPA_ULPDU_MAX; 0 if no FPDU fits.
 */
static inline u32 mpa_ulpdu_fit(u32 pos, u32 room, bool markers)
{
	room &= ~3u;
	if (markers)
		room = mpa_room_without_markers(pos, room);
	if (room < MPA_FPDU_MIN)
		return 0;
	return min_t(u32, room - MPA_LEN_SIZE - MPA_CRC_SIZE, MPA_ULPDU_MAX);
}

/*
 * Sender.
 *
 * The caller encodes an FPDU into a contiguous buffer of mpa_fpdu_size() bytes:
 *
 *	mpa_tx_begin(tx, buf, ulpdu_len);
 *	mpa_tx_put(tx, &header, header_len);
 *	while (payload_left) {
 *		at = mpa_tx_at(tx, &room);
 *		n = min(payload_left, room);
 *		... write n bytes to at ...
 *		mpa_tx_wrote(tx, n);
 *	}
 *	size = mpa_tx_end(tx);
 *
 * So the payload is copied once, to its final place.
 */

/**
 * struct mpa_tx - sending direction of a connection
 * @pos:	stream position of the next FPDU's first byte
 * @markers:	insert Markers, because the peer asked for them
 * @crc:	compute CRCs; else the field is sent as zero
 * @buf:	first byte of the FPDU being encoded
 * @fill:	bytes written to @buf, Markers included
 * @start:	offset in @buf of the ULPDU_Length field (0, or 4 after a Marker)
 * @left:	ULPDU bytes still to be written
 */
struct mpa_tx {
	u32 pos;
	bool markers;
	bool crc;
	u8 *buf;
	u32 fill;
	u32 start;
	u32 left;
};

/**
 * mpa_tx_init() - initialise at SeqStart
 * @tx:		state
 * @markers:	insert Markers
 * @crc:	send CRC32C, else zeros
 */
void mpa_tx_init(struct mpa_tx *tx, bool markers, bool crc);

/**
 * mpa_tx_begin() - begin an FPDU
 * @tx:		state, between two FPDUs
 * @buf:	buffer of at least mpa_fpdu_size() bytes
 * @ulpdu_len:	bytes of ULPDU that the caller will write
 */
void mpa_tx_begin(struct mpa_tx *tx, u8 *buf, u32 ulpdu_len);

/**
 * mpa_tx_put() - write bytes of the ULPDU
 * @tx:		state, within an FPDU
 * @data:	the next bytes
 * @len:	number of bytes; bytes beyond @ulpdu_len are left out
 */
void mpa_tx_put(struct mpa_tx *tx, const void *data, u32 len);

/* Write a Marker if one is due. Return: ULPDU bytes before the next one. */
u32 mpa_tx_step(struct mpa_tx *tx);

/**
 * mpa_tx_at() - get the place of the next ULPDU bytes
 * @tx:		state, within an FPDU
 * @room:	set to the number of bytes that fit there before the next Marker
 *
 * Writes a Marker first if one is due.
 *
 * Return: the address.
 */
static inline u8 *mpa_tx_at(struct mpa_tx *tx, u32 *room)
{
	*room = tx->markers ? mpa_tx_step(tx) : tx->left;
	return tx->buf + tx->fill;
}

/* Advance over @len bytes that the caller wrote at mpa_tx_at(). */
static inline void mpa_tx_wrote(struct mpa_tx *tx, u32 len)
{
	tx->fill += len;
	tx->left -= len;
}

/**
 * mpa_tx_end() - finish an FPDU: write PAD, a Marker if one is due, and the CRC
 * @tx:		state, all ULPDU bytes written
 *
 * Advances @tx->pos.
 *
 * Return: bytes of the FPDU, equal to mpa_fpdu_size() at its position.
 */
u32 mpa_tx_end(struct mpa_tx *tx);

/*
 * Receiver.
 *
 * mpa_rx_feed() takes pieces of the stream of any size. It checks framing, Markers and CRC, each
 * byte once (RCV-28), and keeps the first ULPDU bytes for the header parser. The caller must not
 * place payload before mpa_rx_feed() reports a complete valid FPDU (RCV-01). mpa_ulpdu_span()
 * then finds the ULPDU in those bytes.
 */

/**
 * struct mpa_rx - receiving direction of a connection
 * @pos:	stream position of the first byte of the current FPDU, which is a Marker if the
 *		FPDU begins with one
 * @markers:	Markers are expected, because we asked for them
 * @crc:	CRCs are checked
 * @failed:	the error that ended this direction; sticky (ERR-09)
 * @seen:	wire bytes of the current FPDU fed so far
 * @size:	wire bytes of the current FPDU, 0 while its length is unknown
 * @ulpdu_len:	ULPDU_Length of the current FPDU, valid when @size is not 0
 * @hdr_len:	bytes in @hdr
 * @hdr:	the first ULPDU bytes
 */
struct mpa_rx {
	u32 pos;
	bool markers;
	bool crc;
	enum wire_err failed;
	u32 seen;
	u32 size;
	u16 ulpdu_len;
	u16 hdr_len;
	u8 hdr[MPA_RX_HDR_MAX];
	/* private: of wire/mpa.c */
	u32 run;		/* running CRC */
	u32 start;		/* offset of ULPDU_Length: 0, or 4 after a Marker */
	bool astray;		/* a Marker of this FPDU points elsewhere */
	u8 field[4];		/* length, Marker or CRC bytes being gathered */
};

/**
 * enum mpa_rx_verdict - result of mpa_rx_feed()
 * @MPA_RX_MORE:	all bytes were taken, and the FPDU is not complete
 * @MPA_RX_FPDU:	a complete valid FPDU ends at @used; call mpa_rx_next()
 * @MPA_RX_FAILED:	the stream is invalid, see @failed; no more bytes are taken
 */
enum mpa_rx_verdict {
	MPA_RX_MORE,
	MPA_RX_FPDU,
	MPA_RX_FAILED,
};

/**
 * mpa_rx_init_at() - initialise in the middle of a stream
 * @rx:		receiving direction
 * @pos:	stream position of an FPDU's first byte
 * @markers:	Markers are expected
 * @crc:	CRCs are checked
 */
void mpa_rx_init_at(struct mpa_rx *rx, u32 pos, bool markers, bool crc);
/* Initialise at SeqStart. */
void mpa_rx_init(struct mpa_rx *rx, bool markers, bool crc);

/**
 * mpa_rx_feed() - verify the next bytes of the stream
 * @rx:		receiving direction
 * @data:	bytes that follow those fed before
 * @len:	number of bytes, 0 or more
 * @used:	set to the number of them that belong to the current FPDU
 *
 * Return: the verdict.
 */
enum mpa_rx_verdict mpa_rx_feed(struct mpa_rx *rx, const u8 *data, u32 len, u32 *used);

/**
 * mpa_rx_next() - advance to the next FPDU
 * @rx:		receiving direction after MPA_RX_FPDU
 */
void mpa_rx_next(struct mpa_rx *rx);

/**
 * mpa_rx_missing() - count the bytes that the current FPDU lacks
 * @rx:		receiving direction
 *
 * Return: number of bytes, at least 1; a lower bound while the length is unknown.
 */
static inline u32 mpa_rx_missing(const struct mpa_rx *rx)
{
	u32 size = rx->size ? rx->size : rx->start + MPA_FPDU_MIN;

	return max_t(u32, size - rx->seen, 1);
}

/* Add the Markers before @wire_off to it. Return: bytes before the next Marker, at most @left. */
u32 mpa_rx_step(const struct mpa_rx *rx, u32 *wire_off, u32 left);

/**
 * mpa_ulpdu_span() - find ULPDU bytes of a received FPDU on the wire
 * @rx:		receiving direction holding a complete FPDU
 * @off:	offset in the ULPDU
 * @wire_off:	set to the offset of that byte from the FPDU's first wire byte
 *
 * Return: number of ULPDU bytes there before the next Marker or the end of the ULPDU.
 */
static inline u32 mpa_ulpdu_span(const struct mpa_rx *rx, u32 off, u32 *wire_off)
{
	u32 left = off < rx->ulpdu_len ? rx->ulpdu_len - off : 0;

	*wire_off = rx->start + MPA_LEN_SIZE + off;
	return rx->markers ? mpa_rx_step(rx, wire_off, left) : left;
}

#endif
