#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""run.py FILE TEST: runs a test of FILE.py, in namespace a

run.py --list FILE...: prints each test of these files, as "FILE, name, first line of its text"
with tabs between them. These tests are scenarios (peer.sh).
"""
import importlib
import os
import re
import subprocess
import sys

from device import ACCEPT, Called, SYS, TESTS, serving
from peer import V4, V6, Way, enter, self_test


def good_peers():
    """The device serves a good peer in each role."""
    with serving():
        pass
    with Called("e") as last:
        conn = last.reply(ACCEPT)
        last.established()
        conn.echo(5, 100)


def kernel_log():
    out = subprocess.run(["dmesg"], stdout=subprocess.PIPE, check=True).stdout
    return re.findall(r".*(?:mpa|rdma|iw_cm|infiniband).*", out.decode(errors="replace"))


def run(name):
    """Runs the test over IPv4 with each send in one piece, then over IPv6 by bytes; after each
    the device must serve good peers, and the kernel's log be silent"""
    self_test()
    assert os.listdir(SYS + "/mpa"), "no settings of the device"
    log = kernel_log()
    enter("a")
    for Way.addresses, Way.by_octets in (V4, False), (V6, True):
        print(name, Way.addresses[1], flush=True)
        try:
            TESTS[name]()
            good_peers()
        finally:
            if Called.caller:
                Called.caller.__exit__()
                Called.caller = None
        assert kernel_log() == log, "the kernel says: %s" % kernel_log()[len(log):]


def show_list(files):
    for file in files:
        importlib.import_module(file)
    for name, test in TESTS.items():
        print(test.__module__, name, test.__doc__.splitlines()[0], sep="\t")


def main():
    if sys.argv[1] == "--list":
        show_list(sys.argv[2:])
    else:
        file, name = sys.argv[1:]
        importlib.import_module(file)
        run(name)


main()
