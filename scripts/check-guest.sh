#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# check-guest.sh [NAME...]: check.sh runs this in the guest. It runs the KUnit suites, if
# KUNIT_MODULES names the two modules, then the end-to-end scenarios, all of them
# or those named. It leaves NAME.tap and, once that has ended, NAME.status in /out. With
# DEBUG_KERNEL the kernel's own checks come last, after the scenarios.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# keep NAME COMMAND...: shows the output as it comes and leaves it in /out
keep() {
	local name=$1
	shift
	"$@" 2>&1 | tee "/out/$name.tap"
	echo "${PIPESTATUS[0]}" > "/out/$name.status"
}

if [ -n "${DEBUG_KERNEL:-}" ]; then
	scripts/vm/reports.sh start
fi
if [ -n "${KUNIT_MODULES:-}" ]; then
	# shellcheck disable=SC2086 # two paths
	keep kunit scripts/kunit/guest.sh $KUNIT_MODULES
fi
OUTDIR=/out keep e2e scripts/e2e/guest.sh "$@"
if [ -n "${DEBUG_KERNEL:-}" ]; then
	keep reports scripts/vm/reports.sh check
fi
