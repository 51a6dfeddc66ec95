# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Valid exchanges with something wrong in them (SEC-01). Whatever is wrong, the connection
ends soon after we close it, the program and its memory are intact, and the device serves
the next peer. Everything follows from SEED and the number of the connection.
"""
import contextlib
import random
import select

from peer import (
    ANY, C, F5, F7, F9, M, OFFER_SEND, OFFER_WRITE, PEER, R, READ, REPLY, REQUEST, RESPONSE,
    SEND, SLOW, TERMINATE, WRITE, enhanced, frame, now, read_request, tagged, untagged)
from device import ACCEPT, Called, ECHO, HELLO, Settings, call, serving, test

SEED = 20261120
REQUESTS = ECHO, HELLO, frame(REQUEST, M | C, 1, b"e"), frame(REQUEST, 0, 1, b"e"), F5, F7, \
    F9, enhanced(REQUEST, C, 4, 4, b"es"), frame(REQUEST, C, 1, b"x"), \
    frame(REQUEST, C, 1, b"w"), frame(REQUEST, C, 1, b"n")
REPLIES = ACCEPT, frame(REPLY, M), frame(REPLY, C | R, 1, b"no"), \
    enhanced(REPLY, C, PEER | OFFER_SEND | 4, OFFER_WRITE | 4, b"pd"), \
    enhanced(REPLY, M, PEER | ANY, OFFER_WRITE | ANY), enhanced(REPLY, C, 4, 200)


def mutated(rng, octets):
    """Some of its bytes changed, left out, put in or repeated"""
    octets = bytearray(octets)
    for _ in range(rng.randint(1, 3)):
        at, n = rng.randrange(len(octets) + 1), rng.choice((1, 1, 2, 4, 8))
        part = octets[at:at + n]
        octets[at:at + n] = rng.choice((
            bytes(b ^ 1 << rng.randrange(8) for b in part), rng.randbytes(len(part)),
            bytes(len(part)), b"\xff" * len(part), b"", rng.randbytes(n) + part, part + part))
    return bytes(octets)


def some_ulpdu(rng, conn):
    stag, at = conn.stag, conn.at + rng.randrange(60000)
    msn = conn.msn + 1
    return rng.choice((
        lambda: conn.message(rng.randbytes(rng.randrange(300))),
        lambda: untagged(SEND, msn, rng.randbytes(40), last=False),
        lambda: untagged(rng.choice((4, 5, 6)), msn, rng.randbytes(8)),
        lambda: tagged(WRITE, stag, at, rng.randbytes(rng.randrange(300))),
        lambda: tagged(RESPONSE, stag, at, bytes(8)),
        lambda: read_request(1, (1, 2), rng.randrange(5000), (stag, at)),
        lambda: untagged(READ, rng.randrange(3), rng.randbytes(28)),
        lambda: untagged(TERMINATE, 1, rng.randbytes(rng.randrange(60))),
        lambda: untagged(TERMINATE, 1, bytes([0x12, 5, 0xC0, 0, 0, 20]) + bytes(18)),
    ))()


def some_fpdus(rng, conn):
    """A few FPDUs. Some are bad: in the ULPDU, with a right CRC, or in the bytes of the FPDU"""
    out = b""
    for _ in range(rng.randint(1, 5)):
        ulpdu, how = some_ulpdu(rng, conn), rng.randrange(4)
        if how == 0:
            out += mutated(rng, conn.build(ulpdu))
        elif how == 1:
            out += conn.build(mutated(rng, ulpdu) or b"x")
        elif how == 2:
            out += conn.build(ulpdu, length=rng.choice((0, 1, 13, 64768, 64769, 65535)))
        else:
            out += conn.build(ulpdu)
    return out


def send_broken(rng, conn, octets):
    with contextlib.suppress(ConnectionError):
        while octets:
            n = rng.choice((1, 7, 100, 5000))
            conn.send(octets[:n], n)
            octets = octets[n:]


def drained(rng, conn):
    """The connection must end when we have closed our half."""
    with contextlib.suppress(OSError):
        if rng.randrange(8) == 0:
            conn.reset()
            return
        conn.finish()
    end = now() + 8 * SLOW
    with contextlib.suppress(ConnectionError):
        while True:
            left = end - now()
            assert left > 0 and select.select([conn.sock], [], [], left)[0], "it does not end"
            if not conn.sock.recv(65536):
                return


def request_and_more(rng, conn):
    request = rng.choice(REQUESTS)
    if rng.randrange(3) == 0:
        octets = mutated(rng, request)
        send_broken(rng, conn, octets + (rng.randbytes(30) if rng.randrange(2) else b""))
        return
    conn.send(request)
    if request[-1:] == b"w":
        return
    reply = conn.startup()
    if reply.flags & R:
        return
    conn.agree(request[16], reply.flags)
    conn.stag, conn.at = int.from_bytes(reply.pd[:4], "big"), int.from_bytes(reply.pd[4:12], "big")
    send_broken(rng, conn, some_fpdus(rng, conn))


def some_settings(rng):
    return Settings(crc=rng.choice(("required", "off")), markers=rng.randrange(2))


def numbered(first, last):
    print("seed", SEED, "connections", first, "to", last, flush=True)
    for n in range(first, last):
        print(n, flush=True)
        yield random.Random("%d %d" % (SEED, n))


@test
def fuzz():
    """200 connections to the device with mutated frames, FPDUs and headers (SEC-01, ERR-14)"""
    with serving() as program, Settings(startup_timeout_ms=2000 * int(SLOW)):
        for rng in numbered(0, 200):
            with some_settings(rng), call() as conn:
                request_and_more(rng, conn)
                drained(rng, conn)
            program.seen()


@test
def calls_fuzz():
    """100 connections by the device, answered by mutated Replies and FPDUs (SEC-01)"""
    with Settings(startup_timeout_ms=2000 * int(SLOW)):
        for rng in numbered(1000, 1100):
            with some_settings(rng), Called("he") as caller:
                conn, reply = caller.conn, rng.choice(REPLIES)
                conn.agree(reply[16], conn.request.flags)
                if rng.randrange(3) == 0:
                    reply = mutated(rng, reply)
                send_broken(rng, conn, reply + some_fpdus(rng, conn))
                drained(rng, conn)
