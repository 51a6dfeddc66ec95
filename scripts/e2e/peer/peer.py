# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""MPA, DDP and RDMAP over plain TCP, written apart from the driver.

A peer that can send anything, right or wrong, in either role. Nothing here comes
from the engine; CRC and framing were checked against the vectors of the
specifications (see self_test). device.py has what tests need besides.
"""
import contextlib
import ctypes
import fcntl
import os
import select
import socket
import struct
import termios
import time

SLOW = float(os.environ.get("E2E_SLOW", "1"))
DEVICE = "mpa1"
PORT = int(os.environ.get("PORT", "10000"))
V4, V6 = ("10.77.0.1", "10.77.0.2"), ("fd77::1", "fd77::2")
CLOCK_MONOTONIC_COARSE = 6  # Python has no name for it


def now():
    """The time that the kernel's timers have. In a virtual machine on a busy host it may be a second
    behind time.monotonic(), so a timer seems to end too early by that."""
    return time.clock_gettime(CLOCK_MONOTONIC_COARSE)


class Way:
    """How a test is run: the addresses of both ends, and whether the first bytes of
    all that we send go one by one (run.py)"""
    addresses, by_octets = V4, False
    BEGINNING = 40

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ 0x82F63B78 if n & 1 else n >> 1
    TABLE.append(n)


def crc32c(data):
    c = 0xFFFFFFFF
    for octet in data:
        c = TABLE[(c ^ octet) & 255] ^ c >> 8
    return c ^ 0xFFFFFFFF


def fpdu(at, ulpdu, markers=False, length=None, pointer=0, reserved=0, pad=0, crc=0):
    """One FPDU that begins at byte `at` of the stream.

    length: the value of its field; pointer, reserved, crc: flipped bits of each
    FPDUPTR, of the field before it and of the CRC field; pad: the byte it is padded
    with.
    """
    head = struct.pack(">H", len(ulpdu) if length is None else length)
    body = head + ulpdu + bytes([pad]) * (-(2 + len(ulpdu)) % 4)
    out, start = bytearray(), None
    for i in range(0, len(body) + 4, 4):
        if markers and (at + len(out)) % 512 == 0:
            back = 0 if start is None else len(out) - start
            out += struct.pack(">HH", reserved, back ^ pointer)
        if start is None:
            start = len(out)
        if i < len(body):
            out += body[i:i + 4]
    return bytes(out) + struct.pack("<I", crc32c(out) ^ crc)


# --- DDP and RDMAP ---

WRITE, READ, RESPONSE, SEND, TERMINATE = 0, 1, 2, 3, 7
QUEUE = {READ: 1, TERMINATE: 2}


def untagged(opcode, msn, data=b"", qn=None, mo=0, last=True, ddp=1, rdmap=1, inval=0):
    qn = QUEUE.get(opcode, 0) if qn is None else qn
    return struct.pack(">BBIIII", last << 6 | ddp, rdmap << 6 | opcode, inval, qn, msn,
                       mo) + data


def tagged(opcode, stag, to, data=b"", last=True, ddp=1):
    return struct.pack(">BBIQ", 0x80 | last << 6 | ddp, 0x40 | opcode, stag, to) + data


def read_request(msn, sink, size, source):
    """sink, source: (STag, offset)"""
    return untagged(READ, msn, struct.pack(">IQIIQ", *sink, size, *source))


def terminate(error, ulpdu=b"", flags=None, behind=None):
    """The Terminate of an error in that ULPDU, by the figures 7, 8 and 10 of RFC 5040

    error: LAYER/TYPE/CODE; flags, behind: other values for its third byte, and for all bytes
    after the fourth
    """
    layer, kind, code = (int(number) for number in error.split("/"))
    size = 14 if ulpdu and ulpdu[0] & 0x80 else 18
    shown = b""
    if layer != 2 and kind != 0 and len(ulpdu) >= size:
        is_read = (layer, kind) == (0, 1) and ulpdu[1] & 15 == READ
        shown = struct.pack(">H", len(ulpdu)) + ulpdu[:46 if is_read else size]
        flags = (0xE0 if is_read else 0xC0) if flags is None else flags
    shown = shown if behind is None else behind
    return untagged(TERMINATE, 1, bytes([layer << 4 | kind, code, flags or 0, 0]) + shown)


class Segment:
    def __init__(self, ulpdu):
        self.ulpdu = ulpdu
        ddp, rdmap = ulpdu[0], ulpdu[1]
        self.opcode, self.last, self.is_tagged = rdmap & 15, bool(ddp & 0x40), ddp & 0x80
        assert ddp & 3 == 1 and rdmap >> 6 == 1, "versions %02x %02x" % (ddp, rdmap)
        if self.is_tagged:
            self.stag, self.to = struct.unpack(">IQ", ulpdu[2:14])
            self.data = ulpdu[14:]
        else:
            _, self.qn, self.msn, self.mo = struct.unpack(">IIII", ulpdu[2:18])
            self.data = ulpdu[18:]

    def error(self):
        """LAYER/TYPE/CODE of a Terminate"""
        assert self.opcode == TERMINATE, "opcode %d, not a Terminate" % self.opcode
        assert (self.qn, self.msn, self.mo) == (2, 1, 0), "a Terminate's own header"
        return "%d/%d/%d" % (self.data[0] >> 4, self.data[0] & 15, self.data[1])


# --- startup frames ---

REQUEST, REPLY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
M, C, R, S = 0x80, 0x40, 0x20, 0x10
PEER, OFFER_SEND, OFFER_WRITE, OFFER_READ = 0x8000, 0x4000, 0x8000, 0x4000
ANY = 0x3FFF


def frame(key, flags, rev=1, pd=b"", length=None):
    return key + struct.pack(">BBH", flags, rev, len(pd) if length is None else length) + pd


def enhanced(key, flags, ird, ord_, pd=b""):
    return frame(key, flags | S, 2, struct.pack(">HH", ird, ord_) + pd)


F1 = frame(REQUEST, C)
F2 = frame(REQUEST, M | C)
F5 = enhanced(REQUEST, C, PEER | 16, OFFER_WRITE | OFFER_READ | 32)
F7 = enhanced(REQUEST, C, ANY, ANY)
F9 = enhanced(REQUEST, M | C, PEER | OFFER_SEND | 1, OFFER_WRITE | OFFER_READ, b"hello")


class Startup:
    """The startup frame of the other end."""
    def __init__(self, octets):
        self.key = octets[:16]
        self.flags, self.rev, length = struct.unpack(">BBH", octets[16:20])
        self.pd = octets[20:]
        assert len(self.pd) == length
        self.ird = self.ord = None
        if self.flags & S and self.rev > 1:
            self.ird, self.ord = struct.unpack(">HH", self.pd[:4])
            self.pd = self.pd[4:]


# --- connections ---

def enter(namespace):
    with open("/run/netns/" + namespace) as f:
        if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), 0x40000000):
            raise OSError(ctypes.get_errno(), "setns")


def until(true, what, seconds=5):
    end = now() + seconds * SLOW
    while not true():
        assert now() < end, "timed out waiting: " + what
        time.sleep(0.01)


class Conn:
    """A TCP connection, and after the startup the FPDU streams on it."""
    def __init__(self, sock):
        self.sock = sock
        self.limit = 8 * SLOW
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tx_markers = self.rx_markers = False
        self.crc = True
        self.sent = self.got = 0        # positions in the FPDU streams
        self.msn = 0
        self.said = b""                 # the last ULPDU
        self.was_reset = False
        self.ahead = b""                # bytes read from the socket, but not taken yet

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, octets, piece=None, together=False):
        """piece: size of its segments; together: never cut, because that changes its meaning"""
        if Way.by_octets and not piece and not together:
            for octet in octets[:Way.BEGINNING]:
                # the test itself checks a connection that was closed before all was sent
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self.sock.sendall(bytes([octet]))
            octets = octets[Way.BEGINNING:]
        piece = piece or len(octets) or 1
        for i in range(0, len(octets), piece):
            self.sock.sendall(octets[i:i + piece])

    def take(self, n, more_at_once=0):
        """The next n bytes; fewer when the stream ends"""
        out, self.ahead = self.ahead[:n], self.ahead[n:]
        end = now() + self.limit
        while len(out) < n:
            left = end - now()
            assert left > 0 and select.select([self.sock], [], [], left)[0], \
                "nothing came, %d of %d bytes" % (len(out), n)
            try:
                more = self.sock.recv(n - len(out) + more_at_once)
            except ConnectionResetError:
                self.was_reset = True
                more = b""
            if not more:
                break
            out += more
        self.ahead += out[n:]
        return out[:n]

    def ended(self):
        """The connection is closed, and nothing came before that."""
        octets = self.take(1)
        assert not octets, "a byte came: " + octets.hex()

    def quiet(self, seconds):
        assert not self.ahead and \
            not select.select([self.sock], [], [], seconds * SLOW)[0], "not quiet"

    def has_arrived(self):
        """Has the device's TCP acknowledged all that was sent?"""
        return fcntl.ioctl(self.sock, termios.TIOCOUTQ, bytes(4)) == bytes(4)

    def finish(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def startup(self):
        head = self.take(20)
        assert len(head) == 20, "closed instead of a frame: " + head.hex()
        return Startup(head + self.take(struct.unpack(">H", head[18:])[0]))

    def agree(self, mine, theirs):
        """mine, theirs: flags of the frames"""
        self.tx_markers, self.rx_markers = bool(theirs & M), bool(mine & M)
        self.crc = bool((mine | theirs) & C)
        return self

    def build(self, ulpdu, **how):
        self.said = ulpdu
        out = fpdu(self.sent, ulpdu, self.tx_markers, **how)
        self.sent += len(out)
        return out

    def say(self, ulpdu, piece=None, **how):
        self.send(self.build(ulpdu, **how), piece)

    def message(self, data=b"", **how):
        """The next Send"""
        self.msn += 1
        return untagged(SEND, self.msn, data, **how)

    def part(self, n, start, seen):
        """n bytes of the FPDU that began at `start`, or those to a Marker; the one before is checked"""
        if self.rx_markers:
            if self.got % 512 == 0:
                marker = self.take(4)
                back = 0 if start is None else self.got - start
                assert marker == struct.pack(">HH", 0, back), "Marker %s at %d, back %d" % (
                    marker.hex(), self.got, back)
                seen += marker
                self.got += 4
            n = min(n, 512 - self.got % 512)
        octets = self.take(n, 2048)
        self.got += len(octets)
        return octets

    def hear(self):
        """The next FPDU as a Segment; None at the end of the stream"""
        seen = bytearray()
        first = self.part(4, None, seen)
        if not first and not seen:
            return None
        assert len(first) == 4, "the stream ends in an FPDU"
        start = self.got - 4
        length, = struct.unpack(">H", first[:2])
        seen += first
        body = bytearray(first)
        whole = (2 + length + 3) // 4 * 4
        while len(body) < whole:
            octets = self.part(whole - len(body), start, seen)
            assert octets, "the stream ends in an FPDU"
            seen += octets
            body += octets
        crc = self.part(4, start, seen)
        assert len(crc) == 4, "the stream ends in an FPDU"
        if self.crc:
            assert crc == struct.pack("<I", crc32c(seen)), "CRC " + crc.hex()
        assert not any(body[2 + length:]), "PAD is not zero"
        return Segment(bytes(body[2:2 + length]))

    def hear_send(self, msn):
        """All of the Send number msn"""
        data = b""
        while True:
            s = self.hear()
            assert s and s.opcode == SEND, "no Send but " + (s and str(s.__dict__) or "the end")
            assert (s.qn, s.msn, s.mo) == (0, msn, len(data)), str((s.msn, s.mo))
            data += s.data
            if s.last:
                return data

    def echo(self, *lengths, piece=None):
        """All Sends go out before the first is read, and come back unchanged"""
        datas = [bytes((i * 7 + n) & 255 for i in range(n)) for n in lengths]
        first = self.msn
        self.send(b"".join(self.build(self.message(data)) for data in datas), piece)
        for i, data in enumerate(datas):
            assert self.hear_send(first + i + 1) == data, "echo %d differs" % i

    def terminated(self, error, more=b"", about=None):
        """Expects the Terminate of this error, then the end, even if we send more

        about: the ULPDU in error, if it is not the last that we sent
        """
        s = self.hear()
        assert s, "closed without a Terminate, expected " + error
        assert s.error() == error, "Terminate %s, expected %s" % (s.error(), error)
        want = terminate(error, self.said if about is None else about)
        assert s.ulpdu == want, "Terminate %s, expected %s" % (s.ulpdu.hex(), want.hex())
        self.send(more)
        self.ended()
        assert not self.was_reset, "a reset, which may overtake the Terminate"


def terminates():
    """The bytes of Terminates after their own header, made by hand from the figures of RFC 5040"""
    where = struct.pack(">IQ", 0xCAFE, 0x123456789)
    write = bytes.fromhex("c140") + where
    read = read_request(3, (0xAA00, 0x1000), 0x2000, (0xBB00, 0x10000))
    gone = read_request(3, (0xAA00, 0x1800), 0x1800, (0xBB00, 0x10800))
    yield "2/0/2", write, "20020000"
    yield "0/0/0", b"", "00000000"
    yield "1/1/1", write + bytes(1446), "1101c00005b4c140" + where.hex()
    yield "1/2/5", untagged(SEND, 2, bytes(17)), \
        "1205c000002341430000000000000000" "0000000200000000"
    yield "0/1/0", read, "0100e000002e41410000000000000001" "0000000300000000" \
        "0000aa000000000000001000" "00002000" "0000bb000000000000010000"
    yield "0/1/0", gone, "0100e000002e41410000000000000001" "0000000300000000" \
        "0000aa000000000000001800" "00001800" "0000bb000000000000010800"
    yield "0/1/9", untagged(4, 2, bytes(4), inval=0xA1A2A3A4), \
        "0109c00000164144a1a2a3a400000000" "0000000200000000"
    yield "0/2/5", untagged(SEND, 2, rdmap=2), \
        "0205c000001241830000000000000000" "0000000200000000"
    yield "1/1/4", bytes.fromhex("c240") + where + b"x", "1104c000000fc240" + where.hex()
    yield "1/2/2", read_request(9, (1, 2), 3, (4, 5)), \
        "1202c000002e41410000000000000001" "0000000900000000"


def self_test():
    for error, ulpdu, text in terminates():
        own = bytes.fromhex("414700000000000000020000000100000000")
        assert terminate(error, ulpdu) == own + bytes.fromhex(text), error
    assert crc32c(b"123456789") == 0xE3069283
    assert fpdu(0, untagged(SEND, 1)).hex()[-8:] == "587be8c4"
    assert fpdu(0, untagged(SEND, 1, bytes(24)), True).hex()[-8:] == "52239983"
    second = fpdu(492, untagged(SEND, 2, bytes(24)), True)
    assert second.hex()[-8:] == "84925898" and len(second) == 52
    assert F9[16:].hex() == "d0020009c001c00068656c6c6f"
