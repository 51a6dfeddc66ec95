#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# run.sh: measures our device, siw, rxe and plain TCP on the same path, in turn, in
# virtual machines, and prints medians and ratios, and draws pictures.
# Documentation/benchmarks.rst.
#
# From the environment: ROUNDS (3), WHO (siw rxe mpa), MTUS (1500; also 9000, lo),
# SIZES (65536 1048576), SMALL (64 4096; 0 leaves out all that is small), SWEEP (64 to
# 1048576; 0 leaves the pictures' points out), WINDOW (2, the seconds a bandwidth is
# measured), OUT (bench), HOST (between that host and this one, by ssh; hosts.sh), NATIVE (1:
# in a User-mode Linux, by the processor itself), PUBLISH (1: the table goes to
# Documentation/benchmarks.rst). Fails only if something could not be measured.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=scripts/bench/lib.sh
. "$TOP/scripts/bench/lib.sh"

ROUNDS=${ROUNDS:-3}
OUT=${OUT:-$TOP/bench}
machine=("$TOP/scripts/vm/run.sh" -s -c 2 -m 2G -t 1800 --)
declare -A module=()

check_numbers() {
	local value
	for value in $ROUNDS $WINDOW $SIZES; do
		[[ $value =~ ^[1-9][0-9]*$ ]] || die "not a number above 0: $value"
	done
	for value in $SMALL $SWEEP; do
		[[ $value =~ ^[0-9]+$ ]] || die "not a number of bytes: $value"
	done
	for value in $MTUS; do
		[[ $value =~ ^([1-9][0-9]*|lo|direct)$ ]] || die "not an MTU: $value"
	done
	[ -n "$WHO" ] || die "WHO names nobody"
}

build() {
	local who
	if [ -n "${NATIVE:-}" ]; then
		GUEST_PACK=$(UM=1 "$TOP/scripts/vm/kernel.sh")
		export GUEST_PACK
	fi
	for who in $WHO; do
		module[$who]=$(module_of "$who")
	done
	run_logged "$BUILD/bench/build.log" make -C "$TOP/scripts/bench" OUT="$BUILD/bench"
}

# record ROUND DRIVER LINE: a value to the file and the screen
record() {
	local round=$1 driver=$2 mtu who crc test size unit value
	read -r mtu who crc test size unit value <<< "$3"
	echo "$round,$driver,$mtu,$who,$crc,$test,$size,$unit,$value" >> "$OUT/results.csv"
	number=$((number + 1))
	[ "$value" != failed ] || unit=''
	printf '    %2d/%d  %s  MTU %-5s %-4s CRC %-4s %-14s %8s  %s %s\n' $number \
		"$expected" "$(since_start)" "$mtu" "$who" "$crc" \
		"$test" "$size" "$value" "$unit"
}

since_start() {
	printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60))
}

# follow ROUND DRIVER: reads the guest's lines. The guest is silent for no longer than any
# program in it may run, or it takes to boot on a busy machine.
follow() {
	local mark rest
	while read -t $((WINDOW + 240)) -ru 4 mark rest; do
		case $mark in
		@) record "$1" "$2" "$rest" ;;
		=) note_where "$rest" ;;
		%) echo "$1,$2,${rest// /,}" >> "$OUT/latency.csv" ;;
		*) echo "    $mark $rest" ;;
		esac
	done
}

# boot ROUND DRIVER. If a guest dies or falls silent, its other rows stay unmeasured and
# show as failed. The points for the pictures are measured in the first round only.
boot() {
	local round=$1 driver=$2 number=0 expected pid more=()
	expected=$(plan "$driver" | wc -l)
	if [ "$round" = 1 ]; then
		more=(sweep)
		expected=$((expected + $(sweep "$driver" | wc -l)))
	fi
	step "round $round of $ROUNDS: $driver"
	exec 4< <(exec "${machine[@]}" env WHO="$WHO" MTUS="$MTUS" SIZES="$SIZES" SMALL="$SMALL" SWEEP="$SWEEP" \
		WINDOW="$WINDOW" scripts/bench/guest.sh "$driver" "${module[$driver]}" \
		"${more[@]}" 2>&1)
	pid=$!
	follow "$round" "$driver"
	kill $pid 2> /dev/null || :
	wait $pid || echo "    the guest did not end well"
	exec 4<&-
}

# In each round another driver goes first.
measure_all() {
	local round i drivers n
	read -ra drivers <<< "$WHO"
	n=${#drivers[@]}
	for ((round = 1; round <= ROUNDS; round++)); do
		for ((i = 0; i < n; i++)); do
			boot "$round" "${drivers[(i + round - 1) % n]}"
		done
	done
}

# make_plan FUNCTION: its rows for all drivers, each with the number of its measurements
make_plan() {
	local who
	for who in $WHO; do
		"$1" "$who"
	done | awk '{ if (!seen[$0]++) row[++n] = $0 }
		END { for (i = 1; i <= n; i++) print row[i], seen[row[i]] }'
}

# Counts the points that are missing from the pictures
count_gaps() {
	local mtu who crc test size rest gaps=0
	while read -r mtu who crc test size rest; do
		grep -q "^1,[a-z]*,$mtu,$who,$crc,$test,$size,.*,[0-9.]*$" "$OUT/results.csv" ||
			gaps=$((gaps + 1))
	done < <(make_plan sweep)
	[ $gaps = 0 ] || echo "$gaps points of the pictures could not be measured."
	[ $gaps = 0 ]
}

if [ -n "${HOST:-}" ]; then
	[ "$(id -u)" = 0 ] || die "not root: we make a device on this host and on $HOST"
	machine=()
	MTUS=direct
	cd "$TOP"
fi
check_numbers
mkdir -p "$OUT"
OUT=$(realpath "$OUT")
build
say_where "rounds: $ROUNDS, window: $WINDOW s" > "$OUT/where"
echo round,boot,mtu,who,crc,test,size,unit,value > "$OUT/results.csv"
echo round,boot,mtu,who,crc,test,size,percent,us > "$OUT/latency.csv"
measure_all
make_plan plan > "$OUT/plan"
status=0
cat "$OUT/where" > "$OUT/table.txt"
awk -f "$TOP/scripts/bench/values.awk" -f "$TOP/scripts/bench/table.awk" -v rounds="$ROUNDS" "$OUT/plan" \
	"$OUT/results.csv" >> "$OUT/table.txt" || status=$?
echo
cat "$OUT/table.txt"
[ -z "${PUBLISH:-}" ] || publish "$OUT/table.txt" benchmarks "make bench${NATIVE:+-native}"
count_gaps || status=1
"$TOP/scripts/bench/pictures.sh" "$OUT" || status=1
step "$(since_start) minutes; values: ${OUT#"$TOP"/}/results.csv"
exit $status
