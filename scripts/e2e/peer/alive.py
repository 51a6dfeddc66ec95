# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""A peer whose host vanishes while the connection is idle: tests of the scripted peer, run
by keepalive.sh."""
import contextlib
import subprocess

from peer import PORT, until
from device import ACCEPT, Called, Moves, Settings, opened, serving, test


def run(command):
    return subprocess.run(command.split(), check=True, stdout=subprocess.PIPE).stdout.decode()


@contextlib.contextmanager
def asks_twice():
    """The device's TCP gives an idle peer up after two questions."""
    name = "/proc/sys/net/ipv4/tcp_keepalive_probes"
    old = run("ip netns exec b cat " + name).strip()
    subprocess.run("echo 2 | ip netns exec b tee " + name, shell=True, check=True)
    try:
        yield
    finally:
        subprocess.run("echo %s | ip netns exec b tee %s" % (old, name), shell=True, check=True)


@contextlib.contextmanager
def vanished():
    """Nothing that this host sends gets out."""
    run("tc -n a qdisc add dev va root netem loss 100%")
    try:
        yield
    finally:
        run("tc -n a qdisc del dev va root")


@test
def idle():
    """The program learns that an idle peer's host vanished, in both roles (CONN-19)"""
    with asks_twice(), Settings(keepalive_s=1):
        with serving() as program, opened() as conn:
            conn.echo(5)
            assert_timers(1)
            with Moves(conn_reset=1), vanished():
                program.expect("DISCONNECTED")
        with Called("e") as called:
            conn = called.reply(ACCEPT)
            called.established()
            conn.echo(5)
            assert_timers(1)
            with Moves(conn_reset=1), vanished():
                called.program.expect("DISCONNECTED")


def timers():
    """The number of sockets of the device's host that have TCP's keepalive timer"""
    return run("ip netns exec b ss -Htno state established ( sport = :%d or dport = :%d )" %
               (PORT, PORT)).count("timer:(keepalive,")


@test
def on():
    """TCP's keepalive is on, as the sysctls say, unless the setting turns it off"""
    for value, there in ("default", 1), ("off", 0), (7000, 1):
        with Settings(keepalive_s=value):
            with serving() as program, opened() as conn:
                conn.echo(5)
                assert_timers(there)
                conn.finish()
                program.expect("DISCONNECTED")
            with Called("e") as called:
                conn = called.reply(ACCEPT)
                called.established()
                conn.echo(5)
                assert_timers(there)


def assert_timers(there):
    """Waits, because TCP has no such timer while bytes are not acknowledged"""
    until(lambda: timers() == there, "%d keepalive timers, not %d" % (timers(), there))
