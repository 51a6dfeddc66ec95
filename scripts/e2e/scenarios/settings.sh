# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The settings of a device and its counters.

setting() { cat "/sys/class/infiniband/mpa0/mpa/$1"; }
set_to() { echo "$2" >"/sys/class/infiniband/mpa0/mpa/$1"; }

other_settings() { grep -H . /sys/class/infiniband/mpa[01]/mpa/* | grep -v "mpa0/mpa/$1:"; }

# setting_takes NAME DEFAULT VALUES...: each value is kept; those after "--" are refused
setting_takes() {
	local name=$1 old=$2 value others
	[ "$(setting "$name")" = "$old" ] || fail "$name is '$(setting "$name")' at first"
	others=$(other_settings "$name")
	shift 2
	while [ "$1" != -- ]; do
		set_to "$name" "$1" || fail "$name=$1 refused"
		value=$(setting "$name")
		[ "$value" = "$1" ] || fail "$name is '$value' after '$1'"
		[ "$others" = "$(other_settings "$name")" ] || fail "$name changes another one"
		shift
	done
	for value in "${@:2}"; do
		must_fail "Invalid argument" set_to "$name" "$value"
	done
	set_to "$name" "$old" || fail "$name: its first value '$old' is refused"
}

scenario settings 15 "the settings in sysfs: defaults, good values, bad values" newer
settings() {
	dirty
	setting_takes crc required off required -- yes 2 ''
	setting_takes markers 0 1 0 -- 2 -1 x
	setting_takes revision 2 1 2 -- 0 3 x
	setting_takes rtr 'send write read' none send write read -- x 7
	setting_takes rtr_frame 0 1 0 -- 2 -1 x
	setting_takes startup_timeout_ms 10000 100 600000 -- 99 600001 -1 x
	setting_takes accept_timeout_ms 60000 100 600000 -- 99 600001 -1 x
	setting_takes request_timeout_ms 2000 100 600000 -- 99 600001 -1 x
	setting_takes close_timeout_ms 60000 100 3600000 -- 99 3600001 -1 x
	setting_takes keepalive_s default off 1 32767 default -- 0 32768 -1 x
	setting_takes max_pending 1024 1 65536 -- 0 65537 -1 x
	setting_takes coalesce 1 0 1 -- 2 -1 x
	setting_takes rnr_wait_ms 5000 0 600000 -- 600001 -1 x
	setting_takes shares 8 1 65536 -- 0 65537 x
}

scenario revision_1 20 "rping with MPA revision 1 on either side, and with CRC off"
revision_1() {
	dirty
	set_to revision 1
	rping_pair b a "$B4" 4096
	rping_pair a b "$A4" 4096
	set_to crc off
	rping_pair b a "$B4" 4096
	echo off >/sys/class/infiniband/mpa1/mpa/crc
	rping_pair b a "$B4" 64000
}

# Only the /sys of the first namespace has hw_counters, on all kernels. netlink has them in every
# namespace.
scenario statistics_elsewhere 20 "counters outside the first namespace: by rdma(8), not in /sys" \
	newer
statistics_elsewhere() {
	local counters=/sys/class/infiniband/mpa0/ports/1/hw_counters there
	rping_pair b a "$B4" 64
	[ "$(hw_counter mpa0 startups_ok)" -gt 0 ] || fail "no connection was counted"
	not ip netns exec a test -e "$counters" || fail "there is $counters"
	ip netns exec a test -e "${counters%/*}" || fail "no device in the /sys of a"
	there=$(ip netns exec a rdma statistic show link mpa0/1)
	[[ $there == *"startups_ok $(hw_counter mpa0 startups_ok) "* ]] || fail "$there"
}

balanced() {
	local what
	for what in bytes fpdus send write read_request read_response; do
		[ "$(hw_counter mpalo "tx_$what")" = "$(hw_counter mpalo "rx_$what")" ] || return 1
	done
}

# port_counters_agree DEVICE: ports/1/counters and hw_counters have the same, in their own units
port_counters_agree() {
	local dir=/sys/class/infiniband/$1/ports/1/counters name
	for name in xmit:tx rcv:rx; do
		[ "$(<"$dir/port_${name%:*}_packets")" = "$(hw_counter "$1" "${name#*:}_fpdus")" ] ||
			fail "port_${name%:*}_packets"
		[ "$(<"$dir/port_${name%:*}_data")" = $(($(hw_counter "$1" "${name#*:}_bytes") / 4)) ] ||
			fail "port_${name%:*}_data"
	done
}

# The address is the host's own, so the device receives all that it sends. First a message is one
# FPDU, and then many, which a run sends or receives together.
scenario statistics_balance 30 "a device that talks to itself receives what it sends"
statistics_balance() {
	local mtu fpdus
	dirty
	link_add mpalo a lo
	a ip address add 10.77.2.1/32 dev lo
	for mtu in 65536 1500; do
		a ip link set lo mtu $mtu
		fpdus=$(hw_counter mpalo rx_fpdus)
		rping_pair a a 10.77.2.1 64000
		wait_for 5 balanced
	done
	# 5 times 64000 bytes in each direction
	fpdus=$(($(hw_counter mpalo rx_fpdus) - fpdus))
	[ $fpdus -gt $((10 * 64000 / 1500)) ] || fail "$fpdus FPDUs of MTU 1500"
	[ "$(hw_counter mpalo rx_bytes)" -gt 1280000 ] || fail "$(hw_counter mpalo rx_bytes) bytes"
	port_counters_agree mpalo
	link_delete mpalo
	a ip link set lo mtu 65536
	a ip address del 10.77.2.1/32 dev lo
}

scenario statistics 15 "rdma statistic shows counters that move" newer
statistics() {
	local before after
	before=$(rdma statistic show link mpa0/1)
	[[ $before == *mpa0/1* ]] || fail "no counters: '$before'"
	rping_pair b a "$B4" 64
	after=$(rdma statistic show link mpa0/1)
	[ "$before" != "$after" ] || fail "no counter moved: $after"
}
