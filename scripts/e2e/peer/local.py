# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Mistakes that the device finds by itself before it connects: tests of the scripted peer,
run by startups.sh."""
import select

from peer import PORT, Way
from device import ACCEPT, Called, Moves, Program, listening, test


@test
def broken():
    """A queue pair in error: the connect is refused at once, and the peer gets nothing"""
    with listening() as sock, Program() as program, Moves(startups_failed=1, startups_ok=0):
        program.tell("connect", Way.addresses[0], PORT, "p")
        assert program.expect("unconnected")[1] == "22"
        program.expect("freed")
        assert not select.select([sock], [], [], 0)[0], "the peer was called"


@test
def reserved():
    """rdma_cm does not know the reserved ports; 20030 to 20039 are left (startups.sh)"""
    for _ in range(8):
        with Called("e") as called:
            port = called.conn.sock.getpeername()[1]
            assert 20030 <= port < 20040, "port %d" % port
            conn = called.reply(ACCEPT)
            called.established()
            conn.echo(5)
            conn.reset()
            called.program.expect("DISCONNECTED")
