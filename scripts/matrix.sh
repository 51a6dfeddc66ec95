#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# matrix.sh [RESULTS...]: takes the results that runs of check.sh left (build/*/results and, from
# fresh.sh, build/fresh/*.results, or those named) into Documentation/kernels.results, and writes the
# table of kernels in README.rst from that, between two marks. With /dev/null for RESULTS it only
# writes the table anew.
#
# matrix.sh --check     fails if the table is not what Documentation/kernels.results gives
#
# A line of either is "DATE RELEASE WHAT PASSED FAILED EXTENT". WHAT is built, kunit or
# scenarios. EXTENT is whole for all that can run on that kernel, else part. Lines of one run
# for the same WHAT and kernel are added up, because several guests share a run.
#
# The later of two runs counts, and of one day that in the later file, but a part without a failure
# does not take the place of the whole.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

STORE=$TOP/Documentation/kernels.results
README=${README:-$TOP/README.rst}
BEGIN='.. The table is written by scripts/matrix.sh.'
END='.. End of the table.'

# added_up FILE...: a line for each run, kernel and thing, with the number of the file
added_up() {
	awk '
		FNR == 1 { files++ }
		NF != 6 || $1 !~ /^[0-9-]+$/ || $4 $5 !~ /^[0-9]+$/ {
			print FILENAME ": this is no line of results: " $0 > "/dev/stderr"
			wrong = 1
			exit 1
		}
		{
			key = FILENAME " " $2 " " $3
			date[key] = $1
			number[key] = files
			passed[key] += $4
			failed[key] += $5
			extent[key] = ($3 != "built" && extent[key] == "part" ? "part" : $6)
		}
		END {
			if (wrong)
				exit 1
			for (key in date) {
				n = split(key, part, " ")
				print date[key], part[n - 1], part[n], passed[key], failed[key], extent[key], number[key]
			}
		}' "$@"
}

# chosen: of the runs on stdin, those that count
chosen() {
	LC_ALL=C sort -k 1,1 -k 6,6 -k 7,7n | awk '
		{ key = $2 " " $3 }
		key in line && $6 == "part" && $5 == 0 && whole[key] { next }
		{ NF = 6; line[key] = $0; whole[key] = ($6 == "whole") }
		END { for (key in line) print line[key] }' | LC_ALL=C sort -k 2,2V -k 3,3
}

# table: from the lines that count
table() {
	awk '
		# processor RELEASE: empty for amd64, else ", NAME"
		function processor(release) {
			if (!match(release, /-(arm64|riscv64|powerpc64le|s390x)$/))
				return ""
			release = substr(release, RSTART + 1)
			return ", " (release == "powerpc64le" ? "ppc64el" : release)
		}
		function series(release,	part) {
			split(release, part, ".")
			if (release ~ /debug/)
				return part[1] "." part[2] ", the debug kernel"
			if (match(release, /\+deb[0-9]+/))
				return part[1] "." part[2] ", Debian " \
					substr(release, RSTART + 4, RLENGTH - 4) processor(release)
			if (release ~ /^6\.1\.0-/)
				return part[1] "." part[2] ", Debian 12" processor(release)
			return release
		}
		function score(passed, failed, extent) {
			return passed " of " passed + failed (extent == "part" ? ", a part" : "")
		}
		function rule() {
			print "========================  ============================  ============  ==================  =========="
		}
		function row(a, b, c, d, e) {
			printf "%-24s  %-28s  %-12s  %-18s  %s\n", a, b, c, d, e
		}
		{
			name = series($2)
			if (!(name in last))
				order[++n] = name
			if ($1 > last[name])
				last[name] = $1
		}
		$3 == "built" {
			releases[name]++
			builds[name] += ($5 == 0)
			short = $2
			sub(/(-(cloud|rt))?-(amd64|arm64|riscv64|powerpc64le|s390x)$/, "", short)
			if (!(name in first))
				first[name] = short
			latest[name] = short
		}
		$3 == "kunit" { kunit[name] = score($4, $5, "whole") }
		$3 == "scenarios" { scenarios[name] = score($4, $5, $6) }
		END {
			rule()
			row("kernel", "built", "unit tests", "scenarios", "date")
			rule()
			for (i = 1; i <= n; i++) {
				name = order[i]
				text = "-"
				if (name in builds) {
					text = builds[name] " of " releases[name] ": " first[name]
					if (first[name] != latest[name])
						text = builds[name] " of " releases[name] ", to " latest[name]
				}
				row(name, text, name in kunit ? kunit[name] : "-",
				    name in scenarios ? scenarios[name] : "-", last[name])
			}
			rule()
		}'
}

# with_table TEXT: prints README with that table
with_table() {
	TEXT=$1 awk -v begin="$BEGIN" -v end="$END" '
		$0 == end { inside = 0 }
		!inside { print }
		$0 == begin { inside = 1; print "\n" ENVIRON["TEXT"] "\n" }' "$README"
}

if [ "$(grep -cxF -e "$BEGIN" -e "$END" "$README")" != 2 ]; then
	die "$README must have the lines \"$BEGIN\" and \"$END\" once each: the table goes between"
fi
if [ "${1:-}" = --check ]; then
	with_table "$(chosen < "$STORE" | table)" | diff "$README" - ||
		die "${README##*/} has another table than ${STORE##*/} gives: scripts/matrix.sh /dev/null"
	exit
fi
files=("$@")
if [ $# = 0 ]; then
	mapfile -t files < <(find "$BUILD" -mindepth 2 -maxdepth 2 -name '*results' \
		-printf '%T@ %p\n' | sort -n | cut -d ' ' -f 2-)
	[ "${#files[@]}" -gt 0 ] ||
		die "no results in build/*/results: make check leaves them, or make kernels"
fi
[ ! -e "$STORE" ] || files=("$STORE" "${files[@]}")
lines=$(added_up "${files[@]}" | chosen)
text=$(table <<< "$lines")
with_table "$text" > "$README.new"
mv "$README.new" "$README"
echo "$lines" > "$STORE"
echo "$text"
