#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# fuzz.sh [SECONDS [TARGET...]]: runs the fuzzers of kunit/user, each for that time (60),
# as many at once as there are processors, and prints TAP, a line for each.
# fuzz.sh -m [TARGET...]: makes the committed corpus anew: the fewest short inputs
# that reach as much of the engine as all inputs found so far (edges, not how often).
#
# They start from kunit/user/corpus/TARGET and the vectors. New inputs of a run
# stay in build/fuzz/TARGET for the next one. An input that breaks the engine is left
# in build/fuzz/TARGET-crash-..., with the report in build/fuzz/TARGET.log.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

OUT=$BUILD/fuzz
user=$TOP/kunit/user
seconds=${1:-60}
shift $(($# > 0 ? 1 : 0))
[[ $seconds =~ ^([0-9]+|-m)$ ]] || die "usage: fuzz.sh [SECONDS|-m [TARGET...]]"

# one TARGET: runs its fuzzer in place of this shell
one() {
	exec "$BUILD/unit/fuzz_$1" -max_total_time="$seconds" -max_len=4096 -timeout=25 \
		-print_final_stats=1 -artifact_prefix="$OUT/$1-" \
		"$OUT/$1" "$OUT/seeds/$1" "$user/corpus/$1" > "$OUT/$1.log" 2>&1
}

# minimise TARGET: its inputs become TARGET/01, 02, ...
minimise() {
	local number=0 input old=$user/corpus/$1 new=$OUT/$1.min
	rm -rf "$new"
	mkdir "$new"
	run_logged "$OUT/$1.merge.log" "$BUILD/unit/fuzz_$1" -set_cover_merge=1 -use_counters=0 \
		-max_len=1024 "$new" "$OUT/$1" "$OUT/seeds/$1" "$old"
	rm -rf "$old"
	mkdir -p "$old"
	while read -r input; do
		number=$((number + 1))
		mv "$input" "$old/$(printf %02d "$number")"
	done < <(find "$new" -type f -printf '%s %p\n' | sort -n | cut -d ' ' -f 2)
	step "corpus/$1: $number inputs, $(du -b "$old" | cut -f 1) bytes"
}

# runs TARGET: the number of inputs that it has tried so far
runs() {
	sed -n -e 's/^#\([0-9]*\).*/\1/p' -e 's/^stat::number_of_executed_units: *//p' \
		"$OUT/$1.log" 2> /dev/null | tail -n 1
}

# report NUMBER TARGET STATUS: prints its line of TAP, and the input that it found
report() {
	local result=ok found
	[ "$3" = 0 ] || result='not ok'
	echo "$result $1 - fuzz $2 $seconds s, $(runs "$2") runs"
	[ "$3" != 0 ] || return 0
	grep -E '^SUMMARY|runtime error|ERROR:' "$OUT/$2.log" | head -n 4 | sed 's/^/# /' || true
	while read -r found; do
		echo "# the input is ${found#"$TOP/"}"
		echo "# again: build/unit/fuzz_$2 ${found#"$TOP/"}"
	done < <(sed -n 's/.*Test unit written to //p' "$OUT/$2.log")
	echo "# the report is ${OUT#"$TOP/"}/$2.log"
}

# A line of progress every ten seconds, until told to stop
progress() {
	local target
	trap 'kill $!; exit' TERM
	while sleep 10 & wait $!; do
		for target in "$@"; do
			[ ! -s "$OUT/$target.log" ] ||
				grep -qE '^Done|^SUMMARY' "$OUT/$target.log" ||
				step "fuzzing $target: $(runs "$target") runs so far"
		done
	done
}

"$TOP/scripts/deps.sh" fuzz
mapfile -t targets < <(cd "$user" && printf '%s\n' fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')
[ $# -gt 0 ] || set -- "${targets[@]}"
step "building the fuzzers"
run_logged "$BUILD/fuzz.log" make -C "$user" -j"$(nproc)" fuzzers
for target in "$@"; do
	mkdir -p "$OUT/$target" "$user/corpus/$target"
	rm -f "$OUT/$target.log"
done
mkdir -p "${targets[@]/#/$OUT/seeds/}"
"$BUILD/unit/seeds" "$OUT/seeds"
if [ "$seconds" = -m ]; then
	for target in "$@"; do
		minimise "$target"
	done
	exit
fi

step "fuzzing for $seconds s each, $(nproc) at once: $*"
declare -A pids
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
progress "$@" > /dev/null &
watcher=$!
for target in "$@"; do
	while [ "$(jobs -rp | grep -cv "^$watcher\$")" -ge "$(nproc)" ]; do
		sleep 0.5
	done
	one "$target" &
	pids[$target]=$!
done

echo "TAP version 13"
number=0 failed=0
for target in "$@"; do
	status=0
	wait "${pids[$target]}" || status=$?
	report $((++number)) "$target" "$status"
	[ "$status" = 0 ] || failed=1
done
echo "1..$number"
exit $failed
