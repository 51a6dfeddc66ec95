# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Which peers get a place when there are more startups than places: tests of the scripted peer,
run by fair.sh."""
import collections
import contextlib
import socket
import struct
import subprocess
import threading
import time

from peer import C, PORT, R, REPLY, REQUEST, SLOW, Way, frame, now, until
from device import (
    ECHO, Moves, Program, Settings, call, counter, listener, opened, serving, test)

HOSTILE = {"10.77.0.2": "10.77.0.9", "fd77::2": "fd79::9"}
PLACES = 32
NEVER = frame(REQUEST, C, 1, b"w")


@contextlib.contextmanager
def hostile_host():
    """Another host on the cable: an address of its own, of IPv6 a /64 of its own"""
    address = HOSTILE[Way.addresses[1]]
    size = "24" if "." in address else "64"
    add = ["addr", "add", address + "/" + size, "dev", "va"]
    subprocess.run(["ip", "-n", "a", *add] + (["nodad"] if size == "64" else []), check=True)
    if size == "64":
        subprocess.run("ip -n b route add fd79::/64 dev vb".split(), check=True)
    try:
        yield address
    finally:
        subprocess.run(["ip", "-n", "a", "addr", "del", *add[2:]], check=True)
        if size == "64":
            subprocess.run("ip -n b route del fd79::/64 dev vb".split(), check=True)


class Flood:
    """Connects `rate` times a second, and sends nothing"""
    def __init__(self, source, rate):
        self.source, self.rate, self.made = source, rate, 0
        self.socks = collections.deque()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        family = socket.AF_INET6 if ":" in self.source else socket.AF_INET
        begin = now()
        while not self.over.wait(0.005):
            while self.made < (now() - begin) * self.rate:
                sock = socket.socket(family, socket.SOCK_STREAM)
                sock.setblocking(False)
                sock.bind((self.source, 0))
                sock.connect_ex((Way.addresses[1], PORT))
                self.socks.append(sock)
                self.made += 1
            while len(self.socks) > 800:
                self.socks.popleft().close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for sock in self.socks:
            sock.close()


def be_served(pause=0):
    """A good caller, which is silent for a while at first. In the order of the calls each would wait
    longer than the one before, because the flood is ten times as fast as it is served."""
    with call() as conn:
        conn.limit = 4 * SLOW
        time.sleep(pause)
        conn.send(ECHO)
        reply = conn.startup()
        assert reply.key == REPLY and not reply.flags & R, "no accepting Reply"
        conn.agree(ECHO[16], reply.flags)
        conn.echo(5)


@test
def flood():
    """One source at ten times the rate that is served, and a good caller that gets through"""
    seconds = 2 * SLOW
    with serving() as program, hostile_host() as source, \
            Settings(max_pending=PLACES, request_timeout_ms=int(1000 * seconds)), \
            Flood(source, 10 * PLACES / seconds) as flood:
        until(lambda: flood.made > 2 * PLACES, "no flood", 20)
        evicted = counter("startups_evicted")
        for _ in range(10):
            be_served()
            program.expect("freed")
        # The hostile one asks for all places anew in this time, and not for that of the good one.
        for _ in range(3):
            be_served(seconds / 4)
            program.expect("freed")
        until(lambda: counter("startups_evicted") > evicted, "nobody gives way")
        print("%d calls of the hostile one" % flood.made, flush=True)


@test
def never_answers():
    """A program that never answers holds up its own callers only"""
    with listener() as lazy, Program() as good, contextlib.ExitStack() as stack, \
            Settings(max_pending=8):
        good.tell("listen", Way.addresses[1], PORT + 1)
        good.expect("listens")
        for _ in range(4):
            stack.enter_context(call()).send(NEVER)
            lazy.expect("CONNECT_REQUEST")
        full = counter("pending_overflow")
        # as many again, which wait in TCP's queue
        for _ in range(4):
            stack.enter_context(call()).send(NEVER)
        until(lambda: counter("pending_overflow") > full, "nobody waits")
        with call(port=PORT + 1) as conn:
            conn.send(ECHO)
            reply = conn.startup()
            assert reply.key == REPLY and not reply.flags & R
            conn.agree(ECHO[16], reply.flags)
            conn.echo(5)
        good.expect("freed")
        assert not [line for line in lazy.seen() if line[0] == "CONNECT_REQUEST"], \
            "more than its share"


@test
def request_time():
    """A peer has less time for its Request than a program for its answer"""
    with serving() as program, Settings(request_timeout_ms=300 * int(SLOW)):
        with Moves(startups_timeout=1), call() as conn:
            conn.send(ECHO[:19])
            conn.ended()
        with Moves(startups_timeout=0), call() as conn:
            conn.send(NEVER)
            program.expect("CONNECT_REQUEST")
            conn.quiet(1)
