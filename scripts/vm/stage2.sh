#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Process 1 of the guest once the host's root is in place: mounts what a program
# expects, runs the command the runner left in the control share, leaves its
# exit status there, and ends the machine.
#
# ttyS0 (our own output) is the kernel's console, ttyS1 the program's output. In a User-mode
# Linux (um.sh) VM_CTL names the host's folder that is the control share.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LANG=C.UTF-8 TERM=dumb

top=${0%/scripts/vm/stage2.sh}
ctl=/run/vm
moddir='' hang_after=60 share_out='' # set by the settings in there

mount_kernel_files() {
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t devtmpfs devtmpfs /dev 2>/dev/null # or done by the kernel
	mkdir -p /dev/shm /dev/pts
	mount -t tmpfs tmpfs /dev/shm
	mount -t devpts devpts /dev/pts
	ln -sf /proc/self/fd /dev/fd
	mount -t debugfs debugfs /sys/kernel/debug
	mount -t tracefs tracefs /sys/kernel/tracing
}

# mount_share TAG DIR [FOLDER]: mounts a folder of the host
mount_share() {
	local tag=$1 dir=$2
	mkdir -p "$dir"
	if [ -n "${VM_CTL:-}" ]; then
		mount -t hostfs -o "$3" none "$dir"
		return
	fi
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none \
		"$tag" "$dir"
}

# mount_fresh DIR MODE: mounts a tmpfs of the guest's own there. If the project lives below DIR it
# stays visible at its place. The guest's files must not go to the overlay, because a disk's image
# cannot be on one.
mount_fresh() {
	local aside=/.vm.top
	case $top in
	"$1"/*)
		mkdir -p "$aside"
		mount --bind "$top" "$aside"
		mount -t tmpfs -o "mode=$2" tmpfs "$1"
		mkdir -p "$top"
		mount --move "$aside" "$top"
		;;
	*) mount -t tmpfs -o "mode=$2" tmpfs "$1" ;;
	esac
}

mount_work_space() {
	mount_fresh /run 755
	mkdir -p /run/lock /run/netns
	mount_fresh /tmp 1777
	mount_share ctl "$ctl" "${VM_CTL:-}"
	# shellcheck source=/dev/null # moddir, hang_after, share_out
	. "$ctl/settings"
	if [ -n "$share_out" ]; then
		mount_share out /out "$share_out"
	fi
	[ ! -e "$ctl/cpuinfo" ] || mount --bind "$ctl/cpuinfo" /proc/cpuinfo
}

# A kernel built by hand has its modules elsewhere (run.sh -M).
find_modules() {
	local want
	want=/lib/modules/$(uname -r)
	if [ "$(realpath -q "$want")" != "$(realpath "$moddir")" ]; then
		mkdir -p "$want"
		mount --bind "$moddir" "$want"
	fi
}

# Shortly before the runner gives up, prints on the console what hangs.
watch_for_hang() {
	sleep "$hang_after"
	echo "vm: still running after $hang_after s; processes and blocked tasks:"
	ps --ppid 2 -p 2 -N -o pid,ppid,stat,wchan:24,args # all but kernel threads
	dmesg -n 7
	echo w > /proc/sysrq-trigger
	echo l > /proc/sysrq-trigger
}

run_program() {
	ulimit -l unlimited
	ulimit -c 0
	cd "$top" || return 126
	stty -F /dev/ttyS1 raw -echo 115200
	: > "$ctl/started"
	bash "$ctl/command" < /dev/null > /dev/ttyS1 2>&1
}

mount_kernel_files
mount_work_space
find_modules
hostname guest
ip link set lo up
watch_for_hang &
run_program
status=$?
stty -F /dev/ttyS1 raw # returns when all output has left the port
echo "$status" > "$ctl/status"
sync "$ctl/status"
[ -z "${VM_CTL:-}" ] || busybox poweroff -f # a reboot would begin anew
busybox reboot -f
