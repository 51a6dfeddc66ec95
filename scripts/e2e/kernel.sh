#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# kernel.sh: builds the consumers in the kernel that the scenarios load (kernel/), for the
# guests' kernel, and prints their folder.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

dir=$BUILD/e2e-kernel/$(guest_release)
mkdir -p "$dir"
cp -pu "$TOP"/scripts/e2e/kernel/{Kbuild,*.c} "$dir"
run_logged "$dir/build.log" make -C "$(guest_kdir)" M="$dir" -j"$(nproc)" modules
grep -E 'warning:' "$dir/build.log" >&2 || true
echo "$dir"
