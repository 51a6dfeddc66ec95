#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# requirements.sh TAP...      checks the table in Documentation/requirements.rst
#                             and the one in upstream/fixes.rst against the source, and
#                             the first against the results in TAP
# requirements.sh --source    against the source alone
# requirements.sh --missing   lists its rows that no test shows
# requirements.sh --tests     lists the tests that its rows name
#
# ABSENT is a list of tests that another run has to show, because this one had no kernel for them.
#
# Prints TAP. The table is the one list of requirements. This script fixes its ids and
# levels, so that no row gets lost and no MUST becomes less.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$TOP"

TABLE=Documentation/requirements.rst
FIXES=Documentation/upstream/fixes.rst

# group:numbers of its rows:MUSTs among them:MUSTs that cannot apply to a driver over sockets:
# MUSTs that are open
GROUPS_OF_ROWS='FRM:1-18:13:0:0 MRK:1-24:18:0:0 CRC:1-24:17:0:0 SEG:1-27:6:0:0 RCV:1-32:16:0:0
	NEG:1-46:28:0:0 P2P:1-65:40:0:0 CONN:1-28:4:0:0 ERR:1-24:10:0:0 SEC:1-19:4:1:0
	SCTP:1-16:10:0:0 DUAL:1-13:1:0:0 HIST:1-28:0:0:0 GAP:1-26:0:0:0
	DDP:1-130:101:6:2 RDMAP:1-200:115:10:0
	RSEC:1-7+10-23+25-40+45-49+55-60:25:3:1'

number=0
failed=0

# rows: "ID;LEVEL;WHERE...;TEST..." of each row, for read with IFS=";"
rows() {
	awk -F ' *[|] *' '/^ +[A-Z][A-Z0-9]*-[0-9]+ +[|]/ {
		sub(/^ +/, "", $1)
		print $1 ";" $2 ";" ($5 == "-" ? "" : $5) ";" ($6 == "-" ? "" : $6)
	}' "$TABLE"
}

# verdict TEXT: one TAP line for the complaints on stdin
verdict() {
	local complaints
	complaints=$(sort -u)
	number=$((number + 1))
	if [ -z "$complaints" ]; then
		echo "ok $number - requirements: $1"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $number - requirements: $1"
	echo "# ${complaints//$'\n'/$'\n# '}"
}

# Finds ids that do not occur once, groups with other numbers of MUSTs, wrong levels, and rows
# without a source.
wrong_ids() {
	rows | awk -F ';' -v groups="$GROUPS_OF_ROWS" '
	{
		group = $1
		sub(/-.*/, "", group)
		seen[$1]++
		musts[group] += ($2 == "MUST")
		spared[group] += ($2 == "MUST" && $4 ~ /^n\/a: ./)
		open[group] += ($2 == "MUST" && $4 ~ /^open: ./)
		if ($2 !~ /^(MUST|SHOULD|MAY|info)$/)
			print $1 " has no level: " $2
	}
	END {
		n = split(groups, list, /[ \t\n]+/)
		for (i = 1; i <= n; i++) {
			split(list[i], want, ":")
			m = split(want[2], run, "+")
			for (j = 1; j <= m; j++) {
				split(run[j], end, "-")
				for (k = end[1]; k <= end[2]; k++) {
					id = sprintf("%s-%02d", want[1], k)
					if (seen[id] != 1)
						print id " occurs " seen[id] + 0 " times"
					delete seen[id]
				}
			}
			if (musts[want[1]] != want[3])
				print want[1] " has " musts[want[1]] + 0 " MUSTs, not " want[3]
			if (spared[want[1]] > want[4])
				print want[1] ": " spared[want[1]] " MUSTs cannot apply, not " want[4]
			if (open[want[1]] > want[5])
				print want[1] ": " open[want[1]] " MUSTs are open, not " want[5]
		}
		for (id in seen)
			print id " is no id"
	}'
	awk -F ' *[|] *' '/^ +[A-Z][A-Z0-9]*-[0-9]+ +[|]/ {
		if ($3 !~ /^([0-9][0-9][0-9][0-9] |[0-9][0-9][0-9][0-9]$|draft|-$)/)
			print $1 " has no source: " $3
	}' "$TABLE"
}

# The names that a row may have: a file by its last name, or a function that other files call.
# Static functions are not among them, because their names change with the code around them.
known_places() {
	find drivers include kunit -name '*.[ch]' -printf '%f\n'
	{
		find drivers kunit -name '*.c' -exec grep -hE '^[a-z].*\(' {} + | grep -v '^static '
		find drivers include -name '*.h' -exec grep -hE '^static .*inline .*\(' {} +
	} | grep -v ';$' | sed -E 's/\(.*//; s/.*[ *]//'
}

unknown_places() {
	local id place places names
	names=" $(known_places | sort -u | tr '\n' ' ') "
	rows | while IFS=';' read -r id _ places _; do
		for place in $places; do
			[[ $names == *" $place "* ]] ||
				echo "$id: $place is neither a file nor a function that other files call"
		done
	done
}

# Finds a MUST that applies and is not open, but has no place in the code or no test.
musts_without_test() {
	rows | awk -F ';' '$2 == "MUST" && $4 !~ /^(n\/a|open):/ {
		if ($3 == "")
			print $1 ": no place in the code"
		if ($4 == "" || $4 ~ /^read:/)
			print $1 ": no test"
	}'
}

# scenarios: "NAME ID" for each id in a scenario's text: (A-01, A-03 to A-05)
scenarios() {
	scripts/e2e/guest.sh -l | awk '
	match($0, /\([A-Z0-9]+-[0-9][^()]*\)/) {
		n = split(substr($0, RSTART + 1, RLENGTH - 2), list, /, /)
		for (i = 1; i <= n; i++) {
			split(list[i], id, /-| to /)
			last = list[i] ~ / to / ? id[4] : id[2]
			for (j = id[2] + 0; j <= last + 0; j++)
				printf "%s %s-%02d\n", $1, id[1], j
		}
	}'
}

rows_without_scenario() {
	local name id shown
	shown=$(rows | awk -F ';' '{
		n = split($4, test, " ")
		for (i = 1; i <= n; i++)
			print test[i], $1
	}')
	scenarios | while read -r name id; do
		[[ $'\n'$shown$'\n' == *$'\n'"$name $id"$'\n'* ]] || echo "$id: $name shows it"
	done
}

# results TAP...: "NAME good" or "NAME bad", a suite's case as SUITE.CASE, a fuzzer
# as fuzz_TARGET
results() {
	awk '
	{ sub(/\r$/, "") }
	match($0, /# Subtest: /) { suite = substr($0, RSTART + RLENGTH) }
	match($0, /^ *(not )?ok [0-9]+ (- )?/) {
		name = substr($0, RLENGTH + 1)
		bad = $1 == "not" || toupper(name) ~ /# *SKIP/
		sub(/ *[(#].*/, "", name)
		sub(/: /, ".", name)
		if (split(name, word, " ") > 1 && word[1] == "fuzz")
			name = "fuzz_" word[2]
		if ($0 ~ /^ /)
			name = suite "." name
		print name, bad ? "bad" : "good"
	}' "$@" | sort -u
}

not_shown() {
	local id tests good bad
	good=" $(results "$@" | sed -n 's/ good$//p' | tr '\n' ' ') "
	bad=" $(results "$@" | sed -n 's/ bad$//p' | tr '\n' ' ') "
	rows | while IFS=';' read -r id _ _ tests; do
		[[ $tests != n/a:* && $tests != read:* && $tests != open:* ]] || continue
		for test in $tests; do
			if [[ $bad == *" $test "* ]]; then
				echo "$id: $test did not pass"
			elif [[ $good != *" $test "* ]] &&
				! grep -qx "$test" <<< "${ABSENT:-}"; then
				echo "$id: $test did not run"
			fi
		done
	done
}

# Scenarios, fuzz targets, and SUITE.CASE of the unit tests
known_tests() {
	scripts/e2e/guest.sh -l | sed 's/ .*//'
	find kunit -name 'fuzz_*.c' -exec basename {} .c ';'
	awk '
	FNR == 1 { suite = "" }
	match($0, /KUNIT_CASE\([a-z0-9_]+/) {
		list[FILENAME] = list[FILENAME] " " substr($0, RSTART + 11, RLENGTH - 11)
	}
	match($0, /\.name = "[a-z0-9_]+"/) {
		suite = substr($0, RSTART + 9, RLENGTH - 10)
		n = split(list[FILENAME], name, " ")
		for (i = 1; i <= n; i++)
			print suite "." name[i]
	}' kunit/*_test.c
}

# Finds names of no test in the table, and in the last column of each row of $FIXES; there text
# after "none:" is a sentence.
unknown_tests() {
	local names tests test
	names=" $(known_tests | tr '\n' ' ') "
	{
		rows | sed 's/^[^;]*;[^;]*;[^;]*;//'
		sed -n 's/^   [^|]* [|] [^|]* [|] //p' "$FIXES"
	} | while read -r tests; do
		[[ ! $tests =~ ^(none|n/a|read|open): ]] || continue
		for test in $tests; do
			[[ $names == *" $test "* ]] || echo "no test $test"
		done
	done
}

if [ "${1:-}" = --missing ]; then
	rows | awk -F ';' '$4 == "" || $4 ~ /^(read|open):/ { print $1, $2, $4 }'
	exit
fi
if [ "${1:-}" = --tests ]; then
	rows | awk -F ';' '$4 !~ /^(n\/a|read|open):/ { print $4 }' | tr ' ' '\n' | sort -u
	exit
fi
[ $# -gt 0 ] || die "usage: requirements.sh --missing | --tests | --source | TAP..."
verdict "each id once, none missing" < <(wrong_ids)
verdict "each file and function is there" < <(unknown_places)
verdict "each MUST has a place and a test, cannot apply, or is open" < <(musts_without_test)
verdict "each id that a scenario names has it in its row" < <(rows_without_scenario)
verdict "each test that they name is there" < <(unknown_tests)
[ "$1" = --source ] || verdict "each test named ran and passed" < <(not_shown "$@")
echo "1..$number"
[ "$failed" = 0 ]
