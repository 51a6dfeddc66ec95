#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# check.sh             every test: the engine's in user space, the same in a kernel,
#                      the scenarios between two hosts in a guest; then the suites
#                      and the scenarios on the debug kernel (vm/kernel.sh), where a
#                      report of its checks is a failure too; and some of the
#                      scenarios on a newer kernel (vm/package.sh)
# check.sh e2e [NAME...]    only the scenarios on the stock kernel, or those named
# check.sh debug [NAME...]  only what is on the debug kernel, or those named and KUnit
# check.sh newer [NAME...]  all that can run on the newer kernel, or those named
#
# Guests run side by side where there is memory, and the debug kernel is built behind all
# that comes before it: unit tests and a guest leave half of two processors idle.
#
# The last line is "N passed, N failed". What could not be built or run, a test
# program that ended badly, a missing plan and a dead guest count as failures.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

OUT=$BUILD/check
passed=0 failed=0
summary=()
guests=() # the folders of those that were started
debugging='' # the chosen kernel is the one with checks of its own
kernel_pid=''
folder='' # where other_folder() is, for it to be removed

# Left out on the stock kernel unless named: what, and why.
LEFT_OUT_STOCK=(
	'container_*:podman is 90 MB; make container-check has it'
	'failslab_*:that kernel cannot make allocations fail'
	'lock_classes:that kernel has no lockdep'
	'pair_build:it compiles for minutes under emulation; make e2e E2E=pair_build has it'
)
# On the debug kernel beside the stock one: 25 minutes of processor time.
LEFT_OUT_DEBUG=(
	'seg_[!l]*:what tshark and TCP show does not depend on the kernel; make debug-check has it'
	'wire_*:what tshark shows does not depend on the kernel; make debug-check has it'
	'siw_crc_[ot][uh]*:siw with other settings; make debug-check has it'
	'pair_*:scripts for the user, which the stock kernel shows; make debug-check has it'
)

# What cannot run on the debug kernel:
CANNOT_DEBUG=(
	'container_*:that kernel has no seccomp, which podman wants'
	'pair_build:that kernel is none whose headers are installed'
	'netdev_bond:that kernel has no bonding'
	'tcp_sockmap:that kernel has no BPF'
	'callers_sockets:that kernel has no BPF'
	'callers_memory:that kernel has no memory cgroups'
	'limits_memory_*:that kernel has no memory cgroups'
	'limits_stock_offline:that kernel cannot take a processor away'
)

# The newer kernel (6.12, 7.2, 7.3): what cannot run there,
NEWER=${NEWER:-6.12}
LEFT_OUT_NEWER=(
	'container_*:podman is 90 MB'
	'pair_build:that kernel is none whose headers are installed'
	'failslab_*:that kernel cannot make allocations fail'
	'lock_classes:that kernel has no lockdep'
	'siw_*:siw, the peer, is built from the source of 6.1'
)
# and what of the rest make check runs: what goes through include/compat, and each
# part of the driver once, in 6 minutes.
ON_NEWER=(
	link_add_delete link_name names_exclusive counters_exclusive
	settings statistics statistics_elsewhere rping_ipv4 rping_ipv6 rping_mtu_change
	rping_loopback
	send_bw_poll small_stream bulk_turns rstream_sizes nfs_rdma
	cm_depths cm_reject cm_burst cm_pending cm_disconnects killed_rping link_deleted_busy
	watched_crc watched_plain watched_markers watched_markers_plain
	data_sizes_send data_sizes_write data_sizes_read data_gather data_reads_wrap
	queue_late_arming queue_srq queue_srq_last queue_cq_overflow queue_drain
	error_write_past_end
	seg_steady seg_odd seg_markers seg_path_mtu seg_loss seg_cards cards_data
	tcp_gives_up tcp_gives_up_small tcp_sockmap cm_outage unload
	owner_stranger_* owner_numbers ports_taken twins_one_mac limits_memory_*
	limits_stock_* stags_* srq_pd kernel_queue_gone kernel_blocks kernel_invalidate
	fair_never_answers keepalive_setting callers_* startups_reserved startups_killed
)

# note NAME PASSED FAILED [WHY]: one line of the summary, added to the total
note() {
	passed=$((passed + $2))
	failed=$((failed + $3))
	summary+=("$(printf '%-41s %4d passed, %d failed%s' "$1" "$2" "$3" "${4:+: $4}")")
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

# heads NAME: what failed, and the first that is said of each
heads() {
	awk -v name="$1" '
		/^# FAILED: / { print name ": " substr($0, 11); left = 12; next }
		left-- > 0 { print "    " $0 }' | cut -c1-150
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

# The module builds for kernels that nobody has installed here.
other_kernels() {
	local status=0
	step "the module, for the oldest and the newest kernel of each series"
	"$TOP/scripts/kernels.sh" ends | tee "$OUT/kernels.tap" || status=$?
	count "building for other kernels" "$OUT/kernels.tap" $status
}

# A tree in any folder is as good: in one with a blank in its name, which is gone about by a
# copy below /tmp, where a guest has files of its own. A disk's image on its overlay would
# have no room.
other_folder() {
	local dir="$OUT/with a blank/rdma_mpa" status=0
	step "one scenario in a folder with a blank in its name, and below /tmp"
	mkdir -p "$dir"
	tar -C "$TOP" --exclude=./build --exclude=./.git -cf - . | tar -C "$dir" -xf -
	folder=$(mktemp -d /tmp/rdma_mpa.XXXXXX)
	TMPDIR=$folder make -C "$dir" e2e E2E=nvme_rdma > "$OUT/folder.tap" || status=$?
	rm -rf "$folder"
	grep -E '^(not )?ok ' "$OUT/folder.tap" || true
	count "in another folder" "$OUT/folder.tap" $status
}

# start_kernel NICE: the debug kernel, in the background
start_kernel() {
	nice -n "$1" "$TOP/scripts/vm/kernel.sh" > "$OUT/kernel" &
	kernel_pid=$!
}

# From here on all is for the debug kernel.
choose_debug_kernel() {
	GUEST_PACK=$(cat "$OUT/kernel")
	export GUEST_PACK
	debugging=yes
}

# scenarios_for KERNEL RULE...: what is left out is said.
scenarios_for() {
	local kernel=$1 name _ rule
	shift
	while read -r name _; do
		for rule in "$@"; do
			# shellcheck disable=SC2053
			[[ $name == ${rule%%:*} ]] || continue
			step "left out on the $kernel kernel: $name (${rule#*:})"
			continue 2
		done
		echo "$name"
	done < <("$TOP/scripts/e2e/guest.sh" -l)
}

# A name, or pattern, that means no scenario is a mistake, in our lists too.
must_mean_something() {
	local pattern name names
	mapfile -t names < <("$TOP/scripts/e2e/guest.sh" -l | awk '{ print $1 }')
	for pattern in "$@"; do
		for name in "${names[@]}"; do
			# shellcheck disable=SC2053
			[[ $name != $pattern ]] || continue 2
		done
		die "no such scenario: $pattern"
	done
}

# build_for DIR: what the scenarios need on the chosen kernel
build_for() {
	mkdir -p "$1"
	attempt "building the module" build_module "$1" &&
		attempt "building siw, the peer" build_peers &&
		attempt "building the test programs" build_programs &&
		attempt "building the kernel's consumers" build_consumers
}

# build_kunit DIR: the guest of DIR is to run the suites too.
build_kunit() {
	mkdir -p "$1"
	attempt "building the KUnit module" build_suites "$1" || rm -f "$1/kunit.modules"
}

build_suites() {
	"$TOP/scripts/kunit/build.sh" > "$1/kunit.modules"
}

build_module() {
	"$TOP/scripts/module.sh" > "$1/module"
}

build_peers() {
	"$TOP/scripts/peer/siw.sh" peer > /dev/null
}

build_consumers() {
	"$TOP/scripts/e2e/kmod/build.sh" > /dev/null
}

build_programs() {
	step "building the programs of the scenarios"
	run_logged "$OUT/programs.log" make -C "$TOP/scripts/e2e" OUT="$BUILD/e2e"
}

# How many guests may run at once: each has two processors, of which it uses little
# more than one, and 3 GB.
at_once() {
	awk -v most="$(nproc)" '$1 == "MemAvailable:" {
		n = int($2 / 3300000)
		if (n > most)
			n = most
		print n < 1 ? 1 : n
	}' /proc/meminfo
}

# start_guest DIR LABEL NAME...: a guest with the chosen kernel, in the background,
# once there is room. Its output comes behind the label; all results go to DIR. The
# debug kernel is told what is in DIR/append, too.
start_guest() {
	local dir=$1 label=$2 slow=1 processors=2 options=() settings=()
	shift 2
	while [ "$(jobs -rp | wc -l)" -ge "$room" ]; do
		wait -n || true # how they ended is in a file
	done
	[ "$room" = 1 ] || [ -z "$label" ] || slow=2
	if [ -n "${GUEST_PACK:-}" ]; then
		options=(-K "$GUEST_PACK/bzImage" -M "$GUEST_PACK")
	fi
	if [ -n "$debugging" ]; then
		slow=5
		[ "$what" != all ] || processors=1
		options+=(-a "kasan_multi_shot log_buf_len=16M $(cat "$dir/append")")
		settings=(DEBUG_KERNEL=1)
	fi
	if [ -s "$dir/kunit.modules" ]; then
		settings+=("KUNIT_MODULES=$(paste -sd ' ' "$dir/kunit.modules")")
	fi
	settings+=("RDMA_TYPE=${RDMA_TYPE:-mpa}" "MODULE=$(cat "$dir/module")"
		"E2E_SLOW=${E2E_SLOW:-$slow}")
	step "starting a virtual machine${label:+, \"${label% | }\"}: Linux $(guest_release)"
	guests+=("$dir")
	boot "$dir" "$label" -c "$processors" -m 3G -n "${options[@]}" -t "$VM_SECONDS" -o "$dir" -- \
		env "${settings[@]}" scripts/check-guest.sh "$@" &
}

# boot DIR LABEL OPTION...: vm/run.sh; its process and its status are left in DIR.
boot() {
	local dir=$1 label=$2
	shift 2
	{
		"$TOP/scripts/vm/run.sh" "$@" &
		echo $! > "$dir/vm.pid"
		status=0
		wait $! || status=$?
		echo "$status" > "$dir/vm.status"
		rm -f "$dir/vm.pid"
	} 2>&1 | sed -u "s/^/$label/"
}

# read_status DIR NAME: how that part of the guest's run ended, empty if it did not
read_status() {
	cat "$1/$2.status" 2> /dev/null || true
}

# count_guest DIR: what it left there, once it has ended
count_guest() {
	local dir=$1 status where=''
	case ${dir##*/} in
	debug-* | newer) where=", ${dir##*/}" ;;
	esac
	if [ -s "$dir/kunit.modules" ]; then
		count "the same in the kernel (KUnit)$where" "$dir/kunit.tap" \
			"$(read_status "$dir" kunit)" -v ktap=1
	fi
	count "end-to-end scenarios$where" "$dir/e2e.tap" "$(read_status "$dir" e2e)"
	if [ -e "$dir/append" ]; then
		count "the kernel's own checks$where" "$dir/reports.tap" \
			"$(read_status "$dir" reports)"
	fi
	status=$(read_status "$dir" vm)
	case $status in
	0 | 1) ;;
	124) note "virtual machine$where" 0 1 "stopped after $VM_SECONDS s" ;;
	*) note "virtual machine$where" 0 1 "died (status $status)" ;;
	esac
}

count_guests() {
	local dir
	wait
	for dir in "${guests[@]}"; do
		count_guest "$dir"
	done
}

# on_stock LABEL [NAME...]: the stock kernel, all of it or the scenarios named. Its
# results lie in OUT itself.
on_stock() {
	local label=$1 names
	shift
	names=("$@")
	build_for "$OUT" || return 0
	[ $# -gt 0 ] || mapfile -t names < <(scenarios_for stock "${LEFT_OUT_STOCK[@]}")
	start_guest "$OUT" "$label" "${names[@]}"
}

# on_newer LABEL NAME...: a kernel that is newer than the one all else runs on
on_newer() {
	local label=$1 dir=$OUT/newer
	shift
	mkdir -p "$dir"
	if ! GUEST_PACK=$("$TOP/scripts/vm/package.sh" "$NEWER"); then
		note "Linux $NEWER" 0 1 "could not get it"
		return
	fi
	export GUEST_PACK
	if attempt "building the module for $NEWER" build_module "$dir" &&
		attempt "building the test programs" build_programs &&
		attempt "building the kernel's consumers" build_consumers; then
		start_guest "$dir" "$label" "$@"
	fi
	unset GUEST_PACK
}

# share PLACES NAME...: of each seven names those at these places, as in "156"
share() {
	local places=$1 number=0 name
	shift
	for name in "$@"; do
		number=$((number % 7 + 1))
		[[ $places != *$number* ]] || echo "$name"
	done
}

# The debug kernel: two guests share the list. In each the module goes at the end, or
# kmemleak would look at one in use. kmemleak takes a quarter of the time: beside all
# else the second guest does without, and gets four of seven names. One processor each
# there: what they lock costs twice as much with two, which make debug-check has.
on_debug() {
	local names=("$@") part one=$OUT/debug-1 two=$OUT/debug-2
	wait "$kernel_pid" || true
	kernel_pid=''
	if [ ! -s "$OUT/kernel" ]; then
		note "building the debug kernel" 0 1 "could not"
		return
	fi
	choose_debug_kernel
	mkdir -p "$one" "$two"
	: > "$one/append"
	: > "$two/append"
	build_kunit "$one"
	build_for "$one" || return 0
	if [ $# -gt 0 ]; then
		start_guest "$one" "debug | " "$@" unload
		return
	fi
	[ "$what" = all ] || LEFT_OUT_DEBUG=()
	[ -z "${KCSAN:-}" ] || CANNOT_DEBUG+=('failslab_*:the kernel with KCSAN makes no allocation fail')
	mapfile -t names < <(scenarios_for debug "${LEFT_OUT_DEBUG[@]}" "${CANNOT_DEBUG[@]}")
	mapfile -t part < <(share 156 "${names[@]}")
	start_guest "$one" "debug 1 | " "${part[@]}" unload
	cp "$one/module" "$two"
	if [ "$what" = all ]; then
		step "half of the scenarios without kmemleak (make debug-check: all with it)"
		echo kmemleak=off > "$two/append"
	fi
	mapfile -t part < <(share 2347 "${names[@]}")
	start_guest "$two" "debug 2 | " "${part[@]}" unload
}

# shellcheck disable=SC2317 # called by the EXIT trap
clean_up() {
	local file
	# Once it has ended its number may be another's.
	[ -z "$folder" ] || rm -rf "$folder"
	! jobs -rp | grep -qx "${kernel_pid:-none}" || kill "$kernel_pid" || true
	for file in "$OUT"/vm.pid "$OUT"/{debug-*,newer}/vm.pid; do
		[ ! -e "$file" ] || kill "$(cat "$file")" 2> /dev/null || true
	done
}

# Is each requirement of the ledger shown by tests that ran and passed just now? On
# either kernel: some scenarios run on one only.
check_requirements() {
	local status=0 files
	step "the table of requirements"
	mapfile -t files < <(find "$OUT" -maxdepth 2 -name '*.tap' | sort)
	"$TOP/scripts/requirements.sh" "${files[@]}" > "$OUT/requirements" || status=$?
	cat "$OUT/requirements"
	count "the table of requirements" "$OUT/requirements" $status
}

# The summary, the total, and between them what failed: some see no more of a long log
# than its last lines.
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

what=${1:-all}
[ $# = 0 ] || shift
group=debug
case $what in
all) ;;
e2e) group=check ;;
debug) OUT=$BUILD/debug-check ;;
newer) group=check OUT=$BUILD/newer-check ;;
*) die "usage: check.sh [e2e|debug|newer [NAME...]]" ;;
esac
VM_SECONDS=${VM_SECONDS:-4500}
room=$(at_once)
must_mean_something "${ON_NEWER[@]}" "$@"
rm -rf "$OUT"
mkdir -p "$OUT"
"$TOP/scripts/deps.sh" $group
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
case $what in
all)
	start_kernel 19 # behind all else
	unit_tests
	fuzzing
	other_kernels
	other_folder
	build_kunit "$OUT"
	on_stock "stock | "
	on_newer "newer | " "${ON_NEWER[@]}"
	on_debug
	;;
e2e)
	on_stock "" "$@"
	;;
debug)
	start_kernel 0
	on_debug "$@"
	;;
newer)
	names=("$@")
	[ $# -gt 0 ] || mapfile -t names < <(scenarios_for newer "${LEFT_OUT_NEWER[@]}")
	on_newer "" "${names[@]}"
	;;
esac
count_guests
[ "$what" != all ] || check_requirements
finish
