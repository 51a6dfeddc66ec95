#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Which kernel the guest runs, where its modules are, how fast qemu can run it.
# To be sourced; everything it makes goes to build/vm.
# shellcheck disable=SC2034 # the variables are for the scripts that source this

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
VM_DIR=$TOP/build/vm

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# The release of the newest stock kernel that begins with $1.
newest_kernel() {
	local image
	image=$(find /boot -maxdepth 1 -name "vmlinuz-$1*" 2>/dev/null |
		sort -V | tail -n 1)
	[ -n "$image" ] || return 1
	echo "${image#*/vmlinuz-}"
}

# The .../lib/modules/RELEASE folder meant by $1: itself, or the one inside it.
moddir_path() {
	local dir=$1
	if [ -e "$dir/modules.dep" ]; then
		realpath "$dir"
		return
	fi
	dir=$(find "$dir/lib/modules" -mindepth 1 -maxdepth 1 -type d 2>/dev/null |
		sort -V | tail -n 1)
	[ -n "$dir" ] && realpath "$dir"
}
