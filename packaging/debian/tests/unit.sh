#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The unit makes a device on an interface that appears, with the settings of its file; data
# goes through it; the device goes with the interface.
set -euo pipefail
interface=mpatest0 address=198.51.100.1 server=''

# shellcheck disable=SC2317 # called by the EXIT trap
clean_up() {
	[ -z "$server" ] || kill "$server" 2> /dev/null || true
	ip link delete "$interface" 2> /dev/null || true
	systemctl disable -q "rdma-mpa@$interface.service" || true
	rm -f "/etc/rdma-mpa/$interface.conf"
}

fail() {
	echo "unit: $*" >&2
	systemctl status --no-pager "rdma-mpa@$interface.service" >&2 || true
	exit 1
}

# wait_for COMMAND...: at most a minute
wait_for() {
	local turn
	for ((turn = 0; turn < 600; turn++)); do
		! "$@" &> /dev/null || return 0
		sleep 0.1
	done
	fail "waited in vain for: $*"
}

not() { ! "$@"; }

# The headers may be those of a newer kernel than the one that runs.
modinfo rdma_mpa > /dev/null || {
	echo "unit: DKMS has built no module for the kernel that runs, $(uname -r)" >&2
	exit 77
}
trap clean_up EXIT
printf '%s\n' NAME=mpatest crc=off 'rtr = write read' > "/etc/rdma-mpa/$interface.conf"
systemctl enable -q "rdma-mpa@$interface.service"
ip link add "$interface" type dummy
ip address add "$address/32" dev "$interface"
ip link set "$interface" up
wait_for systemctl is-active "rdma-mpa@$interface.service"
settings=/sys/class/infiniband/mpatest/mpa
[ "$(< $settings/crc)" = off ] || fail "crc is $(< $settings/crc), not off"
[ "$(< $settings/rtr)" = "write read" ] || fail "rtr is $(< $settings/rtr), not write read"

rping -s -a "$address" -C 10 &> /dev/null &
server=$!
wait_for grep -q ':1C06 00000000:0000 0A' /proc/net/tcp # rping listens on port 7174
timeout 60 rping -c -a "$address" -v -V -C 10 > /dev/null || fail "rping (client) failed"
wait "$server" || fail "rping (server) failed"
server=''

ip link delete "$interface"
wait_for not systemctl is-active "rdma-mpa@$interface.service"
wait_for test ! -e /sys/class/infiniband/mpatest
