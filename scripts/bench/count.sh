#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# count.sh: counts the instructions of a message, in kernel and user space of both ends
# together, for our device, siw, rxe and plain TCP, in guests whose clock counts instructions. So
# the result is the same within a few per cent on a machine that does other things, too.
# Documentation/benchmarks.rst.
#
# From the environment: COUNT_ROWS (see below; OP:SIZE:FEW:MANY), WHO (mpa siw; also
# rxe), CABLE (veth; or card, for two network cards), OUT (bench), PUBLISH (1: the table goes to
# Documentation/benchmarks.rst).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
WHO=${WHO:-mpa siw}
# shellcheck source=scripts/bench/lib.sh
. "$TOP/scripts/bench/lib.sh"

COUNT_ROWS=${COUNT_ROWS:-send_bw:64:200:6200 send_bw:4096:200:2200 send_bw:65536:100:700
	read_bw:65536:100:700 send_lat:64:100:2000 read_lat:64:100:2000}
CABLE=${CABLE:-veth}
OUT=${OUT:-$TOP/bench}
mkdir -p "$OUT"
results=$OUT/count.csv

# One guest for a driver. Beside the rows of the driver it measures TCP in writes of 64 KiB,
# except for rxe, whose path is different.
measure() {
	local ko mark row value rows="tcp:65536:200:1200 $COUNT_ROWS"
	[ "$1" != rxe ] || rows=$COUNT_ROWS
	ko=$(module_of "$1")
	step "counting for $1 (two or three minutes)"
	# shellcheck disable=SC2086
	"$TOP/scripts/vm/run.sh" -i -n -t 1200 -- env CABLE="$CABLE" \
		scripts/bench/count-guest.sh "$1" "$ko" $rows | while read -r mark row value; do
		case $mark in
		@)
			echo "    $row $value"
			echo "$1,${row%%:*},$(cut -d : -f 2 <<< "$row"),$value" >> "$results"
			;;
		=) note_where "$row $value" ;;
		*) echo "    $mark $row $value" ;;
		esac
	done
}

say_where "1 CPU, $CABLE, MTU 1500, CRC off (rxe: on)" > "$OUT/where"
echo who,what,size,instructions > "$results"
for who in $WHO; do
	measure "$who"
done
awk -F , '
	function over(mine, other) {
		return mine > 0 && other > 0 ? sprintf("%.2f", mine / other) : "-"
	}
	FNR == 1 { next }
	{ key = $2 " " $3; value[$1, key] = $4; if (!seen[key]++) order[++n] = key }
	END {
		printf "\n%-12s %8s %10s %10s %10s  %9s  %9s\n", "what", "size", "mpa", "siw", "rxe",
			"mpa / siw", "mpa / rxe"
		for (i = 1; i <= n; i++) {
			split(order[i], part, " ")
			mine = value["mpa", order[i]]
			siw = value["siw", order[i]]
			rxe = value["rxe", order[i]]
			printf "%-12s %8d %10s %10s %10s  %9s  %9s\n", part[1], part[2], mine, siw,
				rxe, over(mine, siw), over(mine, rxe)
		}
	}' "$results" | cat "$OUT/where" - > "$OUT/count.txt"
echo
cat "$OUT/count.txt"
[ -z "${PUBLISH:-}" ] || publish "$OUT/count.txt" benchmarks "make bench-count"
! grep -q failed "$results"
