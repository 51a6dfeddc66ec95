#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# run.sh [-t SECONDS] [-o OUTDIR] ARCH PROGRAM [ARGS...]: runs a program as root in a
# virtual machine with that processor, emulated, and Debian's kernel and system for it
# (image.sh), and exits with its status. This tree is there, read-only, at the same place;
# OUTDIR is /out, with the kernel's console in console.log. The status is 124 for a time-out, and
# 125 for a guest that died; then the end of its console goes to stderr.
set -euo pipefail
# shellcheck source=scripts/arch/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

seconds=600 outdir=''
while getopts t:o: option; do
	case $option in
	t) seconds=$OPTARG ;;
	o) outdir=$OPTARG ;;
	*) die "usage: run.sh [-t SECONDS] [-o OUTDIR] ARCH PROGRAM [ARGS...]" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 1 ] || die "usage: run.sh [-t SECONDS] [-o OUTDIR] ARCH PROGRAM [ARGS...]"
arch=$1
shift
image=$("$TOP/scripts/arch/image.sh" "$arch")
work=$(mktemp -d "$ARCH_BUILD/run.XXXXXX")
trap 'rm -rf "$work"' EXIT
outdir=${outdir:-$work}
mkdir -p "$outdir"
rm -f "$outdir"/{started,status,output}
: > "$outdir/output"
{ printf 'exec'; printf ' %q' "$@"; echo; } > "$outdir/command"

case $arch in
arm64)
	machine=(qemu-system-aarch64 -M virt -serial chardev:console)
	bus=pci console=ttyAMA0
	;;
s390x)
	machine=(qemu-system-s390x -M s390-ccw-virtio -device 'sclpconsole,chardev=console')
	bus=ccw console=ttysclp0
	;;
*) die "no machine is known for $arch (arm64, s390x)" ;;
esac
shares=()
for share in "root,path=$image/root,readonly=on" "top,path=$TOP,readonly=on" "out,path=$outdir"; do
	shares+=(-fsdev "local,security_model=none,multidevs=remap,id=$share"
		-device "virtio-9p-$bus,fsdev=${share%%,*},mount_tag=${share%%,*}")
done

# tail ends with qemu, and has printed all of the program's output by then
status=0
timeout --foreground -k 5 "$seconds" "${machine[@]}" -no-user-config -nodefaults \
	-display none -no-reboot -monitor none -accel tcg,thread=multi -cpu max -smp 2 -m 2G \
	-chardev "file,id=console,path=$outdir/console.log" \
	-kernel "$image/vmlinuz" -initrd "$image/initramfs" "${shares[@]}" \
	-append "console=$console loglevel=5 panic=-1 oops=panic arch.top=$TOP" \
	< /dev/null 2> "$work/qemu.log" &
qemu=$!
# shellcheck disable=SC2064 # this process
trap "kill $qemu; exit 143" INT TERM
tail -n +1 -s 0.5 -f --pid=$qemu "$outdir/output"
wait $qemu || status=$?
if [ -s "$outdir/status" ]; then
	exit "$(cat "$outdir/status")"
fi
{
	echo "arch: the guest ended without a status (qemu's status: $status)"
	cat "$work/qemu.log"
	tr -d '\r' < "$outdir/console.log" | tail -n 100
} >&2
[ "$status" != 124 ] || exit 124
exit 125
