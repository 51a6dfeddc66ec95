#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# check.sh             every test: the engine's in user space, the same in a
#                      kernel, the scenarios between two hosts in a guest
# check.sh e2e [NAME...]  only the scenarios, or only those named
# check.sh debug [NAME...]  KUnit and scenarios on the debug kernel (vm/kernel.sh),
#                      where a report of its checks is a failure too
#
# The last line is "N passed, N failed". What could not be built or run, a test
# program that ended badly, a missing plan and a dead guest count as failures.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

OUT=$BUILD/check
kernel=()	# what vm/run.sh is told of it
passed=0 failed=0
summary=()

# What debug leaves out unless named: perftest with polling takes both processors
# from the driver and does not end in time there. Those with events stay. That
# kernel has no IPsec.
SLOW_THERE='ipsec_transport send_bw_* write_bw_* read_bw_poll write_lat_sizes perf_post_list'

# note NAME PASSED FAILED [WHY]: one line of the summary, added to the total
note() {
	passed=$((passed + $2))
	failed=$((failed + $3))
	summary+=("$(printf '%-34s %4d passed, %d failed%s' "$1" "$2" "$3" "${4:+: $4}")")
}

# attempt NAME COMMAND...: a step that has no tests of its own
attempt() {
	local name=$1
	shift
	("$@") || { # its own shell, for die ends it
		note "$name" 0 1 "could not"
		return 1
	}
}

# count NAME FILE STATUS [AWK-OPTION...]: the results in FILE; STATUS is how the
# program that wrote it ended, or empty if nobody saw it end.
count() {
	local name=$1 file=$2 status=$3 good bad why=''
	shift 3
	[ -e "$file" ] || : > "$file"
	read -r good bad < <(awk "$@" -f "$TOP/scripts/tap.awk" "$file")
	if [ -z "$status" ]; then
		bad=$((bad + 1))
		why="it did not reach its end"
	elif [ "$status" != 0 ] && [ "$bad" = 0 ]; then
		bad=1
		why="ended with status $status"
	fi
	note "$name" "$good" "$bad" "$why"
}

unit_tests() {
	local status=0
	step "the engine's tests in user space, with sanitizers"
	make -s -C "$TOP/kunit/user" check 2>&1 | tee "$OUT/unit.tap" || status=$?
	count "unit tests in user space" "$OUT/unit.tap" $status
}

fuzzing() {
	local status=0
	"$TOP/scripts/fuzz.sh" "${FUZZ_SECONDS:-30}" | tee "$OUT/fuzz.tap" || status=$?
	count "fuzzing the engine" "$OUT/fuzz.tap" $status
}

build_kernel() {
	"$TOP/scripts/vm/kernel.sh" > "$OUT/kernel"
}

# From here on all is for that kernel: modules, guest, time-outs.
choose_debug_kernel() {
	GUEST_PACK=$(cat "$OUT/kernel")
	export GUEST_PACK E2E_SLOW=${E2E_SLOW:-5}
	VM_SECONDS=${VM_SECONDS:-10800}
	kernel=(-K "$GUEST_PACK/bzImage" -M "$GUEST_PACK"
		-a "kasan_multi_shot log_buf_len=16M")
}

# All scenarios but those that are too slow for the debug kernel
debug_scenarios() {
	local name pattern
	while read -r name _; do
		for pattern in $SLOW_THERE; do
			# shellcheck disable=SC2053
			[[ $name != $pattern ]] || continue 2
		done
		echo "$name"
	done < <("$TOP/scripts/e2e/guest.sh" -l)
}

build_kunit() {
	"$TOP/scripts/kunit/build.sh" > "$OUT/kunit.modules"
}

build_module() {
	"$TOP/scripts/module.sh" > "$OUT/module"
}

build_peers() {
	"$TOP/scripts/peer/siw.sh" > "$OUT/siw" &&
		"$TOP/scripts/peer/siw.sh" crc > "$OUT/siw-crc"
}

build_programs() {
	step "building the programs of the scenarios"
	run_logged "$OUT/programs.log" make -C "$TOP/scripts/e2e" OUT="$BUILD/e2e"
}

# read_status NAME: how that part of the guest's run ended, empty if it did not
read_status() {
	cat "$OUT/$1.status" 2> /dev/null || true
}

run_guest() {
	local status=0 settings=("RDMA_TYPE=${RDMA_TYPE:-mpa}" "MODULE=$(cat "$OUT/module")")
	VM_SECONDS=${VM_SECONDS:-1800}
	settings+=("E2E_SLOW=${E2E_SLOW:-1}" "DEBUG_KERNEL=${GUEST_PACK:+1}")
	if [ -s "$OUT/kunit.modules" ]; then
		settings+=("KUNIT_MODULES=$(paste -sd ' ' "$OUT/kunit.modules")")
	fi
	step "starting a virtual machine for the rest: Linux $(guest_release)"
	"$TOP/scripts/vm/run.sh" -c 2 -m 3G "${kernel[@]}" -t "$VM_SECONDS" -o "$OUT" -- \
		env "${settings[@]}" scripts/check-guest.sh "$@" || status=$?
	if [ -s "$OUT/kunit.modules" ]; then
		count "the same in the kernel (KUnit)" "$OUT/kunit.tap" \
			"$(read_status kunit)" -v ktap=1
	fi
	count "end-to-end scenarios" "$OUT/e2e.tap" "$(read_status e2e)"
	if [ -n "${GUEST_PACK:-}" ]; then
		count "the kernel's own checks" "$OUT/reports.tap" "$(read_status reports)"
	fi
	case $status in
	0 | 1) ;;
	124) note "virtual machine" 0 1 "stopped after $VM_SECONDS s" ;;
	*) note "virtual machine" 0 1 "died (status $status)" ;;
	esac
}

# Is each requirement of the ledger shown by tests that ran and passed just now?
check_requirements() {
	local status=0
	step "the table of requirements"
	"$TOP/scripts/requirements.sh" "$OUT"/*.tap > "$OUT/requirements" || status=$?
	cat "$OUT/requirements"
	count "the table of requirements" "$OUT/requirements" $status
}

# The summary and the total
finish() {
	echo
	printf '%s\n' "${summary[@]}"
	echo
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
}

what=${1:-all}
[ $# = 0 ] || shift
[ "$what" != debug ] || OUT=$BUILD/debug-check
rm -rf "$OUT"
mkdir -p "$OUT"
"$TOP/scripts/deps.sh" "$([ "$what" = debug ] && echo debug || echo check)"
case $what in
all)
	unit_tests
	fuzzing
	attempt "building the KUnit module" build_kunit || rm -f "$OUT/kunit.modules"
	;;
e2e) ;;
debug)
	attempt "building the debug kernel" build_kernel || { finish || exit; }
	choose_debug_kernel
	attempt "building the KUnit module" build_kunit || rm -f "$OUT/kunit.modules"
	if [ $# = 0 ]; then
		mapfile -t names < <(debug_scenarios)
		set -- "${names[@]}"
	fi
	set -- "$@" unload	# or kmemleak would look at a module in use
	;;
*) die "usage: check.sh [e2e|debug [NAME...]]" ;;
esac
if attempt "building the module" build_module &&
	attempt "building siw, the peer" build_peers &&
	attempt "building the test programs" build_programs; then
	run_guest "$@"
fi
[ "$what" != all ] || check_requirements
finish
