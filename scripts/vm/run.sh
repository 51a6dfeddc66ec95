#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs one program as root in a virtual machine and exits with its status.
#
#   run.sh [-c CPUS] [-m MEM] [-t SECONDS] [-o OUTDIR] [-a KERNEL_APPEND] [-i]
#          [-n] [-s] [-p PLUGIN,ARGS] [-k RELEASE | -K BZIMAGE -M MODDIR]
#          -- PROGRAM [ARGS...]
#
# -i: one emulated processor whose clock counts instructions, 8 ns each, and skips idle time.
# A time is then a number of instructions, whatever else runs here.
# -n: two Ethernet cards (e1000) at the ends of one cable, addresses 02:77:00:00:00:01
# and :02. They gather, sum and cut (TSO) as real ones do.
#
# -p: a plugin for qemu, which then emulates the processor even if KVM works.
#
# -s: CRC32C in software if the processor is emulated, because the emulator computes the crc32
# instruction bit by bit, four times as slow as the kernel's tables.
#
# The guest runs a stock kernel (the newest in /boot that lib.sh takes, or -k), or one built
# by hand (-K, with its modules in -M), or is a User-mode Linux (um.sh), if GUEST_PACK has
# one. It sees this machine's root file system
# read-only below a tmpfs: same paths, same tools; what it writes is gone at the
# end, except in OUTDIR, which it sees as /out. PROGRAM starts in the project's
# top folder; its output is ours, byte for byte, as it comes.
#
# Three channels, so that no kernel message can pass for a result: the kernel's
# console goes to a file (console.log in OUTDIR if there is one), the program's
# output to a second serial port, its exit status to a file in a small shared
# folder. If there is no status the run has failed, whatever was printed: 124 is a time-out,
# 125 a guest that died. The end of the console then goes to stderr.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# Such a kernel is a process and needs no machine.
[ ! -e "${GUEST_PACK:-}/linux" ] || exec "$TOP/scripts/vm/um.sh" "$@"

BOOT_SECONDS=${BOOT_SECONDS:-240}

# The processor that is emulated. It must not announce a fast "rep movsb" (ERMS, FSRM), because
# the kernel then copies from and to user space with that instruction, and the emulator carries
# it out byte by byte, eight times as slow as the word moves of other copies. Speeds and
# instruction counts would then measure the emulator.
CPU_MODEL=max,-erms,-fsrm
cpus=2 sockets=1 memory=2G seconds=300 outdir='' append='' release='' image='' moddir='' count='' tables='' cards=(-nic none) plugin=()

usage() {
	sed -n '4,7s/^# *//p' "${BASH_SOURCE[0]}" >&2
	exit 2
}

parse_options() {
	local option
	while getopts c:m:t:o:a:p:k:K:M:insh option; do
		case $option in
		c) cpus=$OPTARG ;;
		m) memory=$OPTARG ;;
		t) seconds=$OPTARG ;;
		o) outdir=$OPTARG ;;
		a) append=$OPTARG ;;
		p) plugin=(-plugin "$OPTARG") ;;
		k) release=$OPTARG ;;
		K) image=$OPTARG ;;
		M) moddir=$OPTARG ;;
		i) count=1 cpus=1 ;;
		n) two_cards ;;
		s) tables=module_blacklist=crc32c_intel ;;
		*) usage ;;
		esac
	done
}

two_cards() {
	local n
	cards=()
	for n in 1 2; do
		cards+=(-netdev "hubport,id=port$n,hubid=0"
			-device "e1000,netdev=port$n,mac=02:77:00:00:00:0$n")
	done
}

# The .../lib/modules/RELEASE folder meant by $1: itself, or the one inside it.
moddir_path() {
	local dir=$1
	if [ ! -e "$dir/modules.dep" ]; then
		dir=$(find "$dir/lib/modules" -mindepth 1 -maxdepth 1 -type d \
			2> /dev/null | sort -V | tail -n 1)
	fi
	[ -n "$dir" ] && realpath "$dir"
}

choose_kernel() {
	if [ -n "$image" ]; then
		[ -n "$moddir" ] || die "-K needs -M: where are that kernel's modules?"
		moddir=$(moddir_path "$moddir") || die "no modules.dep in $moddir"
		sockets=$cpus # for a kernel without ACPI: MP tables have one core a socket
	else
		[ -n "$release" ] || release=$(guest_release)
		image=/boot/vmlinuz-$release
		moddir=/lib/modules/$release
	fi
	[ -r "$image" ] || die "cannot read $image"
	[ -e "$moddir/modules.dep" ] || die "no modules.dep in $moddir"
}

# Writes a bash script for the guest that runs exactly "$@", and the settings of stage2.sh.
write_control_files() {
	local dir=$1
	shift
	{ printf 'exec'; printf ' %q' "$@"; echo; } > "$dir/command"
	{
		printf 'moddir=%q\n' "$moddir"
		echo "hang_after=$((seconds > 160 ? seconds - 40 : seconds * 3 / 4))"
		echo "share_out=${outdir:+1}"
	} > "$dir/settings"
}

share() {
	local tag=$1 path=$2 rest=${3:-}
	echo "-fsdev"
	echo "local,id=$tag,path=$path,security_model=none,multidevs=remap$rest"
	echo "-device"
	echo "virtio-9p-pci,fsdev=$tag,mount_tag=$tag"
}

# run_qemu LIMIT ACCEL CPU RUNDIR: boots once, the program's output to stdout. qemu
# runs in the background, so that a signal to us ends it at once.
run_qemu() {
	local status=0 qemu watch
	exec_qemu "$@" &
	qemu=$!
	end_failed_boot $qemu "$4" > /dev/null &
	watch=$!
	# shellcheck disable=SC2064 # these processes, not later ones
	trap "kill $qemu $watch; exit 143" INT TERM
	wait $qemu || status=$?
	trap - INT TERM
	kill $watch 2> /dev/null || true
	return $status
}

# Ends a boot that hangs. A processor under emulation may stop for ever in its first seconds,
# with no timer ticking: that happened in two of some 45 boots of 6.1, before anything of ours
# ran.
end_failed_boot() {
	local silence
	exec {silence}<> <(:)
	read -rt "$BOOT_SECONDS" -u "$silence" || true
	[ ! -e "$2/ctl/started" ] || return 0
	: > "$2/late"
	kill "$1"
}

# boot ACCEL CPU: boots, and again if the program was not started
boot() {
	local status=0 turn
	for turn in 1 2 3; do
		status=0
		run_qemu "$seconds" "$1" "$2" "$dir" || status=$?
		if [ -e "$dir/ctl/started" ] || [ "$turn" = 3 ]; then
			break
		fi
		report_death "$status"
		rm -f "$dir/late"
		step "starting the machine again"
	done
	return $status
}

# Parameters that tell an emulated guest the rate of its time stamp counter, which is the
# host's. Without them the guest finds the counter unstable, or has nothing to measure it by, and
# takes a clock that costs an exit each time (HPET) or ticks with the jiffies. They save a third
# of the time of an exec.
emulated_clock() {
	local tool=$BUILD/vm/tsc
	[ "$tool" -nt "$TOP/scripts/vm/tsc.c" ] || {
		gcc -O2 -Wall -o "$tool.$$" "$TOP/scripts/vm/tsc.c" && mv "$tool.$$" "$tool"
	} || return 0
	echo "tsc=reliable tsc_early_khz=$("$tool")"
}

# The stdio back end gets no input, so that it neither touches the terminal nor opens
# our stdout a second time.
exec_qemu() {
	local limit=$1 accel=$2 cpu=$3 dir=$4 args clock='' counter=()
	mapfile -t args < <(
		share root / ,readonly=on
		share ctl "$dir/ctl"
		[ -z "$outdir" ] || share out "$outdir"
	)
	if [ -n "$count" ]; then
		# The processor's random numbers are the same each time. Without them the kernel
		# would hash the whole pool for each number that it needs.
		counter=(-icount 'shift=3,sleep=off' -rtc 'clock=vm,base=2024-01-01' -seed 1)
	elif [ "$accel" != kvm ]; then
		clock=$(emulated_clock)
	fi
	exec timeout --foreground -k 5 "$limit" qemu-system-x86_64 \
		-no-user-config -nodefaults -display none -no-reboot \
		-M pc -accel "$accel" -cpu "$cpu" -smp "$cpus,sockets=$sockets" -m "$memory" \
		-chardev "file,id=console,path=$dir/console.log" \
		-chardev stdio,id=program,signal=off \
		-serial chardev:console -serial chardev:program -monitor none \
		-kernel "$image" -initrd "$initramfs" -append "$cmdline $clock" \
		"${counter[@]}" "${plugin[@]}" "${cards[@]}" "${args[@]}" < /dev/null 2> "$dir/qemu.log"
}

# Tries whether KVM boots this kernel, because in some clouds /dev/kvm is there and a guest hangs
# in it. The verdict is kept, because the check costs seconds.
kvm_works() {
	local verdict dir
	[ -w /dev/kvm ] || return 1
	verdict=$BUILD/vm/kvm-$(uname -r)-${moddir##*/}
	if [ ! -e "$verdict" ]; then
		dir=$(mktemp -d "$BUILD/vm/kvm.XXXXXX")
		mkdir "$dir/ctl"
		write_control_files "$dir/ctl" true
		run_qemu 20 kvm host "$dir" > /dev/null 2>&1 || true
		if [ "$(cat "$dir/ctl/status" 2>/dev/null)" = 0 ]; then
			echo yes > "$dir/verdict"
		else
			echo no > "$dir/verdict"
		fi
		mv "$dir/verdict" "$verdict"
		rm -rf "$dir"
	fi
	[ "$(cat "$verdict")" = yes ]
}

# Says on stderr why there is no status.
report_death() {
	local status=$1 what
	if [ "$status" = 124 ] || [ "$status" = 137 ]; then
		what="no end after $seconds s, stopped"
	elif [ -e "$dir/late" ]; then
		what="not ready after $BOOT_SECONDS s, stopped"
	elif grep -qs 'Kernel panic' "$dir/console.log"; then
		what="the kernel panicked"
	else
		what="the guest ended without a status (qemu's status: $status)"
	fi
	[ -e "$dir/ctl/started" ] || what+=", before the program started"
	{
		echo "vm: $what"
		cat "$dir/qemu.log"
		echo "vm: ---- the end of the kernel's console ----"
		tr -d '\r' < "$dir/console.log" 2>/dev/null | tail -n 250
		echo "vm: ---- $what ----"
	} >&2
}

# shellcheck disable=SC2317 # called by the EXIT trap
clean_up() {
	if [ -n "$outdir" ] && [ -e "$dir/console.log" ]; then
		tr -d '\r' < "$dir/console.log" > "$outdir/console.log"
	fi
	rm -rf "$dir"
}

parse_options "$@"
while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
[ $# -gt 1 ] || usage
shift
command -v qemu-system-x86_64 > /dev/null ||
	die "no qemu-system-x86_64 (scripts/deps.sh check installs it)"

choose_kernel
mkdir -p "$BUILD/vm"
if [ -n "$outdir" ]; then
	mkdir -p "$outdir"
	outdir=$(realpath "$outdir")
fi
initramfs=$("$TOP/scripts/vm/initramfs.sh" "$moddir")
cmdline="console=ttyS0 quiet loglevel=5 panic=-1 oops=panic reboot=t"
cmdline+=" mitigations=off nokaslr vm.top=$TOP $append"

dir=$(mktemp -d "$BUILD/vm/run.XXXXXX")
trap clean_up EXIT
mkdir "$dir/ctl"
write_control_files "$dir/ctl" "$@"

if [ -n "$count" ]; then
	accel=tcg,thread=single cpu=$CPU_MODEL
elif [ "${#plugin[@]}" = 0 ] && kvm_works; then
	accel=kvm cpu=host
else
	accel=tcg,thread=multi cpu=$CPU_MODEL
fi
[ "$cpu" = host ] || cmdline+=" $tables"
status=0
boot "$accel" "$cpu" || status=$?
result=$(cat "$dir/ctl/status" 2>/dev/null || true)
if [ -n "$result" ]; then
	exit "$result"
fi
report_death "$status"
[ "$status" = 124 ] || [ "$status" = 137 ] || exit 125
exit 124
