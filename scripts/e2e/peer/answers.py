# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Reads of the device that we answer rightly and wrongly, and the device's answers to our odd
requests and invalidations."""
import struct

from peer import (
    C, READ, REQUEST, RESPONSE, SEND, WRITE, frame, read_request, tagged, untagged)
from device import ACCEPT, Called, Moves, opened, serving, test

READS, SIZE, ORD = 6, 1000, 4       # of endpoint.c
SEND_INV, SEND_SE, SEND_SE_INV = 4, 5, 6
LOC_PROT_ERR = "4"                  # IBV_WC_LOC_PROT_ERR


def told(conn, error, bad):
    """The next segment is a Terminate about `bad`, whose headers it shows, and the last one"""
    s = conn.hear()
    while s and s.opcode == READ:           # there was room for another one
        s = conn.hear()
    assert s and s.error() == error, s and s.error()
    read = error.startswith("0/1") and bad[1] & 15 == READ
    headers = bad[:14 if bad[0] & 0x80 else 46 if read else 18]
    assert s.data[2:] == struct.pack(">HH", 0xe000 if read else 0xc000, len(bad)) + headers
    conn.ended()


class Asked:
    """The device connects and reads: the Requests that it sends before an answer"""
    def __init__(self, letters="f", ahead=ORD):
        self.called, self.ahead = Called(letters), ahead

    def __enter__(self):
        self.called.__enter__()
        self.program = self.called.program
        self.conn = self.called.reply(ACCEPT)
        self.called.established()
        self.sinks = []
        for _ in range(self.ahead):
            self.next()
        return self

    def __exit__(self, *why):
        self.called.__exit__(*why)

    def next(self):
        s = self.conn.hear()
        stag, to, size, key, at = struct.unpack(">IQIIQ", s.data)
        i = len(self.sinks)
        assert (s.opcode, s.qn, s.msn, s.mo, s.last) == (READ, 1, i + 1, 0, True)
        assert (size, key, at) == (SIZE, 0x5eed00, i << 32), (size, key, at)
        self.sinks.append((stag, to))

    def part(self, i, begin, end, last=None, stag=0, to=0):
        """Bytes of the answer to Read i; stag: flipped bits, to: bytes beside its place"""
        sink, at = self.sinks[i]
        return tagged(RESPONSE, sink ^ stag, at + begin + to, b"\x01" * (end - begin),
                      end == SIZE if last is None else last)


@test
def reads_right():
    """Our answers in 1, 2 and 10 pieces; never more Reads than ORD (P2P-49)"""
    for pieces in 1, 2, 10:
        with Asked() as asked:
            step = SIZE // pieces
            for i in range(READS):
                asked.conn.quiet(0.02)                  # no Read beyond ORD
                for begin in range(0, SIZE, step):
                    asked.conn.say(asked.part(i, begin, begin + step))
                assert asked.program.expect("fetched")[1] == str(i)
                if len(asked.sinks) < READS:
                    asked.next()
            asked.conn.finish()
        assert asked.called.freed == (READS * SIZE, 0)


@test
def reads_fenced():
    """A Read with a fence is requested when all Reads before it are answered (RDMAP-138)"""
    with Asked("fz", ahead=1) as asked:
        for i in range(READS):
            asked.conn.quiet(0.05)
            asked.conn.say(asked.part(i, 0, SIZE))
            assert asked.program.expect("fetched")[1] == str(i)
            if len(asked.sinks) < READS:
                asked.next()
        asked.conn.finish()
    assert asked.called.freed == (READS * SIZE, 0)


# The mistake, the Terminate, the number of bytes placed; all answers but the last are right
def wrong():
    yield "STag", "1/1/0", 0, lambda a: [a.part(0, 0, SIZE, stag=0x100)]
    yield "key of the STag", "1/1/0", 0, lambda a: [a.part(0, 0, SIZE, stag=1)]
    yield "offset above", "1/1/1", 0, lambda a: [a.part(0, 0, SIZE, to=1)]
    yield "offset far above", "1/1/1", 0, lambda a: [a.part(0, 0, SIZE, to=2**62)]
    yield "a byte too many", "1/1/1", 0, lambda a: [a.part(0, 0, SIZE + 1, last=True)]
    yield "too many later", "1/1/1", 600, \
        lambda a: [a.part(0, 0, 600), a.part(0, 600, SIZE + 1, last=True)]
    yield "Last early", "1/1/1", 0, lambda a: [a.part(0, 0, SIZE - 1, last=True)]
    yield "Last early, later", "1/1/1", 600, \
        lambda a: [a.part(0, 0, 600), a.part(0, 600, SIZE - 1, last=True)]
    yield "Last missing", "1/1/1", 0, lambda a: [a.part(0, 0, SIZE, last=False)]
    yield "Last on an empty one behind", "1/1/1", 600, \
        lambda a: [a.part(0, 0, 600), a.part(0, 600, SIZE, last=False)]
    yield "nothing, and Last", "1/1/1", 0, lambda a: [a.part(0, 0, 0, last=True)]
    yield "a piece again", "1/1/1", 600, lambda a: [a.part(0, 0, 600), a.part(0, 0, 600)]
    yield "a piece left out", "1/1/1", 300, lambda a: [a.part(0, 0, 300), a.part(0, 301, 600)]
    yield "the second piece first", "1/1/1", 0, lambda a: [a.part(0, 600, SIZE)]
    yield "the second Read first", "1/1/0", 0, lambda a: [a.part(1, 0, SIZE)]
    yield "an answer again", "1/1/1", SIZE, lambda a: [a.part(0, 0, SIZE), a.part(0, 0, SIZE)]
    yield "untagged", "0/2/6", 0, lambda a: [untagged(RESPONSE, 1, bytes(SIZE))]


@test
def reads_wrong():
    """Our answers with a wrong STag, offset, length, Last, or order: nothing more is placed"""
    for what, error, placed, make in wrong():
        print(what, flush=True)
        with Asked() as asked, Moves(tx_terminate=1):
            *right, bad = make(asked)
            if what == "the second Read first" and asked.sinks[0][0] == asked.sinks[1][0]:
                error = "1/1/1"
            for part in right:
                asked.conn.say(part)
            if placed == SIZE:
                assert asked.program.expect("fetched")[1] == "0"
            asked.conn.say(bad)
            told(asked.conn, error, bad)
        assert asked.program.said.count("fetched") == placed // SIZE
        assert asked.called.freed == (placed, 0), asked.called.freed


@test
def reads_sink_gone():
    """The sink of a Read is deregistered before the answer comes: nothing is placed"""
    with Asked("fu") as asked, Moves(tx_terminate=1):
        asked.conn.say(asked.conn.message(b"now"))
        asked.program.expect("unregistered")
        bad = asked.part(0, 0, SIZE)
        asked.conn.say(bad)
        told(asked.conn, "1/1/0", bad)
        assert asked.program.expect("unfetched")[1:] == ["0", LOC_PROT_ERR]
    assert asked.called.freed[0] == 0


@test
def reads_unasked():
    """An answer without an outstanding Read is an unexpected opcode"""
    with Asked() as asked, Moves(tx_terminate=1):
        for i in range(READS):
            asked.conn.say(asked.part(i, 0, SIZE))
            if len(asked.sinks) < READS:
                asked.next()
        for i in range(READS):
            assert asked.program.expect("fetched")[1] == str(i)
        bad = asked.part(READS - 1, 0, 0, last=True)
        asked.conn.say(bad)
        told(asked.conn, "0/2/6", bad)
    assert asked.called.freed == (READS * SIZE, 0)


@test
def reads_none():
    """Read depths 0: the device refuses our Read, and its own Read ends in an error"""
    with serving() as program:
        with opened(frame(REQUEST, C, 1, b"e0")) as conn, Moves(rx_header_errors=1):
            conn.echo(1)
            bad = read_request(1, (1, 0), 4, (conn.stag, conn.at))
            conn.say(bad)
            told(conn, "1/2/2", bad)
            program.expect("DISCONNECTED")
    with Called("f0") as called, Moves(tx_terminate=1, tx_read_request=0, rx_header_errors=0):
        conn = called.reply(ACCEPT)
        called.established()
        s = conn.hear()
        assert s.error() == "0/0/0" and s.data == bytes(4), s.data.hex()
        conn.ended()


@test
def read_requests():
    """Read Requests of no bytes need no STag; a range that wraps is refused"""
    with serving() as program:
        with opened() as conn:
            for i, source in enumerate(((conn.stag ^ 0x100, 5), (0, 2**64 - 1),
                                        (0xffffffff, 2**64 - 1), (conn.stag, 0))):
                sink = 0x1234 + i, 2**64 - 1 - i
                conn.say(read_request(i + 1, sink, 0, source))
                s = conn.hear()
                assert (s.opcode, s.stag, s.to, s.data, s.last) == \
                    (RESPONSE, *sink, b"", True), s.__dict__
            conn.echo(3)
            conn.finish()
            program.expect("DISCONNECTED")
        for at, size in (2**64 - 1, 2), (2**64 - 4, 5), (2**64 - 0x40000000, 0x80000000):
            with opened() as conn, Moves(rx_access_errors=1):
                bad = read_request(1, (7, 8), size, (conn.stag, at))
                conn.say(bad)
                told(conn, "0/1/4", bad)
                program.expect("DISCONNECTED")


def spoiled(ulpdu, stag):
    """Sets all reserved bits, and puts an STag where an invalidation has it"""
    return bytes([ulpdu[0] | 0x3c, ulpdu[1] | 0x30]) + struct.pack(">I", stag) + ulpdu[6:]


@test
def reserved():
    """The device ignores reserved bits, and the STag of a message that invalidates nothing"""
    with serving() as program:
        with opened() as conn, Moves(rx_send=1, rx_send_se=1, rx_write=1, rx_read_request=1):
            for msn, opcode in (1, SEND), (2, SEND_SE):
                conn.say(spoiled(untagged(opcode, msn, b"x"), conn.stag))
                assert conn.hear_send(msn) == b"x"
            conn.say(tagged(WRITE, conn.stag, conn.at, b"valid"))
            conn.say(spoiled(read_request(1, (7, 8), 5, (conn.stag, conn.at)), conn.stag))
            s = conn.hear()
            assert (s.opcode, s.stag, s.to, s.data) == (RESPONSE, 7, 8, b"valid")
            conn.say(spoiled(untagged(7, 1, bytes(4)), conn.stag))
            conn.ended()
            program.expect("DISCONNECTED")


@test
def refused_invalidations():
    """A peer invalidates a program's region, or no region: refused, and nothing is delivered"""
    with serving() as program:
        for opcode in SEND_INV, SEND_SE_INV:
            for flip in 0, 0x100, 1, 0xffffffff:
                with opened() as conn, Moves(rx_access_errors=1, tx_terminate=1):
                    conn.say(tagged(WRITE, conn.stag, conn.at, b"valid"))
                    bad = bytearray(untagged(opcode, 1, b"gone?"))
                    bad[2:6] = struct.pack(">I", conn.stag ^ flip)
                    conn.say(bytes(bad))
                    told(conn, "0/1/9", bytes(bad))
                    program.expect("DISCONNECTED")
        assert "received" not in program.said, "a refused message was delivered"


@test
def first_error():
    """The first of two errors in a segment is reported"""
    with serving() as program:
        kinds = ("1/1/0", lambda c: tagged(WRITE, c.stag ^ 0x100, c.at, b"x")), \
            ("1/2/3", lambda c: untagged(SEND, 9)), \
            ("1/1/3", lambda c: tagged(WRITE, c.stag, 2**64 - 1, b"xx"))
        for first, make in kinds:
            for second, make_second in kinds:
                if first == second:
                    continue
                with opened() as conn, Moves(tx_terminate=1):
                    bad = make(conn)
                    conn.send(conn.build(bad) + conn.build(make_second(conn)))
                    conn.terminated(first, about=bad)
                    program.expect("DISCONNECTED")


@test
def behind_own_fin():
    """A message that comes after the device's FIN is received"""
    with Called("d") as parting:
        conn = parting.reply(ACCEPT)
        parting.established()
        conn.ended()
        conn.say(tagged(WRITE, conn.stag, conn.at, b"late"))
        conn.say(conn.message(b"late"))
        assert parting.program.expect("received")[1] == "4"
        conn.finish()
    assert parting.freed[0] == 4
