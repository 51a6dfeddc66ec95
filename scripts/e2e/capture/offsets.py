#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""offsets.py PCAP: does a target offset in a capture show an address of the kernel?

Looks at each tagged FPDU and each Read Request of each MPA connection, in either
direction, without Markers. Offsets count from small numbers: their lower 32 bits must be
below 64 MiB, which is true for hardly any address. (NFS has a transaction in the upper bits.)
Prints the number of offsets of each kind; with an address the exit status is 1.
"""
import struct
import sys

from segments import Broken, Sender, connections, read, startup

LIMIT = 64 << 20
TAGGED = 0x80
READ_REQUEST = 1


def offsets(sender):
    """(kind, offset) of each FPDU that has an offset"""
    octets = bytes(sender.way.stream())
    for at, _ in sender.found:
        ddp, rdmap = octets[at + 2], octets[at + 3]
        if ddp & TAGGED:
            yield "tagged", struct.unpack_from(">Q", octets, at + 8)[0]
        elif rdmap & 15 == READ_REQUEST:
            _, sink, _, _, source = struct.unpack_from(">IQIIQ", octets, at + 20)
            yield "sink", sink
            yield "source", source


def main():
    count = dict.fromkeys(("tagged", "sink", "source"), 0)
    shown = []
    for pair in connections(read(sys.argv[1]), 0):
        frames = [startup(way.stream()) for way in pair]
        if None in frames:
            continue
        for me in 0, 1:
            if frames[1 - me][1]:
                raise Broken(f"{pair[me].name}: Markers")
            for kind, offset in offsets(Sender(pair[me], frames[me][2], 0)):
                count[kind] += 1
                if offset & 0xFFFFFFFF >= LIMIT:
                    shown.append(f"{pair[me].name}: {kind} {offset:#x}")
    print(" ".join(f"{kind}={number}" for kind, number in count.items()))
    if shown:
        sys.exit(f"{len(shown)} addresses, the first: {shown[0]}")
    if not all(count.values()):
        raise Broken("a kind of offset did not come")


if __name__ == "__main__":
    try:
        main()
    except Broken as error:
        sys.exit(f"offsets.py: {error}")
