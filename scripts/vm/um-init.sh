#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=dash
#
# Process 1 of a User-mode Linux whose root is the host's, read-only: lays a tmpfs over it
# and hands over to stage2.sh. A failure ends in a panic, which um.sh reports.
set -e
bb=/bin/busybox
$bb mount -t proc proc /proc
for word in $($bb cat /proc/cmdline); do
	case $word in
	vm.top=*) top=${word#vm.top=} ;;
	vm.ctl=*) ctl=${word#vm.ctl=} ;;
	esac
done
$bb umount /proc
$bb mount -t tmpfs tmpfs /mnt
$bb mkdir /mnt/data /mnt/work /mnt/new
$bb mount -t overlay -o lowerdir=/,upperdir=/mnt/data,workdir=/mnt/work overlay /mnt/new
cd /mnt/new
$bb pivot_root . mnt
VM_CTL=$ctl
export VM_CTL
exec $bb chroot . "$top/scripts/vm/stage2.sh" < /dev/console > /dev/console 2>&1
