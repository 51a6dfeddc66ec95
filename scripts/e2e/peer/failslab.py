# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Allocations that fail during the startup, as the peer sees that (failslab.sh)."""
import os

from peer import C, OFFER_WRITE, PEER, PORT, R, REPLY, REQUEST, Way, enhanced, frame
from device import (
    ACCEPT, Called, Moves, Program, Settings, call, listening, ms, opened, serving, test)

FAILSLAB = "/sys/kernel/debug/failslab/"


def write(name, value):
    with open(FAILSLAB + name, "w") as file:
        file.write(str(value))


class Fails:
    """with Fails(address): the next allocations by the call there fail, and all of them must"""
    def __init__(self, at, times=1):
        self.at, self.times = at, times

    def __enter__(self):
        for name, value in (("probability", 0), ("ignore-gfp-wait", "N"), ("verbose", 0),
                            ("stacktrace-depth", 32), ("require-start", self.at),
                            ("require-end", self.at + 1), ("times", self.times),
                            ("probability", 100)):
            write(name, value)

    def __exit__(self, kind, *_):
        write("probability", 0)
        with open(FAILSLAB + "times") as file:
            self.left = int(file.read())
        assert kind or self.enough(), "that allocation was not asked for"

    def enough(self):
        return not self.left


class FailsOn(Fails):
    """The same, but for as long as this lasts, and more than once"""
    def __init__(self, at):
        super().__init__(at, 1000000)

    def enough(self):
        return self.left < self.times - 1


def sites(function):
    """The return addresses of a function's calls to the allocator"""
    with open(os.environ["SITES"]) as file:
        words = [line.split() for line in file]
    found = [int(word[0], 16) for word in words if word[1] == function]
    assert found, "no allocation in " + function
    return found


def caller_fails(at, reply):
    """The Reply is good, but the device cannot act on it: Terminate, layer 2, code 5"""
    with Fails(at), Moves(startups_failed=1, tx_terminate=1), Called() as caller:
        conn = caller.reply(reply)
        assert caller.program.expect("CONNECT_ERROR")[1] == "-12"
        conn.terminated("2/0/5")


def accepter_fails(program, at, request):
    """The program accepts, but the device cannot do it: a reject"""
    with Fails(at), Moves(startups_failed=1), call() as conn:
        conn.send(request)
        rep = conn.startup()
        assert rep.flags & R and not rep.pd, "not rejected"
        conn.ended()
        program.expect("unaccepted")


GOOD_REQUESTS = frame(REQUEST, C, 1, b"e"), enhanced(REQUEST, C, 1, 1, b"e")


def asking_fails(failure, full):
    """The device cannot ask the program: a reject, and the program gets no event (NEG-23)"""
    for request in GOOD_REQUESTS:
        with failure, call() as conn, \
                Moves(startups_failed=1, startups_timeout=0, backlog_overflow=full):
            conn.send(request)
            rep = conn.startup()
            assert rep.flags & R and not rep.pd, "not rejected"
            conn.ended()


def asking_waits(program, at):
    """iw_cm cannot take the Request: the device asks again, and the program accepts"""
    for request in GOOD_REQUESTS:
        with Moves(startups_failed=0, backlog_overflow=0), Fails(at, 3), opened(request) as conn:
            conn.echo(5)
        program.expect("freed")


def request_fails(at):
    """The device cannot make the Request: the program gets an error"""
    with listening(), Program() as program, Fails(at), Moves(startups_failed=1):
        program.tell("connect", Way.addresses[0], PORT)
        assert program.expect("CONNECT_ERROR")[1] == "-12"


@test
def startup():
    """No memory for Read queues or frames: Terminate code 5, a reject (P2P-41)"""
    for at in sites("rnic_frame_send"):
        request_fails(at)
    with serving() as program:
        with opened() as conn:      # so that the number is not the first one
            conn.echo(5)
        program.expect("freed")
        for at in sites("rnic_ep_publish"):
            asking_fails(Fails(at, 4), 0)   # XArray tries twice, and from the first again
        with Settings(startup_timeout_ms=ms(0.2), accept_timeout_ms=ms(0.3)):
            for at in sites("report_request"):
                asking_fails(FailsOn(at), 1)
        assert not program.seen(), "the program was told"
        for at in sites("report_request"):
            asking_waits(program, at)
    for at in sites("rnic_readq_init"):
        for reply in ACCEPT, enhanced(REPLY, C, PEER | 4, OFFER_WRITE | 4):
            caller_fails(at, reply)
        with serving() as program:
            for request in GOOD_REQUESTS:
                accepter_fails(program, at, request)
