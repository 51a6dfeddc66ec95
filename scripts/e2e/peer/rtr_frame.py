# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The RtR frame (HIST-16), and how connections end.

Both roles: the device is the responder in a test that begins with serving(), else
the initiator.
"""
import contextlib
import os
import time

from peer import (
    C, Conn, F5, M, OFFER_WRITE, PEER, R, REPLY, REQUEST, RESPONSE, S, SLOW, V6, WRITE, Way,
    enhanced, fpdu, frame, now, read_request)
from device import (
    ACCEPT, ECHO, Called, Moves, Settings, accepted, call, listener, ms, opened, say_rtr, serving,
    slow_reader, test, took)

# By its bytes (HIST-18); in text it would be "Rtr"
RTR = bytes.fromhex("4d504120494420527452204672616d65")
RTR_FRAME = frame(RTR, C)
WANTS = frame(REQUEST, C | S, 1, b"h")
AWAITS = frame(REPLY, C | S)


# --- the RtR frame, the device as responder ---

@test
def rtr_taken():
    """It opens the stream: the accepting side sends first (HIST-16, HIST-17)"""
    with Settings(rtr_frame=1), serving() as program:
        for rtr in RTR_FRAME, frame(RTR, 0xFF), frame(RTR, 0, 1, b"data"), \
                frame(RTR, C, 1, bytes(512)):
            for piece in None, 1:
                with Moves(startups_ok=1, startups_failed=0), \
                        opened(WANTS, piece=piece) as conn:
                    assert (conn.reply.flags, conn.reply.rev) == (C | S, 1)
                    assert program.expect("ESTABLISHED")[1] == "0"
                    program.expect("posted")
                    conn.quiet(0.1)
                    conn.send(rtr, piece)
                    assert conn.hear_send(1) == b"hello"
                    conn.say(conn.message(b"second"))
                    assert program.expect("received")[1] == "6"
                program.expect("DISCONNECTED")


@test
def rtr_and_fpdu():
    """FPDUs after it in the same segment, with Markers both ways, IPv6"""
    with Settings(rtr_frame=1, markers=1), serving(V6[1]) as program:
        request = frame(REQUEST, C | M | S, 1, b"he")
        for cut in None, 21, 30:
            with opened(request, V6[1]) as conn:
                octets = frame(RTR, C | M) + conn.build(conn.message(b"first")) + \
                    conn.build(conn.message(b"second"))
                conn.send(octets[:cut])
                if cut:
                    assert conn.hear_send(1) == b"hello"
                    conn.send(octets[cut:])
                    assert conn.hear_send(2) == b"first" and conn.hear_send(3) == b"second"
                else:   # the program may see data before the connection's event
                    said = [conn.hear_send(i + 1) for i in range(3)]
                    assert sorted(said) == [b"first", b"hello", b"second"], said
                    assert said.index(b"first") < said.index(b"second"), said
            program.expect("DISCONNECTED")


def no_rtr_frames():
    yield fpdu(0, b"\x41\x43" + bytes(16))      # an FPDU too early
    yield frame(RTR[:15] + b"f", C)
    yield frame(b"MPA ID Rtr Frame", C)         # HIST-18
    for key in REQUEST, REPLY:
        yield frame(key, C)
    for rev in 0, 2:
        yield frame(RTR, C, rev)
    yield frame(RTR, C, length=513)


@test
def rtr_bad():
    """Anything but an RtR frame closes TCP, and the program gets one event"""
    with Settings(rtr_frame=1), serving() as program:
        for octets in no_rtr_frames():
            print(octets[:24], flush=True)
            with Moves(startups_failed=1, startups_ok=0, tx_terminate=0), \
                    opened(WANTS) as conn:
                conn.send(octets)
                conn.ended()
                program.expect("DISCONNECTED")
        for part in Conn.finish, Conn.reset:
            for n in 0, 1, 19:
                with Moves(startups_failed=1, conn_reset=0), opened(WANTS) as conn:
                    conn.send(RTR_FRAME[:n])
                    part(conn)
                    program.expect("DISCONNECTED")


@test
def rtr_late():
    """The deadline covers it; a responder that waits for it takes no place of a startup"""
    with Settings(rtr_frame=1, startup_timeout_ms=500 * int(SLOW), max_pending=1), \
            serving() as program:
        with Moves(startups_timeout=2, pending_overflow=0):
            with opened(WANTS) as conn, call() as second:
                conn.send(RTR_FRAME[:19])
                conn.ended()
                program.expect("DISCONNECTED")
                second.ended()
    # the program's time is not the peer's
    late = frame(REQUEST, C | S, 1, b"wh")
    with Settings(rtr_frame=1, startup_timeout_ms=ms(1)), serving() as program:
        for octets in RTR_FRAME, RTR_FRAME[:19]:
            with Moves(startups_timeout=int(octets != RTR_FRAME)), call() as conn:
                conn.send(late)
                program.expect("CONNECT_REQUEST")
                conn.quiet(2)
                begin = now()
                program.tell("accept")
                accepted(conn, late)
                conn.quiet(0.1)
                conn.send(octets)
                if octets == RTR_FRAME:
                    assert conn.hear_send(1) == b"hello"
                else:
                    conn.ended()
                    took(begin, 1)
            program.expect("DISCONNECTED")


@test
def rtr_opened():
    """After it the connection is like any other: no deadline, not half-open"""
    with Settings(rtr_frame=1, startup_timeout_ms=500 * int(SLOW), max_pending=1), \
            serving() as program, Moves(startups_timeout=0):
        with opened(WANTS) as conn:
            conn.send(RTR_FRAME)
            assert conn.hear_send(1) == b"hello"
            with opened(ECHO) as second:
                second.echo(5)
            time.sleep(SLOW)
            conn.say(conn.message(b"alive"))
            assert program.expect("received")[1] == "5"
            assert program.expect("received")[1] == "5"


@test
def rtr_abandoned():
    """The program dies while the RtR frame is due: nothing waits for it"""
    with Settings(rtr_frame=1, startup_timeout_ms=60000):
        for part in None, Conn.reset:
            with listener() as program, Moves(startups_ok=0), opened(WANTS) as conn:
                program.process.kill()
                if part:
                    part(conn)
                else:
                    conn.ended()
                program.process.wait(8 * SLOW)


@test
def rtr_not_wanted():
    """Only with the setting, revision 1 and S; a reject does not wait for it"""
    with serving() as program:
        for on, request, flags in (0, frame(REQUEST, C | S, 1, b"e"), C), \
                (1, frame(REQUEST, C, 1, b"e"), C), (1, F5, C | S), \
                (1, frame(REQUEST, C | 0xF, 1, b"e"), C):
            with Settings(rtr_frame=on), opened(request) as conn:
                assert conn.reply.flags == flags, hex(conn.reply.flags)
                conn.say(conn.message(b"first"))
                assert program.expect("received")[1] == "5"
            program.expect("DISCONNECTED")
        with Settings(rtr_frame=1), call() as conn:
            conn.send(frame(REQUEST, C | S, 1, b"x"))
            rep = conn.startup()
            assert rep.flags == C | R and rep.pd == b"no"
            conn.ended()
        # A responder that does not know it takes it for the beginning of a long FPDU (HIST-16).
        with opened(frame(REQUEST, C | S, 1, b"e")) as conn:
            with Moves(conn_reset=1):
                conn.send(RTR_FRAME)
                conn.finish()
                conn.ended()
                program.expect("DISCONNECTED")
        with opened(frame(REQUEST, C | S, 1, b"e")) as conn:
            with Moves(rx_crc_errors=1):
                conn.send(RTR_FRAME + bytes(20000))
                conn.ended()
                program.expect("DISCONNECTED")


# --- the RtR frame, the device as initiator ---

@test
def rtr_sent():
    """The Request asks for it at revision 1; it is sent if the Reply has S, before all FPDUs"""
    for markers in 0, 1:
        for flags in C | S, S, C | M | S:
            for piece in None, 1:
                with Settings(rtr_frame=1, markers=markers), \
                        Moves(startups_ok=1), Called("he") as caller:
                    req = caller.conn.request
                    assert (req.flags, req.rev) == (C | S | M * markers, 1)
                    assert len(req.pd) == 16, "enhanced data"
                    conn = caller.reply(frame(REPLY, flags), piece)
                    got = conn.take(20)
                    want = frame(RTR, flags & C | M * markers)
                    assert got == want, got.hex() + ", expected " + want.hex()
                    caller.established()
                    assert conn.hear_send(1) == b"hello"
                    conn.say(conn.message(b"x"))
                    assert conn.hear_send(2) == b"x"


@test
def rtr_ignored():
    """A peer that does not know S: plain revision 1, no third frame (HIST-17)"""
    for reply in ACCEPT, frame(REPLY, C, 1, b"pd"), frame(REPLY, C, 2), frame(REPLY, C | 0xF):
        with Settings(rtr_frame=1), Moves(startups_ok=1), Called("he") as caller:
            conn = caller.reply(reply)
            caller.established()
            assert conn.hear_send(1) == b"hello"
            conn.say(conn.message(b"x"))
            assert conn.hear_send(2) == b"x"
    # enhanced data that was not asked for changes nothing
    with Settings(rtr_frame=1), Called() as caller:
        caller.reply(enhanced(REPLY, C, PEER | 1, OFFER_WRITE | 1))
        caller.established()
    for flags in R, R | S:
        with Settings(rtr_frame=1), Moves(startups_rejected=1), Called() as caller:
            caller.conn.send(frame(REPLY, C | flags, 1, b"busy"))
            assert caller.refused("REJECTED", -111)[4:] == ["4", b"busy".hex()]
            caller.conn.ended()
    with Settings(rtr_frame=1), Moves(startups_failed=1, startups_fallback=0), \
            Called() as caller:
        caller.conn.finish()
        caller.refused("REJECTED", -104)


# --- local errors ---

@test
def local_error():
    """A Reply that the device cannot act on: code 5 (P2P-41); an accept: a reject"""
    for reply in ACCEPT, frame(REPLY, C | M), enhanced(REPLY, C, PEER | 4, OFFER_WRITE | 4):
        with Moves(startups_failed=1, tx_terminate=1), Called("b") as caller:
            caller.program.expect("broken")
            conn = caller.reply(reply + bytes(3000))      # unread: no reset (CONN-20)
            assert caller.program.expect("CONNECT_ERROR")[1] == "-22"
            conn.terminated("2/0/5")
    with serving() as program:
        for request in frame(REQUEST, C, 1, b"b"), enhanced(REQUEST, C, 1, 1, b"b"):
            with Moves(startups_failed=1), call() as conn:
                conn.send(request)
                rep = conn.startup()
                assert rep.flags & R and not rep.pd, "not rejected"
                conn.ended()
                program.expect("unaccepted")
        with Settings(rtr_frame=1), Moves(startups_failed=1, tx_terminate=0), \
                opened(frame(REQUEST, C | S, 1, b"B")) as conn:
            conn.ended()
            program.expect("DISCONNECTED")


# --- Private Data ---

@test
def private_data_256():
    """iw_cm's length is one byte: longer Private Data is refused (NEG-17, NEG-18)"""
    for n in 254, 255, 256, 257, 511, 512:
        pd = bytes(1 + i % 255 for i in range(n))
        for reject in 0, R:
            with Moves(startups_failed=int(n > 255)), Called() as caller:
                caller.conn.send(frame(REPLY, C | reject, 1, pd), 100)
                if n > 255:
                    caller.program.expect("CONNECT_ERROR")
                    continue
                line = caller.program.expect("REJECTED" if reject else "ESTABLISHED")
                assert line[4:] == [str(n), pd.hex()], line
    with serving() as program:
        for n in 256, 512:
            pd = bytes(0x80 | i & 0x7F for i in range(n))
            with Moves(startups_failed=1), call() as conn:
                conn.send(frame(REQUEST, C, 1, pd))
                conn.ended()


# --- the end of a connection ---

@test
def half_close():
    """Our FIN ends one direction: the data that we asked for still comes (CONN-17, CONN-18)"""
    with serving() as program:
        with slow_reader() as conn, Moves(conn_reset=0, rx_read_request=4):
            for i in range(4):
                conn.say(read_request(i + 1, (i, 0), 65536, (conn.stag, conn.at)))
            conn.finish()
            for i in range(4):
                got = 0
                while got < 65536:
                    s = conn.hear()
                    assert s, "the stream ends in response %d, byte %d" % (i, got)
                    assert (s.opcode, s.stag, s.to) == (RESPONSE, i, got)
                    got += len(s.data)
            conn.ended()
            program.expect("DISCONNECTED")


@test
def half_close_stalls():
    """A peer that closes one half and takes nothing is given up (SEC-13)"""
    with serving() as program:
        with slow_reader() as conn:
            for i in range(4):
                conn.say(read_request(i + 1, (i, 0), 65536, (conn.stag, conn.at)))
            conn.finish()
            begin = time.monotonic()
            end = begin + 15 * SLOW
            while "DISCONNECTED" not in [line[0] for line in program.seen()]:
                assert time.monotonic() < end, "kept for ever"
                time.sleep(0.05)


@test
def last_words():
    """All requests that were posted before a disconnect arrive, then FIN (CONN-20)"""
    for finish in False, True:
        with Called("q") as caller, Moves(conn_reset=0):
            conn = caller.reply(ACCEPT)
            caller.program.expect("quit")
            if finish:
                conn.finish()   # our FIN does not cut it short either
            for i in range(32):
                assert conn.hear_send(i + 1) == bytes([0x30 + i % 8]) * 16384
            conn.ended()
    # also those that wait for the RTR that was agreed on
    with serving() as program:
        with opened(enhanced(REQUEST, C, PEER | 9, OFFER_WRITE | 9, b"q")) as conn:
            program.expect("quit")
            conn.quiet(0.2)
            say_rtr(conn, WRITE)
            for i in range(32):
                assert conn.hear_send(i + 1) == bytes([0x30 + i % 8]) * 16384
            conn.ended()
        program.expect("DISCONNECTED")
    # not those that may not be sent yet (NEG-30): FIN alone
    with serving() as program:
        with opened(frame(REQUEST, C, 1, b"q")) as conn:
            program.expect("quit")
            conn.ended()
        program.expect("DISCONNECTED")


@test
def unread():
    """Data on its way does not reset our Terminate or reject away (CONN-20, ERR-11)"""
    with serving() as program:
        with opened() as conn:
            conn.echo(4)
            bad = conn.build(conn.message(b"bad"), crc=1)
            conn.sock.settimeout(5 * SLOW)
            conn.send(bad + bytes(1000000))
            conn.terminated("2/0/2")
        program.expect("DISCONNECTED")
        with call() as conn:
            conn.send(frame(REQUEST, C, 1, b"x"))
            conn.send(b"plain octets, since you reject " * 100, together=True)
            octets = conn.take(22)
            # the bytes may be seen before the program rejects (DUAL-07)
            assert not octets or octets[16] & R and octets[20:] == b"no"


@test
def unread_slowly():
    """A peer that still sends is read while it makes progress, up to a bound (CONN-20)"""
    with serving() as program:
        with opened() as slow, opened() as endless:
            for conn in slow, endless:
                conn.echo(4)
                conn.send(conn.build(conn.message(b"bad"), crc=1))
            begin = time.monotonic()
            for _ in range(2):
                program.expect("DISCONNECTED")
            # longer than a peer may be silent after the end of its connection
            while time.monotonic() < begin + 4:
                for conn in slow, endless:
                    conn.send(b"more", together=True)
                time.sleep(0.2)
            slow.terminated("2/0/2")
            slow.finish()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                while time.monotonic() < begin + 20 * SLOW:
                    endless.send(b"more", together=True)
                    time.sleep(0.2)
                assert False, "heard for ever"


@test
def after_reject():
    """TCP after a reject, either way: it ends by FIN, not by a reset"""
    with serving():
        with call() as conn:
            conn.send(frame(REQUEST, C, 1, b"x"))
            rep = conn.startup()
            assert rep.flags & R and rep.pd == b"no"
            conn.send(b"HTTP, then?\r\n" * 1000)
            assert conn.sock.recv(1) == b"", "no FIN"
            conn.send(b"more\r\n")      # our half is open still
    with Called() as caller:
        caller.conn.send(frame(REPLY, C | R, 1, b"no") + b"plain octets")
        caller.refused("REJECTED", -111)
        caller.conn.send(b"more\r\n" * 1000)
        assert caller.conn.sock.recv(1) == b"", "no FIN"


@test
def streaming():
    """There is no streaming mode: bytes before a Request end it (CONN-13)"""
    with serving() as program:
        for octets in b"hello\n", b"M", b"MPA ID Req FramE":
            with Moves(startups_failed=1), call() as conn:
                conn.send(octets)
                if octets == b"M":
                    conn.quiet(0.1)
                    conn.send(b"Z")
                conn.ended()
        assert not program.seen(), "the program was told"
    # the end that listens at TCP is the responder
    with Moves(startups_failed=1), Called() as caller:
        caller.conn.send(frame(REQUEST, C))
        caller.refused("CONNECT_ERROR", -71)
        caller.conn.ended()


@test
def reset_at_once():
    """Each connection reset before its Request is counted once (CONN-24)"""
    # None is late for its Request, even if this program is kept from running.
    with Settings(request_timeout_ms=600000, startup_timeout_ms=600000), serving() as program:
        # On one processor, or the reset may overtake the last packet of TCP's handshake. TCP then
        # drops a connection that the device has never seen.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        with Moves(startups_failed=100):
            for _ in range(100):
                call().reset()
        assert not program.seen(), "the program was told"


@test
def boundary():
    """FIN between FPDUs is a close; inside one it is an error, which a Terminate reports"""
    with serving() as program:
        for cut, lost in (None, 0), (1, 1), (4, 1), (-1, 1):
            with opened() as conn, Moves(conn_reset=lost, tx_terminate=lost):
                conn.echo(100, 0, 5)
                if cut:
                    conn.send(conn.build(conn.message(b"cut short"))[:cut])
                conn.finish()
                if lost:
                    conn.terminated("2/0/1")
                else:
                    assert conn.hear() is None
                program.expect("DISCONNECTED")
        # the first FPDU: nothing may be sent yet (NEG-30)
        with opened() as conn, Moves(conn_reset=1, tx_terminate=0):
            conn.send(conn.build(conn.message(b"cut short"))[:4])
            conn.finish()
            assert conn.hear() is None
            program.expect("DISCONNECTED")
