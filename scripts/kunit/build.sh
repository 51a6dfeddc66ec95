#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# build.sh: builds the KUnit test module for the guests' kernel and prints the
# paths of the framework and of it, one a line.
#
# The build goes on in a copy under build/: objects of the engine made for the
# tests must not mix with those of the driver.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

framework=$("$TOP/scripts/kunit/framework.sh")
kdir=$(guest_kdir)
dir=$BUILD/kunit/tests

[ -e "$TOP/kunit/Kbuild" ] || die "no kunit/Kbuild: there are no tests to build"
step "building the engine's KUnit module"
rm -rf "$dir"
mkdir -p "$dir"
cp -a "$TOP"/{kunit,include,drivers} "$dir"
find "$dir" -name '*.o' -delete -o -name '.*.cmd' -delete
run_logged "$BUILD/kunit/tests.log" make -C "$kdir" M="$dir/kunit" \
	KBUILD_EXTRA_SYMBOLS="$framework/Module.symvers" -j"$(nproc)" modules
echo "$framework/kunit.ko"
echo "$dir/kunit/rdma_mpa_kunit.ko"
