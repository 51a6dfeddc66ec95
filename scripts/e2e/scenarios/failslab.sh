# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Allocations of the module fail, one after another (P2P-41). The kernel's failslab makes them
# fail. Its stack filter selects the call: the one whose return address is on the stack. The calls
# are read from the module's own code, so that none is forgotten. This needs a kernel with
# failslab: the debug kernel.
#
# vmalloc and kvmalloc, which falls back to it, are left alone, because a vmalloc that fails puts a
# call trace into the kernel's log, as a fault of ours would.

FAILSLAB=/sys/kernel/debug/failslab

# sites: "ADDRESS FUNCTION CALLED" for each call of the module to the slab allocator, or to a
# function that calls it. ADDRESS is the return address of the call in the loaded module.
sites() {
	local base at name called
	[ -d "$FAILSLAB" ] || fail "this kernel has no failslab"
	[ -e "$FAILSLAB/require-start" ] || fail "failslab has no stack filter"
	base=$(cat "/sys/module/$MODULE_NAME/sections/.text")
	objdump -dr -j .text "$MODULE" | awk '
		/^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3) }
		{ sub(/:/, "", $1) }
		indirect { print $1, 0, name, "iw_cm" }
		{ indirect = name == "report_request" && /call +\*/ }
		!/R_X86_64_PLT32/ { next }
		$3 ~ /^(k[mcz]alloc|__kmalloc|kmemdup|kmem_cache_alloc)/ ||
		$3 ~ /^(__xa_alloc|__xa_insert|kernel_accept|sock_create_kern)/ {
			sub(/-.*/, "", $3)
			print $1, 4, name, $3
		}' |
		while read -r at behind name called; do
			printf '0x%x %s %s\n' $((base + 16#$at + behind)) "$name" "$called"
		done >"$WORK/sites"
	[ "$(wc -l <"$WORK/sites")" -ge 8 ] || fail "too few calls found in $MODULE"
}

# may_fail ADDRESS: the next allocation by that call fails, and none after it
may_fail() {
	printf '0' >"$FAILSLAB/probability"
	printf 'N' >"$FAILSLAB/ignore-gfp-wait"
	printf '0' >"$FAILSLAB/verbose"
	printf '32' >"$FAILSLAB/stacktrace-depth"
	printf '%s' "$1" >"$FAILSLAB/require-start"
	printf '0x%x' $(($1 + 1)) >"$FAILSLAB/require-end"
	printf '1' >"$FAILSLAB/times"
	printf '100' >"$FAILSLAB/probability"
}

# failed: has it failed? From here on no allocation fails.
failed() {
	printf '0' >"$FAILSLAB/probability"
	[ "$(cat "$FAILSLAB/times")" = 0 ]
}

# each_site OPERATION: runs it once for each call, and makes that call fail. $WORK/reached lists
# the calls that failed.
each_site() {
	local at name called
	while read -r at name called <&9; do
		may_fail "$at"
		"$1"
		if failed; then
			echo "$name $called" >>"$WORK/reached"
			note "$1: $called in $name failed, $OUTCOME"
		fi
	done 9<"$WORK/sites"
}

# reached FUNCTION...: in each of these a call must have failed
reached() {
	local name
	for name in "$@"; do
		grep -q "^$name " "$WORK/reached" || fail "no allocation in $name failed"
	done
}

# --- devices ---

add_and_delete() {
	OUTCOME="link added"
	if ! link_add mpax a dx >"$WORK/link.log" 2>&1; then
		OUTCOME="link add: $(tail -n 1 "$WORK/link.log")"
		return
	fi
	link_delete mpax || fail "the device cannot be deleted: $called in $name failed"
}

scenario failslab_device 60 "a device is added while allocations fail, one after another" failslab
failslab_device() {
	dirty
	ip -n a link add dx type dummy
	ip -n a link set dx up
	sites
	each_site add_and_delete
	reached mr_alloc
	add_and_delete
	[ "$OUTCOME" = "link added" ] || fail "in the end: $OUTCOME"
}

# --- connections ---

# Whichever call fails, the program learns of it: it does not hang, and
# waits for no event or completion in vain. Both ends are in one program, so either may be hit.
talk_anyway() {
	new_port
	start bulk a "$BIN/bulk" -s "$B4" -p "$PORT" -n 3 -l 5000
	ended bulk 30
	OUTCOME="bulk's status $STATUS: $(tail -n 1 "$WORK/bulk.log")"
	! grep -E 'no (connection event|completion)' "$WORK/bulk.log" ||
		fail "a failure was not reported: $called in $name"
	wait_for 10 no_objects
}

scenario failslab_connection 120 "connections while allocations fail, one after another: no hang" \
	failslab
failslab_connection() {
	sites
	# b would wait in vain, and ib_uverbs (6.1 to 7.3) leaks the task that gets no context
	sed -i '/ rnic_frame_send /d; / rnic_share_get /d' "$WORK/sites"
	each_site talk_anyway
	reached mr_alloc rnic_rmem_alloc rnic_cm_create_listen rnic_ep_new rnic_readq_init
	reached rnic_sock_accept
	rping_pair b a "$B4" 4096
	rping_pair a b "$A6" 64
}

# peer/failslab.py checks what the module sends then.
scenario failslab_startup 60 "allocations of the startup fail: Terminate 5, a reject, or it waits (P2P-41)" \
	failslab
failslab_startup() {
	sites
	export SITES=$WORK/sites
	peer failslab startup
}
