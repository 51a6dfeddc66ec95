#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# guest.sh KUNIT.KO TEST.KO: (in a guest) runs the suites of a test module and
# prints their KTAP; fails if a module does not load or unload, or if the kernel
# warned. The reader of the KTAP (scripts/tap.awk) has to count failed tests, because
# insmod succeeds whatever its suites report.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
klog=$here/../vm/klog.sh

framework=$1 tests=$2
name=$(modinfo -F name "$tests")

"$klog" mark kunit
"$here/../vm/load.sh" "$framework" "$tests"
"$klog" show kunit
rmmod "$name" kunit
"$klog" check kunit | sed -n '1s/^/# the kernel warned: /p'
