# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The program closes, and the peer does not let it."""
import contextlib
import time

from peer import (
    C, OFFER_WRITE, PEER, READ, REQUEST, SLOW, WRITE, enhanced, frame, now, tagged, until)
from device import (
    ACCEPT, Called, MEM_SIZE, Moves, Settings, WINDOW, opened, say_rtr, serving, slow_reader, test)
from reads import IRD, ask

TOTAL = 1.5 * SLOW      # seconds for a close; less than the time without progress


def in_time():
    return Settings(close_timeout_ms=int(1000 * TOTAL))


def keeps_on(program, begin, move):
    """The peer makes progress, and the program learns of the end when the time is over."""
    while "DISCONNECTED" not in program.said:
        program.more(0)
        assert now() < begin + 2 * TOTAL + 1, "the peer keeps the connection"
        move()
        time.sleep(0.1)
    assert now() > begin + 0.8 * TOTAL, "it had time left"


def is_reset(begin, move):
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while now() < begin + TOTAL + 5 * SLOW:
            move()
            time.sleep(0.1)
        assert False, "TCP keeps the connection"


@test
def close_late():
    """Requests posted after a disconnect are flushed, and FIN does not wait for them"""
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


@test
def close_dribbles():
    """One time bounds a close, even if a peer that owes a Read keeps sending (SEC-13)"""
    with in_time(), Called("R") as caller, Moves(conn_reset=1, tx_terminate=0):
        conn = caller.reply(ACCEPT)
        assert conn.hear().opcode == READ
        begin = now()

        def move():
            conn.send(conn.build(tagged(WRITE, 0, 0)), together=True)
        keeps_on(caller.program, begin, move)
        is_reset(begin, move)


@contextlib.contextmanager
def reads_slowly(part, letters):
    """After its part in the close the peer takes the data that it asked for little by little."""
    with in_time(), serving() as program:
        request = frame(REQUEST, C, 1, letters)
        with slow_reader(request) as conn, Moves(conn_reset=1, tx_terminate=0):
            ask(conn, IRD, MEM_SIZE, conn.at - WINDOW)
            part(conn, program)
            begin = now()

            def move():
                if not conn.sock.recv(2048):
                    raise ConnectionResetError("a FIN, which says that all was sent")
            keeps_on(program, begin, move)
            yield begin, move


@test
def close_asked():
    """The same if the peer takes the data that it asked for little by little (SEC-13)"""
    def part(conn, program):
        conn.say(conn.message(b"now"))
        program.expect("quit")
    with reads_slowly(part, b"C") as (begin, move):
        is_reset(begin, move)


@test
def close_half_open():
    """The same if the peer closed first (CONN-17, SEC-13)"""
    with reads_slowly(lambda conn, _: conn.finish(), b""):
        pass
