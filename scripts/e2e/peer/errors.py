# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Errors on an established connection, and how it ends."""
import contextlib
import ctypes
import socket
import struct

from peer import (
    C, PORT, R, READ, REQUEST, RESPONSE, SEND, WRITE, Way, enter, frame, read_request, tagged,
    untagged)
from device import (
    ACCEPT, Called, ECHO, Moves, Program, Settings, answered, call, listener, listening, opened,
    serving, test)


# The error, its Terminate, its counter, and a function that makes the ULPDU, or a
# tuple of the ULPDU and of how it is sent
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
    """Each error's Terminate; a good FPDU after it is not delivered (ERR-09, ERR-11)"""
    with serving() as program:
        for what, error, moves, make in wrong():
            for piece in None, 1:
                print(what, flush=True)
                with opened() as conn, \
                        Moves(rx_send=1, tx_terminate=1, **{moves: 1}):     # the echo's
                    conn.echo(4)
                    program.seen()
                    ulpdu = make(conn)
                    ulpdu, how = ulpdu if isinstance(ulpdu, tuple) else (ulpdu, {})
                    bad = conn.build(ulpdu, **how)
                    # a good one in the same segment; nothing of it arrives (ERR-09)
                    good = conn.build(untagged(SEND, 2, b"good")) + \
                        conn.build(untagged(SEND, 3, b"good"))
                    if piece:
                        conn.send(bad, 1)
                    else:
                        conn.send(bad + good)
                    conn.terminated(error, good, ulpdu)
                    program.expect("DISCONNECTED")


@test
def receives():
    """No receive, or one that is too short: nothing is left of the message"""
    with serving(), Settings(rnr_wait_ms=0):
        with opened(frame(REQUEST, C, 1, b"n")) as conn:
            conn.say(tagged(WRITE, 0, 0))
            with Moves(rx_no_receive=1, rx_rnr_waits=0):
                conn.say(conn.message(b"x"))
                conn.terminated("1/2/2")
        for last in True, False:
            with opened(frame(REQUEST, C, 1, b"es")) as conn:
                conn.echo(16)
                conn.say(conn.message(bytes(17), last=last))
                conn.terminated("1/2/5")


@test
def memory():
    """Write and Read: good ones work, in pieces too; bad ones are not placed (RCV-01)"""
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
def calls_terminated():
    """We send a Terminate: no answer, and the program learns of it (CONN-20)"""
    for ulpdu in untagged(7, 1, bytes([0x12, 5, 0, 0])), untagged(7, 1, b""):
        with Called("e") as call:
            conn = call.reply(ACCEPT)
            call.established()
            conn.echo(1)
            with Moves(rx_terminate=1, tx_terminate=0):
                conn.say(ulpdu)
                assert conn.hear() is None, "an answer to a Terminate"
                call.program.expect("DISCONNECTED")


def deaf(sock):
    """A filter drops everything that arrives for TCP."""
    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))
    sock.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HP", 1, ctypes.addressof(code)))


# Sent in one piece, because a deaf peer sends only as many segments as its first window has.
WHOLE = 1024


@contextlib.contextmanager
def retries(n):
    """The number of times that TCP of the device's host sends again before it gives up"""
    def write(value):
        enter("b")
        with open("/proc/sys/net/ipv4/tcp_retries2") as f:
            old = f.read().strip()
        with open("/proc/sys/net/ipv4/tcp_retries2", "w") as f:
            f.write(str(value))
        enter("a")
        return old
    old = write(n)
    try:
        yield
    finally:
        write(old)


@test
def lost():
    """A peer acknowledges nothing more: the program learns of TCP's time-out (ERR-01, CONN-19)"""
    with serving() as program, retries(2):
        with opened() as conn:
            conn.echo(1)
            deaf(conn.sock)
            with Moves(conn_reset=1):
                conn.say(conn.message(b"unanswered"), WHOLE)
                program.expect("DISCONNECTED")
    with retries(2), Called("e") as lost_call:
        conn = lost_call.reply(ACCEPT)
        lost_call.established()
        deaf(conn.sock)
        with Moves(conn_reset=1):
            conn.say(conn.message(b"unanswered"), WHOLE)
            lost_call.program.expect("DISCONNECTED")


def gone(conn):
    """The connection ends; before it there may be a reject"""
    octets = conn.take(20)
    assert not octets or octets[16] & R, "bytes of a dead program: " + octets.hex()


@test
def killed():
    """The program dies at each step of a startup, and after it (CONN-24)"""
    for request, word in (b"", None), (frame(REQUEST, C, 1, b"w"), "CONNECT_REQUEST"), \
            (ECHO, "ESTABLISHED"):
        with listener() as program, call() as conn:
            conn.send(request)
            if word:
                program.expect(word)
            if word == "ESTABLISHED":
                conn.startup()
            program.process.kill()
            gone(conn)
    for reply in b"", ACCEPT[:19], ACCEPT:
        with listening() as sock, Program() as program:
            program.tell("connect", Way.addresses[0], PORT)
            with answered(sock) as conn:
                conn.startup()
                conn.send(reply)
                if reply == ACCEPT:
                    program.expect("ESTABLISHED")
                program.process.kill()
                conn.ended()


@test
def disliked():
    """The program disconnects before it may send an FPDU: FIN alone (GAP-06, CONN-11, CONN-14)"""
    with serving() as program:
        with opened(frame(REQUEST, C, 1, b"dh")) as conn:
            conn.ended()
            assert not conn.was_reset
            conn.finish()
            program.expect("DISCONNECTED")
    with Called("d") as parting:
        conn = parting.reply(ACCEPT)
        parting.established()
        conn.ended()
        assert not conn.was_reset
        conn.finish()
