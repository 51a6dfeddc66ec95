# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Terminates: that of each error on the wire, byte for byte (peer.py, terminate()), and what
the device does with ours.
"""
import contextlib
import os
import struct

from peer import (
    C, READ, REQUEST, RESPONSE, SEND, TERMINATE, WRITE, frame, read_request, tagged, terminate,
    until, untagged)
from device import ACCEPT, Called, DEVICE, Moves, SYS, counter, opened, serving, test

SEND_INV, SEND_SE, SEND_SE_INV = 4, 5, 6
# enum ibv_wc_status; siw's ABI has no operation error, so programs see a general one.
FLUSHED, REM_ACCESS, REM_OP = 5, 10, 21


def bad_headers():
    """The mistake, the Terminate, a function that makes the ULPDU"""
    for version in 0, 2, 3:
        yield "DDP version", "1/2/6", lambda c: c.message(ddp=version)
        yield "DDP version, tagged", "1/1/4", \
            lambda c: tagged(WRITE, c.stag, c.at, b"x", ddp=version)
        yield "RDMAP version", "0/2/5", lambda c: c.message(rdmap=version)
    yield "DDP version, header cut short", "1/1/4", \
        lambda c: tagged(WRITE, c.stag, c.at, ddp=2)[:13]
    for opcode in range(8, 16):
        yield "opcode %d" % opcode, "0/2/6", lambda c: untagged(opcode, 2)
        yield "opcode %d, tagged" % opcode, "0/2/6", lambda c: tagged(opcode, c.stag, c.at)
    yield "Write, untagged", "0/2/6", lambda c: untagged(WRITE, 2)
    yield "Send, tagged", "0/2/6", lambda c: tagged(SEND, c.stag, c.at)
    yield "Send on queue 1", "0/2/6", lambda c: untagged(SEND, 1, qn=1)
    yield "Terminate, MSN 2", "1/2/3", lambda c: untagged(TERMINATE, 2, bytes(4))
    yield "message beyond 2^32", "1/2/5", lambda c: c.message(b"xx", mo=2**32 - 1)
    for size in 1, 2, 13:
        yield "Write of %d bytes" % size, "1/0/0", lambda c: tagged(WRITE, c.stag, c.at)[:size]
    for size in 2, 17:
        yield "Send of %d bytes" % size, "1/0/0", lambda c: c.message()[:size]
    yield "Read Request, short", "1/0/0", lambda c: read_request(1, (1, 0), 4, (c.stag, c.at))[:45]
    yield "Read Request, long", "1/2/5", \
        lambda c: read_request(1, (1, 0), 4, (c.stag, c.at)) + b"x"
    yield "Read Request, unfinished", "1/0/0", lambda c: untagged(READ, 1, bytes(28), last=False)
    yield "Read Request, MO", "1/2/4", lambda c: untagged(READ, 1, bytes(28), mo=28)


def bad_accesses(other):
    """The same; other: a connection of another protection domain"""
    yield "Write, other domain", "1/1/2", lambda c: tagged(WRITE, other.stag, other.at, b"x")
    yield "Read, other domain", "0/1/3", \
        lambda c: read_request(1, (1, 0), 4, (other.stag, other.at))
    yield "Read, wrap", "0/1/4", lambda c: read_request(1, (1, 0), 2, (c.stag, 2**64 - 1))
    for opcode in SEND_INV, SEND_SE_INV:
        for stag in 0, 0xA1A2A3A4, None:
            yield "opcode %d invalidates" % opcode, "0/1/9", lambda c: untagged(
                opcode, 2, bytes(4), inval=c.stag if stag is None else stag)


def refuse(program, what, error, make, letters=b"e"):
    """Two mistakes in one segment: the Terminate names the first (RFC 5040 section 7.1)"""
    print(what, flush=True)
    with opened(frame(REQUEST, C, 1, letters)) as conn:
        conn.echo(4)
        ulpdu = make(conn)
        conn.send(conn.build(ulpdu) + conn.build(conn.message(), crc=1), together=True)
        conn.terminated(error, about=ulpdu)
        program.expect("DISCONNECTED")
    assert program.freed() == (0, 8), "more than the echo was placed"


@test
def bad_segments():
    """Each header that is refused: its Terminate byte for byte (RFC 5040 section 4.8)"""
    with serving() as program:
        for row in bad_headers():
            with Moves(rx_header_errors=1, tx_terminate=1):
                refuse(program, *row)


@test
def refused_accesses():
    """Each access that is refused: its Terminate byte for byte (RFC 5040 section 4.8)"""
    with serving() as program, opened() as other:
        for row in bad_accesses(other):
            with Moves(rx_access_errors=1, tx_terminate=1, rx_send_inv=0, rx_send_se_inv=0):
                refuse(program, *row)
        for make in (lambda c: tagged(WRITE, c.stag, c.at, b"x"),
                     lambda c: read_request(1, (1, 0), 4, (c.stag, c.at))):
            with Moves(rx_access_errors=1, tx_terminate=1):
                refuse(program, "no right", "0/1/2", make, b"el")


@test
def broken_messages():
    """An opcode that changes inside a message; a local error: their Terminates"""
    with serving():
        with opened() as conn:
            conn.say(untagged(SEND, 1, b"x", last=False))
            conn.say(untagged(SEND_SE, 1, b"x", mo=1))
            conn.terminated("0/2/6")
        with opened(frame(REQUEST, C, 1, b"k")) as conn, Moves(rx_header_errors=0):
            conn.say(conn.message(b"send this with a wrong key"))
            conn.terminated("0/0/0")


@test
def error_behind_fin():
    """An error after the device's FIN: no Terminate, because TCP would not send it"""
    with Called("q") as call, Moves(rx_crc_errors=1, tx_terminate=0):
        conn = call.reply(ACCEPT)
        for i in range(32):
            conn.hear_send(i + 1)
        conn.ended()
        conn.say(conn.message(b"bad"), crc=1)


# --- Terminates that we send ---

# The codes by the names that the RFCs have for them, with the names of the driver's errors
CODES = {
    "2/0/1": "mpa_closed", "2/0/2": "mpa_crc", "2/0/3": "mpa_marker", "2/0/4": "mpa_frame",
    "2/0/5": "mpa_local", "2/0/6": "mpa_ird", "2/0/7": "mpa_rtr",
    "1/0/0": "ddp_local",
    "1/1/0": "ddp_t_stag", "1/1/1": "ddp_t_bounds", "1/1/2": "ddp_t_assoc",
    "1/1/3": "ddp_t_wrap", "1/1/4": "ddp_t_version",
    "1/2/1": "ddp_u_qn", "1/2/2": "ddp_u_nobuf", "1/2/3": "ddp_u_msn", "1/2/4": "ddp_u_mo",
    "1/2/5": "ddp_u_toolong", "1/2/6": "ddp_u_version",
    "0/0/0": "rdmap_local", "0/0/7": "rdmap_local",
    "0/1/0": "rdmap_stag", "0/1/1": "rdmap_bounds", "0/1/2": "rdmap_access",
    "0/1/3": "rdmap_assoc", "0/1/4": "rdmap_wrap", "0/1/9": "rdmap_noinval",
    "0/2/5": "rdmap_version", "0/2/6": "rdmap_opcode", "0/2/7": "rdmap_catastrophic",
    "0/2/255": "rdmap_unspecified",
    "0/1/255": "other", "0/2/8": "other", "1/3/0": "other", "15/15/255": "other",
}


def terminate_counters():
    names = os.listdir(SYS + "/ports/1/hw_counters")
    return {name: counter(name) for name in names if name.startswith("rx_terminate")}


@test
def counts_terminates():
    """A Terminate of each code: its counter, and no other, moves (RFC 5040 section 5.4)"""
    assert set(terminate_counters()) == \
        {"rx_terminate_" + name for name in CODES.values()} | {"rx_terminate"}
    with serving() as program:
        for error, name in CODES.items():
            want = terminate_counters()
            for moves in "rx_terminate", "rx_terminate_" + name:
                want[moves] += 1
            with opened() as conn:
                conn.echo(1)
                conn.say(terminate(error))
                program.expect("DISCONNECTED")
            until(lambda: terminate_counters() == want, error + " is not counted so")


# --- Reads of the program ---

@contextlib.contextmanager
def asked():
    """A connection on which the program reads three times, and its Requests"""
    with opened(frame(REQUEST, C, 1, b"r")) as conn:
        conn.say(conn.message(b"read"))
        requests = [conn.hear() for _ in range(3)]
        for i, s in enumerate(requests):
            assert (s.opcode, s.qn, s.msn, s.mo, s.last) == (READ, 1, i + 1, 0, True)
        yield conn, requests


def read_statuses(program):
    """The status of each Read"""
    lines = [program.expect("read") for _ in range(3)]
    assert [line[1] for line in lines] == ["0", "1", "2"]
    return [int(line[2]) for line in lines]


def about_reads(reqs):
    """A Terminate, the Read that fails and its status; -1: none does"""
    first, second, third = (s.ulpdu for s in reqs)
    yield terminate("0/1/0", second), 1, REM_ACCESS
    yield terminate("0/1/1", third, 0xC0, struct.pack(">H", 46) + third[:18]), 2, REM_ACCESS
    yield terminate("0/2/6", third), 2, REM_OP
    yield terminate("1/2/2", second), 1, REM_OP
    # a Terminate that names none of them is about the oldest
    yield terminate("0/1/0", read_request(9, (1, 2), 3, (4, 5))), 0, REM_ACCESS
    yield terminate("0/1/0", b"", 0x20, second[18:]), 0, REM_ACCESS
    yield terminate("0/1/0"), 0, REM_ACCESS
    yield terminate("0/2/7"), 0, REM_OP
    # Terminates that are not about a Read
    yield terminate("0/1/9"), -1, FLUSHED
    yield terminate("0/1/9", untagged(SEND_INV, 2, inval=1)), -1, FLUSHED
    yield terminate("0/1/2", tagged(WRITE, 1, 2, b"x")), -1, FLUSHED
    yield terminate("0/2/5", untagged(SEND, 2)), -1, FLUSHED
    yield terminate("1/1/0"), -1, FLUSHED
    yield terminate("2/0/2"), -1, FLUSHED
    # siw announces a Read Request with each protection error, and shows a Send
    yield terminate("0/1/0", b"", 0xE0, struct.pack(">H", 4) + untagged(SEND, 2)), -1, FLUSHED


@test
def reads_terminated():
    """A Terminate about a Read fails the one that it names, or the oldest (RFC 5040 section 5.4)"""
    with serving() as program:
        for row in range(15):
            with asked() as (conn, reqs), Moves(rx_terminate=1, tx_terminate=0):
                ulpdu, which, status = list(about_reads(reqs))[row]
                conn.say(ulpdu)
                got = read_statuses(program)
            want = [status if i == which else FLUSHED for i in range(3)]
            assert got == want, "row %d: %s, expected %s" % (row, got, want)
            program.expect("freed")
        assert len(list(about_reads(reqs))) == 15


def wrong_answers(sink, other):
    """The Terminate, and a wrong response to the first Read"""
    (stag, to), data = sink, bytes(1000)
    yield "1/1/0", tagged(RESPONSE, stag ^ 0x100, to, data)
    yield "1/1/0", tagged(RESPONSE, stag ^ 0x100, to, data[:10], last=False)
    yield "1/1/1", tagged(RESPONSE, stag, to + 1, data)
    yield "1/1/1", tagged(RESPONSE, *other, data)
    yield "1/1/1", tagged(RESPONSE, stag, to, data + b"x")
    yield "1/1/1", tagged(RESPONSE, stag, to, data[1:])
    yield "1/1/1", tagged(RESPONSE, stag, to, data, last=False)
    yield "1/1/1", tagged(RESPONSE, stag, to)


@test
def reads_answered():
    """Reads of the device, answered well and in each wrong way (RFC 5040 section 5.2.2)"""
    with serving() as program:
        with asked() as (conn, reqs), Moves(rx_read_response=3, tx_terminate=0):
            for pieces, s in zip((1, 2, 10), reqs):
                stag, to, size = struct.unpack(">IQI", s.data[:16])
                assert size == 1000
                for i in range(pieces):
                    n = size // pieces
                    conn.say(tagged(RESPONSE, stag, to + i * n, bytes(n), last=i == pieces - 1))
            assert read_statuses(program) == [0, 0, 0]
            conn.finish()
            program.expect("freed")
        for row in range(8):
            with asked() as (conn, reqs), Moves(tx_terminate=1, rx_read_response=0):
                first, other, _ = (struct.unpack(">IQ", s.data[:12]) for s in reqs)
                error, ulpdu = list(wrong_answers(first, other))[row]
                conn.say(ulpdu)
                conn.terminated(error)
                assert read_statuses(program) == [FLUSHED] * 3
                program.expect("freed")
        assert len(list(wrong_answers(first, other))) == 8
