# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The stream after the startup: where it begins, and that the agreement on it holds
to its end. Each part names the role of the device.
"""
from peer import C, M, REPLY, REQUEST, frame
from device import Called, Settings, opened, serving, test


def goes_on(conn, crc):
    """Data both ways, then a bad CRC, which ends the connection or does not"""
    conn.echo(9, 1500)
    conn.say(conn.message(b"bad"), crc=1)
    if crc:
        conn.terminated("2/0/2")
    else:
        assert conn.hear_send(conn.msn) == b"bad"


@test
def crc_stays():
    """The agreement on CRCs holds to the end, whatever the setting is by then (CRC-07)"""
    with serving() as program:
        for at_first, later, crc in ("required", "off", True), ("off", "required", False):
            with Settings(crc=at_first), opened(frame(REQUEST, 0, 1, b"e")) as conn:
                assert bool(conn.reply.flags & C) == crc
                conn.echo(5)
                with Settings(crc=later):
                    goes_on(conn, crc)
            program.expect("DISCONNECTED")
            with Settings(crc=at_first), Called("e") as call:
                conn = call.reply(frame(REPLY, 0))
                call.established()
                conn.echo(5)
                with Settings(crc=later):
                    goes_on(conn, crc)


@test
def odd_frames():
    """Markers count from the end of a startup frame of any length (MRK-09, MRK-10, NEG-37)"""
    with serving() as program, Settings(markers=1):
        for n in (*range(1, 9), 253, 254, 255):
            with opened(frame(REQUEST, C | M, 1, b"e".ljust(n, b"."))) as conn:
                conn.echo(0, 500, 1, 2000)
            program.expect("DISCONNECTED")
        for n in (*range(8), 253, 254, 255):
            with Called("e") as call:
                conn = call.reply(frame(REPLY, C | M, 1, bytes(n)))
                call.established()
                conn.echo(0, 500, 1, 2000)
