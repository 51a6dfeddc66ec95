# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The end: the module leaves nothing in the kernel.

scenario unload 30 "the module is unloaded, and leaves nothing in the kernel" last newer
unload() {
	dirty
	topo_down
	wait_for 5 rmmod "$MODULE_NAME"
	[ ! -d "/sys/module/$MODULE_NAME" ] || fail "still loaded"
	[ -z "$(ls /sys/class/infiniband)" ] || fail "devices left"
	not grep -qE '^(mpa|rnic|rdmap)_' /proc/slabinfo || fail "slabs left"
}
