# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""FPDUs: Markers, CRCs, PAD, and how the stream is cut, in both roles."""
import itertools
import random
import struct

from peer import C, F1, M, REPLY, REQUEST, S, SEND, TERMINATE, WRITE, fpdu, frame, \
    tagged, untagged
from device import ACCEPT, Called, MEM_SIZE, Moves, Settings, WINDOW, \
    WINDOW_SIZE, opened, serving, test


@test
def crc():
    """C of both ends, with good and bad CRCs (CRC-05 to CRC-08, CRC-18, CRC-19)"""
    with serving():
        for setting in "required", "off":
            for theirs in C, 0:
                used = theirs or setting == "required"
                with Settings(crc=setting):
                    with opened(frame(REQUEST, theirs, 1, b"e")) as conn:
                        assert conn.reply.flags == (C if used else 0), hex(conn.reply.flags)
                        conn.echo(0, 1, 2, 3, 1000)
                        if used:
                            conn.say(conn.message(b"x"), pad=0x55)  # FRM-06
                            assert conn.hear_send(conn.msn) == b"x"
                    with opened(frame(REQUEST, theirs, 1, b"e")) as conn, \
                            Moves(rx_crc_errors=1 if used else 0):
                        conn.say(conn.message(b"first"), crc=0x01000000)
                        if used:
                            conn.ended()
                        else:
                            assert conn.hear_send(1) == b"first"


@test
def calls_crc():
    """C of both ends with the device as initiator (CRC-05 to CRC-08)"""
    for setting, ours, theirs in ("required", C, 0), ("required", C, C), ("off", 0, C), \
            ("off", 0, 0):
        with Settings(crc=setting), Called("e") as call:
            assert call.conn.request.flags == S | ours
            conn = call.reply(frame(REPLY, theirs))
            call.established()
            conn.echo(1, 1000)
            conn.say(conn.message(b"x"), crc=0x80)
            if ours | theirs:
                conn.terminated("2/0/2")
            else:
                assert conn.hear_send(3) == b"x"


@test
def segments():
    """FPDUs in segments of one byte, and many in one (RCV-07, RCV-08)"""
    with serving():
        for piece in 1, 3, 7, 1000, None:
            with opened() as conn:
                conn.echo(1, 2, 3, 4, 50, 0, 300, 16, piece=piece)
                conn.echo(2000, 1, 5000, piece=piece and max(piece, 3))


SHORT = 0, 1, 2, 3, 100, 390
LONG = (490, 500, 600), (1400, 1, 4000, 0, 506, 9000), (8000, 8000)


def combinations():
    """M of the device, M of ours, C of both"""
    return itertools.product((0, M), (0, M), (C, 0))


def settings(markers, c):
    return Settings(markers=int(bool(markers)), crc="required" if c else "off")


def exchange(conn, piece):
    conn.echo(*SHORT, piece=piece)
    for lengths in LONG if not piece else ():
        conn.echo(*lengths)


@test
def markers():
    """All Markers and CRCs, by bytes and together (MRK-01 to MRK-03, RCV-08)"""
    with serving():
        for mine, theirs, c in combinations():
            with settings(mine, c):
                for piece in None, 1:
                    with opened(frame(REQUEST, c | theirs, 1, b"e"), piece=piece) as conn:
                        assert conn.reply.flags == c | mine
                        exchange(conn, piece)


@test
def calls_markers():
    """The same with the device as initiator (MRK-01 to MRK-03, NEG-39, RCV-08)"""
    for mine, theirs, c in combinations():
        with settings(mine, c):
            for piece in None, 1:
                with Called("e") as call:
                    assert call.conn.request.flags == c | S | mine
                    conn = call.reply(frame(REPLY, c | theirs), piece)
                    call.established()
                    exchange(conn, piece)
                    conn.say(conn.message(), length=0)
                    conn.terminated("2/0/3")


@test
def bad_markers():
    """Only FPDUPTR counts, without its two low bits, also without CRC (MRK-05, MRK-07, GAP-14)"""
    with serving():
        for c in C, 0:
            with settings(M, c):
                with opened(frame(REQUEST, c, 1, b"e")) as conn, \
                        Moves(rx_framing_errors=1, rx_send=4):      # ERR-03, MRK-22
                    for how in {"pointer": 3}, {"reserved": 0xFFFF}:
                        for size in 1, 600:
                            conn.say(conn.message(bytes(size)), **how)
                            assert conn.hear_send(conn.msn) == bytes(size)
                    conn.say(conn.message(bytes(600)), pointer=8)
                    conn.terminated("2/0/3")
        with settings(M, C):
            with opened() as conn:
                conn.echo(1)
                with Moves(rx_crc_errors=1, rx_framing_errors=0):   # ERR-03
                    conn.say(conn.message(bytes(600)), pointer=8, crc=1)
                    conn.terminated("2/0/2")
            with opened(frame(REQUEST, C | M, 1, b"e")) as conn:
                conn.echo(500, 3)
                conn.say(conn.message(ddp=0))
                conn.terminated("1/2/6")


@test
def last_marker():
    """An FPDU that ends where a Marker is due is complete without it, both ways (MRK-18)"""
    with serving() as program, settings(M, C):
        with opened(frame(REQUEST, C | M, 1, b"e")) as conn:
            for msn in 1, 2:
                conn.echo(484)
                assert conn.sent == conn.got == 512 * msn
            conn.finish()
            conn.ended()
        program.expect("DISCONNECTED")


@test
def padding():
    """PAD is only CRC input (FRM-06)"""
    with serving():
        for c in C, 0:
            with settings(0, c), opened(frame(REQUEST, c, 1, b"e")) as conn:
                conn.say(conn.message(b"x"), pad=0x55)
                assert conn.hear_send(1) == b"x"
                octets = bytearray(conn.build(conn.message(b"y")))
                octets[-5] ^= 0x55
                conn.send(octets)
                if c:
                    conn.terminated("2/0/2")
                else:
                    assert conn.hear_send(2) == b"y"


@test
def flips():
    """Each byte of an FPDU flipped, its Marker too: code 2, no byte placed (CRC-18, RCV-01)"""
    with serving() as program, settings(M, C):
        for zeros, make in (480, lambda c: tagged(WRITE, c.stag, c.at, b"flip")), \
                (488, lambda c: untagged(SEND, 1, b"abc")):
            at, size = 0, 1
            while at < size:
                with opened() as conn, Moves(rx_crc_errors=1, rx_send=0):
                    # up to 504, 512: the Marker is inside, before
                    conn.say(tagged(WRITE, conn.stag, conn.at, bytes(zeros)))
                    octets = bytearray(conn.build(make(conn)))
                    size = len(octets)
                    octets[at] ^= 1
                    # enough for a length that is larger now
                    conn.send(octets + conn.build(untagged(SEND, 1, bytes(400))))
                    conn.terminated("2/0/2")
                assert program.freed() == (0, 0), "bytes of a bad FPDU were placed"
                at += 1
            assert size in (28, 32)


def unchecked(at, conn):
    """The result of a Write of 4 bytes with byte `at` flipped: a Terminate, or what it leaves"""
    if at < 2:
        return "2/0/1"          # longer, so the FIN is inside it
    if at < 8:
        return "1/1/4" if at == 2 else "0/2/6" if at == 3 else "1/1/0"
    offset = WINDOW
    if at < 16:
        offset += (conn.at ^ 1 << 8 * (15 - at)) - conn.at
    if not 0 <= offset <= MEM_SIZE - 4:
        return "1/1/1"
    return (4, 0) if offset >= WINDOW else (0, 4)


@test
def flips_unchecked():
    """The same without CRCs: the device does what the bytes say (CRC-06, CRC-19)"""
    with serving() as program, settings(0, 0):
        for at in range(24):
            with opened(frame(REQUEST, 0, 1, b"e")) as conn, Moves(rx_crc_errors=0):
                conn.say(tagged(WRITE, 0, 0))
                octets = bytearray(conn.build(tagged(WRITE, conn.stag, conn.at, b"flip")))
                assert len(octets) == 24
                octets[at] ^= 1
                want = unchecked(at, conn)
                conn.send(octets)
                conn.finish()
                if isinstance(want, str):
                    conn.terminated(want, about=octets[2:20])
                    want = 0, 0
                else:
                    conn.ended()
            left = program.freed()
            assert left == want, "byte %d left %s, expected %s" % (at, left, want)
    assert WINDOW + WINDOW_SIZE == MEM_SIZE


def send_cut(conn, octets, cuts):
    for begin, end in zip([0] + cuts, cuts + [len(octets)]):
        conn.send(octets[begin:end])


@test
def imitation():
    """Data that looks like frames and FPDUs, in segments that begin there (RCV-02, RCV-07)"""
    bait = F1 + ACCEPT + fpdu(0, untagged(SEND, 1, b"bait")) + \
        fpdu(0, untagged(TERMINATE, 1, bytes([0x12, 5, 0, 0]))) + fpdu(0, untagged(SEND, 2), True)
    signs = F1[:2], b"\x00\x16", b"\x00\x12", bytes(4)
    rng = random.Random(44)
    with serving():
        for mark in 0, M:
            with settings(mark, C), opened(frame(REQUEST, C | mark, 1, b"e")) as conn:
                for begin in range(12):
                    data = bait[begin:] * 3
                    octets = conn.build(conn.message(data))
                    if begin % 2:
                        cuts = sorted(rng.sample(range(1, len(octets)), 20))
                    else:
                        cuts = [i for i in range(1, len(octets))
                                if octets[i:i + 2] in signs or octets[i:i + 4] in signs]
                    send_cut(conn, octets, cuts)
                    assert conn.hear_send(conn.msn) == data


@test
def junk():
    """Bytes that are no FPDU, in place of the first and later (ERR-14, SEC-01)"""
    rng = random.Random(5044)
    with serving() as program:
        for before in 0, 1:
            for length in 8, 20, 64, 1460:
                with opened() as conn:
                    conn.echo(*[4] * before)
                    octets = rng.randbytes(length)
                    need, = struct.unpack(">H", octets[:2])
                    conn.send(octets + bytes(need + 8 if 0 < need <= 64768 else 0))
                    if before:
                        conn.terminated("2/0/2" if 0 < need <= 64768 else "2/0/3")
                    else:
                        conn.ended()
                program.expect("freed")
