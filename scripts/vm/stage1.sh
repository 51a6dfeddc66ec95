#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=dash
#
# /init of the guest's initramfs (busybox): load what 9p needs, mount the host's
# root file system read-only below a tmpfs overlay, hand over to stage2.sh.
# A failure here ends in a panic, which the runner reports with the console.
set -e
bb=/bin/busybox

fail() {
	echo "vm stage1: $*"
	exit 1
}

$bb mount -t proc proc /proc
while read -r module; do
	$bb insmod "$module" || fail "cannot load $module"
done < /modules

# vm.top=PATH on the kernel command line is the project's top folder.
for word in $($bb cat /proc/cmdline); do
	case $word in
	vm.top=*) top=${word#vm.top=} ;;
	esac
done

$bb mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose,ro \
	root /lower || fail "cannot mount the host's root over 9p"
$bb mount -t tmpfs tmpfs /upper
$bb mkdir /upper/data /upper/work
$bb mount -t overlay \
	-o lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work overlay /new ||
	fail "cannot lay a tmpfs over the host's root"
$bb umount /proc
exec $bb switch_root /new "$top/scripts/vm/stage2.sh" ||
	fail "cannot start $top/scripts/vm/stage2.sh"
