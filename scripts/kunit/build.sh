#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# build.sh: builds the KUnit test module for the guests' kernel and prints the
# paths of the framework and of the test module, one a line. The framework is the kernel's own
# if the kernel has it as a module, else one that we build.
#
# The build goes on in a copy under build/, because objects of the engine made for the
# tests must not mix with those of the driver.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

kdir=$(guest_kdir)
if [ -n "${GUEST_PACK:-}" ] && grep -qs '^CONFIG_KUNIT=m' "$kdir/.config"; then
	framework=$(modinfo -b "$GUEST_PACK" -k "$(guest_release)" -n kunit)
	symbols=''
else
	symbols=$("$TOP/scripts/kunit/framework.sh")
	framework=$symbols/kunit.ko
	symbols+=/Module.symvers
fi
dir=$BUILD/kunit/tests-$(guest_release)

[ -e "$TOP/kunit/Kbuild" ] || die "no kunit/Kbuild: there are no tests to build"
step "building the engine's KUnit module"
rm -rf "$dir"
mkdir -p "$dir"
cp -a "$TOP"/{kunit,include,drivers} "$dir"
find "$dir" -name '*.o' -delete -o -name '.*.cmd' -delete
run_logged "$dir.log" guest_make M="$dir/kunit" \
	KBUILD_EXTRA_SYMBOLS="$symbols" -j"$(nproc)" modules
echo "$framework"
echo "$dir/kunit/rdma_mpa_kunit.ko"
