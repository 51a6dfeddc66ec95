# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Reads of ours that the device must not answer, or not to their end."""
import select
import struct

from peer import (
    C, READ, REQUEST, RESPONSE, SLOW, WRITE, enhanced, frame, read_request, tagged, terminate,
    until)
from device import (
    ECHO, MEM_SIZE, Moves, WINDOW, WINDOW_SIZE, counter, opened, read_faster, serving, slow_reader,
    test)

IRD = 4             # of endpoint.c
READ_SIZE = 100
READS = frame(REQUEST, C, 1, b"y")


def ask(conn, number, size, at):
    """Reads from one source, with sinks of their own"""
    for i in range(number):
        conn.say(read_request(i + 1, (i, i << 32), size, (conn.stag, at)))


def say_wrong(conn, bad, error):
    """Says a wrong segment; the device has found the error before we read its answers"""
    before = counter(error)
    conn.say(bad)
    until(lambda: counter(error) > before, error)


def answers(conn, size):
    """The number of bytes of each Read that come, zeroes, and the segment after the last of them"""
    got = []
    read_faster(conn)
    while True:
        s = conn.hear()
        assert s, "the stream ends without a Terminate"
        if s.opcode != RESPONSE:
            return got, s
        if not got or got[-1] == size:
            got.append(0)
        i = len(got) - 1
        assert (s.stag, s.to) == (i, (i << 32) + got[i]), "out of order"
        got[i] += len(s.data)
        assert not s.data.strip(b"\0"), "what the program wrote afterwards"
        assert s.last == (got[i] == size)


@test
def ird():
    """One Read more than the IRD, while the first is being answered (RFC 5040 section 6.1, P2P-50)

    An IRD that is no power of two is rounded up, because siw rounds its ORD up.
    """
    size = MEM_SIZE         # more than TCP takes from the device while nobody reads
    with serving() as program:
        for request, most in (ECHO, IRD), (enhanced(REQUEST, C, 1, IRD + 1, b"e"), 2 * IRD):
            with slow_reader(request) as conn, Moves(rx_read_request=most, rx_header_errors=1):
                assert conn.reply.ird in (None, IRD + 1)
                at = conn.at - WINDOW
                ask(conn, most, size, at)
                assert select.select([conn.sock], [], [], 8 * SLOW)[0], "no answer begins"
                bad = read_request(most + 1, (most, 0), size, (conn.stag, at))
                say_wrong(conn, bad, "rx_header_errors")
                got, s = answers(conn, size)
                assert s.ulpdu == terminate("1/2/2", bad), s.ulpdu.hex()
                assert sum(got) < most * size, "nothing was outstanding any more"
                conn.ended()
                program.expect("DISCONNECTED")
        # As many as the IRD, and as many again after these were answered, are no error.
        with slow_reader() as conn, Moves(rx_read_request=2 * IRD, tx_terminate=0):
            for turn in range(2):
                for i in range(IRD):
                    conn.say(read_request(turn * IRD + i + 1, (i, 0), WINDOW_SIZE,
                                          (conn.stag, conn.at)))
                read_faster(conn)
                for i in range(IRD):
                    while not (s := conn.hear()).last:
                        assert s.stag == i
            conn.finish()
            program.expect("DISCONNECTED")


def cut(conn, size, error):
    """The answers to ask() end amid one, with that error."""
    got, s = answers(conn, size)
    # The error is in the Read whose response stopped, or in the first without one.
    if not got or got[-1] == size:
        got.append(0)
    i, sent = len(got) - 1, got[-1]
    assert i < IRD, "all were answered"
    want = read_request(i + 1, (i, (i << 32) + sent), size - sent, (conn.stag, conn.at + sent))
    assert s.ulpdu == terminate(error, want), "%s after %s" % (s.ulpdu.hex(), got)
    conn.ended()


@test
def read_gone():
    """The source of a Read is deregistered while it is answered (RFC 5040 sections 4.8 and 7.1)"""
    with serving() as program:
        with slow_reader(frame(REQUEST, C, 1, b"u")) as conn, Moves(rx_access_errors=1, tx_terminate=1):
            ask(conn, IRD, WINDOW_SIZE, conn.at)
            conn.say(conn.message(b"now"))
            program.expect("unregistered")
            cut(conn, WINDOW_SIZE, "0/1/0")
            program.expect("DISCONNECTED")


@test
def read_forbidden():
    """The program takes the right to read from its queue pair while a Read is answered"""
    with serving() as program:
        with slow_reader() as conn, Moves(rx_access_errors=1, tx_terminate=1):
            before = counter("rx_read_request")
            ask(conn, IRD, WINDOW_SIZE, conn.at)
            assert select.select([conn.sock], [], [], 8 * SLOW)[0], "no answer begins"
            # A Request that comes later is refused itself.
            until(lambda: counter("rx_read_request") == before + IRD, "all Requests")
            program.tell("forbid")
            program.expect("forbidden")
            cut(conn, WINDOW_SIZE, "0/1/2")
            program.expect("DISCONNECTED")


@test
def terminate_amid():
    """An error while a Read is answered: whole segments, then the Terminate (RDMAP-123)"""
    size = MEM_SIZE         # more than TCP takes from the device while nobody reads
    with serving() as program:
        with slow_reader() as conn, Moves(rx_access_errors=1, tx_terminate=1):
            ask(conn, 1, size, conn.at - WINDOW)
            assert select.select([conn.sock], [], [], 8 * SLOW)[0], "no answer begins"
            bad = tagged(WRITE, conn.stag, conn.at + WINDOW_SIZE, b"beyond")
            say_wrong(conn, bad, "rx_access_errors")
            got, s = answers(conn, size)
            assert got[0] < size, "it was answered before"
            assert s.ulpdu == terminate("1/1/1", bad), s.ulpdu.hex()
            conn.ended()
            program.expect("DISCONNECTED")


def heard_sinks(conn):
    """The sinks of the device's two Reads, as its Requests name them"""
    conn.say(conn.message(b"go"))           # a responder is silent before that
    for _ in range(2):
        s = conn.hear()
        assert s.opcode == READ, s.__dict__
        stag, to, size, _, _ = struct.unpack(">IQIIQ", s.data)
        assert size == READ_SIZE
        yield stag, to


def token(conn):
    """The STag of both sinks, which is none of the program's"""
    (first, at), (second, behind) = heard_sinks(conn)
    assert first and first == second, "STags %08x and %08x" % (first, second)
    assert first != conn.stag, "it is the lkey of the program's region"
    assert (at, behind) == (0, READ_SIZE), "offsets %x and %x" % (at, behind)
    return first


@test
def sinks():
    """A Read Request has no key and no address of its sink, but a token of the connection"""
    tokens = set()
    with serving() as program:
        with opened(READS) as conn, Moves(rx_read_response=2):
            sink = token(conn)
            tokens.add(sink)
            for i in range(2):
                conn.say(tagged(RESPONSE, sink, i * READ_SIZE, b"x" * READ_SIZE))
                program.expect("fetched")
            conn.finish()
        assert program.freed() == (2 * READ_SIZE, len("go"))
        # The token is good for nothing else, and nothing else is good for a response.
        for wrong in (lambda conn, sink: tagged(WRITE, sink, 0, b"x"),
                      lambda conn, sink: tagged(RESPONSE, conn.stag, 0, b"x" * READ_SIZE)):
            with opened(READS) as conn, Moves(rx_access_errors=1):
                sink = token(conn)
                tokens.add(sink)
                conn.say(wrong(conn, sink))
                conn.terminated("1/1/0")
            assert program.freed() == (0, len("go"))
    assert len(tokens) == 3, "the same token again: %s" % tokens
