#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# build.sh: builds the scenarios' kernel consumers for the guests' kernel, in a copy, and prints
# the folder of that copy.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../lib.sh"

dir=$BUILD/e2e-kmod/$(guest_release)
mkdir -p "$dir"
cp -u "$TOP"/scripts/e2e/kmod/{Kbuild,*.[ch]} "$dir"
run_logged "$dir/build.log" guest_make M="$dir" MPA_TOP="$TOP" -j"$(nproc)" modules
grep -E 'warning:' "$dir/build.log" >&2 || true
echo "$dir"
