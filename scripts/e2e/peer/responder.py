# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The device is the responder, and we send anything."""
import contextlib
import errno
import os
import signal
import time

from peer import (
    ANY, C, Conn, F1, F2, F5, F7, F9, M, OFFER_READ, OFFER_SEND, OFFER_WRITE, PEER, PORT, R,
    READ, REPLY, REQUEST, S, SEND, SLOW, V6, WRITE, Way, enhanced, frame, now, until, untagged)
from device import (
    ECHO, HELLO, Moves, Program, Settings, accepted, call, counter, ms, opened, say_rtr, serving,
    test, took)


# A Request, and the Reply that it has to get: flags, revision, IRD word, ORD word
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
    # no type offered: the Reply shows all that we have (P2P-33)
    yield (enhanced(REQUEST, C, PEER, 0),
           (C | S, 2, PEER | OFFER_SEND | 4, OFFER_WRITE | OFFER_READ))
    yield enhanced(REQUEST, C, 0x3FFE, 0x3FFE), (C | S, 2, 128, 4)     # P2P-48


@test
def requests():
    """Proper Requests and their Replies (NEG-07 to NEG-11, NEG-25, P2P-04, P2P-27, GAP-03)"""
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
    """Improper Requests: closed at once, no Reply (NEG-04, NEG-13, NEG-15, ERR-06, ERR-17)"""
    with serving() as program:
        for request in improper():
            print(request[:24], flush=True)
            with Moves(startups_failed=1), call() as conn:
                conn.send(request)
                conn.ended()
        assert not program.seen(), "the program was told"


@test
def old_revision():
    """Revision 1 only: an enhanced Request gets no Reply, others do (P2P-46, P2P-61, GAP-24)"""
    with serving(), Settings(revision=1):
        with Moves(startups_failed=1), call() as conn:
            conn.send(F5)
            conn.ended()
        for request in frame(REQUEST, C | S, 1, b"e"), frame(REQUEST, C, 2, b"e"):
            with Moves(startups_ok=1), opened(request) as conn:
                assert (conn.reply.flags, conn.reply.rev) == (C, 1)
                assert conn.reply.ird is None
                conn.echo(3)


@test
def silent():
    """A silent peer and a slow one: one bounded time for all (NEG-21, NEG-34, NEG-35, GAP-04)"""
    with serving() as program, Settings(startup_timeout_ms=ms(0.3)):
        for octets in b"", F1[:1], F1[:19], frame(REQUEST, C, length=8):
            begin = now()
            with Moves(startups_timeout=1), call() as conn:
                conn.send(octets)
                conn.ended()
                took(begin, 0.3)
        with Moves(startups_timeout=1), call() as conn:
            with contextlib.suppress(ConnectionError, BrokenPipeError):
                for octet in F1:
                    conn.send(bytes([octet]))
                    time.sleep(0.1 * SLOW)
            conn.ended()
        assert not program.seen(), "the program was told"


@contextlib.contextmanager
def spinners():
    """Gives a function that keeps all processors busy for some seconds, so that the driver's workers
    do not run. This process does, because it has a higher priority."""
    ready, begun = os.pipe()
    wait, go = os.pipe()
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))
    cpus = os.sched_getaffinity(0)
    children = []
    for cpu in cpus:
        child = os.fork()
        if child:
            children.append(child)
            continue
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
        os.write(begun, b"x")
        seconds = os.read(wait, 1)[0] / 10
        os.write(begun, b"x")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        os._exit(0)

    def all_begin():
        for _ in cpus:
            os.read(ready, 1)

    def spin(seconds):
        os.write(go, bytes([int(10 * seconds)]) * len(cpus))
        all_begin()

    try:
        all_begin()
        yield spin
    except BaseException:
        for child in children:
            os.kill(child, signal.SIGKILL)
        raise
    finally:
        for child in children:
            os.waitpid(child, 0)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def call_in_time():
    """A connection whose Request arrives in time, and at which the device can look only later"""
    for _ in range(9):
        with spinners() as spin:
            begin = now()
            conn = call()
            time.sleep(0.2)     # the time of the Request begins when the device accepts
            spin(0.9)
            conn.send(ECHO)
            # TCP does not get it if ksoftirqd, which does not run either, delivers packets now
            while not conn.has_arrived() and now() < begin + 0.6:
                pass
            in_time = conn.has_arrived() and now() < begin + 0.6
        if in_time:
            return conn
        conn.reset()
    raise AssertionError("no Request arrived in time")


@test
def late_look():
    """A Request that arrives in time counts, even if the device looks at it later (NEG-35)"""
    with serving() as program, Settings(request_timeout_ms=700):
        with call_in_time() as conn:
            accepted(conn, ECHO).echo(3)
        program.expect("DISCONNECTED")


@test
def many_silent():
    """Half of max_pending at once from here; the oldest gives way (SEC-13, CONN-22)"""
    with serving() as program, contextlib.ExitStack() as stack, \
            Settings(request_timeout_ms=10000, max_pending=4):
        with Moves(startups_evicted=3, startups_timeout=0, startups_ok=1):
            silent = [stack.enter_context(call()) for _ in range(4)]
            for conn in silent[:2]:
                conn.ended()
            with opened() as conn:
                conn.echo(5)
            program.expect("DISCONNECTED")
            silent[2].ended()


@test
def two_ports():
    """The ports of a device share its room: no port keeps all of it (CONN-22)"""
    with serving() as program, Program() as other:
        other.tell("listen", Way.addresses[1], PORT + 1)
        other.expect("listens")
        # A silent caller may be replaced after a fortieth of that time.
        with Settings(startup_timeout_ms=ms(40), max_pending=1, request_timeout_ms=ms(40)), \
                contextlib.ExitStack() as stack:
            full, evicted = counter("pending_overflow"), counter("startups_evicted")
            for _ in range(12):
                stack.enter_context(call())
            until(lambda: counter("pending_overflow") > full, "nobody waits")
            with call(port=PORT + 1) as conn:
                conn.send(ECHO)
                assert conn.startup().key == REPLY
            assert counter("startups_evicted") - evicted <= 4, "others had their turn first"
        assert not program.seen(), "the program was told"


@test
def no_answer():
    """The program does not answer in time: the device rejects, the peer closes (NEG-23, NEG-34)"""
    with serving() as program, Settings(accept_timeout_ms=ms(0.3)):
        for request in frame(REQUEST, C, 1, b"w"), enhanced(REQUEST, C, PEER, OFFER_WRITE, b"w"):
            with Moves(startups_timeout=1, startups_rejected=0), call() as conn:
                begin = now()
                conn.send(request)
                program.expect("CONNECT_REQUEST")
                reply = conn.startup()
                took(begin, 0.3)
                assert (reply.key, reply.flags & R, reply.pd) == (REPLY, R, b"")
                conn.ended()
                assert not conn.was_reset
                program.tell("accept")
                assert program.expect("unaccepted")[1] == str(errno.ECONNABORTED)


@test
def late_answer():
    """The program answers later than the peer may be silent: the connection stands (NEG-35)"""
    with serving() as program, Settings(startup_timeout_ms=ms(1)):
        for request in frame(REQUEST, C, 1, b"we"), enhanced(REQUEST, C, 1, 1, b"we"):
            with Moves(startups_timeout=0, startups_ok=1), call() as conn:
                conn.send(request)
                program.expect("CONNECT_REQUEST")
                conn.quiet(2)
                program.tell("accept")
                accepted(conn, request).echo(5)
            program.expect("DISCONNECTED")


@test
def behind():
    """Bytes after the Request end the startup (DUAL-07, SEC-15, GAP-07)"""
    with serving():
        for tail in b"x", b"GET /", bytes(64), F1:
            with Moves(startups_failed=1), call() as conn:
                conn.send(F1 + tail, together=True)
                conn.ended()


def free_slot(program):
    """max_pending is 1: is the place free?"""
    try:
        with opened() as conn:
            conn.say(conn.message())
            conn.hear()
    except (AssertionError, ConnectionError):
        return False
    program.expect("freed")
    return True


@test
def parting():
    """FIN and RST at each step of a startup, at and in an FPDU (CONN-18, CONN-24, GAP-08)"""
    with serving() as program:
        for part in Conn.finish, Conn.reset:
            for octets in b"", F1[:1], F1[:19], frame(REQUEST, C, length=8) + b"1234":
                # a connection that is reset before the device looks at it does not count
                with Moves(startups_failed=1) if part is Conn.finish else Moves(), \
                        Settings(max_pending=1), call() as conn:
                    conn.send(octets)
                    part(conn)
                    if part is Conn.finish:
                        conn.ended()
                    until(lambda: free_slot(program), "its place is not free again")
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
    """Private Data up to its limits; iw_cm can pass on 255 bytes (NEG-14 to NEG-17, P2P-05)"""
    with serving() as program:
        for n in 0, 1, 2, 255, 256, 508, 512:
            for build, most in (lambda pd: frame(REQUEST, C, 1, pd), 512), \
                    (lambda pd: enhanced(REQUEST, C, 1, 1, pd), 508):
                if n > most:
                    continue
                pd = bytes(0x80 | i & 0x7F for i in range(n))
                if n > 255:     # more than iw_cm can pass on (NEG-17)
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
    """A Reply with R=1, its depths and flags; then FIN, no reset (NEG-23, GAP-05, GAP-12)"""
    with serving():
        for request in frame(REQUEST, C, 1, b"x"), enhanced(REQUEST, C, 1, 1, b"x"), \
                enhanced(REQUEST, C, PEER | 9, OFFER_READ | 200, b"x"):
            with Moves(startups_rejected=1), call() as conn:
                conn.send(request)
                rep = conn.startup()
                assert rep.flags & R and rep.pd == b"no", "not rejected so"
                assert bool(rep.flags & S) == bool(request[16] & S)
                if request[16] & S:
                    peer = PEER if request[20] & 0x80 else 0
                    assert (rep.ird, rep.ord) == (peer | 128, OFFER_READ if peer else 0)
                conn.send(b"plain octets")
                conn.ended()
                assert not conn.was_reset


@test
def gate():
    """Nothing is sent before the first valid FPDU, nor after a bad one (NEG-30, DUAL-11)"""
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
        # valid to MPA, so the Terminate reports the error; and nothing else is sent
        with opened(HELLO) as conn:
            program.expect("posted")
            conn.say(untagged(SEND, 7))
            conn.terminated("1/2/3")


@test
def rtr():
    """Each RTR type opens the responder, and its program sees none (P2P-38)"""
    with serving() as program:
        for kind in SEND, WRITE, READ:
            with opened(F9) as conn:
                program.expect("posted")
                conn.quiet(0.05)
                say_rtr(conn, kind)
                assert conn.hear_send(1) == b"hello"
                conn.say(conn.message(b"second"))
                assert conn.hear_send(2) == b"second"
                lines = [line[1] for line in program.seen() if line[0] == "received"]
                assert lines == ["6"], "the RTR was shown: %s" % lines
            program.expect("DISCONNECTED")


@test
def ipv6():
    """Startup by bytes, data and an error over IPv6"""
    with serving(V6[1]):
        for request in F9, frame(REQUEST, C | M, 1, b"e"):
            with opened(request, V6[1], piece=1) as conn:
                conn.say(conn.message(b"six"))
                # the program may see the data before the connection's event
                said = {conn.hear_send(i + 1) for i in range(2 if request is F9 else 1)}
                assert said == ({b"hello", b"six"} if request is F9 else {b"six"}), said
        with opened(address=V6[1]) as conn:
            conn.echo(1, 9000)
            conn.say(conn.message(), crc=1)
            conn.terminated("2/0/2")


@test
def third_frame():
    """An RtR frame after the Reply is a bad FPDU, and hangs nothing (HIST-16, HIST-17)"""
    third = b"MPA ID Rtr Frame" + frame(b"", C)
    with serving() as program:
        for flags in C, C | S:
            with Moves(conn_reset=1), opened(frame(REQUEST, flags, 1, b"e")) as conn:
                conn.send(third)
                conn.finish()
                conn.ended()
            program.expect("freed")
            with Moves(rx_crc_errors=1), opened(frame(REQUEST, flags, 1, b"e")) as conn:
                conn.send(third + bytes(0x4D50))        # "MP", its length
                conn.ended()
            program.expect("freed")
