# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The device behind the scripted peer: its settings and counters, the program that
uses it, and how a test begins a connection with it, in either role. run.py runs the tests.
"""
import contextlib
import os
import select
import socket
import struct
import subprocess

from peer import (
    C, Conn, DEVICE, PORT, R, READ, REPLY, REQUEST, RESPONSE, SEND, SLOW, V4, V6, WRITE, Way,
    enter, frame, now, read_request, tagged, until)

SYS = "/sys/class/infiniband/" + DEVICE
MEM_SIZE, WINDOW, WINDOW_SIZE = 0x50000, 0x40000, 0x10000      # as in endpoint.c
TESTS = {}
ECHO, HELLO = frame(REQUEST, C, 1, b"e"), frame(REQUEST, C, 1, b"h")
ACCEPT = frame(REPLY, C)


def test(function):
    """Registers a scenario; the first line of its text says what it tests."""
    assert function.__doc__ and function.__name__ not in TESTS
    TESTS[function.__name__] = function
    return function


def counter(name):
    with open("%s/ports/1/hw_counters/%s" % (SYS, name)) as f:
        return int(f.read())


def all_counters():
    names = sorted(os.listdir(SYS + "/ports/1/hw_counters"))
    return " ".join("%s=%d" % (name, counter(name)) for name in names
                    if name != "lifespan" and counter(name))


class Moves:
    """with Moves(name=n, ...): the counters have to move by exactly these numbers"""
    def __init__(self, **by):
        self.by = by

    def __enter__(self):
        self.before = {name: counter(name) for name in self.by}

    def __exit__(self, kind, *_):
        if kind:
            return
        for name, n in self.by.items():
            try:
                until(lambda: counter(name) - self.before[name] >= n, name)
            except AssertionError:
                pass
            moved = counter(name) - self.before[name]
            assert moved == n, "%s moved by %d, not %d; now %s" % (name, moved, n, all_counters())


class Settings:
    """with Settings(name=value, ...): sets them on the device, and the old values afterwards"""
    def __init__(self, **values):
        self.values = values

    def __enter__(self):
        self.old = {name: self.set(name, value) for name, value in self.values.items()}

    def __exit__(self, *_):
        for name, value in self.old.items():
            self.set(name, value)

    @staticmethod
    def set(name, value):
        path = "%s/mpa/%s" % (SYS, name)
        with open(path) as f:
            old = f.read().strip()
        with open(path, "w") as f:
            f.write(str(value))
        return old


def ms(seconds):
    """For a setting"""
    return int(1000 * SLOW * seconds)


def took(begin, seconds):
    """What began after that moment has ended, not before that time and not far behind it."""
    passed = (now() - begin) / SLOW
    assert 0.75 * seconds < passed < seconds + 2, "%.2f s, not %.2f" % (passed, seconds)


class Program:
    """endpoint.c, in namespace b"""
    def __init__(self):
        command = [os.environ["BIN"] + "/netns", "b", *os.environ.get("USER_IS", "").split(),
                   os.environ["BIN"] + "/endpoint"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.lines, self.rest = [], b""
        self.said = []                  # the first word of each line, never dropped

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self.process.stdin.flush()

    def more(self, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return False
        octets = os.read(self.process.stdout.fileno(), 65536)
        assert octets, "the program ended"
        *lines, self.rest = (self.rest + octets).split(b"\n")
        for line in lines:
            print("  program:", line.decode()[:100], flush=True)
            self.lines.append(line.decode().split())
            self.said.append(self.lines[-1][0])
        return True

    def expect(self, word):
        """Waits for the line that begins with this word; drops the lines before it."""
        end = now() + 8 * SLOW
        while True:
            while self.lines:
                line = self.lines.pop(0)
                if line[0] == word:
                    return line
            left = end - now()
            assert left > 0, "the program does not say " + word
            self.more(left)

    def depths(self):
        """ORD and IRD of the connection that is established now"""
        return tuple(int(word) for word in self.expect("depths")[1:])

    def freed(self):
        """The connection is over: bytes not zero in its window and elsewhere"""
        return tuple(int(word) for word in self.expect("freed")[1:])

    def seen(self):
        """All lines that it has printed so far"""
        while self.more(0):
            pass
        lines, self.lines = self.lines, []
        return lines


def say_rtr(conn, kind):
    """The message without data that opens a responder"""
    if kind == SEND:
        conn.say(conn.message())
    elif kind == WRITE:
        conn.say(tagged(WRITE, 0, 0))
    else:
        conn.say(read_request(1, (0x1234, 0x5678), 0, (0, 0)))
        s = conn.hear()
        assert s.opcode == RESPONSE and s.last and not s.data, s.__dict__


# --- the device is the responder ---

def listener(address=None):
    program = Program()
    program.tell("listen", address or Way.addresses[1], PORT)
    program.expect("listens")
    return program


def call(address=None, port=PORT):
    return Conn(socket.create_connection((address or Way.addresses[1], port), 5 * SLOW))


def opened(request=ECHO, address=None, piece=None):
    """A connection with its startup done"""
    conn = call(address)
    conn.send(request, piece)
    return accepted(conn, request)


def accepted(conn, request):
    conn.reply = conn.startup()
    assert conn.reply.key == REPLY and not conn.reply.flags & R, "no accepting Reply"
    conn.stag, conn.at, size = struct.unpack(">IQI", conn.reply.pd)
    assert size == WINDOW_SIZE
    return conn.agree(request[16], conn.reply.flags)


def slow_reader(request=ECHO):
    """A connection that takes little at a time"""
    address = Way.addresses[1]
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    sock.connect((address, PORT))
    conn = Conn(sock)
    conn.send(request)
    return accepted(conn, request)


def read_faster(conn):
    """Ends the slowness of slow_reader(), because a close waits only LINGER_MAX_MS for its peer"""
    conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
    conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, 1 << 16)


@contextlib.contextmanager
def serving(address=None):
    """A program listens, and afterwards still serves a good peer."""
    with listener(address) as program:
        yield program
        with opened(address=address) as conn:
            conn.echo(5, 100)
        program.expect("DISCONNECTED")


# --- the device is the initiator ---

@contextlib.contextmanager
def listening(address=None):
    address = address or Way.addresses[0]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, PORT), family=family) as sock:
        yield sock


def answered(sock):
    assert select.select([sock], [], [], 8 * SLOW)[0], "nobody calls"
    return Conn(sock.accept()[0])


class Called:
    """The device connects, after `begin`; conn.request is its Request. The program stays for the
    next one."""
    caller = None

    def __init__(self, letters="", address=None):
        self.letters, self.address = letters, address or Way.addresses[0]
        Called.caller = Called.caller or Program()
        self.program = Called.caller

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.sock = stack.enter_context(listening(self.address))
            self.program.seen()
            self.program.said.clear()
            self.begin = now()
            self.program.tell("connect", self.address, PORT, self.letters)
            self.conn = stack.enter_context(self.again())
            self.stack = stack.pop_all()
        return self

    def __exit__(self, kind, *_):
        self.stack.close()
        if not kind:
            self.freed = self.program.freed()

    def again(self):
        """The next connection, with its Request read"""
        conn = answered(self.sock)
        conn.request = conn.startup()
        assert conn.request.key == REQUEST, "no Request"
        conn.stag, conn.at, _ = struct.unpack(">IQI", conn.request.pd)
        return conn

    def reply(self, octets, piece=None):
        self.conn.send(octets, piece)
        self.conn.agree(octets[16], self.conn.request.flags)
        return self.conn

    def established(self):
        line = self.program.expect("ESTABLISHED")
        assert line[1] == "0"
        return line

    def refused(self, event, status):
        line = self.program.expect(event)
        assert line[1] == str(status), "status " + line[1]
        return line


def heard_rtr(conn):
    """The first FPDU, which has to be an RTR; the MSN of the program's first Send"""
    s = conn.hear()
    assert s and s.last, "no RTR"
    if s.opcode == READ:
        sink, to, size, _, _ = struct.unpack(">IQIIQ", s.data)
        assert (s.qn, s.msn, s.mo, size) == (1, 1, 0, 0)
        conn.say(tagged(RESPONSE, sink, to))
    else:
        assert not s.data
    return s.opcode, 2 if s.opcode == SEND else 1
