# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""unfinished.py ADDRESS: connects to an RDMA server there, at port $PORT, and sends an FPDU
of 60000 bytes without its end. Then it waits to be killed."""
import socket
import sys
import time

from peer import C, Conn, PORT, REQUEST, frame, untagged, SEND

# what rping's client says in its Private Data does not matter to its server
with Conn(socket.create_connection((sys.argv[1], PORT))) as conn:
    conn.send(frame(REQUEST, C))
    reply = conn.startup()
    conn.agree(C, reply.flags)
    conn.send(conn.build(untagged(SEND, 1, bytes(60000)))[:-8])
    time.sleep(1000)
