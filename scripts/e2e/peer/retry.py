# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The second attempt of an initiator, with revision 1, when it cannot even begin: a test of
the scripted peer, run by callers.sh."""
import subprocess

from peer import Way
from device import Called, Moves, test


@test
def unreachable():
    """The route to an old peer is gone: the program is told that, not a refusal (P2P-47)"""
    address = Way.addresses[0]
    route = "ip -n b %s route %%s unreachable %s metric 1" % (
        "-6" if ":" in address else "-4", address)
    with Moves(startups_fallback=0, startups_failed=1), Called() as call:
        subprocess.run((route % "add").split(), check=True)
        try:
            call.conn.finish()
            call.refused("CONNECT_ERROR", -113)
        finally:
            subprocess.run((route % "del").split(), check=True)
