#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""name_assign.py INDEX: prints the name of the device that rdma(8) shows under that number, and
who chose the name, as the kernel tells udev's rdma_rename: 1 for a user, 0 if that is unknown,
and "-" if the kernel does not say (before 6.12)"""
import socket
import struct
import sys

NETLINK_RDMA = 20
DEV_GET = (5 << 10) + 1         # RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET
REQUEST = 1
ATTR_DEV_INDEX, ATTR_DEV_NAME, ATTR_NAME_ASSIGN_TYPE = 1, 2, 101
HEADER = struct.Struct("=IHHII")


def ask(number):
    """The attributes of a device by their numbers"""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA) as nl:
        attr = struct.pack("=HHI", 8, ATTR_DEV_INDEX, number)
        nl.send(HEADER.pack(HEADER.size + len(attr), DEV_GET, REQUEST, 1, 0) + attr)
        answer = nl.recv(65536)
    length, kind = HEADER.unpack_from(answer)[:2]
    assert kind == DEV_GET, "no device of that number"
    at, attrs = HEADER.size, {}
    while at < length:
        size, kind = struct.unpack_from("=HH", answer, at)
        attrs[kind & 0x3FFF] = answer[at + 4:at + size]
        at += size + 3 & ~3
    return attrs


found = ask(int(sys.argv[1]))
print(found[ATTR_DEV_NAME].rstrip(b"\0").decode(), *found.get(ATTR_NAME_ASSIGN_TYPE, "-"))
