#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# run.sh: measures our device, siw and plain TCP on the same path, in turn, in
# virtual machines, and prints medians and ratios. Documentation/benchmarks.rst.
#
# From the environment: ROUNDS (3), MTUS (1500; also 9000, lo), SIZES (65536
# 1048576), SMALL (64; 0 leaves the small messages out), WINDOW (2, the seconds a
# bandwidth is measured), OUT (build/bench). Fails only when something could not
# be measured.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=scripts/bench/lib.sh
. "$TOP/scripts/bench/lib.sh"

ROUNDS=${ROUNDS:-3}
OUT=${OUT:-$BUILD/bench}
declare -A module=()

check_numbers() {
	local value
	for value in $ROUNDS $WINDOW $SIZES; do
		[[ $value =~ ^[1-9][0-9]*$ ]] || die "not a number above 0: $value"
	done
	[[ $SMALL =~ ^[0-9]+$ ]] || die "SMALL is a number of octets: $SMALL"
	for value in $MTUS; do
		[[ $value =~ ^([1-9][0-9]*|lo)$ ]] || die "not an MTU: $value"
	done
}

build() {
	module[siw]=$("$TOP/scripts/peer/siw.sh")
	module[mpa]=$("$TOP/scripts/module.sh" 2> >(grep '^==>' >&2))
}

# record ROUND DRIVER LINE: a value to the file and the screen
record() {
	local round=$1 driver=$2 mtu who crc test size unit value
	read -r mtu who crc test size unit value <<< "$3"
	echo "$round,$driver,$mtu,$who,$crc,$test,$size,$unit,$value" >> "$OUT/results.csv"
	number=$((number + 1))
	[ "$value" != failed ] || unit=''
	printf '    %2d/%d  %s  MTU %-5s %-4s CRC %-4s %-14s %8s  %s %s\n' $number \
		"$(plan "$driver" | wc -l)" "$(since_start)" "$mtu" "$who" "$crc" \
		"$test" "$size" "$value" "$unit"
}

since_start() {
	printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60))
}

# boot ROUND DRIVER. A guest that dies, or is silent for longer than any program
# in it may run, leaves rows unmeasured; they show as failed.
boot() {
	local round=$1 driver=$2 number=0 mark rest pid
	step "round $round of $ROUNDS: $driver"
	exec 4< <(exec "$TOP/scripts/vm/run.sh" -c 2 -m 2G -t 1100 -- \
		env MTUS="$MTUS" SIZES="$SIZES" SMALL="$SMALL" WINDOW="$WINDOW" \
		scripts/bench/guest.sh "$driver" "${module[$driver]}" 2>&1)
	pid=$!
	while read -t $((WINDOW + 100)) -ru 4 mark rest; do
		if [ "$mark" = @ ]; then
			record "$round" "$driver" "$rest"
		else
			echo "    $mark $rest"
		fi
	done
	kill $pid 2> /dev/null || :
	wait $pid || echo "    the guest did not end well"
	exec 4<&-
}

# Neither driver always goes first.
measure_all() {
	local round
	for ((round = 1; round <= ROUNDS; round++)); do
		if [ $((round % 2)) = 1 ]; then
			boot "$round" siw
			boot "$round" mpa
		else
			boot "$round" mpa
			boot "$round" siw
		fi
	done
}

say_where() {
	echo "commit $(git -C "$TOP" describe --always --dirty 2> /dev/null || echo unknown)," \
		"kernel $(guest_release), 2 CPUs, rounds: $ROUNDS, window: $WINDOW s," \
		"load of this machine before: $(cut -d ' ' -f 1 /proc/loadavg)"
}

check_numbers
mkdir -p "$OUT"
OUT=$(realpath "$OUT")
build
where=$(say_where)
echo round,boot,mtu,who,crc,test,size,unit,value > "$OUT/results.csv"
measure_all
{ plan siw; plan mpa; } | awk '!seen[$0]++' > "$OUT/plan"
status=0
echo "$where" > "$OUT/table.txt"
awk -f "$TOP/scripts/bench/table.awk" -v rounds="$ROUNDS" "$OUT/plan" \
	"$OUT/results.csv" >> "$OUT/table.txt" || status=$?
echo
cat "$OUT/table.txt"
step "$(since_start) minutes; values: ${OUT#"$TOP"/}/results.csv"
exit $status
