#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""waits.py SECONDS PID...

Looks at the kernel stacks of these processes and of the driver's workers for so long. Prints the
number of looks that found a process preempted in a doorbell, and the most workers that waited for
a socket lock at the same time.
"""
import glob
import sys
import time


def read(path):
    try:
        with open(path, encoding="ascii") as f:
            return f.read()
    except OSError:  # it has ended
        return ""


def is_worker(task):
    name = read(task + "/comm")
    return name.startswith("kworker/") and "rdma_mpa" in name


def waits(task):
    return "lock_sock" in read(task + "/stack")


def in_doorbell(pid):
    return "rnic_qp_doorbell" in read(f"/proc/{pid}/stack")


def main(seconds, *pids):
    end = time.monotonic() + float(seconds)
    preempted = most = 0
    while time.monotonic() < end:
        preempted += any(map(in_doorbell, pids))
        workers = filter(is_worker, glob.glob("/proc/[0-9]*"))
        most = max(most, sum(map(waits, workers)))
        time.sleep(0.02)
    print(preempted, most)


main(*sys.argv[1:])
