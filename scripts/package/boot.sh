#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# boot.sh MACHINE: boots the machine of image.sh, and prints the reports of guest.sh in it. The
# machine boots twice, then turns itself off. Its console is MACHINE/console.log.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

machine=$1
seconds=${VM_SECONDS:-1500}

# KVM is used if vm/run.sh has found that it boots a kernel; its comment says why it must try that.
accel=(-accel 'tcg,thread=multi' -cpu 'max,-erms,-fsrm')
! grep -qsx yes "$BUILD/vm/kvm-$(uname -r)"-* || accel=(-accel kvm -cpu host)

status=0
timeout --foreground -k 5 "$seconds" qemu-system-x86_64 \
	-no-user-config -nodefaults -display none -M pc -smp 2 -m 2G "${accel[@]}" \
	-chardev "file,id=console,path=$machine/console.log" -serial chardev:console \
	-chardev "stdio,id=report,signal=off" -serial chardev:report -monitor none \
	-drive "file=$machine/image,format=raw,if=virtio,cache=unsafe" \
	-netdev hubport,id=port,hubid=0 -device virtio-net-pci,netdev=port \
	-kernel "$machine/vmlinuz" -initrd "$machine/initrd" \
	-append "root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off panic=-1" \
	< /dev/null || status=$?
[ $status = 0 ] || {
	tr -d '\r' < "$machine/console.log" | tail -n 60 >&2
	[ $status != 124 ] || die "no end after $seconds s; above is the end of its console"
	die "qemu ended with status $status; above is the end of its console"
}
