# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Peers that send on after the end. The scenario traces the queues of works (trace.sh)."""
import contextlib
import os
import re
import time

from device import ECHO, accepted, call, opened, serving, test

FLOODERS = 12


def turns():
    """The workqueue of each run of an endpoint's work since the last call"""
    path = os.environ["TRACE"] + "/trace"
    with open(path) as f:
        text = f.read()
    with open(path, "w"):
        pass
    return re.findall(r"workqueue_queue_work: .*=rnic_startup_work.* workqueue=(\w+)", text)


@test
def floods():
    """A peer that sends on after a Terminate does not delay startups (RSEC-36)"""
    with serving() as program, contextlib.ExitStack() as stack:
        conns = [stack.enter_context(opened()) for _ in range(FLOODERS)]
        for conn in conns:
            conn.echo(4)        # the device may say nothing before
            conn.say(conn.message(b"bad"), crc=1)
            assert conn.hear().error() == "2/0/2"
            conn.ended()
        for conn in conns:
            program.expect("freed")
        turns()
        for _ in range(5):
            for conn in conns:
                conn.send(b"more", together=True)
            time.sleep(0.1)
        seen = turns()
        assert "rdma_mpa_startup" not in seen, "startups wait for %d turns of others" % \
            seen.count("rdma_mpa_startup")
        assert seen.count("rdma_mpa") >= FLOODERS, "they do not linger: %s" % seen
        with call() as late, opened() as conn:
            conn.echo(5)
            # The device has accepted both by now. A Request that arrives later is a turn among the
            # startups, so they are seen.
            late.send(ECHO)
            accepted(late, ECHO)
        program.expect("freed")
        program.expect("freed")
        assert "rdma_mpa_startup" in turns()
