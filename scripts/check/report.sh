# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# How check.sh counts results and reports them. check.sh reads this file, which uses its variables.
# shellcheck disable=SC2154

# note NAME PASSED FAILED [WHY]: one line of the summary, added to the total
note() {
	passed=$((passed + $2))
	failed=$((failed + $3))
	summary+=("$(printf '%-41s %4d passed, %d failed%s' "$1" "$2" "$3" "${4:+: $4}")")
	[ -z "${4:-}" ] || {
		echo "$1: $4"
		[ -z "$hint" ] || echo "    look at ${hint//%s*/}"
	} >> "$OUT/failures"
}

# attempt NAME COMMAND...: runs a step that has no tests of its own
attempt() {
	local name=$1 hint=''
	shift
	("$@") || { # a shell of its own, because die ends it
		note "$name" 0 1 "the step failed"
		return 1
	}
}

# count NAME FILE STATUS [AWK-OPTION...]: adds the results in FILE to the total. STATUS is the
# exit status of the program that wrote FILE, or empty if it did not reach its end. The numbers
# are left in good and bad.
count() {
	local name=$1 file=$2 status=$3 why=''
	shift 3
	[ -e "$file" ] || : > "$file"
	read -r good bad < <(awk "$@" -f "$TOP/scripts/tap.awk" "$file" 2> "$OUT/failed")
	cat "$OUT/failed" >&2
	heads "$name" < "$OUT/failed" >> "$OUT/failures"
	if [ -z "$status" ]; then
		bad=$((bad + 1))
		why="it did not reach its end"
	elif [ "$status" != 0 ] && [ "$bad" = 0 ]; then
		bad=1
		why="ended with status $status"
	fi
	note "$name" "$good" "$bad" "$why"
}

# heads NAME: for each test that failed, what to look at and the first lines of its diagnostics
heads() {
	awk -v name="$1" -v hint="$hint" '
		/^# FAILED: / {
			print name ": " substr($0, 11)
			left = 12
			text = hint
			if (/^# FAILED: not ok/)
				gsub(/%s/, $7, text)
			else
				sub(/%s.*/, "", text)
			if (text != "")
				print "    look at " text
			next
		}
		left-- > 0 { print "    " $0 }' | cut -c1-150
}

# record WHAT DIR: writes good and bad as a line of $OUT/results, for matrix.sh
record() {
	local extent=whole
	[ "$1" != scenarios ] || extent=$(cat "$2/extent")
	echo "$(date +%F) $(cat "$2/release") $1 $good $bad $extent" >> "$OUT/results"
}

# record_builds FILE: writes the results of kernels.sh in FILE as such lines
record_builds() {
	awk -v date="$(date +%F)" '
		function say() {
			if (release)
				print date, release, "built", good, all - good, "whole"
		}
		/^(not )?ok .* the module builds for / {
			say()
			release = $NF
			good = all = 0
		}
		/^(not )?ok / {
			good += ($1 == "ok")
			all++
		}
		END { say() }' "$1" >> "$OUT/results"
}

# progress: how many scenarios have ended, and how long the others may take. That is the time
# in e2e/times, corrected by the rate so far. The debug kernel takes twice as long.
progress() {
	find "$OUT" -maxdepth 2 \( -name names -o -name e2e.tap \) | sort -r |
		(mapfile -t files && awk -v begin="$first_guest" -v now=$SECONDS -v room="$room" '
		function cost(name) {
			return (name in time ? time[name] : 6) * (FILENAME ~ /debug-[12]\/[^\/]*$/ ? 2 : 1)
		}
		FILENAME ~ /times$/ { time[$1] = $2 }
		FILENAME ~ /names$/ { all += cost($1); number++ }
		FILENAME ~ /tap$/ && /^(not )?ok/ {
			done += cost($1 == "ok" ? $4 : $5)
			through++
			failed += ($1 != "ok")
		}
		END {
			rate = (done + 60 * room) / (now - begin + 60)
			if (through < number)
				printf "%d of %d scenarios, %d failed; about %d minutes left\n", through, number,
					failed, (all - done) / rate / 60 + 1
		}' "$TOP/scripts/e2e/times" "${files[@]}")
}

watch() {
	local line
	trap 'kill $!; exit' TERM
	while sleep 30 & wait $!; do
		line=$(progress)
		[ -z "$line" ] || step "$line"
	done
}

stop_watching() {
	[ -z "$watcher" ] || kill "$watcher" 2> /dev/null || true
	watcher=''
}

# Prints the summary, the failures and the total, in this order, because of a long log some
# people see only the last lines.
finish() {
	echo
	printf '%s\n' "${summary[@]}"
	echo
	if [ -s "$OUT/failures" ]; then
		head -n 40 "$OUT/failures"
		echo
	fi
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
}

# write_times DIR: prints the times of the scenarios that ran on the stock kernel there, and
# the times in e2e/times of those that did not run
write_times() {
	sed '/^#/!d' "$TOP/scripts/e2e/times"
	find "$1" -regex ".*/$STOCK\(-[0-9]+\)?/e2e.tap" -exec cat {} + | tr -d '\r' |
		sed -nE 's/^ok [0-9]+ - ([a-zA-Z0-9_]+) \(([0-9.]+) s\)$/\1 \2/p' |
		cat - <(sed '/^#/d' "$TOP/scripts/e2e/times") | awk '!seen[$1]++' | LC_ALL=C sort
}
