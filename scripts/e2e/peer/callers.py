# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The owner of the device's connections, also of an initiator's second attempt, with revision
1, and the error that the program gets if that attempt cannot even begin: tests of the scripted
peer, run by callers.sh."""
import os
import re
import subprocess

from peer import PORT, Way
from device import ACCEPT, Called, Moves, opened, serving, test


@test
def unreachable():
    """The route to an old peer is gone: the program learns that, and of no refusal (P2P-47)"""
    address = Way.addresses[0]
    route = "ip -n b %s route %%s unreachable %s metric 1" % (
        "-6" if ":" in address else "-4", address)
    with Moves(startups_fallback=0, startups_failed=1), Called() as call:
        subprocess.run((route % "add").split(), check=True)
        try:
            call.conn.finish()
            call.refused("UNREACHABLE", -110)
        finally:
            subprocess.run((route % "del").split(), check=True)


def owned(end):
    """The device's only connection, whose local or remote (end) port is PORT, is the user's."""
    command = "ip netns exec b ss -Htne state established ( %s = :%d )" % (end, PORT)
    shown = subprocess.run(command.split(), stdout=subprocess.PIPE, check=True).stdout.decode()
    print(shown, flush=True)
    assert re.findall(r" uid:(\d+) ", shown) == [os.environ["USER_ID"]]
    assert re.findall(r" cgroup:(\S+) ", shown) == [os.environ["CGROUP_PATH"]]


@test
def owners():
    """Each connection has the uid and the cgroup of its program"""
    with serving(), opened() as conn:
        owned("sport")
        conn.echo(5)
    with Moves(startups_fallback=1), Called("e") as call:
        owned("dport")
        call.conn.finish()
        call.conn.ended()
        with call.again() as call.conn:
            assert call.conn.request.rev == 1
            owned("dport")
            call.reply(ACCEPT)
            call.established()
            owned("dport")
            call.conn.echo(5)
