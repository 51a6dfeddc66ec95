#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Captures rewritten for the judge.

fpdus.py split PCAP FROM-CLIENTS FROM-SERVERS
    Writes each direction to a capture of its own, one segment an FPDU: the same bytes at
    the same sequence numbers, cut elsewhere. The startup frames of both ends come first,
    with the M bit for this direction in both. After an FPDU that
    ends where a Marker comes next, a new connection begins. Prints for each capture
    the number of FPDUs, and how many of that kind. wire.sh says why.
fpdus.py break crc|length PCAP OUT
    Changes one byte of one FPDU: in its middle, or in its length.
"""
import struct
import sys

from segments import SPACING, Broken, Sender, connections, read, startup

PCAP = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)


class Capture:
    """A pcap that grows by a frame a microsecond."""

    def __init__(self):
        self.parts = [PCAP]
        self.fpdus = self.hidden = 0
        self.port = 1024

    def frame(self, data):
        at = len(self.parts)
        self.parts.append(struct.pack("<IIII", 1, at, len(data), len(data)) + data)

    def segment(self, way, at, payload, syn=False):
        """Adds bytes at a place in the stream, or the SYN of a stream that begins there."""
        head, tcp = way.syn if syn else way.head
        head = bytearray(head)
        if head[12:14] == b"\x08\x00":
            struct.pack_into(">H", head, 16, len(head) - 14 + len(payload))
        else:
            struct.pack_into(">H", head, 18, len(head) - 54 + len(payload))
        struct.pack_into(">H", head, tcp + (2 if way.server else 0), self.port)
        struct.pack_into(">I", head, tcp + 4, (way.isn + 1 - syn + at) & 0xFFFFFFFF)
        self.frame(bytes(head) + bytes(payload))

    def begin(self, both, sender, at):
        """Begins a connection whose FPDUs begin at a place of the sender's stream."""
        self.port += 1
        for other in both:
            frame = other.way.stream()[: other.start]
            frame[16] = frame[16] & 0x7F | sender.markers << 7
            place = at - other.start if other is sender else 0
            self.segment(other.way, place, b"", syn=True)
            self.segment(other.way, place, frame)

    def add(self, both, sender):
        """Adds a direction. A new connection follows an FPDU that ends on the Markers' grid."""
        octets, anew = sender.way.stream(), True
        for at, size in sender.found:
            if anew:
                self.begin(both, sender, at)
            self.segment(sender.way, at, octets[at : at + size])
            self.fpdus += 1
            anew = bool(sender.markers) and (at + size - sender.start) % SPACING == 0
            self.hidden += anew

    def write(self, name):
        with open(name, "wb") as file:
            file.write(b"".join(self.parts))


def senders(pair):
    """Both directions of a connection, client first."""
    frames = [startup(way.stream()) for way in pair]
    if None in frames:
        raise Broken(f"{pair[0].name}: no MPA startup")
    return [Sender(pair[me], frames[me][2], frames[1 - me][1]) for me in (0, 1)]


def split(data, names):
    captures = [Capture(), Capture()]
    for pair in connections(data, 0):
        both = senders(pair)
        for capture, sender in zip(captures, both):
            capture.add(both, sender)
    for capture, name in zip(captures, names):
        capture.write(name)
        print(capture.fpdus, capture.hidden)


def damage(what, data, name):
    sender = senders(next(connections(data, 0)))[0]
    at, size = sender.found[len(sender.found) // 2]
    if what == "crc":
        at += size // 2
    else:
        at += 5 if sender.markers and (at - sender.start) % 512 == 0 else 1
    for _, begin, payload, *_ in sender.way.pieces:
        if begin <= at < begin + len(payload):
            payload[at - begin] ^= 4
    with open(name, "wb") as file:
        file.write(data)


def main():
    if sys.argv[1] == "split":
        split(read(sys.argv[2]), sys.argv[3:5])
    else:
        damage(sys.argv[2], read(sys.argv[3]), sys.argv[4])


if __name__ == "__main__":
    try:
        main()
    except Broken as error:
        sys.exit(f"fpdus.py: {error}")
