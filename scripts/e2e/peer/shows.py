# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What rdma(8) shows of a queue pair while its peer does something (Documentation/counters.rst)."""
import contextlib
import re
import signal
import subprocess

from peer import RESPONSE, fpdu, terminate, until
from device import DEVICE, MEM_SIZE, WINDOW, opened, read_faster, serving, slow_reader, test
from late import waiting
from reads import IRD, ask


@contextlib.contextmanager
def stopped(program):
    """The program is stopped, so its queue pair still exists"""
    program.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        program.process.send_signal(signal.SIGCONT)


def shown():
    """The driver's values of the only queue pair of the device, as words"""
    command = ["rdma", "resource", "show", "qp", "link", DEVICE + "/1", "-dd"]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    return dict(re.findall(r"drv_(\w+) (\S+)", out))


def is_shown(**values):
    now = shown()
    return all(now.get(name) == str(value) for name, value in values.items())


@test
def shows_terminates():
    """rdma resource shows the last Terminate of a queue pair, received or sent"""
    with serving() as program:
        for error in "1/1/1", "0/2/255":
            with opened() as conn:
                conn.echo(1)
                assert not {"term_rx", "term_tx"} & shown().keys()
                with stopped(program):
                    conn.say(terminate(error))
                    until(lambda: is_shown(term_rx=error), "received " + error)
                    assert "term_tx" not in shown()
                program.expect("freed")
        with opened() as conn:
            conn.echo(1)
            with stopped(program):
                conn.say(conn.message(b"bad"), crc=1)
                until(lambda: is_shown(term_tx="2/0/2"), "sent 2/0/2")
                assert "term_rx" not in shown()
            conn.terminated("2/0/2")


@test
def shows_received():
    """rdma resource shows the bytes of a cut FPDU, and those behind a Send that waits"""
    with serving() as program:
        with opened() as conn:
            octets = conn.build(conn.message(bytes(1000)))
            arrived = 0
            for n in 10, 30, 500:
                conn.send(octets[arrived:arrived + n], together=True)
                arrived += n
                until(lambda: is_shown(unread=arrived), "%d bytes unread" % arrived)
                assert 10 <= int(shown()["partial"]) <= arrived
            conn.send(octets[arrived:], together=True)
            assert conn.hear_send(1) == bytes(1000)
            assert is_shown(unread=0, partial=0, receives=1), shown()
        program.expect("DISCONNECTED")
    with waiting() as (program, conn):
        first = len(fpdu(0, conn.said))
        until(lambda: is_shown(rnr=1, unread=first, partial=first, receives=0), "the first waits")
        second = conn.build(conn.message(b"second"))
        conn.send(second)
        until(lambda: is_shown(rnr=1, unread=first + len(second), partial=first), "so does it")
        program.tell("receive")
        assert conn.hear_send(1) == b"early" and conn.hear_send(2) == b"second"
        assert is_shown(rnr=0, unread=0, partial=0, receives=2), shown()
        conn.finish()
        program.expect("DISCONNECTED")


@test
def shows_sent():
    """rdma resource shows what a queue pair has not sent yet when its peer reads slowly"""
    def stands_still():
        now = {name: int(value) for name, value in shown().items()}
        # TCP may be full amid an FPDU or between two.
        return 0 < now["reads_in"] <= IRD and now["left"] + now["unsent"]

    with serving() as program:
        with slow_reader() as conn:
            ask(conn, IRD, MEM_SIZE, conn.at - WINDOW)
            until(stands_still, "an answer in parts")
            read_faster(conn)
            for i in range(IRD):
                while not (s := conn.hear()).last:
                    assert (s.opcode, s.stag) == (RESPONSE, i), s.__dict__
            until(lambda: is_shown(reads_in=0, left=0, unsent=0, held=0), "all is sent")
            conn.finish()
            program.expect("DISCONNECTED")
