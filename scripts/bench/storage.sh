#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# storage.sh: NVMe over our device, siw, rxe and plain TCP: the requests a second that a consumer
# inside the kernel makes. Documentation/benchmarks.rst.
#
# From the environment: ROUNDS (3), WHO (mpa siw rxe tcp), STORAGE_ROWS (OP:SIZE:DEPTH; see
# below), WINDOW (2 seconds), CABLE (veth; or card, for two network cards), OUT (bench).
# Fails only when something could not be measured.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
WHO=${WHO:-mpa siw rxe tcp}
# shellcheck source=scripts/bench/lib.sh
. "$TOP/scripts/bench/lib.sh"

ROUNDS=${ROUNDS:-3}
STORAGE_ROWS=${STORAGE_ROWS:-randread:4096:1 randwrite:4096:1 randread:4096:32
	randwrite:4096:32 read:131072:8 write:131072:8}
CABLE=${CABLE:-veth}
OUT=${OUT:-$TOP/bench}
mkdir -p "$OUT"
results=$OUT/storage.csv
declare -A module=([tcp]=-)

for who in $WHO; do
	[ "$who" = tcp ] || module[$who]=$(module_of "$who")
done

# A row that a boot did not print is missing, and shows as "failed".
boot() {		# ROUND DRIVER
	local mark rest
	step "round $1 of $ROUNDS: $2"
	"$TOP/scripts/vm/run.sh" -s -n -c 2 -t 600 -- env STORAGE_ROWS="$STORAGE_ROWS" \
		WINDOW="$WINDOW" CABLE="$CABLE" \
		scripts/bench/storage-guest.sh "$2" "${module[$2]}" 2>&1 |
		while read -r mark rest; do
			case $mark in
			@)
				echo "    $rest"
				echo "$1,${rest// /,}" >> "$results"
				;;
			=) note_where "$rest" ;;
			*) echo "    $mark $rest" ;;
			esac
		done || echo "    the guest did not end well"
}

say_where "2 CPUs, $CABLE, MTU 1500, medians of $ROUNDS rounds of $WINDOW s" > "$OUT/where"
echo round,who,crc,op,size,depth,requests > "$results"
for ((round = 1; round <= ROUNDS; round++)); do
	for who in $WHO; do
		boot "$round" "$who"
	done
done
status=0
awk -F , -f "$TOP/scripts/bench/values.awk" -f "$TOP/scripts/bench/storage.awk" \
	-v rows="$STORAGE_ROWS" -v who="$WHO" "$results" | cat "$OUT/where" - > "$OUT/storage.txt" ||
	status=$?
echo
cat "$OUT/storage.txt"
exit $status
