# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The device is the initiator, and we answer anything."""
import contextlib
import socket
import time

from peer import (
    C, Conn, M, OFFER_READ, OFFER_SEND, OFFER_WRITE, PEER, PORT, R, REPLY, REQUEST, S, SLOW, V6,
    WRITE, Way, enhanced, frame, now)
from device import (
    ACCEPT, Called, Moves, Program, Settings, heard_rtr, listening, ms, test, took)


@test
def replies():
    """Proper Replies, in one piece and in many; nothing is sent before (NEG-26, NEG-38, NEG-44)"""
    for reply in ACCEPT, frame(REPLY, 0), frame(REPLY, C | 0xF), frame(REPLY, C, 2), \
            frame(REPLY, C | S, 1, b"seed"), frame(REPLY, C, 1, bytes(255)), \
            frame(REPLY, C | 0x1F, 1):
        for piece in None, 1:
            with Moves(startups_ok=1), Called("eh") as call:
                req = call.conn.request
                call.conn.quiet(0.01)
                assert (req.flags, req.rev) == (C | S, 2)
                assert (req.ird, req.ord) == (PEER | OFFER_SEND | 4,
                                              OFFER_WRITE | OFFER_READ | 4)
                conn = call.reply(reply, piece)
                line = call.established()
                pd = reply[20:]
                assert line[4:] == [str(len(pd)), pd.hex() or "-"], line
                assert conn.hear_send(1) == b"hello"
                conn.say(conn.message(b"x"))
                assert conn.hear_send(2) == b"x"
                conn.finish()
                call.program.expect("DISCONNECTED")


def improper():
    for i in range(16):
        yield ACCEPT[:i] + bytes([ACCEPT[i] ^ 4]) + ACCEPT[i + 1:]
    yield frame(REQUEST, C)                             # NEG-33
    for rev in 0, 3, 255:
        yield frame(REPLY, C, rev)
    yield frame(REPLY, C, length=513)
    yield frame(REPLY, C, length=65535)
    for n in range(4):
        yield frame(REPLY, C | S, 2, bytes(n))
    yield b"SSH-2.0-OpenSSH_9.2p1\r\n"


@test
def bad_replies():
    """Improper Replies: closed, and the program gets an error (NEG-05, NEG-33, CONN-16)"""
    for reply in improper():
        print(reply[:24], flush=True)
        with Moves(startups_failed=1), Called() as call:
            call.conn.send(reply)
            call.refused("CONNECT_ERROR", -71)
            call.conn.ended()


@test
def refusals():
    """R=1, with what the peer says about it; R counts before all else (HIST-21)"""
    for pd in b"", b"busy", bytes(range(255)):
        for build in frame(REPLY, C | R, 1, pd), \
                enhanced(REPLY, C | R, PEER | 32, OFFER_WRITE | 64, pd):
            with Moves(startups_rejected=1), Called() as call:
                call.conn.send(build, 9)
                line = call.refused("REJECTED", -111)
                assert line[4:] == [str(len(pd)), pd.hex() or "-"], line
                call.conn.ended()
                assert not call.conn.was_reset


@test
def no_reply():
    """A responder is silent, is slow, or closes, also within a Reply (NEG-16, NEG-35, CONN-14)"""
    with Settings(startup_timeout_ms=ms(0.4), accept_timeout_ms=ms(2.6)):
        for octets, seconds in (b"", 0.4 + 2.6), (ACCEPT[:1], 0.4), (ACCEPT[:19], 0.4), \
                (frame(REPLY, C, length=4), 0.4):
            with Moves(startups_timeout=1), Called() as call:
                call.conn.send(octets)
                call.refused("UNREACHABLE", -110)
                took(call.begin, seconds)
                call.conn.ended()
        with Moves(startups_timeout=1), Called() as call, \
                contextlib.suppress(ConnectionError, BrokenPipeError):
            for octet in ACCEPT:
                call.conn.send(bytes([octet]))
                time.sleep(0.05 * SLOW)
            call.refused("UNREACHABLE", -110)
    # The whole time is not given anew for the second call. Its SYN may be sent twice, a second
    # apart, because our TCP loses one that arrives while finish() has the socket that the RST
    # ended.
    with Settings(startup_timeout_ms=ms(2.4), accept_timeout_ms=ms(1.6)), \
            Moves(startups_timeout=1, startups_fallback=1), Called() as call:
        call.conn.quiet(1.7)
        call.conn.finish()
        with call.again():
            call.refused("UNREACHABLE", -110)
            took(call.begin, 2.4 + 1.6)
    for part in Conn.finish, Conn.reset:
        for octets in ACCEPT[:1], ACCEPT[:19], frame(REPLY, C, length=4) + b"ab":
            with Moves(startups_failed=1, startups_fallback=0), Called() as call:
                call.conn.send(octets)
                part(call.conn)
                call.refused("REJECTED", -104)


@test
def late_reply():
    """The peer's program answers later than the peer may be silent (NEG-35)"""
    with Settings(startup_timeout_ms=ms(1)):
        with Moves(startups_timeout=0, startups_ok=1), Called("he") as call:
            call.conn.quiet(2)
            conn = call.reply(ACCEPT)
            call.established()
            assert conn.hear_send(1) == b"hello"
        with Moves(startups_timeout=0, startups_rejected=1), Called() as call:
            call.conn.quiet(2)
            call.conn.send(frame(REPLY, C | R))
            call.refused("REJECTED", -111)


@contextlib.contextmanager
def deaf_listener():
    """TCP does not answer a call, because nobody has accepted the one before."""
    with listening() as sock:
        sock.listen(0)
        with socket.create_connection(sock.getsockname()[:2], 5 * SLOW):
            yield


@test
def no_tcp():
    """TCP that does not connect has the peer's time, and no program's (NEG-35)"""
    with Settings(startup_timeout_ms=ms(0.4)), Program() as program, deaf_listener(), \
            Moves(startups_timeout=1):
        begin = now()
        program.tell("connect", Way.addresses[0], PORT)
        program.expect("ROUTE_RESOLVED")
        assert program.expect("UNREACHABLE")[1] == "-110"
        took(begin, 0.4)


@test
def fallback():
    """A peer that closes on revision 2 and accepts revision 1 (P2P-47)"""
    for part in Conn.finish, Conn.reset, lambda conn: conn.sock.close():
        with Moves(startups_fallback=1, startups_ok=1), Called("he") as call:
            part(call.conn)
            with call.again() as call.conn:
                assert (call.conn.request.flags, call.conn.request.rev) == (C, 1)
                conn = call.reply(ACCEPT)
                call.established()
                assert conn.hear_send(1) == b"hello"
                conn.say(conn.message(b"x"))
                assert conn.hear_send(2) == b"x"
    with Moves(startups_fallback=1, startups_failed=1), Called() as call:
        call.conn.finish()
        with call.again() as conn:
            conn.finish()
            call.refused("REJECTED", -104)


@test
def reply_and_fpdu():
    """An FPDU in the segment of the Reply, whole or begun, is not lost (DUAL-08)"""
    for cut in None, 1, 10, 25:
        with Called("e") as call:
            conn = call.conn
            conn.agree(C, C)
            fpdus = conn.build(conn.message(b"first")) + conn.build(conn.message(b"second"))
            conn.send(ACCEPT + fpdus[:cut])
            if cut:
                call.established()
                conn.send(fpdus[cut:])
            # else its completions may be seen before the connection's event
            assert call.program.expect("received")[1] == "5"
            assert call.program.expect("received")[1] == "6"
            assert conn.hear_send(1) == b"first" and conn.hear_send(2) == b"second"


@test
def calls_ipv6():
    """Enhanced startup by bytes with Markers, and data, over IPv6"""
    with Called("he", V6[0]) as call:
        conn = call.reply(enhanced(REPLY, C | M, PEER | 4, OFFER_WRITE | 4), 1)
        call.established()
        assert heard_rtr(conn)[0] == WRITE
        assert conn.hear_send(1) == b"hello"
        conn.say(conn.message(bytes(3000)), 100)
        assert conn.hear_send(2) == bytes(3000)
