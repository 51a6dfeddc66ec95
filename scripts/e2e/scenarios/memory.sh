# shellcheck shell=bash disable=SC2034,SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Memory regions: what a peer can learn about them, and what it can do to them.

MEMPROBE_ADDRESS=10.77.9.1

# capture_here NETDEV: capture(), in the initial namespace
capture_here() {
	tcpdump --immediate-mode -U -n -s 0 -B 16384 -i "$1" -w "$WORK/wire.pcap" tcp \
		>"$WORK/tcpdump.log" 2>&1 </dev/null &
	PIDS[tcpdump]=$!
	wait_for 10 grep -q "listening on" "$WORK/tcpdump.log"
}

# no_addresses: ends the capture, in which no offset may be an address of the kernel
no_addresses() {
	end_capture
	python3 "$HERE/capture/offsets.py" "$WORK/wire.pcap" >"$WORK/offsets.log" 2>&1 ||
		fail "$(tail -n 1 "$WORK/offsets.log")"
	note "$(<"$WORK/offsets.log")"
}

# nothing_refused DEVICE...: no peer was refused an access or an invalidation
nothing_refused() {
	local dev
	for dev in "$@"; do
		[ "$(hw_counter "$dev" rx_access_errors)" = 0 ] || fail "$dev refused something"
	done
}

# memprobe TEST [SETTING VALUE]: a kernel consumer (kmod/) tests itself, over a device on an
# interface of the initial namespace.
memprobe() {
	dirty
	topo_down
	load_modules
	ip link add memprobe0 type dummy
	trap 'ip link del memprobe0' EXIT
	ip addr add "$MEMPROBE_ADDRESS/24" dev memprobe0
	ip link set memprobe0 up
	rdma link add mpa0 type "$TYPE" netdev memprobe0
	[ $# = 1 ] || echo "$3" >"/sys/class/infiniband/mpa0/mpa/$2"
	insert "$KMOD/memprobe.ko" address="$MEMPROBE_ADDRESS" test="$1" slow="$SLOW" || {
		dmesg | grep 'memprobe: ' >"$WORK/memprobe.log"
		fail "memprobe: $1"
	}
	rmmod memprobe
}

scenario stags_user 60 "an STag tells nothing about others: index, key, reuse" newer
stags_user() { run stags a "$BIN/stags"; }

scenario stags_kernel 60 "an STag of a kernel consumer tells nothing about others" newer
stags_kernel() { memprobe stags; }

scenario srq_pd 60 "a receive from a shared queue uses the queue's protection domain" newer
srq_pd() { memprobe srq_pd; }

scenario kernel_offsets 60 "the messages of a kernel consumer show none of its addresses" \
	newer
kernel_offsets() {
	capture_here lo
	memprobe offsets
	no_addresses
}

scenario kernel_invalidate 60 "a peer invalidates only valid regions of its own connection" newer
kernel_invalidate() { memprobe inval; }

scenario kernel_global_rkey 60 "a peer with the key to all memory names unmapped addresses" newer
kernel_global_rkey() { memprobe global; }

scenario kernel_spin 60 "an invalidation spins for accesses that had begun, and for no others" newer
kernel_spin() { memprobe spin; }

scenario kernel_blocks 60 "memory becomes blocks as large as possible, not page by page" newer
kernel_blocks() { memprobe blocks; }

scenario kernel_undrained 60 "nothing comes of a kernel's queue pair that is gone, drained or not" \
	newer
kernel_undrained() { memprobe undrained; }

scenario kernel_full 60 "a flush that a kernel's completion queue cannot hold waits for room" newer
kernel_full() { memprobe full; }

# The kernel pins 2^32 - 1 pages at most. (abi.rst: a program is told the device's limits.)
scenario max_mr_size 30 "the device's limit of a region is what can be registered"
max_mr_size() {
	local said
	said=$(ibv_devinfo -v -d mpa0 | sed -n 's/.*max_mr_size:[[:space:]]*//p')
	[ $((said)) = $((0xffffffff * $(getconf PAGESIZE))) ] || fail "max_mr_size: $said"
}
