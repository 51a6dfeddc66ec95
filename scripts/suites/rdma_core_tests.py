#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""rdma_core_tests.py TESTS MODULE DEVICE ADDRESS: runs one module of rdma-core's own tests.

TESTS is the folder of the tests. ADDRESS is one of the device's. The tests look for it beneath the
device's parent, and a device on a virtual Ethernet interface has no parent: so we tell them. Each
test makes one line, "VERDICT NAME REASON". The reasons and tracebacks go to stderr as a whole.
"""
import importlib
import os
import sys
import unittest


class Lines(unittest.TestResult):
    """One line for each test, as soon as it is over."""

    def say(self, verdict, test, reason=''):
        words = str(reason).split('\n')
        name = '.'.join(test.id().split('.')[-2:])
        print(verdict, name, ' '.join(words[-2:] if verdict == 'fail' else words), flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.subtests_failed = False

    def addSuccess(self, test):
        if not self.subtests_failed:
            self.say('pass', test)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.subtests_failed = True
            self.failed(test, err)

    def addSkip(self, test, reason):
        self.say('skip', test, reason)

    def failed(self, test, err):
        text = self._exc_info_to_string(err, test).strip()
        print(text, file=sys.stderr, flush=True)
        self.say('fail', test, text)

    addError = addFailure = failed

    def addExpectedFailure(self, test, err):
        self.say('pass', test)


def main():
    folder, module, device, address = sys.argv[1:]
    sys.path[:0] = [folder, os.path.dirname(folder)]
    from args_parser import parser
    # They take an iWARP GID, which ends in zeros, for an empty one, and skip what needs one.
    # All but those of rdma_cm would connect by GIDs, which iWARP cannot.
    sys.argv[1:] = ['--dev', device] + (['--gid', '0'] if module == 'test_rdmacm' else [])
    parser.parse_args()
    base = importlib.import_module('tests.base')

    def tell_address(self, dev, port, index):
        self.args.append([dev, port, index, address, None])

    base.RDMATestCase._get_ip_mac = tell_address
    found = unittest.defaultTestLoader.loadTestsFromModule(
        importlib.import_module('tests.' + module))
    found.run(Lines())


main()
