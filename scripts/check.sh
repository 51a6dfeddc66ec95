#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# check.sh             the engine's tests in user space, its fuzzers, lint, the engine's
#                      tests in a kernel, and the scenarios between two hosts that are not
#                      slow, in guests with the stock kernel; builds for other kernels whose
#                      headers are installed
# check.sh all         the same with slow scenarios, some of them by turns; the suites and
#                      parts of the scenarios on newer kernels (vm/package.sh), or, with
#                      each second commit, on the debug kernel (vm/kernel.sh), where a
#                      report of its checks is a failure too; builds for other kernels; a
#                      tree in another folder; the table of requirements
# check.sh e2e [NAME...]    only the scenarios on the stock kernel, or those named
# check.sh debug [NAME...]  only the debug kernel: KUnit, and all its scenarios or those named
# check.sh newer [NAME...]  all that can run on the newer kernel, or those named
# check.sh kernels [RELEASE...]  only builds for other kernels (kernels.sh)
# check.sh times DIR        prints e2e/times anew, from the results below DIR
#
# With KERNELS="6.1 6.12 7.3", or KERNELS=all, which means the same (on Debian 13: 6.12 and 7.3), the
# first two run everything that can run on each of these kernels.
#
# Guests run side by side if there is memory for them. The rest of the tests, and the build of
# the debug kernel, go on beside them, because a guest leaves processors idle.
#
# A run leaves the output of each part in build/check, build/check-all and so on, with a file
# named results, from which matrix.sh makes the table in README.
#
# The last line is "N passed, N failed". A part that could not be built or run, a test
# program that ended badly, a missing plan and a dead guest count as failures.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/check/choose.sh
. "$TOP/scripts/check/choose.sh"
# shellcheck source=scripts/check/report.sh
. "$TOP/scripts/check/report.sh"

OUT=$BUILD/check
passed=0 failed=0
summary=()
guests=() # the folders of the guests that were started
debugging='' # the chosen kernel is the one with checks of its own
kernel_pid='' watcher=''
hint='' # what to look at if the next results are bad, %s is the scenario
folder='' # the temporary folder of other_folder(), which clean_up() removes

lint() {
	local status=0
	step "style and static checks"
	"$TOP/scripts/lint.sh" > "$OUT/lint" 2>&1 || status=$?
	cat "$OUT/lint"
	awk '/^findings:/ { begun = 1; next }
		begun {
			number = $NF
			sub(/ +[0-9]+$/, "")
			print (number == 0 ? "ok " : "not ok ") ++n " - lint: " $0
		}
		END { print "1.." n }' "$OUT/lint" > "$OUT/lint.tap"
	hint="${OUT#"$TOP/"}/lint; again: make lint"
	count "lint" "$OUT/lint.tap" $status
}

unit_tests() {
	local status=0
	step "the engine's tests in user space, with sanitizers"
	make -s -C "$TOP/kunit/user" check 2>&1 | tee "$OUT/unit.tap" || status=$?
	hint="${OUT#"$TOP/"}/unit.tap; again: make unit"
	count "unit tests in user space" "$OUT/unit.tap" $status
}

fuzzing() {
	local status=0 seconds=30
	[ "$what" = all ] || seconds=10
	"$TOP/scripts/fuzz.sh" "${FUZZ_SECONDS:-$seconds}" | tee "$OUT/fuzz.tap" || status=$?
	hint="build/fuzz; again: make fuzz"
	count "fuzzing the engine" "$OUT/fuzz.tap" $status
}

# other_kernels [ends|RELEASE...]: builds the module for kernels that are not installed here
other_kernels() {
	local status=0
	step "the module, for other kernels${1:+: $*}"
	"$TOP/scripts/kernels.sh" "$@" | tee "$OUT/kernels.tap" || status=$?
	hint="${OUT#"$TOP/"}/kernels.tap; again: make kernels RELEASES=\"...\""
	record_builds "$OUT/kernels.tap"
	count "building for other kernels" "$OUT/kernels.tap" $status
}

# build_installed RELEASE: builds the module for a kernel whose headers are installed
build_installed() {
	local good=0 bad=1 why='it failed, or the compiler warned' dir=$OUT/built-$1 hint
	hint=${dir#"$TOP/"}/log
	mkdir -p "$dir"
	echo "$1" > "$dir/release"
	if GUEST_RELEASE=$1 "$TOP/scripts/module.sh" 2>&1 > /dev/null | tee "$dir/log" >&2 &&
		! grep -q 'warning:' "$dir/log"; then
		good=1 bad=0 why=''
	fi
	record built "$dir"
	note "building for $1" $good $bad "$why"
}

# Builds the module for the other kernels that this machine may run.
build_all_installed() {
	local dir release
	for dir in /lib/modules/*/build/; do
		release=$(basename "$(dirname "$dir")")
		[[ -e $dir/Makefile && $release != "$(guest_release)" ]] || continue
		! dpkg --compare-versions "${release%%[-+]*}" ge 6.1 || build_installed "$release"
	done
}

# Runs a scenario from a tree whose folder has a blank in its name. make then goes on in a copy
# below /tmp, where a guest has a file system of its own (stage2.sh). The scenario needs that,
# because its disk's image would have no room on the guest's overlay.
other_folder() {
	local dir="$OUT/with a blank/rdma_mpa" status=0
	step "one scenario in a folder with a blank in its name, and below /tmp"
	mkdir -p "$dir"
	tar -C "$TOP" --exclude=./build --exclude=./.git -cf - . | tar -C "$dir" -xf -
	folder=$(mktemp -d /tmp/rdma_mpa.XXXXXX)
	TMPDIR=$folder make -C "$dir" e2e E2E=nvme_rdma > "$OUT/folder.tap" || status=$?
	rm -rf "$folder"
	grep -E '^(not )?ok ' "$OUT/folder.tap" || true
	hint="${OUT#"$TOP/"}/folder.tap"
	count "in another folder" "$OUT/folder.tap" $status
}

# start_kernel NICE: builds the debug kernel in the background
start_kernel() {
	nice -n "$1" "$TOP/scripts/vm/kernel.sh" > "$OUT/kernel" &
	kernel_pid=$!
}

# From here on everything is built for the debug kernel and runs on it.
choose_debug_kernel() {
	GUEST_PACK=$(cat "$OUT/kernel")
	export GUEST_PACK
	debugging=yes
}

# build_for DIR: builds what the scenarios need on the chosen kernel
build_for() {
	mkdir -p "$1"
	attempt "building the module" build_module "$1" &&
		attempt "building siw, the peer" build_peers &&
		attempt "building the test programs" build_programs &&
		attempt "building the kernel's consumers" build_consumers
}

# build_kunit DIR: builds the KUnit suites, and the guest of DIR runs them too
build_kunit() {
	mkdir -p "$1"
	attempt "building the KUnit module" build_suites "$1" || rm -f "$1/kunit.modules"
}

build_suites() {
	"$TOP/scripts/kunit/build.sh" > "$1/kunit.modules"
}

build_module() {
	guest_release > "$1/release"
	"$TOP/scripts/module.sh" > "$1/module"
}

build_peers() {
	"$TOP/scripts/siw.sh" peer > /dev/null
}

build_consumers() {
	"$TOP/scripts/e2e/kmod/build.sh" > /dev/null
}

build_programs() {
	step "building the programs of the scenarios"
	run_logged "$OUT/programs.log" make -C "$TOP/scripts/e2e/programs" OUT="$BUILD/e2e"
}

# How many guests may run at once. Each has one or two processors, and uses little more than one, so
# there may be one for each processor here, if there is memory for it.
at_once() {
	awk -v most="$(nproc)" -v each="$memory" '$1 == "MemAvailable:" {
		n = int($2 / (each * 1024 + 300000))
		if (n > most)
			n = most
		print n < 1 ? 1 : n
	}' /proc/meminfo
}

# Waits until there is room for one more guest.
wait_for_room() {
	while [ "$(jobs -rp | grep -cvx "${watcher:-none}")" -ge "$room" ]; do
		wait -n || true # the guest's status is in a file
	done
}

# start_guest DIR: runs the scenarios in DIR/names in a guest with the chosen kernel, in the
# background, once there is room. Each line of its output begins with the folder's name, and all
# results go to DIR. DIR/append is added to the command line of the debug kernel. The guest has two
# processors, or those in DIR/processors.
start_guest() {
	local dir=$1 label='' slow=1 processors=2 options=() settings=() names
	[ "$planned" = 1 ] || label="${dir##*/} | "
	wait_for_room
	[ "$what" != all ] || leave_out_if_late "$dir"
	mapfile -t names < "$dir/names"
	if [ -z "$watcher" ]; then
		first_guest=$SECONDS
		watch &
		watcher=$!
	fi
	[ "$room" = 1 ] || [ -z "$label" ] || slow=2
	[ ! -e "$dir/processors" ] || processors=$(cat "$dir/processors")
	if [ -n "${GUEST_PACK:-}" ]; then
		options=(-K "$GUEST_PACK/bzImage" -M "$GUEST_PACK")
	fi
	if [ -n "$debugging" ]; then
		slow=5
		names+=(unload) # or kmemleak would look at a module in use
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
	boot "$dir" "$label" -c "$processors" -m "${memory}M" -n -s "${options[@]}" -t "$VM_SECONDS" -o "$dir" -- \
		env "${settings[@]}" scripts/check-guest.sh "${names[@]}" &
}

# boot DIR LABEL OPTION...: runs vm/run.sh, and leaves its process id and status in DIR
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

# read_status DIR NAME: the status of that part of the guest's run, empty if it did not end
read_status() {
	cat "$1/$2.status" 2> /dev/null || true
}

# again DIR: the command that runs scenarios again on the kernel of that guest
again() {
	case ${1##*/} in
	debug-*) echo "${KCSAN:+KCSAN=1 }make debug-check" ;;
	"$STOCK" | "$STOCK"-*) echo "make e2e" ;;
	*) echo "NEWER=$(cut -d - -f 1 <<< "${1##*/}") make newer-check" ;;
	esac
}

# count_guest DIR: counts the results that the guest has left there
count_guest() {
	local dir=$1 status where='' place
	[ "$planned" = 1 ] || where=", ${dir##*/}"
	place=${dir#"$TOP/"}
	if [ -s "$dir/kunit.modules" ]; then
		hint="$place/kunit.tap; again: make kunit"
		count "the same in the kernel (KUnit)$where" "$dir/kunit.tap" \
			"$(read_status "$dir" kunit)" -v ktap=1
		record kunit "$dir"
	fi
	hint="$place/%s; again: $(again "$dir") E2E=%s"
	count "end-to-end scenarios$where" "$dir/e2e.tap" "$(read_status "$dir" e2e)"
	record scenarios "$dir"
	hint=$place/console.log
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
	hint=''
}

# Waits for the guests, and counts the results of each.
count_guests() {
	local dir
	[ -z "$watcher" ] || while [ "$(jobs -rp | grep -cvx "$watcher")" -gt 0 ]; do
		wait -n || true
	done
	stop_watching
	for dir in "${guests[@]}"; do
		count_guest "$dir"
	done
}

# plan VERSION whole|most|quick|part [NAME...]: decides which scenarios run in which guests on that
# kernel: all, some slow ones less, none of these, or some. If they are many, several guests share
# them.
plan() {
	local version=$1 extent=$2 where=newer names dirs=("$OUT/$1") number
	shift 2
	[ "$version" != "$STOCK" ] || where=stock
	if [ $# -gt 0 ]; then
		extent=part
		mapfile -t names < <(chosen_for "$where" "$@")
		[ ${#names[@]} -gt 0 ] || die "nothing is left to run there"
	elif [ "$extent" = quick ]; then
		mapfile -t names < <(scenarios_for "$where" check)
	else
		mapfile -t names < <(scenarios_for "$where")
		case $extent in
		most) mapfile -t names < <(most_of "${names[@]}") ;;
		part) mapfile -t names < <(some_of "$version" "${names[@]}") ;;
		esac
	fi
	if [ "$extent" != part ] && [ "$room" -gt 1 ]; then
		dirs=()
		for number in $(seq "$room"); do
			dirs+=("$OUT/$version-$number")
		done
	fi
	printf '%s\n' "${names[@]}" | deal 1 "${dirs[@]}"
	# Emulation takes half as long again with two processors, because one spins while it waits
	# for the other, which does not run.
	[ "$extent" != quick ] || echo 1 | tee "${dirs[@]/%//processors}" > /dev/null
	[ "$extent" = whole ] || extent=part
	echo "$extent" | tee "${dirs[@]/%//extent}" > /dev/null
	planned=$((planned + ${#dirs[@]}))
}

# on_kernel VERSION [kunit]: starts the guests planned for it.
on_kernel() {
	local version=$1 dir dirs=() hint=''
	for dir in "$OUT/$1" "$OUT/$1"-*; do
		[ ! -d "$dir" ] || dirs+=("$dir")
	done
	if [ "$version" != "$STOCK" ]; then
		if ! GUEST_PACK=$("$TOP/scripts/vm/package.sh" "$version"); then
			note "Linux $version" 0 1 "its packages could not be fetched"
			unset GUEST_PACK
			return
		fi
		export GUEST_PACK
	fi
	[ "${2:-}" != kunit ] || build_kunit "${dirs[0]}"
	if build_for "${dirs[0]}"; then
		good=1 bad=0
		record built "${dirs[0]}"
		for dir in "${dirs[@]}"; do
			[ "$dir" = "${dirs[0]}" ] || cp "${dirs[0]}"/{module,release} "$dir"
			start_guest "$dir"
		done
	fi
	unset GUEST_PACK
}

# plan_debug [NAME...]: two guests share the list. kmemleak takes a quarter of the time, and
# in check.sh all the second guest runs without it.
plan_debug() {
	local names places=(debug) factor=1 one=$OUT/debug-1 two=$OUT/debug-2
	mkdir -p "$one"
	: > "$one/append"
	echo part > "$one/extent"
	planned=$((planned + 1))
	[ -z "${KCSAN:-}" ] || places+=(kcsan)
	if [ $# -gt 0 ]; then
		mapfile -t names < <(chosen_for "${places[*]}" "$@")
		[ ${#names[@]} -gt 0 ] || die "nothing is left to run there"
		printf '%s\n' "${names[@]}" | grep -vx unload > "$one/names" || true
		return
	fi
	mkdir -p "$two"
	cp "$one"/{append,extent} "$two"
	planned=$((planned + 1))
	if [ "$what" = all ]; then
		step "half of these without kmemleak (make debug-check: all with it)"
		echo kmemleak=off > "$two/append"
		echo 1 | tee "$one/processors" "$two/processors" > /dev/null
		places+=(beside) factor=1.3
	fi
	mapfile -t names < <(scenarios_for "${places[@]}")
	[ "$what" != all ] || mapfile -t names < <(few_of "${names[@]}")
	printf '%s\n' "${names[@]}" | deal "$factor" "$one" "$two"
}

# Runs the guests with the debug kernel. Each unloads the module at the end, because kmemleak
# must not look at a module in use. In check.sh all each guest has one processor, because
# locking costs twice as much with two; in make debug-check each has two.
on_debug() {
	local one=$OUT/debug-1 two=$OUT/debug-2
	wait "$kernel_pid" || true
	kernel_pid=''
	if [ ! -s "$OUT/kernel" ]; then
		note "building the debug kernel" 0 1 "the build failed"
		return
	fi
	choose_debug_kernel
	build_kunit "$one"
	build_for "$one" || return 0
	start_guest "$one"
	[ -d "$two" ] || return 0
	cp "$one"/{module,release} "$two"
	start_guest "$two"
}

# shellcheck disable=SC2317 # called by the EXIT trap
clean_up() {
	local file
	[ -z "$folder" ] || rm -rf "$folder"
	# Only a running job, because a process that has ended may have left its number to another.
	! jobs -rp | grep -qx "${kernel_pid:-none}" || kill "$kernel_pid" || true
	stop_watching
	for file in "$OUT"/*/vm.pid; do
		[ ! -e "$file" ] || kill "$(cat "$file")" 2> /dev/null || true
	done
}

# Checks that each requirement of the ledger is shown by tests that have just run and passed.
# The kernel does not matter, because some scenarios run on one kernel only.
check_requirements() {
	local status=0 files absent=''
	step "the table of requirements"
	mapfile -t files < <(find "$OUT" -maxdepth 2 -name '*.tap' | sort)
	[ -n "$with_debug" ] || absent=$(only_on_debug)
	ABSENT=$absent "$TOP/scripts/requirements.sh" "${files[@]}" > "$OUT/requirements" || status=$?
	cat "$OUT/requirements"
	count "the table of requirements" "$OUT/requirements" $status
}

what=${1:-check}
[ $# = 0 ] || shift
groups=(check) memory=2048 # MB for a guest
case $what in
check) groups+=(lint) ;;
all) OUT=$BUILD/check-all groups=(debug lint) memory=3072 ;;
e2e) OUT=$BUILD/e2e-check ;;
debug) OUT=$BUILD/debug-check groups=(debug) memory=3072 ;;
newer) OUT=$BUILD/newer-check ;;
kernels) OUT=$BUILD/kernels-check groups=(kernels) ;;
times)
	write_times "${1:?usage: check.sh times DIR}"
	exit
	;;
*) die "usage: check.sh [all] | e2e|debug|newer [NAME...] | kernels [RELEASE...] | times DIR" ;;
esac
VM_SECONDS=${VM_SECONDS:-4500}
room=$(at_once)
planned=0 first_guest=0
whole=$(kernels)
mkdir -p "$BUILD"
exec 8> "$OUT.lock"
flock -n 8 || die "another run has its results in ${OUT#"$TOP/"}: wait for its end"
# A service that a package starts must not keep the lock.
"$TOP/scripts/deps.sh" "${groups[@]}" 8>&-
# After deps.sh, because the peer's tests are listed by python3.
scenarios=$("$TOP/scripts/e2e/guest.sh" --tags)
[ "$what" = kernels ] || must_mean_something "$@"
rm -rf "$OUT"
mkdir -p "$OUT"
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
case $what in
check | all)
	part='' extent=whole with_debug=''
	case $what${KERNELS:+ chosen} in
	check) extent=quick ;;
	all)
		extent=most
		if is_turn_of_debug; then with_debug=yes; else part=$NEWER_ONES; fi
		;;
	all*) with_debug=yes ;;
	esac
	for version in $whole; do
		plan "$version" "$extent"
	done
	for version in $part; do
		plan "$version" part
	done
	if [ -n "$with_debug" ]; then
		plan_debug
		start_kernel 19 # everything else goes first
	fi
		# The first guest has all that it needs before lint begins, which builds from the
		# same files.
	on_kernel "${whole%% *}" kunit
	unit_tests
	fuzzing
	lint
	build_all_installed
	if [ "$what" = all ]; then
		other_kernels ends
		wait_for_room
		other_folder
	fi
	for version in $(cut -s -d ' ' -f 2- <<< "$whole") $part; do
		on_kernel "$version" kunit
	done
	[ -z "$with_debug" ] || on_debug
	;;
e2e)
	plan "$STOCK" whole "$@"
	on_kernel "$STOCK"
	;;
debug)
	plan_debug "$@"
	start_kernel 0
	on_debug
	;;
kernels)
	other_kernels "$@"
	;;
newer)
	plan "$NEWER" whole "$@"
	on_kernel "$NEWER" kunit
	;;
esac
count_guests
[ "$what" != all ] || check_requirements
finish
