#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# check.sh [ARCH [NAME...]]: the engine's tests and scenarios on other processors: s390x,
# which is big-endian, and arm64; or on one, or only the scenarios named there. Each is
# emulated, with Debian 12's kernel and system for it.
#
# Both hosts are in one guest, and so have the same processor. A mistake that both make would show
# only with the peer in Python, which has its bytes written out (peer_*).
#
# The last line is "N passed, N failed".
set -euo pipefail
# shellcheck source=scripts/arch/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

SUITE=bookworm
VM_SECONDS=${VM_SECONDS:-3600}
passed=0 failed=0 summary=()
chosen='' # the scenarios named, if not all run

# The main job, data in any order and size, each part of the user ABI, bytes on the wire
SCENARIOS=(
	link_add_delete devinfo settings statistics
	rping_ipv4 rping_ipv6 rping_once
	watched_crc watched_plain watched_markers watched_markers_plain
	data_sizes_send data_sizes_write data_sizes_read data_straddle data_gather
	data_inline_data data_fence data_reads_wrap
	queue_order queue_whole_list queue_solicited queue_srq queue_flush queue_query
	error_write_past_end error_write_no_right error_read_stale error_local_bad_lkey
	cm_private_data cm_reject cm_ird_ord stags_user owner_numbers
	peer_requests peer_replies peer_private_data peer_granted peer_crc peer_calls_crc
	peer_markers peer_calls_markers peer_memory peer_flips
	send_bw_poll unload
)

# count NAME FILE STATUS WHAT
count() {
	local good bad
	read -r good bad < <(awk -f "$TOP/scripts/tap.awk" "$2")
	if [ "$3" != 0 ] && [ "$bad" = 0 ]; then
		bad=1
		summary+=("$1: ended with status $3")
	fi
	# Not those of a few scenarios, because they would replace those of all
	[ -n "$chosen" ] || record "$4" "$release" "$good" "$bad" part
	passed=$((passed + good)) failed=$((failed + bad))
	summary+=("$(printf '%-44s %4d passed, %d failed' "$1" "$good" "$bad")")
}

# could_not NAME: a step that has no tests of its own
could_not() {
	failed=$((failed + 1))
	summary+=("$(printf '%-44s failed' "$1")")
}

build_module() {
	local kdir
	copy_source "$out/module"
	kdir=$(headers "$arch" $SUITE "$release")
	run_logged "$out/module.log" cross_make "$arch" $SUITE "$kdir" M="$out/module" modules
}

# The programs, against the libraries of the foreign system
build_programs() {
	run_logged "$out/programs.log" make -C "$TOP/scripts/e2e/programs" OUT="$out/bin" CC="$compiler"
}

# Without the address sanitizer, because make unit has it, and the processor does not matter for it.
build_unit() {
	run_logged "$out/unit.log" make -C "$TOP/kunit/user" build BUILD="$out/unit" \
		CC="$compiler" sanitize='-fsanitize=undefined -fno-sanitize-recover=undefined'
}

unit_tests() {
	local status=0
	step "$arch: the engine's tests, below qemu's user mode"
	"qemu-$qemu" -L "$image/root" "$out/unit/unit" 2>&1 | tee "$out/unit.tap" || status=$?
	count "$arch: the engine's tests" "$out/unit.tap" $status kunit
}

scenarios() {
	local status=0
	step "$arch: scenarios on Linux $release, emulated"
	"$TOP/scripts/arch/run.sh" -t "$VM_SECONDS" -o "$out/vm" "$arch" env \
		MODULE="$out/module/rdma_mpa.ko" E2E_BIN="$out/bin" E2E_SLOW="${E2E_SLOW:-5}" \
		OUTDIR=/out scripts/e2e/guest.sh "$@" || status=$?
	count "$arch: end-to-end scenarios" "$out/vm/output" $status scenarios
}

check() {
	local image out=$ARCH_BUILD/$arch release compiler qemu=$arch
	[ "$arch" != arm64 ] || qemu=aarch64
	rm -rf "$out/vm"
	mkdir -p "$out"
	: > "$ARCH_BUILD/fetch.log"
	image=$("$TOP/scripts/arch/image.sh" "$arch") || { could_not "$arch: the system"; return; }
	release=$(cat "$image/release")
	compiler="$(gnu_type "$arch")-gcc --sysroot=$image/root"
	step "$arch: building"
	if ! (build_unit); then
		could_not "$arch: building the engine's tests"
	elif [ $# = 0 ]; then
		unit_tests
	fi
	if ! (build_module && build_programs); then
		could_not "$arch: building the module and its programs"
		return
	fi
	chosen=$*
	[ $# -gt 0 ] || set -- "${SCENARIOS[@]}"
	scenarios "$@"
}

"$TOP/scripts/deps.sh" arch
archs=(s390x arm64)
if [ $# -gt 0 ]; then
	archs=("$1")
	shift
fi
for arch in "${archs[@]}"; do
	check "$@"
done
echo
printf '%s\n' "${summary[@]}"
echo
echo "$passed passed, $failed failed"
[ $failed = 0 ]
