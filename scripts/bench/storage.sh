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
			echo "    $mark $rest"
			[ "$mark" != @ ] || echo "$1,${rest// /,}" >> "$results"
		done || echo "    the guest did not end well"
}

echo round,who,crc,op,size,depth,requests > "$results"
for ((round = 1; round <= ROUNDS; round++)); do
	for who in $WHO; do
		boot "$round" "$who"
	done
done
echo
echo "NVMe, requests a second, medians of $ROUNDS: commit" \
	"$(git -C "$TOP" describe --always --dirty 2> /dev/null || echo unknown)," \
	"kernel $(guest_release), 2 CPUs, $CABLE, MTU 1500"
awk -F , -v rows="$STORAGE_ROWS" -v who="$WHO" '
	function median(key,    i, j, n, v) {
		n = 0
		for (i = 1; i <= runs[key]; i++) {
			for (j = n++; j > 0 && v[j - 1] > value[key, i]; j--)
				v[j] = v[j - 1]
			v[j] = value[key, i]
		}
		if (!n)
			return 0
		return n % 2 ? v[int(n / 2)] : (v[n / 2 - 1] + v[n / 2]) / 2
	}
	function over(mine, other) {
		return mine && other ? sprintf("%.2f", mine / other) : "-"
	}
	function show(driver, crc, what,    mine) {
		mine = median(driver " " crc " " what)
		if (index(" " who " ", " " driver " ") && !mine)
			missing++
		return mine
	}
	FNR > 1 && $7 != "failed" {
		key = $2 " " $3 " " $4 " " $5 " " $6
		value[key, ++runs[key]] = $7 + 0
	}
	END {
		printf "%-10s %7s %5s %9s %9s %9s %9s %9s   %7s %7s %7s\n", "what", "size", "depth",
			"mpa, off", "mpa, on", "siw", "rxe", "tcp", "off/siw", "on/rxe", "off/tcp"
		n = split(rows, row, " ")
		for (i = 1; i <= n; i++) {
			split(row[i], part, ":")
			what = part[1] " " part[2] " " part[3]
			off = show("mpa", "off", what)
			on = show("mpa", "on", what)
			siw = show("siw", "off", what)
			rxe = show("rxe", "on", what)
			tcp = show("tcp", "off", what)
			printf "%-10s %7d %5d %9d %9d %9d %9d %9d   %7s %7s %7s\n", part[1], part[2],
				part[3], off, on, siw, rxe, tcp, over(off, siw), over(on, rxe),
				over(off, tcp)
		}
		if (missing)
			printf "%d could not be measured (0 above).\n", missing
		exit missing > 0
	}' "$results" | tee "$OUT/storage.txt"
