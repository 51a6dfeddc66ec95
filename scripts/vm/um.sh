#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs one program as root in a User-mode Linux and exits with its status.
#
#   um.sh [-c CPUS] [-m MEM] [-t SECONDS] [-o OUTDIR] [-a KERNEL_APPEND] -- PROGRAM [ARGS...]
#
# It is like run.sh, with the same options where they mean something. But this kernel
# (GUEST_PACK, which kernel.sh made with UM=1) is a process of this machine, so the processor
# itself carries out its instructions. System calls, wake-ups and changes of the interrupt mask
# cost more than on bare metal, because they are system calls of the host.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

cpus=2 memory=2G seconds=300 outdir='' append=''

while getopts c:m:t:o:a:ns option; do
	case $option in
	c) cpus=$OPTARG ;;
	m) memory=$OPTARG ;;
	t) seconds=$OPTARG ;;
	o) outdir=$OPTARG ;;
	a) append=$OPTARG ;;
	n) ;; # there are no cards
	s) ;; # nor an instruction that this kernel would take for CRC32C
	*) sed -n '5s/^# *//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ "${1:-}" != -- ] || shift
[ $# -gt 0 ] || die "which program?"
[ -x "${GUEST_PACK:-}/linux" ] || die "GUEST_PACK is not what kernel.sh makes with UM=1"

# shellcheck disable=SC2317 # called by the EXIT trap
clean_up() {
	[ -z "$outdir" ] || cp "$dir/console.log" "$outdir/console.log"
	rm -rf "$dir"
}

if [ -n "$outdir" ]; then
	mkdir -p "$outdir"
	outdir=$(realpath "$outdir")
fi
mkdir -p "$BUILD/vm"
dir=$(mktemp -d "$BUILD/vm/um.XXXXXX")
trap clean_up EXIT
mkdir "$dir/ctl"
# Programs read the clock's rate from this file, and this kernel's own does not have it.
sed 's/^vendor_id.*/vendor_id\t: User Mode Linux/' /proc/cpuinfo > "$dir/ctl/cpuinfo"
{ printf 'exec'; printf ' %q' "$@"; echo; } > "$dir/ctl/command"
{
	printf 'moddir=%q\n' "$GUEST_PACK/lib/modules/$(guest_release)"
	echo "hang_after=$((seconds > 160 ? seconds - 40 : seconds * 3 / 4))"
	printf 'share_out=%q\n' "$outdir"
} > "$dir/ctl/settings"

# The kernel's console is its standard error here, the program's output its output.
status=0
timeout --foreground -k 5 "$seconds" "$GUEST_PACK/linux" seccomp=on "mem=$memory" \
	"ncpus=$cpus" "umid=${dir##*/}" "uml_dir=$dir" \
	root=/dev/root rootfstype=hostfs rootflags=/ ro \
	con=null con0=null,fd:2 ssl=null ssl1=null,fd:1 quiet loglevel=5 panic=-1 \
	"init=$TOP/scripts/vm/um-init.sh" "vm.ctl=$dir/ctl" "vm.top=$TOP" \
	${append:+"$append"} \
	< /dev/null 2> "$dir/console.log" || status=$?
result=$(cat "$dir/ctl/status" 2> /dev/null || true)
[ -z "$result" ] || exit "$result"
{
	echo "um: the kernel ended with status $status; the end of its console:"
	tail -n 100 "$dir/console.log"
} >&2
[ "$status" = 124 ] || [ "$status" = 137 ] || exit 125
exit 124
