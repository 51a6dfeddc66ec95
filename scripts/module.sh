#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# module.sh: builds the driver for the guests' kernel and prints its path.
# With RDMA_TYPE=siw it builds siw instead, to try the scripts on a known driver.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case ${RDMA_TYPE:-mpa} in
mpa)
	# Built in a copy, so that objects for another kernel do not replace those in the tree, and
	# lint can build there while a guest uses the module.
	dir=$BUILD/module-$(guest_release)
	copy_source "$dir"
	step "building rdma_mpa.ko for $(guest_release)"
	run_logged "$BUILD/module.log" guest_make M="$dir" -j"$(nproc)" modules
	grep -E 'warning:' "$BUILD/module.log" >&2 || true
	echo "$dir/rdma_mpa.ko"
	;;
siw)
	"$TOP/scripts/siw.sh"
	;;
*)
	die "RDMA_TYPE is mpa or siw"
	;;
esac
