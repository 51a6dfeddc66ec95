#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""segments.py PCAP [PORT [FROM-TO...]]: do TCP segments begin with FPDUs?

Follows every connection of a capture (with PORT: only those of that server port)
from its SYN on: startup frames, then FPDUs by their lengths, through Markers where
the other end asked for them (RFC 5044, 4.3: each Marker is checked against the
chain of lengths). With the first byte of every FPDU known, it looks at each segment that has
payload after the startup. A Marker before a length field belongs to
the FPDU after it (5044, 4.3), so such a segment begins with an FPDU, too.

One line a direction, and for each window FROM-TO (seconds of the capture's clock):

  from=PORT to=PORT markers=0|1 segments=N aligned=N behind=N again=N again_aligned=N
  edge=N cut=N fpdus=N full=SIZE longest=SIZE tail=BYTES

segments counts all with payload, again those of them that bring bytes seen
before. edge are new ones that leave less of the receiver's window than the longest
FPDU takes: they met its edge. cut are those of them that end inside an FPDU. behind are
segments that begin inside an FPDU because one before them ended there, on an edge that
the receiver had announced. It may be an old edge, because the sender may see a new one after
the capture does. They last until a segment begins with an FPDU again. If TCP sends one of them
again, that counts too. fpdus
are those whose first byte was first sent in the window; full is the longest of
them on the wire, longest the longest segment. tail is the number of bytes after the last whole
FPDU. The capture has to be made at the sender, to show the receiver's window as the sender saw
it. A frame longer than an Ethernet of that MSS sends, a
GSO buffer, is no segment: the SYNs' MSS bounds them, and more is an error.
"""
import struct
import sys
from bisect import bisect_left, bisect_right

KEYS = {b"MPA ID Req Frame": "request", b"MPA ID Rep Frame": "reply"}
SPACING = 512
SYN, ACK = 2, 16
MSS, WINDOW_SCALE = 2, 3


class Broken(Exception):
    """The capture does not show what it should."""


def read(name):
    with open(name, "rb") as file:
        return bytearray(file.read())


def packets(data):
    """(time, frame) of each packet of a pcap file of Ethernet frames."""
    order = "<" if data[:1] in b"\xd4\x4d" else ">"
    magic, _, _, _, _, _, link = struct.unpack(order + "IHHiIII", data[:24])
    if magic not in (0xA1B2C3D4, 0xA1B23C4D) or link != 1:
        raise Broken("not a pcap of Ethernet frames")
    unit = 1e9 if magic == 0xA1B23C4D else 1e6
    at = 24
    while at + 16 <= len(data):
        seconds, part, kept, length = struct.unpack_from(order + "IIII", data, at)
        if kept != length:
            raise Broken("a frame was cut off")
        yield seconds + part / unit, memoryview(data)[at + 16 : at + 16 + kept]
        at += 16 + kept


def tcp_of(frame):
    """(source, target, place of the TCP header, frame without padding) or None."""
    kind = frame[12:14]
    if kind == b"\x08\x00" and frame[23] == 6:
        if struct.unpack_from(">H", frame, 20)[0] & 0x3FFF:
            raise Broken("an IP fragment")
        end = 14 + struct.unpack_from(">H", frame, 16)[0]
        return bytes(frame[26:30]), bytes(frame[30:34]), 14 + (frame[14] & 15) * 4, frame[:end]
    if kind == b"\x86\xdd" and frame[20] == 6:
        end = 54 + struct.unpack_from(">H", frame, 18)[0]
        return bytes(frame[22:38]), bytes(frame[38:54]), 54, frame[:end]
    return None


def options_of(tcp):
    """The options of a SYN: their numbers, by kind."""
    found, options = {}, bytes(tcp[20 : (tcp[12] >> 4) * 4])
    while options and options[0]:
        size = 1 if options[0] == 1 else max(options[1], 2)
        found[options[0]] = int.from_bytes(options[2:size], "big")
        options = options[size:]
    if MSS not in found:
        raise Broken("a SYN without MSS")
    return found


class Direction:
    """The packets of one end."""

    def __init__(self, name):
        self.name = name
        self.server = False  # it answered the SYN
        self.syn = None  # headers of the SYN
        self.isn = None
        self.mss = None  # the largest segment that this end takes
        self.scale = None  # of the windows that this end announces
        self.edge = 0  # up to where the other end takes bytes
        self.edges = set()  # all values that edge ever had
        self.head = None  # headers of a frame with payload
        self.pieces = []  # (time, offset in the stream, payload, window left behind it,
        # whether it ends on an edge announced so far)

    def add(self, when, frame, place):
        tcp = frame[place:]
        seq = struct.unpack_from(">I", tcp, 4)[0]
        payload = tcp[(tcp[12] >> 4) * 4 :]
        if tcp[13] & SYN:
            self.syn = bytes(frame), place
            self.isn = seq
            options = options_of(tcp)
            self.mss = options[MSS]
            self.scale = options.get(WINDOW_SCALE)
        elif len(payload):
            if self.isn is None:
                raise Broken(f"{self.name}: data before a SYN")
            self.head = self.head or (bytes(frame[: -len(payload)]), place)
            # Offsets stay small here: no capture holds 2 GiB.
            at = (seq - self.isn - 1) & 0xFFFFFFFF
            end = at + len(payload)
            self.pieces.append((when, at, payload, self.edge - end, end in self.edges))

    def allow(self, tcp, back):
        """The other end acknowledges, and announces its window."""
        if self.isn is None or not tcp[13] & ACK:
            return
        ack, _, window = struct.unpack_from(">IHH", tcp, 8)
        if not tcp[13] & SYN and None not in (self.scale, back.scale):
            window <<= back.scale
        edge = ((ack - self.isn - 1) & 0xFFFFFFFF) + window
        self.edges.add(edge)
        self.edge = max(self.edge, edge)

    def stream(self):
        """All bytes in order. TCP must have sent the same bytes whenever it sent a place again."""
        data = bytearray()
        for _, at, payload, *_ in sorted(self.pieces, key=lambda piece: piece[1]):
            if at > len(data):
                raise Broken(f"{self.name}: the capture has a hole at {len(data)}")
            old = len(data) - at
            if data[at : at + len(payload)] != payload[:old]:
                raise Broken(f"{self.name}: bytes changed between two transmissions")
            if old < len(payload):
                data += payload[old:]
        return data


def startup(data):
    """(what, M, bytes) of the startup frame at the start of a stream."""
    what = KEYS.get(bytes(data[:16]))
    if not what or len(data) < 20:
        return None
    size = 20 + struct.unpack_from(">H", data, 18)[0]
    return what, data[16] >> 7, size


def fpdus(data, start, markers):
    """(offset, size) of each whole FPDU, then the offset behind the last."""
    found, at, end = [], start, len(data)

    def step(place, octets):
        """Where `octets` of content that begin at `place` end; checks Markers."""
        while octets:
            grid = (place - start) % SPACING
            if markers and grid == 0:
                if place + 4 > end:
                    return end + 1
                back = struct.unpack_from(">H", data, place + 2)[0]
                if back != (place - length_at if place > length_at else 0):
                    raise Broken(f"Marker at {place - start} points back {back}")
                place += 4
                grid = 4
            run = min(octets, SPACING - grid) if markers else octets
            place += run
            octets -= run
        return place

    while True:
        length_at = at + 4 if markers and (at - start) % SPACING == 0 else at
        if length_at + 2 > end:
            return found, at
        ulpdu = struct.unpack_from(">H", data, length_at)[0]
        if not ulpdu:
            raise Broken(f"an FPDU without content at {at - start}")
        behind = step(at, (2 + ulpdu + 3) // 4 * 4 + 4)
        if behind > end:
            return found, at
        found.append((at, behind - at))
        at = behind


class Sender:
    """A direction with its FPDUs."""

    def __init__(self, way, start, markers):
        self.way, self.start, self.markers = way, start, markers
        data = way.stream()
        self.found, self.end = fpdus(data, start, markers)
        self.starts = [at for at, _ in self.found]
        self.largest = max((size for _, size in self.found), default=0)
        self.tail = len(data) - self.end

    def begins(self, at):
        place = bisect_left(self.starts, at)
        return at == self.end or place < len(self.starts) and self.starts[place] == at

    def report(self, low, high, limit):
        keys = "segments aligned behind again again_aligned edge cut fpdus full longest"
        count = dict.fromkeys(keys.split(), 0)
        top = self.start  # first byte never seen so far
        behind = False  # an edge was inside an FPDU, and alignment was not regained yet
        places = set()  # where the segments behind an edge begin
        for when, at, payload, room, on_edge in self.way.pieces:
            end = at + len(payload)
            fresh, top = end > top, max(top, end)
            if end <= self.start:
                continue
            good = self.begins(at)
            if fresh:
                if behind and not good:
                    places.add(at)
                behind = at in places or on_edge
            if not low <= when < high:
                continue
            if len(payload) > limit:
                raise Broken(f"{self.way.name}: {len(payload)} bytes are no segment, MSS {limit}")
            count["segments"] += 1
            count["aligned"] += good
            count["behind"] += at in places
            count["longest"] = max(count["longest"], len(payload))
            if not fresh:
                count["again"] += 1
                count["again_aligned"] += good
                continue
            if room < self.largest:
                count["edge"] += 1
                count["cut"] += not self.begins(end)
            for _, size in self.found[bisect_left(self.starts, at) : bisect_left(self.starts, end)]:
                count["fpdus"] += 1
                count["full"] = max(count["full"], size)
        numbers = " ".join(f"{key}={value}" for key, value in count.items())
        print(f"{self.way.name} markers={self.markers} {numbers} tail={self.tail}")


def connections(data, port):
    """Pairs of Directions, in order of their SYNs."""
    ways, order = {}, []
    for when, frame in packets(data):
        parts = tcp_of(frame)
        if not parts:
            continue
        source, target, place, frame = parts
        tcp = frame[place:]
        sport, dport = struct.unpack_from(">HH", tcp)
        if port and port not in (sport, dport):
            continue
        here, there = (source, sport), (target, dport)
        if tcp[13] & SYN and (here, there) not in ways:
            ways[here, there] = Direction(f"from={sport} to={dport}")
            order.append((here, there))
        if (here, there) not in ways:
            raise Broken(f"{sport} to {dport}: the capture does not begin with the SYN")
        ways[here, there].add(when, frame, place)
        if (there, here) in ways:
            ways[there, here].allow(tcp, ways[here, there])
    for here, there in order[:]:
        if (there, here) in order and order.index((here, there)) < order.index((there, here)):
            ways[there, here].server = True
            yield ways[here, there], ways[there, here]


def main():
    data = read(sys.argv[1])
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    windows = [tuple(map(float, w.split("-"))) for w in sys.argv[3:]] or [(0, float("inf"))]
    seen = 0
    for pair in connections(data, port):
        frames = [startup(way.stream()) for way in pair]
        if None in frames:
            print(f"{pair[0].name}: no MPA startup")
            continue
        limit = min(way.mss for way in pair)
        for me in 0, 1:
            sender = Sender(pair[me], frames[me][2], frames[1 - me][1])
            for low, high in windows:
                sender.report(low, high, limit)
                seen += 1
    if not seen:
        raise Broken("no MPA connection")


if __name__ == "__main__":
    try:
        main()
    except Broken as error:
        sys.exit(f"segments.py: {error}")
