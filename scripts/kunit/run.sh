#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# run.sh [TEST.KO]: runs the engine's KUnit suites (or another test module) in a
# guest, shows their KTAP and a last line "N passed, N failed". With VNG=1 the guest
# is virtme-ng's (vm/vng.sh).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

"$TOP/scripts/deps.sh" check
if [ $# -gt 0 ]; then
	framework=$("$TOP/scripts/kunit/framework.sh")/kunit.ko
	tests=$BUILD/kunit/$(basename "$1") # the guest has a /tmp of its own
	cp "$1" "$tests"
else
	{ read -r framework && read -r tests; } < <("$TOP/scripts/kunit/build.sh")
fi

ktap=$BUILD/kunit/last.ktap
status=0
vm=run.sh seconds=180
if [ -n "${VNG:-}" ]; then
	vm=vng.sh seconds=600 # its boot alone takes 20 s, on a busy machine minutes
fi
step "booting $(guest_release) to run $(basename "$tests"), with vm/$vm"
"$TOP/scripts/vm/$vm" -t $seconds -- scripts/kunit/guest.sh "$framework" "$tests" |
	tee "$ktap" || status=$?
read -r passed failed < <(awk -v ktap=1 -f "$TOP/scripts/tap.awk" "$ktap")
if [ "$status" != 0 ]; then
	step "the run itself failed (status $status)"
	failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
