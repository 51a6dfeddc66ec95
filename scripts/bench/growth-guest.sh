#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# growth-guest.sh DRIVER MODULE.KO ROWS...: (in a guest of vm/run.sh -i, where an
# instruction takes 8 ns) the cost of an operation with a growing number of connections, regions
# or requests. A ROW is MODE:OP:SIZE:FEW:MANY:COUNT,COUNT... (load.c). Prints "@ ROW COUNT
# INSTRUCTIONS" for each COUNT, and "@ ROW - failed" if not all could be measured.
# shellcheck disable=SC2034,SC2153 # shared with the scenarios' lib.sh
set -euo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export RDMA_TYPE=$1 MODULE=$2 E2E_SLOW=100
shift 2
STATE=$(mktemp -d)
WORK=$STATE
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"
# shellcheck source=scripts/bench/lib.sh
. "$TOP/scripts/bench/lib.sh"
# shellcheck source=scripts/bench/path.sh
. "$TOP/scripts/bench/path.sh"

# grow ROW: prints the lines as they come. With pipefail a failure of load is a failure here.
grow() {
	local mode op size few many counts
	IFS=: read -r mode op size few many counts <<< "$1"
	# shellcheck disable=SC2086 # a list of numbers
	"$TOP/build/bench/load" "$mode" "$op" "$size" "$few" "$many" ${counts//,/ } \
		2> "$STATE/errors" |
		awk -v row="$1" '{ printf "@ %s %s %.0f\n", row, $1, $2 / 8; fflush() }'
}

"$TOP/scripts/vm/klog.sh" mark growth
path_up
say_processor
set_crc off
for row in "$@"; do
	if ! grow "$row"; then
		echo "@ $row - failed"
		cat "$STATE/errors"
	fi
done
if ! warnings=$("$TOP/scripts/vm/klog.sh" check growth); then
	echo "in the kernel's log:"
	echo "$warnings"
fi
