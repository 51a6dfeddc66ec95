#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# growth.sh: does the cost of an operation grow with the number of connections, of
# memory regions, of outstanding requests? It counts the instructions in kernel and user space of
# both ends together, in a guest whose clock counts them. Documentation/benchmarks.rst.
#
# From the environment: WHO (mpa; also siw, rxe), GROWTH_ROWS (see below;
# MODE:OP:SIZE:FEW:MANY:COUNT,COUNT...), GROWTH_LIMIT (1.5), OUT (bench). Fails if
# something could not be measured, or if a count costs our device more than
# GROWTH_LIMIT times as much as the first.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
WHO=${WHO:-mpa}
# shellcheck source=scripts/bench/lib.sh
. "$TOP/scripts/bench/lib.sh"

# Writes on one connection share segments (pace.c), so they are not compared with several.
connections=1,10,100,1000
regions=1,100,10000,100000
outstanding=1,4,16,64
moderated=1,4,16,32
GROWTH_ROWS=${GROWTH_ROWS:-
	connections:send:64:1000:3000:$connections
	connections:write:64:1000:3000:${connections#1,}
	connections:read:64:1000:3000:$connections
	regions:write:64:1000:3000:$regions
	regions:read:64:1000:3000:$regions
	outstanding:send:64:1000:3000:$outstanding
	outstanding:write:64:1000:3000:$outstanding
	outstanding:read:64:1000:3000:$outstanding
	outstanding:read:4096:1000:3000:$outstanding
	moderated:read:64:1000:3000:$moderated}
GROWTH_LIMIT=${GROWTH_LIMIT:-1.5}
OUT=${OUT:-$TOP/bench}
mkdir -p "$OUT"
results=$OUT/growth.csv

measure() {
	local ko mark row count value rest
	ko=$(module_of "$1") || return
	step "counting for $1 (some minutes)"
	# shellcheck disable=SC2086
	"$TOP/scripts/vm/run.sh" -i -m 3G -t 1800 -- scripts/bench/growth-guest.sh "$1" "$ko" \
		$GROWTH_ROWS | while read -r mark row count value rest; do
		case $mark in
		@)
			echo "    $row $count $value"
			echo "$1,$(cut -d : -f 1-3 --output-delimiter=, <<< "$row"),$count,$value" \
				>> "$results"
			;;
		=) note_where "$row $count $value $rest" ;;
		*) echo "    $mark $row $count $value $rest" ;;
		esac
	done
}

# Every count of every row that was asked for, in that order
planned() {
	local who row counts count
	for who in $WHO; do
		for row in $GROWTH_ROWS; do
			counts=${row##*:}
			for count in ${counts//,/ }; do
				echo "$who,$(cut -d : -f 1-3 --output-delimiter=, <<< "$row"),$count"
			done
		done
	done
}

say_where "1 CPU, veth, MTU 1500, CRC off (rxe: on)" > "$OUT/where"
run_logged "$BUILD/bench/build.log" make -C "$TOP/scripts/bench" OUT="$BUILD/bench"
echo who,mode,what,size,count,instructions > "$results"
for who in $WHO; do
	measure "$who" || echo "    the guest did not end well"
done
echo
status=0
awk -F , -v limit="$GROWTH_LIMIT" '
	function end_line() {
		if (line == "")
			return
		grown = first > 0 && most / first > limit
		printf "%s%s\n", line, grown ? "  grows" : ""
		if (grown && driver == "mpa")
			bad++
		line = ""
	}
	FILENAME == ARGV[1] {
		cost[$1 "," $2 "," $3 "," $4 "," $5] = $6
		next
	}
	{
		key = $1 "," $2 "," $3 "," $4
		if (key != shown) {
			end_line()
			if ($2 != mode)
				printf "\n%s\n", $2
			shown = key
			mode = $2
			driver = $1
			first = most = 0
			line = sprintf("%-4s %-6s %5d", $1, $3, $4)
		}
		value = cost[$0]
		if (value !~ /^[0-9]+$/) {
			line = line sprintf("  %7d: failed", $5)
			missing++
			next
		}
		if (!first)
			first = value
		if (value + 0 > most)
			most = value + 0
		line = line sprintf("  %7d: %6d (%.2f)", $5, value, first ? value / first : 0)
	}
	END {
		end_line()
		printf "\nInstructions a message with so many of them; (over those of the first).\n"
		if (missing)
			printf "%d could not be measured.\n", missing
		if (bad)
			printf "%d grow to more than %s times.\n", bad, limit
		exit missing + bad > 0
	}' "$results" <(planned) | cat "$OUT/where" - > "$OUT/growth.txt" || status=$?
cat "$OUT/growth.txt"
exit $status
