#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# run.sh [-w] [SUITE...]: runs other people's programs over our device and over siw, in a
# guest for each, and prints a table. -w writes it into Documentation/suites.rst, between
# two marks; numbers that build/suites/results does not have stay there.
#
# The suites are those of cases.sh; all, if none is named. WHO (mpa siw) names the devices. CASES
# ("nvme_012 srp_*"), if it is set, has patterns, and only the cases that match one of them run: the
# scenarios of cases.sh without suite_SUITE_. Their lines are in build/suites/results.some, because
# they are no result of the suite, and -w is refused.
# build/suites/results has a line for each case, "SUITE DEVICE VERDICT CASE", of the last
# run of that suite on that device. What a case said is in build/suites/DEVICE.
#
# Fails if a case of ours did whose name is not in Documentation/suites.rst, which gives the
# reasons, or if a suite could not run. Debian has no package of blktests: BLKTESTS is the folder of
# a copy of its source, without which that suite is left out.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

OUT=$BUILD/suites
RESULTS=$OUT/results${CASES:+.some}
DOC=$TOP/Documentation/suites.rst
WHO=${WHO:-mpa siw}
BEGIN='.. The table is written by scripts/suites/run.sh.'
END='.. End of the table.'
export E2E_MORE=$TOP/scripts/suites/cases.sh
chosen=() missing=''

# "SUITE PACKAGE FILE": FILE (a pattern) is there if the package is
suites() {
	cat <<- END
		pyverbs		python3-pyverbs		/usr/lib/python3/dist-packages/pyverbs/device.*
		rdmacm		rdmacm-utils		/usr/bin/rcopy
		perftest	perftest		/usr/bin/ib_send_bw
		qperf		qperf			/usr/bin/qperf
		fio		fio			/usr/bin/fio
		libfabric	libfabric-bin		/usr/bin/fi_pingpong
		openmpi		libopenmpi-dev		/usr/bin/mpicc
		ucx		ucx-utils		/usr/bin/ucx_perftest
		blktests	-			$OUT/blktests/check
	END
}

# change_blktests FILE SED-SCRIPT: changes the copy's file, which must not name siw afterwards
# except in messages
change_blktests() {
	sed -i "$2" "$OUT/blktests/$1"
	! grep -E '(modprobe|_have_[a-z]+|_unload_module|type=) ?siw' "$OUT/blktests/$1" ||
		die "blktests: $1 is not what it was"
}

# copy_blktests: the user's copy of blktests, where the names of siw's module and of its type of
# device are MODULE_NAME and RDMA_TYPE instead. srp looks for a file of the module in the kernel's
# folder, where ours is not; it is content with a module that can be loaded. It looks for the
# others with find, thirteen times, which takes two minutes in the guest; modinfo knows as well.
copy_blktests() {
	local dir=$OUT/blktests
	rm -rf "$dir"
	[ -n "${BLKTESTS:-}" ] || return 0
	[ -x "$BLKTESTS/check" ] || die "no copy of blktests in $BLKTESTS"
	mkdir -p "$dir"
	cp -r "$BLKTESTS"/{check,common,src,tests} "$dir"
	# shellcheck disable=SC2016 # blktests fills it in
	{
		change_blktests common/multipath-over-rdma \
			's/\(modprobe\|_unload_module\) siw/\1 "$MODULE_NAME"/; s/type=siw/type=$RDMA_TYPE/'
		change_blktests tests/nvme/rc 's/_have_driver siw/_have_driver "$MODULE_NAME"/'
		change_blktests tests/srp/rc 's/_have_module siw/_have_driver "$MODULE_NAME"/'
		change_blktests common/rc '/^_module_file_exists()/,/^}/c\
_module_file_exists() { modinfo -n "$1" > /dev/null; } 2> /dev/null'
	}
	run_logged "$OUT/blktests.log" make -C "$dir/src" discontiguous-io
	cat > "$dir/config" <<- 'END'
		NVMET_TRTYPES=rdma
		NVMET_BLKDEV_TYPES=device
		NVME_NUM_ITER=5
		TIMEOUT=10
	END
}

# choose SUITE...: of these, or all, those that can run, to chosen. rdma-core has the tests of
# pyverbs beside its documentation, which small images leave out: then cases.sh has none.
choose() {
	local suite package file cases
	cases=$("$TOP/scripts/e2e/guest.sh" --tags)
	while read -r suite package file; do
		[ $# = 0 ] || [[ " $* " == *" $suite "* ]] || continue
		if compgen -G "$file" > /dev/null && grep -q "^suite_${suite}_" <<< "$cases"; then
			chosen+=("$suite")
		elif [ "$suite" = blktests ]; then
			step "blktests is not run: Debian has no package of it; with a copy of its" \
				"source: make suites BLKTESTS=FOLDER"
		else
			step "$suite is not run: apt-get install $package"
			missing=1
		fi
	done < <(suites)
}

# module_of WHO
module_of() {
	case $1 in
	siw) "$TOP/scripts/siw.sh" ;;
	*) "$TOP/scripts/module.sh" ;;
	esac
}

# run_guests WHO MODULE NAME...: a guest, and another one for the rest if it died
run_guests() {
	local who=$1 module=$2 names done_names
	shift 2
	names=("$@")
	while [ "${#names[@]}" -gt 0 ]; do
		RDMA_TYPE=$who MODULE=$module "$TOP/scripts/e2e/run.sh" -t 5400 -o "$OUT/$who" \
			"${names[@]}" | tee "$OUT/$who/tap" | grep --line-buffered -E '^(not )?ok ' >&2 || true
		cat "$OUT/$who/tap" >> "$OUT/$who/taps"
		! grep -q '^1\.\.' "$OUT/$who/tap" || return 0
		done_names=$(grep -cE '^(not )?ok ' "$OUT/$who/tap" || true)
		step "$who: the guest died in ${names[$done_names]}"
		echo "not ok 0 - ${names[$done_names]}" >> "$OUT/$who/taps"
		names=("${names[@]:$((done_names + 1))}")
	done
}

# verdicts WHO: the lines of what has just run. A scenario of pyverbs or blktests has told of each
# of its tests, and counts itself if it failed and none of these did.
verdicts() {
	awk -v who="$1" '
		FILENAME ~ /cases$/ {
			told[$2] = told[$2] || $3 == "fail"
			print $1, who, $3, $4
			next
		}
		/^(not )?ok / {
			match($0, /suite_[^ ]*/)
			split(substr($0, RSTART + 6, RLENGTH - 6), part, "_")
			name = substr($0, RSTART + 7 + length(part[1]), RLENGTH - 7 - length(part[1]))
			if (part[1] !~ /^(pyverbs|blktests)$/ || ($1 == "not" && !told[name]))
				print part[1], who, $1 == "ok" ? "pass" : "fail", name
		}' "$OUT/$1/cases" "$OUT/$1/taps"
}

# keep WHO SUITE...: these lines take the place of those of earlier runs
keep() {
	local who=$1
	shift
	touch "$RESULTS"
	{
		awk -v who="$who" -v now=" $* " '
			$2 != who || !index(now, " " $1 " ")' "$RESULTS"
		verdicts "$who"
	} > "$RESULTS.new"
	mv "$RESULTS.new" "$RESULTS"
}

# match_cases: of the scenarios on stdin, those that CASES names
match_cases() {
	local name pattern patterns
	read -ra patterns <<< "${CASES:-*}"
	while read -r name; do
		for pattern in "${patterns[@]}"; do
			# shellcheck disable=SC2053 # a pattern
			[[ $name == suite_*([^_])_$pattern ]] && echo "$name" && break
		done
	done
}

run_suites() {		# WHO SUITE...
	local who=$1 names module pattern
	shift
	pattern="^suite_($(tr ' ' '|' <<< "$*"))_"
	mapfile -t names < <("$TOP/scripts/e2e/guest.sh" --tags | awk '{ print $1 }' |
		grep -E "$pattern" | match_cases)
	[ "${#names[@]}" -gt 0 ] || die "no case of $* matches $CASES"
	module=$(module_of "$who")
	step "$who: ${#names[@]} scenarios of $*"
	rm -rf "${OUT:?}/$who"
	mkdir -p "$OUT/$who"
	: > "$OUT/$who/cases"
	: > "$OUT/$who/taps"
	run_guests "$who" "$module" "${names[@]}"
	keep "$who" "$@"
}

rule() { echo '==========  ===================  ================  ================'; }

# count SUITE WHO: how many passed, failed, were skipped; nothing if there is no result
count() {
	awk -v suite="$1" -v who="$2" '
		$1 == suite && $2 == who { n[$3]++; any = 1 }
		END { if (any) print n["pass"] + 0 ", " n["fail"] + 0 ", " n["skip"] + 0 }
	' "$RESULTS"
}

# row SUITE PACKAGE FILE: FILE's row of the suite has what there is no result of
row() {
	local mpa siw version old=()
	IFS='|' read -ra old < <(sed -nE "/^$1  /s/  +/|/gp" "$3") || true
	mpa=$(count "$1" mpa)
	siw=$(count "$1" siw)
	version=$(dpkg-query -W -f '${Version}' "$2" 2> /dev/null || echo -)
	[ -n "$mpa$siw" ] || version=${old[1]:-}
	[ -z "$version" ] || printf '%-10s  %-19s  %-16s  %s\n' "$1" "$version" \
		"${mpa:-${old[2]:--}}" "${siw:-${old[3]:--}}"
}

# table FILE: passed, failed and skipped of each suite; what was not run is as in FILE
table() {
	local suite package file
	rule
	printf '%-10s  %-19s  %-16s  %s\n' suite package 'rdma_mpa' siw
	rule
	while read -r suite package file; do
		row "$suite" "$package" "$1"
	done < <(suites)
	rule
	echo
	echo "The last run was on $(date +%F), Linux $(guest_release). The numbers are cases passed," \
		"failed, skipped."
}

# write_table: into the document
write_table() {
	[ "$(grep -cxF -e "$BEGIN" -e "$END" "$DOC")" = 2 ] ||
		die "$DOC must have the lines \"$BEGIN\" and \"$END\" once each"
	TEXT=$(table "$DOC") awk -v begin="$BEGIN" -v end="$END" '
		$0 == end { inside = 0 }
		!inside { print }
		$0 == begin { inside = 1; print "\n" ENVIRON["TEXT"] "\n" }' "$DOC" > "$DOC.new"
	mv "$DOC.new" "$DOC"
}

# unexplained: failures of ours that the document does not name
unexplained() {
	local suite who verdict name
	while read -r suite who verdict name; do
		[ "$who $verdict" = "mpa fail" ] || continue
		grep -qF "\`\`$suite $name\`\`" "$DOC" || echo "$suite $name"
	done < "$RESULTS"
}

write=''
if [ "${1:-}" = -w ]; then
	write=1
	shift
	[ -z "${CASES:-}" ] || die "-w writes the numbers of whole suites, not of CASES"
fi
mkdir -p "$OUT"
rm -f "$OUT/results.some"
copy_blktests
choose "$@"
[ "${#chosen[@]}" -gt 0 ] || die "no suite to run"
[[ " ${chosen[*]} " != *' openmpi '* ]] ||
	mpicc -O2 -Wall -o "$OUT/mpi" "$TOP/scripts/suites/mpi.c"
for who in $WHO; do
	run_suites "$who" "${chosen[@]}"
done
table /dev/null
[ -z "$write" ] || write_table
grep ' fail ' "$RESULTS" | sed 's/^/failed: /' || true
new=$(unexplained)
[ -z "$new" ] || die "Documentation/suites.rst has no reason for:" "$new"
[ -z "$missing" ] || die "not every suite is installed: scripts/deps.sh suites"
