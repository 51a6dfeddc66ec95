# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The program closes."""
from peer import C, OFFER_WRITE, PEER, REQUEST, WRITE, enhanced, until
from device import opened, say_rtr, serving, test


@test
def close_late():
    """What is posted after a disconnect is flushed, and FIN does not wait for it"""
    lines = []
    with serving() as program:
        # Nothing goes out before the RTR, so all is posted by then.
        with opened(enhanced(REQUEST, C, PEER | 9, OFFER_WRITE | 9, b"L")) as conn:
            program.expect("posted")
            say_rtr(conn, WRITE)
            for i in range(32):
                assert conn.hear_send(i + 1) == bytes([0x30 + i % 8]) * 16384
            conn.ended()
        until(lambda: lines.extend(program.seen()) or "freed" in [line[0] for line in lines],
              "it does not end")
        assert [line[1] for line in lines if line[0] == "sent"] == ["0"] * 32 + ["5"] * 8
