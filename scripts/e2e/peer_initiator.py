# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""peer_initiator.py NAME...: the device is the initiator, and we answer anything."""
import contextlib
import select
import socket
import struct
import sys

from peer import (
    ANY, C, Conn, M, Moves, OFFER_READ, OFFER_SEND, OFFER_WRITE, PEER, PORT, Program, R,
    READ, REPLY, REQUEST, RESPONSE, S, SEND, SLOW, Settings, V4, V6, WRITE,
    enhanced, frame, main, tagged, untagged)

TESTS = {}
ACCEPT = frame(REPLY, C)


def test(function):
    TESTS[function.__name__] = function
    return function


@contextlib.contextmanager
def listening(address=V4[0]):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, PORT), family=family) as sock:
        yield sock


def answered(sock):
    assert select.select([sock], [], [], 8 * SLOW)[0], "nobody calls"
    return Conn(sock.accept()[0])


class Called:
    """The device calls; conn.request is its Request"""
    def __init__(self, letters="", address=V4[0]):
        self.letters, self.address = letters, address

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.sock = stack.enter_context(listening(self.address))
            self.program = stack.enter_context(
                Program("connect", self.address, PORT, *filter(None, [self.letters])))
            self.conn = stack.enter_context(self.again())
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def again(self):
        """The next call, with its Request read"""
        conn = answered(self.sock)
        conn.request = conn.startup()
        assert conn.request.key == REQUEST, "no Request"
        conn.stag, conn.at, _ = struct.unpack(">IQI", conn.request.pd)
        return conn

    def reply(self, octets, piece=None):
        self.conn.send(octets, piece)
        self.conn.agree(octets[16], self.conn.request.flags)
        return self.conn

    def established(self):
        line = self.program.expect("ESTABLISHED")
        assert line[1] == "0"
        return line

    def refused(self, event, status):
        line = self.program.expect(event)
        assert line[1] == str(status), "status " + line[1]
        return line


def still_connects():
    with Called("e") as call:
        conn = call.reply(ACCEPT)
        call.established()
        conn.echo(5, 100)


@test
def replies():
    """Proper Replies, also of revision 1 to our revision 2, in one piece and in many"""
    for reply in ACCEPT, frame(REPLY, 0), frame(REPLY, C | 0xF), frame(REPLY, C, 2), \
            frame(REPLY, C | S, 1, b"seed"), frame(REPLY, C, 1, bytes(255)), \
            frame(REPLY, C, 1, bytes(range(256)) * 2), frame(REPLY, C | 0x1F, 1):
        for piece in None, 1:
            with Moves(startups_ok=1), Called("eh") as call:
                req = call.conn.request
                assert (req.flags, req.rev) == (C | S, 2)
                assert (req.ird, req.ord) == (PEER | OFFER_SEND | 4,
                                              OFFER_WRITE | OFFER_READ | 4)
                conn = call.reply(reply, piece)
                line = call.established()
                pd = reply[20:275]
                assert line[4:] == [str(len(pd)), pd.hex() or "-"], line
                assert conn.hear_send(1) == b"hello"
                conn.say(conn.message(b"x"))
                assert conn.hear_send(2) == b"x"
                conn.finish()
                call.program.expect("DISCONNECTED")


@test
def client_server():
    """rtr none: A=0 both ways, depths agreed or left to the program"""
    with Settings(rtr="none"):
        for ird, ord_ in (4, 4), (2, 1), (0, 0), (ANY, ANY), (4, 100):
            with Called("eh") as call:
                assert (call.conn.request.ird, call.conn.request.ord) == (4, 4)
                conn = call.reply(enhanced(REPLY, C, ird, ord_, b"pd"))
                line = call.established()
                assert line[4:] == ["2", b"pd".hex()], line
                assert conn.hear_send(1) == b"hello"


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
    for reply in improper():
        print(reply[:24], flush=True)
        with Moves(startups_failed=1), Called() as call:
            call.conn.send(reply)
            call.refused("CONNECT_ERROR", -71)
            call.conn.ended()
    still_connects()


@test
def refusals():
    """R=1, with what the peer says about it; R counts before all else"""
    for pd in b"", b"busy", bytes(range(255)):
        for build in frame(REPLY, C | R, 1, pd), \
                enhanced(REPLY, C | R, PEER | 32, OFFER_WRITE | 64, pd):
            with Moves(startups_rejected=1), Called() as call:
                call.conn.send(build, 9)
                line = call.refused("REJECTED", -111)
                assert line[4:] == [str(len(pd)), pd.hex() or "-"], line
                call.conn.ended()
    still_connects()


@test
def no_reply():
    """A silent responder, a slow one, and one that parts"""
    with Settings(startup_timeout_ms=400):
        for octets in b"", ACCEPT[:1], ACCEPT[:19], frame(REPLY, C, length=4):
            with Moves(startups_timeout=1), Called() as call:
                call.conn.send(octets)
                call.refused("UNREACHABLE", -110)
                call.conn.ended()
    for part in Conn.finish, Conn.reset:
        for n in 1, 19:
            with Moves(startups_failed=1, startups_fallback=0), Called() as call:
                call.conn.send(ACCEPT[:n])
                part(call.conn)
                call.refused("REJECTED", -104)
    still_connects()


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
    still_connects()


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


def heard_rtr(conn):
    """The first FPDU, which has to be an RTR; the MSN of the program's first Send"""
    s = conn.hear()
    assert s and s.last, "no RTR"
    if s.opcode == READ:
        sink, to, size, _, _ = struct.unpack(">IQIIQ", s.data)
        assert (s.qn, s.msn, s.mo, size) == (1, 1, 0, 0)
        conn.say(tagged(RESPONSE, sink, to))
    else:
        assert not s.data
    return s.opcode, 2 if s.opcode == SEND else 1


@test
def rtr_types():
    """The RTR is chosen by the Reply's flags and comes first (P2P-34, P2P-36)"""
    words = {SEND: (OFFER_SEND, 0), WRITE: (0, OFFER_WRITE), READ: (0, OFFER_READ)}
    for shown, want in ((SEND,), SEND), ((WRITE,), WRITE), ((READ,), READ), \
            ((SEND, READ), READ), ((SEND, WRITE), WRITE), ((SEND, WRITE, READ), WRITE):
        ird, ord_ = 4, 4
        for kind in shown:
            ird, ord_ = ird | words[kind][0], ord_ | words[kind][1]
        with Called("he") as call:
            conn = call.reply(enhanced(REPLY, C, PEER | ird, ord_))
            call.established()
            got, first = heard_rtr(conn)
            assert got == want, "RTR %d of %s, expected %d" % (got, shown, want)
            assert conn.hear_send(first) == b"hello"
            conn.say(conn.message(b"back"))
            assert conn.hear_send(first + 1) == b"back"
            conn.finish()
            call.program.expect("DISCONNECTED")
            said = [line[0] for line in call.program.seen()]
            assert said.count("sent") <= 2, "the RTR was shown: %s" % said


@test
def no_rtr():
    """No RTR type in common is a Terminate, code 7 (P2P-35, GAP-15)"""
    for setting, ird, ord_ in ("send write read", PEER | 4, 4), \
            ("send", PEER | 4, OFFER_WRITE | 4), ("write", PEER | OFFER_SEND | 4, 4), \
            ("read", PEER | OFFER_SEND | 4, OFFER_WRITE | 4), \
            ("send write read", PEER, OFFER_READ | 4):
        with Settings(rtr=setting), Moves(startups_failed=1), Called() as call:
            conn = call.reply(enhanced(REPLY, C, ird, ord_))
            call.refused("CONNECT_ERROR", -71)
            conn.terminated("2/0/7")
    still_connects()


@test
def depths():
    """A responder that wants more Reads than we serve: code 6 (P2P-17)"""
    for markers in 0, M:
        for ord_ in 200, 0x3FFE:
            with Moves(startups_failed=1, tx_terminate=1), Called() as call:
                conn = call.reply(enhanced(REPLY, C | markers, PEER | 4, OFFER_WRITE | ord_))
                call.refused("CONNECT_ERROR", -71)
                conn.terminated("2/0/6")
    for ird, ord_ in (128, 128), (0, 0), (ANY, ANY), (1, 60):
        with Called("he") as call:
            conn = call.reply(enhanced(REPLY, C, PEER | ird, OFFER_WRITE | ord_))
            call.established()
            assert heard_rtr(conn)[0] == WRITE
            assert conn.hear_send(1) == b"hello"
    still_connects()


@test
def calls_markers():
    """Markers asked by us, by the device, by both, by none, in both directions"""
    for setting in 0, 1:
        for theirs in 0, M:
            with Settings(markers=setting), Called("e") as call:
                assert call.conn.request.flags == C | S | M * setting
                conn = call.reply(frame(REPLY, C | theirs))
                call.established()
                for lengths in (0, 1, 100, 490, 500, 600), (1400, 1, 506, 16000), (8000,) * 4:
                    conn.echo(*lengths)
                conn.say(conn.message(), crc=1)
                conn.terminated("2/0/2")


@test
def calls_crc():
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
def calls_ipv6():
    with Called("he", V6[0]) as call:
        conn = call.reply(enhanced(REPLY, C | M, PEER | 4, OFFER_WRITE | 4), 1)
        call.established()
        assert heard_rtr(conn)[0] == WRITE
        assert conn.hear_send(1) == b"hello"
        conn.say(conn.message(bytes(3000)), 100)
        assert conn.hear_send(2) == bytes(3000)


@test
def calls_terminated():
    """We say Terminate: no answer, and the program is told"""
    for ulpdu in untagged(7, 1, bytes([0x12, 5, 0, 0])), untagged(7, 1, b""):
        with Called("e") as call:
            conn = call.reply(ACCEPT)
            call.established()
            conn.echo(1)
            with Moves(rx_terminate=1, tx_terminate=0):
                conn.say(ulpdu)
                assert conn.hear() is None, "an answer to a Terminate"
                call.program.expect("DISCONNECTED")


if __name__ == "__main__":
    main(TESTS, sys.argv[1:] or TESTS)
