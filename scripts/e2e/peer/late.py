# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Sends for which no receive is posted: they wait in TCP's queue for one."""
import contextlib
import socket
import subprocess
import time

from peer import C, REQUEST, RESPONSE, SEND, WRITE, frame, now, read_request, tagged, until
from device import Moves, Settings, opened, serving, test

NOT_YET = frame(REQUEST, C, 1, b"ne")


@contextlib.contextmanager
def waiting(ms=60000, request=NOT_YET):
    """A connection whose first Send waits for a receive"""
    with serving() as program, Settings(rnr_wait_ms=ms):
        with opened(request) as conn:
            with Moves(rx_rnr_waits=1):
                conn.begin = now()
                conn.say(conn.message(b"early"))
            yield program, conn


@test
def late():
    """A receive that comes late: all messages that waited are carried out, in order"""
    with waiting() as (program, conn), Moves(rx_no_receive=0, rx_send=2):
        conn.say(tagged(WRITE, conn.stag, conn.at, b"x" * 9))
        conn.say(read_request(1, (77, 1000), 9, (conn.stag, conn.at)))
        conn.say(conn.message(bytes(5000), last=False), 999)
        conn.msn -= 1
        conn.say(conn.message(b"end", mo=5000))
        conn.quiet(0.3)
        program.tell("receive")
        read, echo = sorted((conn.hear(), conn.hear()), key=lambda s: s.opcode)
        assert (read.opcode, read.stag, read.to, read.data) == (RESPONSE, 77, 1000, b"x" * 9)
        assert (echo.opcode, echo.msn, echo.data) == (SEND, 1, b"early")
        assert conn.hear_send(2) == bytes(5000) + b"end"
        conn.finish()
        program.expect("DISCONNECTED")


@test
def late_window():
    """While a Send waits TCP's window stops us, and nothing is lost (RFC 5041 section 7.1)"""
    with waiting() as (program, conn):
        data, sent = bytes(16384), 0
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        conn.sock.setblocking(False)
        octets = b""
        while True:
            octets = octets or conn.build(conn.message(data))
            try:
                n = conn.sock.send(octets)
                sent, octets, since = sent + n, octets[n:], now()
            except BlockingIOError:
                if now() - since > 1:
                    break
                time.sleep(0.01)
            assert sent < 16 << 20, "nothing holds us"
        conn.sock.setblocking(True)
        print(sent, "bytes went", flush=True)
        program.tell("receive")
        assert conn.hear_send(1) == b"early"
        for msn in range(2, conn.msn):
            assert conn.hear_send(msn) == data
        conn.sock.sendall(octets)
        assert conn.hear_send(conn.msn) == data
        conn.finish()
        program.expect("DISCONNECTED")


@test
def late_over():
    """No receive in the time of the setting: Terminate 1/2/2"""
    with Moves(rx_no_receive=1, rx_header_errors=1), waiting(1000) as (program, conn):
        early = conn.said
        conn.say(conn.message(b"behind it"))
        conn.terminated("1/2/2", about=early)
        # The driver counts jiffies, of which the first has begun already.
        assert 0.75 < now() - conn.begin, "too early"
        program.expect("DISCONNECTED")


@test
def late_gone():
    """A peer closes while its Send waits: the Send is not lost; it is after a reset"""
    with waiting() as (program, conn), Moves(rx_no_receive=0, conn_reset=0):
        conn.finish()
        conn.quiet(0.3)
        program.tell("receive")
        program.expect("DISCONNECTED")
        # Also its echo, if the program polled once more.
        assert program.freed() in ((0, 5), (0, 10)), "it was not placed"
    with Moves(rx_no_receive=1, conn_reset=0), waiting(1000) as (program, conn):
        conn.finish()
        conn.terminated("1/2/2")
        program.expect("DISCONNECTED")
    with waiting() as (program, conn), Moves(rx_no_receive=0, conn_reset=1):
        conn.reset()
        program.expect("DISCONNECTED")


@test
def late_parted():
    """The program closes while a Send waits: the end, at once"""
    with waiting() as (program, conn):
        program.tell("part")
        conn.terminated("1/2/2")
        program.expect("DISCONNECTED")


@contextlib.contextmanager
def wide_window():
    """Sockets of host b take some megabytes from the beginning."""
    name = "net.ipv4.tcp_rmem"
    ask = ["ip", "netns", "exec", "b", "sysctl"]
    old = subprocess.check_output([*ask, "-n", name], text=True).strip()
    subprocess.check_call([*ask, "-qw", name + "=4096 16777216 33554432"])
    try:
        yield
    finally:
        subprocess.check_call([*ask, "-qw", name + "=" + old])


@contextlib.contextmanager
def much_waiting():
    """More than the worker handles in a turn waits behind the Send."""
    with waiting(request=frame(REQUEST, C, 1, b"n")) as (program, conn):
        write = conn.build(tagged(WRITE, conn.stag, conn.at, bytes(60000)))
        conn.sock.sendall(write * 60)
        yield program, conn


@test
def late_much():
    """The program closes while much waits: all of it is handled before the FIN"""
    with wide_window():
        with much_waiting() as (program, conn):
            conn.say(read_request(1, (77, 1000), 4, (conn.stag, conn.at)))
            until(conn.has_arrived, "TCP does not take it")
            program.tell("late_part")
            s = conn.hear()
            assert s and (s.opcode, s.stag, s.to) == (RESPONSE, 77, 1000), "no answer before FIN"
            conn.ended()
            program.expect("DISCONNECTED")
        with much_waiting() as (program, conn):
            conn.say(conn.message(b"bad"), crc=1)
            until(conn.has_arrived, "TCP does not take it")
            program.tell("late_part")
            conn.terminated("2/0/2")
            program.expect("DISCONNECTED")
