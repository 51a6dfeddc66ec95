#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# module.sh: builds the driver for the guests' kernel and prints its path.
# RDMA_TYPE=siw takes siw for it, to try the scripts on a known driver.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case ${RDMA_TYPE:-mpa} in
mpa)
	step "building rdma_mpa.ko for $(guest_release)"
	run_logged "$BUILD/module.log" make -C "$(guest_kdir)" M="$TOP" \
		-j"$(nproc)" modules
	grep -E 'warning:' "$BUILD/module.log" >&2 || true
	echo "$TOP/rdma_mpa.ko"
	;;
siw)
	"$TOP/scripts/peer/siw.sh"
	;;
*)
	die "RDMA_TYPE is mpa or siw"
	;;
esac
