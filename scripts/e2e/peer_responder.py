# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""peer_responder.py NAME...: the device is the responder, and we say anything."""
import contextlib
import socket
import struct
import sys
import time

from peer import (
    ANY, C, Conn, F1, F2, F5, F7, F9, M, Moves, OFFER_READ, OFFER_SEND, OFFER_WRITE,
    PEER, PORT, Program, R, READ, REPLY, REQUEST, RESPONSE, S, SEND, SLOW, Settings, V4,
    V6, WRITE, enhanced, frame, main, read_request, tagged, untagged)

TESTS = {}
ECHO, HELLO = frame(REQUEST, C, 1, b"e"), frame(REQUEST, C, 1, b"h")


def test(function):
    TESTS[function.__name__] = function
    return function


def listener(address=V4[1]):
    program = Program("listen", address, PORT)
    program.expect("listens")
    return program


def call(address=V4[1]):
    return Conn(socket.create_connection((address, PORT), 5 * SLOW))


def opened(request=ECHO, address=V4[1], piece=None):
    """A connection with its startup done"""
    conn = call(address)
    conn.send(request, piece)
    conn.reply = conn.startup()
    assert conn.reply.key == REPLY and not conn.reply.flags & R, "no accepting Reply"
    stag, conn.at, size = struct.unpack(">IQI", conn.reply.pd)
    conn.stag = stag
    assert size == 65536
    return conn.agree(request[16], conn.reply.flags)


def still_serves(program, address=V4[1]):
    with opened(address=address) as conn:
        conn.echo(5, 100)
    program.expect("DISCONNECTED")
    program.seen()


@contextlib.contextmanager
def serving(address=V4[1]):
    with listener(address) as program:
        yield program
        still_serves(program, address)


# Request, and what the Reply has to be: flags, revision, IRD word, ORD word
def proper():
    none = (C, 1, None, None)
    yield F1, none
    yield F2, none
    yield frame(REQUEST, 0), none
    yield frame(REQUEST, C | R), none                   # NEG-09
    yield frame(REQUEST, C | 0x1F), none                # NEG-11, GAP-03
    yield frame(REQUEST, C, 2), (C, 2, None, None)      # GAP-03
    yield F5, (C | S, 2, PEER | 32, OFFER_WRITE | OFFER_READ | 4)
    yield F7, (C | S, 2, ANY, ANY)
    yield F9, (C | S, 2, PEER | OFFER_SEND | 4, OFFER_WRITE | OFFER_READ | 1)
    yield enhanced(REQUEST, C | 0xF, 3, 2), (C | S, 2, 4, 3)
    # without A the other flags mean nothing (P2P-27)
    yield enhanced(REQUEST, C, OFFER_SEND | 3, OFFER_WRITE | OFFER_READ | 2), (C | S, 2, 4, 3)
    yield enhanced(REQUEST, C, PEER | OFFER_SEND, 0), (C | S, 2, PEER | OFFER_SEND | 4, 0)
    # no type offered: all that we have (P2P-33)
    yield (enhanced(REQUEST, C, PEER, 0),
           (C | S, 2, PEER | OFFER_SEND | 4, OFFER_WRITE | OFFER_READ))
    yield enhanced(REQUEST, C, 0x3FFE, 0x3FFE), (C | S, 2, 128, 4)     # P2P-48


@test
def requests():
    with serving() as program:
        for request, want in proper():
            for piece in (None, 1):
                with Moves(startups_ok=1), opened(request, piece=piece) as conn:
                    rep = conn.reply
                    got = rep.flags, rep.rev, rep.ird, rep.ord
                    assert got == want, "%s: Reply %s, expected %s" % (
                        request[16:].hex(), got, want)
                    conn.say(conn.message(b"first"))
                    assert program.expect("received")[1] == "5"
                program.expect("DISCONNECTED")


def improper():
    for i in range(16):
        yield F1[:i] + bytes([F1[i] ^ 1]) + F1[i + 1:]
    yield frame(REPLY, C)
    for rev in (0, 3, 255):
        yield frame(REQUEST, C, rev)
    yield frame(REQUEST, M | C, 0)                      # F11
    yield frame(REQUEST, C, length=513)
    yield frame(REQUEST, C, length=65535)
    for n in range(4):
        yield frame(REQUEST, C | S, 2, bytes(n))
    yield b"GET / HTTP/1.1\r\nHost: b\r\n\r\n"


@test
def bad_requests():
    with serving() as program:
        for request in improper():
            print(request[:24], flush=True)
            with Moves(startups_failed=1), call() as conn:
                conn.send(request)
                conn.ended()
        assert not program.seen(), "the program was told"


@test
def old_revision():
    """Revision 1 only: no Reply to a Request of revision 2 (P2P-46)"""
    with serving(), Settings(revision=1):
        for request in F5, frame(REQUEST, C, 2):
            with Moves(startups_failed=1), call() as conn:
                conn.send(request)
                conn.ended()
        with opened(frame(REQUEST, C | S, 1, b"e")) as conn:
            assert conn.reply.rev == 1
            conn.echo(3)


def in_time(begin):
    took = time.monotonic() - begin
    assert 0.25 < took < 0.3 + 1.2 * SLOW, "closed after %.2f s" % took


@test
def silent():
    with serving() as program, Settings(startup_timeout_ms=300):
        for octets in b"", F1[:1], F1[:19], frame(REQUEST, C, length=8):
            with Moves(startups_timeout=1), call() as conn:
                begin = time.monotonic()
                conn.send(octets)
                conn.ended()
                in_time(begin)
        with Moves(startups_timeout=1), call() as conn:
            begin = time.monotonic()
            with contextlib.suppress(ConnectionError, BrokenPipeError):
                for octet in F1:
                    conn.send(bytes([octet]))
                    time.sleep(0.1)
            conn.ended()
            assert time.monotonic() - begin < 2.5 * SLOW + 0.5
        assert not program.seen(), "the program was told"


@test
def many_silent():
    """No more than max_pending are waited for (SEC-13)"""
    with serving(), Settings(startup_timeout_ms=2000 * int(SLOW), max_pending=4), \
            contextlib.ExitStack() as stack:
        with Moves(startups_timeout=4, pending_overflow=3):
            conns = [stack.enter_context(call()) for _ in range(7)]
            for conn in conns:
                conn.ended()


@test
def behind():
    """Octets behind the Request are not waited for (DUAL-07)"""
    with serving():
        for tail in b"x", b"GET /", bytes(64), F1:
            with Moves(startups_failed=1), call() as conn:
                conn.send(F1 + tail)
                conn.ended()


@test
def parting():
    """FIN and RST at each step"""
    with serving() as program:
        for part in Conn.finish, Conn.reset:
            for n in 0, 1, 19:
                with Moves(startups_failed=1), call() as conn:
                    conn.send(F1[:n])
                    part(conn)
                    if part is Conn.finish:
                        conn.ended()
            with Moves(startups_failed=1), call() as conn:
                conn.send(frame(REQUEST, C, 1, b"w"))
                program.expect("CONNECT_REQUEST")
                part(conn)
            for fpdus in 0, 1, 3:
                with opened(ECHO) as conn:
                    if fpdus:
                        conn.echo(*range(fpdus))
                    with Moves(conn_reset=int(part is Conn.reset)):
                        part(conn)
                        program.expect("DISCONNECTED")
            with opened() as conn:
                conn.echo(9)
                with Moves(conn_reset=1):
                    conn.send(conn.build(conn.message(b"cut short"))[:13])
                    part(conn)
                    program.expect("DISCONNECTED")


@test
def private_data():
    with serving() as program:
        for n in 0, 1, 2, 255, 256, 508, 512:
            for build, most in (lambda pd: frame(REQUEST, C, 1, pd), 512), \
                    (lambda pd: enhanced(REQUEST, C, 1, 1, pd), 508):
                if n > most:
                    continue
                pd = bytes(0x80 | i & 0x7F for i in range(n))
                if n > 255:     # more than iw_cm can tell (NEG-17)
                    with Moves(startups_failed=1), call() as conn:
                        conn.send(build(pd), 37)
                        conn.ended()
                    continue
                with opened(build(pd), piece=37) as conn:
                    line = program.expect("CONNECT_REQUEST")
                    assert line[4:] == [str(n), pd.hex() or "-"], line
                    conn.say(conn.message())
                    program.expect("received")
                program.expect("DISCONNECTED")


@test
def rejects():
    with serving():
        for request in frame(REQUEST, C, 1, b"x"), enhanced(REQUEST, C, 1, 1, b"x"):
            with Moves(startups_rejected=1), call() as conn:
                conn.send(request)
                rep = conn.startup()
                assert rep.flags & R and rep.pd == b"no", "not rejected so"
                assert bool(rep.flags & S) == bool(request[16] & S)
                conn.ended()


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
def gate():
    """Nothing is sent before the first valid FPDU (NEG-30)"""
    with serving() as program:
        with opened(HELLO) as conn:
            program.expect("posted")
            conn.quiet(0.2)
            fpdu = conn.build(conn.message())
            conn.send(fpdu[:-1])
            conn.quiet(0.1)
            conn.send(fpdu[-1:])
            assert conn.hear_send(1) == b"hello"
        program.expect("DISCONNECTED")
        for how in {"crc": 1}, {"length": 0}, {"length": 65000}:
            with opened(HELLO) as conn:
                program.expect("posted")
                conn.say(conn.message(), **how)
                conn.ended()
            program.expect("DISCONNECTED")
        with opened(HELLO) as conn:
            program.expect("posted")
            conn.say(untagged(SEND, 7))
            conn.ended()


@test
def rtr():
    """Each RTR type opens the responder, and its program sees none (P2P-38)"""
    with serving() as program:
        for kind in SEND, WRITE, READ:
            with opened(F9) as conn:
                program.expect("posted")
                conn.quiet(0.05)
                if kind == SEND:
                    conn.say(conn.message())
                elif kind == WRITE:
                    conn.say(tagged(WRITE, 0, 0))
                else:
                    conn.say(read_request(1, (0x1234, 0x5678), 0, (0, 0)))
                    s = conn.hear()
                    assert s.opcode == RESPONSE and not s.data and s.last, s.__dict__
                assert conn.hear_send(1) == b"hello"
                conn.say(conn.message(b"second"))
                assert conn.hear_send(2) == b"second"
                lines = [line[1] for line in program.seen() if line[0] == "received"]
                assert lines == ["6"], "the RTR was shown: %s" % lines
            program.expect("DISCONNECTED")


# What is wrong, the Terminate, the counter; a function makes the ULPDU, or a
# tuple of it and of how it is sent
def wrong():
    header, access = "rx_header_errors", "rx_access_errors"
    yield "crc", "2/0/2", "rx_crc_errors", lambda c: (c.message(b"bad"), {"crc": 1})
    yield "length 0", "2/0/3", "rx_framing_errors", lambda c: (c.message(b"bad"), {"length": 0})
    yield "length 64769", "2/0/3", "rx_framing_errors", \
        lambda c: (c.message(b"bad"), {"length": 64769})
    yield "DDP version", "1/2/6", header, lambda c: c.message(ddp=0)
    yield "DDP version, tagged", "1/1/4", header, lambda c: tagged(WRITE, c.stag, c.at, b"x", ddp=2)
    yield "RDMAP version", "0/2/5", header, lambda c: c.message(rdmap=0)
    yield "opcode 8", "0/2/6", header, lambda c: untagged(8, 2)
    yield "Read Request on queue 0", "0/2/6", header, lambda c: untagged(READ, 2, bytes(28), qn=0)
    yield "Read Response", "0/2/6", header, lambda c: tagged(RESPONSE, c.stag, c.at, b"x")
    yield "queue 3", "1/2/1", header, lambda c: c.message(qn=3)
    yield "MSN again", "1/2/3", header, lambda c: untagged(SEND, 1)
    yield "MSN left out", "1/2/3", header, lambda c: untagged(SEND, 3)
    yield "MO", "1/2/4", header, lambda c: c.message(b"x", mo=4)
    yield "Write, STag", "1/1/0", access, lambda c: tagged(WRITE, c.stag ^ 0x100, c.at, b"x")
    yield "Write, bounds", "1/1/1", access, lambda c: tagged(WRITE, c.stag, c.at + 65536, b"x")
    yield "Write, wrap", "1/1/3", access, lambda c: tagged(WRITE, c.stag, 2**64 - 1, b"xx")
    yield "Read, STag", "0/1/0", access, \
        lambda c: read_request(1, (1, 0), 4, (c.stag ^ 0x100, c.at))
    yield "Read, bounds", "0/1/1", access, \
        lambda c: read_request(1, (1, 0), 4, (c.stag, c.at + 65535))


@test
def terminates():
    with serving() as program:
        for what, error, moves, make in wrong():
            for piece in None, 1:
                print(what, flush=True)
                with opened() as conn:
                    conn.echo(4)
                    program.seen()
                    ulpdu = make(conn)
                    ulpdu, how = ulpdu if isinstance(ulpdu, tuple) else (ulpdu, {})
                    bad = conn.build(ulpdu, **how)
                    # a good one in the same segment; nothing of it arrives (ERR-09)
                    good = conn.build(untagged(SEND, 2, b"good")) + \
                        conn.build(untagged(SEND, 3, b"good"))
                    with Moves(rx_send=0, tx_terminate=1, **{moves: 1}):
                        if piece:
                            conn.send(bad, 1)
                        else:
                            conn.send(bad + good)
                        conn.terminated(error)
                    program.expect("DISCONNECTED")


@test
def receives():
    """Without a receive, with one that is too short"""
    with serving():
        with opened(frame(REQUEST, C, 1, b"n")) as conn:
            conn.say(tagged(WRITE, 0, 0))
            with Moves(rx_no_receive=1):
                conn.say(conn.message(b"x"))
                conn.terminated("1/2/2")
        for last in True, False:
            with opened(frame(REQUEST, C, 1, b"es")) as conn:
                conn.echo(16)
                conn.say(conn.message(bytes(17), last=last))
                conn.terminated("1/2/5")


@test
def memory():
    """Write and Read: what is right works, in pieces too; what is bad is not placed"""
    with serving():
        with opened() as conn:
            data = bytes(range(250)) * 40
            conn.say(tagged(WRITE, conn.stag, conn.at, data[:6000], last=False), 999)
            conn.say(tagged(WRITE, conn.stag, conn.at + 6000, data[6000:]))
            conn.say(read_request(1, (77, 1000), len(data), (conn.stag, conn.at)))
            got = b""
            while len(got) < len(data):
                s = conn.hear()
                assert (s.opcode, s.stag, s.to) == (RESPONSE, 77, 1000 + len(got))
                got += s.data
                assert s.last == (len(got) == len(data))
            assert got == data
            conn.say(tagged(WRITE, conn.stag, conn.at, b"bad"), crc=0x10)
            conn.terminated("2/0/2")


@test
def segments():
    """FPDUs in segments of one octet, and many in one"""
    with serving():
        for piece in 1, 3, 7, 1000, None:
            with opened() as conn:
                conn.echo(1, 2, 3, 4, 50, 0, 300, 16, piece=piece)
                conn.echo(2000, 1, 5000, piece=piece and max(piece, 3))


LENGTHS = (0, 1, 2, 3, 100, 490, 500, 600), (1400, 1, 4000, 0, 506, 16000), (8000,) * 4


@test
def markers():
    with serving():
        for setting in 0, 1:
            for theirs in 0, M:
                with Settings(markers=setting):
                    for piece in None, 11:
                        with opened(frame(REQUEST, C | theirs, 1, b"e")) as conn:
                            assert conn.reply.flags == C | M * setting
                            for lengths in LENGTHS:
                                conn.echo(*lengths, piece=piece)


@test
def bad_markers():
    with serving(), Settings(markers=1):
        with opened() as conn:
            conn.say(conn.message(b"x"), pointer=0x3)       # MRK-07
            assert conn.hear_send(1) == b"x"
            with Moves(rx_framing_errors=1):
                conn.say(conn.message(bytes(600)), pointer=0x8)
                conn.terminated("2/0/3")
        with opened() as conn:
            conn.echo(1)
            with Moves(rx_crc_errors=1, rx_framing_errors=0):   # ERR-03
                conn.say(conn.message(bytes(600)), pointer=0x8, crc=1)
                conn.terminated("2/0/2")
        with opened(frame(REQUEST, C | M, 1, b"e")) as conn:
            conn.echo(500, 3)
            conn.say(conn.message(ddp=0))
            conn.terminated("1/2/6")


@test
def ipv6():
    with serving(V6[1]):
        for request in F9, frame(REQUEST, C | M, 1, b"e"):
            with opened(request, V6[1], piece=1) as conn:
                conn.say(conn.message(b"six"))
                if request is F9:
                    assert conn.hear_send(1) == b"hello"
                assert conn.hear_send(2 if request is F9 else 1) == b"six"
        with opened(address=V6[1]) as conn:
            conn.echo(1, 9000)
            conn.say(conn.message(), crc=1)
            conn.terminated("2/0/2")


if __name__ == "__main__":
    main(TESTS, sys.argv[1:] or TESTS)
