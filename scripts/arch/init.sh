#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=dash
#
# Process 1 of a guest with another processor. In the initramfs (busybox): load what 9p
# needs, mount the foreign system read-only below a tmpfs, this tree and the runner's folder
# into it, and start ourselves there. Then: mount what a program expects, run the command
# that the runner left in /out, leave its exit status there, and end the machine.
bb=/bin/busybox

fail() {
	echo "arch init: $*"
	exit 1 # a panic, which the runner shows
}

share() {		# TAG DIR [OPTION]
	$bb mount -t 9p -o "trans=virtio,version=9p2000.L,msize=262144,${3:-cache=none}" \
		"$1" "$2" || fail "cannot mount $1 over 9p"
}

from_initramfs() {
	$bb mount -t proc proc /proc
	while read -r module; do
		$bb insmod "$module" || fail "cannot load $module"
	done < /modules
	for word in $($bb cat /proc/cmdline); do
		case $word in
		arch.top=*) top=${word#arch.top=} ;;
		esac
	done
	share root /lower cache=loose,ro
	$bb mount -t tmpfs tmpfs /upper
	$bb mkdir /upper/data /upper/work
	$bb mount -t overlay -o lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work \
		overlay /new || fail "cannot lay a tmpfs over the system"
	$bb mount -t tmpfs tmpfs /new/run
	$bb mount -t tmpfs -o mode=1777 tmpfs /new/tmp
	$bb mkdir -p "/new$top" /new/run/netns
	share top "/new$top" cache=loose,ro
	share out /new/out
	$bb umount /proc
	exec $bb switch_root /new "$top/scripts/arch/init.sh" "$top"
}

[ $# -gt 0 ] || from_initramfs
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2> /dev/null
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
ln -sf /proc/self/fd /dev/fd
mount -t debugfs debugfs /sys/kernel/debug
ip link set lo up
hostname guest
ulimit -l unlimited
cd "$1" || fail "no $1"
: > /out/started
bash /out/command < /dev/null > /out/output 2>&1
echo $? > /out/status
sync
busybox reboot -f
