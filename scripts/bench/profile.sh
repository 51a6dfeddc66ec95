#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# profile.sh: shows the functions of the kernel in which the instructions of a message are, for
# our device beside siw. A plugin of qemu counts the instructions of both ends one by one. With
# NATIVE=1 it shows the nanoseconds instead, in a User-mode Linux that perf(1) samples.
# Documentation/benchmarks.rst.
#
# From the environment: PROFILE_ROWS (OP:SIZE:FEW:MANY, as in count.sh), WHO (mpa siw; also rxe),
# FUNCTIONS (50), CPUS (1: the processor's clock counts instructions too; 2: for programs that
# poll at both ends, ib_write_lat), CABLE (veth; or card), NATIVE (1), OUT (bench), PUBLISH (1:
# the parts of large and small messages go to Documentation/performance.rst).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
WHO=${WHO:-mpa siw}
# shellcheck source=scripts/bench/lib.sh
. "$TOP/scripts/bench/lib.sh"

PROFILE_ROWS=${PROFILE_ROWS:-send_lat:64:200:2200}
FUNCTIONS=${FUNCTIONS:-50}
CPUS=${CPUS:-1}
CABLE=${CABLE:-veth}
OUT=${OUT:-$TOP/bench}
mark=51a70000		# where the program mark begins
unit=instructions
[ -z "${NATIVE:-}" ] || unit=ns
FREQUENCY=5000		# samples a second of each processor

# The first of the two dumps is that of FEW. The last symbol at or before a block's address names
# its function. All addresses have one length, so their order is that of text.
by_function() {		# DIR MESSAGES
	{
		awk '$2 ~ /^[tTwW]$/ { print $1, 0, $3, $4 }' "$1/symbols"
		awk '$1 != "user" && $1 != "lost" { print $1, 1, -$2 }' "$1/count.1"
		awk '$1 != "user" && $1 != "lost" { print $1, 1, $2 }' "$1/count.2"
	} | LC_ALL=C sort -k 1,1 -k 2,2n | awk -v n="$2" '
		$2 == 0 { name = $3 $4; next }
		{ sum[name] += $3 }
		END { for (name in sum) printf "%s,%.1f\n", name, sum[name] / n }'
}

# split_samples DIR: makes count.1 and count.2 from perf's samples between the guest's marks, and
# elapsed: the ns by which MANY took longer than FEW. All functions of the host are one sum, and all
# those of programs another.
split_samples() {
	local dir=$1 marks
	marks=$(find "$dir" -name 'mark.*' -printf '%T@\n' | sort -n | paste -sd ' ')
	awk '{ printf "%.0f\n", ($3 - 2 * $2 + $1) * 1e9 }' <<< "$marks" > "$dir/elapsed"
	{
		echo "0000000000000000 T (programs)"
		echo "0000100000000000 T (programs)"
		echo "ffff800000000000 T (host)"
	} >> "$dir/symbols"
	perf script -i "$dir/perf.data" -F time,ip 2> "$dir/perf.log" |
		awk -v marks="$marks" -v ns=$((1000000000 / FREQUENCY)) -v out="$dir/count." '
			BEGIN { n = split(marks, mark, " "); zeros = "0000000000000000" }
			{
				time = $1 + 0
				for (i = n; i && time < mark[i]; i--)
					;
				if (i == 1 || i == 2)
					print substr(zeros $2, length($2) + 1), ns > (out i)
			}'
}

# run_row DIR DRIVER MODULE ROW: measures it, and leaves symbols, count.1 and count.2 in DIR
run_row() {
	local dir=$1 mode=(-i)
	if [ -n "${NATIVE:-}" ]; then
		perf record -q -e cpu-clock -F $FREQUENCY -k CLOCK_REALTIME -o "$dir/perf.data" -- \
			"$TOP/scripts/vm/run.sh" -t 600 -o "$dir" -- \
			env POLL=1 CABLE="$CABLE" MARK="mktemp -q /out/mark.XXXXXX" \
			scripts/bench/count-guest.sh "$2" "$3" "$4" > "$dir/log" || true
		split_samples "$dir"
		return
	fi
	[ "$CPUS" = 1 ] || mode=(-c "$CPUS")
	"$TOP/scripts/vm/run.sh" "${mode[@]}" -n -t 1200 -o "$dir" \
		-p "$BUILD/bench/profile.so,out=$dir/count,mark=$mark" -- \
		env CABLE="$CABLE" MARK="$BUILD/bench/mark" \
		scripts/bench/count-guest.sh "$2" "$3" "$4" > "$dir/log" || true
}

profile() {		# DRIVER ROW
	local dir few many ko line
	IFS=: read -r _ _ few many <<< "$2"
	ko=$(module_of "$1")
	dir=$BUILD/profile/$1
	rm -rf "$dir"
	mkdir -p "$dir"
	step "counting for $1, $2 (a minute or two)"
	run_row "$dir" "$1" "$ko" "$2"
	if [ ! -e "$dir/count.2" ]; then
		cat "$dir/log" >&2
		die "$1: $2 could not be measured"
	fi
	! grep -qs '^lost [1-9]' "$dir/count.2" || step "the plugin had no room for some blocks"
	while read -r _ line; do
		note_where "$line"
	done < <(grep '^= ' "$dir/log")
	{
		by_function "$dir" $((many - few))
		[ -z "${NATIVE:-}" ] || echo "(elapsed),$(($(cat "$dir/elapsed") / (many - few)))"
	} | sed "s/^/$2,$1,/" >> "$OUT/profile.csv"
}

# show_parts: of our device's messages
show_parts() {
	find "$BUILD/module-$(guest_release)/drivers" -name '*.o' -exec nm -A {} + |
		awk -v unit="$unit" -f "$TOP/scripts/bench/values.awk" \
			-f "$TOP/scripts/bench/parts.awk" - "$OUT/profile.csv"
}

# show_functions ROW: those with the most, of each driver
show_functions() {
	echo
	echo "$1"
	awk -F , -v lines="$FUNCTIONS" -v unit="$unit" -v row="$1" '
		function most(name,   best, i) {
			for (i = 1; i <= drivers; i++)
				if (value[who[i], name] > best)
					best = value[who[i], name]
			return best
		}
		$1 != row || $3 ~ /^\(/ { next }
		!seen[$2]++ { who[++drivers] = $2 }
		{ value[$2, $3] = $4; sum[$2] += $4; names[$3] }
		$3 ~ /\[(rdma_mpa|siw|rdma_rxe)\]$/ { own[$2] += $4 }
		END {
			text = "%-44s"
			printf text, unit " a message"
			for (i = 1; i <= drivers; i++)
				printf "%10s", who[i]
			printf "\n" text, "all of the kernel"
			for (i = 1; i <= drivers; i++)
				printf "%10.0f", sum[who[i]]
			printf "\n" text, "the driver"
			for (i = 1; i <= drivers; i++)
				printf "%10.0f", own[who[i]]
			print ""
			for (n = 0; n < lines; n++) {
				best = ""
				for (name in names)
					if (best == "" || most(name) > most(best))
						best = name
				if (best == "")
					break
				printf text, best
				for (i = 1; i <= drivers; i++)
					printf "%10.1f", value[who[i], best]
				print ""
				delete names[best]
			}
		}' "$OUT/profile.csv"
}

# What Documentation/performance.rst has. perf(1) needs more messages, because it samples.
if [ -n "${PUBLISH:-}" ]; then
	WHO=mpa FUNCTIONS=0 small=200:12200 large=200:4200 huge=20:320
	[ -z "${NATIVE:-}" ] || small=5000:45000 large=500:3500 huge=50:350
	PROFILE_ROWS=send_bw:64:$small
	for op in send_bw write_bw read_bw; do
		PROFILE_ROWS+=" $op:65536:$large $op:1048576:$huge"
	done
fi
if [ -n "${NATIVE:-}" ]; then
	CPUS=2
	GUEST_PACK=$(UM=1 "$TOP/scripts/vm/kernel.sh")
	export GUEST_PACK
fi
make -s -C "$TOP/scripts/bench" OUT="$BUILD/bench" MARK=$mark
mkdir -p "$OUT"
say_where "CPUs: $CPUS" > "$OUT/where"
echo "row,who,function,$unit" > "$OUT/profile.csv"
for row in $PROFILE_ROWS; do
	for who in $WHO; do
		profile "$who" "$row"
	done
done
echo
{
	cat "$OUT/where"
	echo
	[[ " $WHO " != *" mpa "* ]] || show_parts
} | tee "$OUT/parts.txt"
if [ "$FUNCTIONS" != 0 ]; then
	for row in $PROFILE_ROWS; do
		show_functions "$row"
	done
fi
[ -z "${PUBLISH:-}" ] ||
	publish "$OUT/parts.txt" performance "make bench-profile${NATIVE:+ NATIVE=1}"
