# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The address is on a VLAN or a bridge above the device's interface. rdma_cm decides whether the
# device serves it. If so, a server on all addresses is reached, and if not, no server is.

# add_vlan HOST VLAN INTERFACE ADDRESS4 ADDRESS6 [MAC]
add_vlan() {
	ip -n "$1" link add "$2" link "$3" type vlan id 100
	[ -z "${6:-}" ] || ip -n "$1" link set "$2" address "$6"
	ip -n "$1" link set "$2" up
	add_addresses "$1" "$2" "$4" "$5"
}

add_addresses() {	# HOST INTERFACE ADDRESS4 ADDRESS6
	ip -n "$1" addr add "$3/24" dev "$2"
	ip -n "$1" addr add "$4/64" dev "$2" nodad
}

# On 6.1 rdma_resolve_addr overlooks an answer that comes as fast as over veth.
add_neighbours() {	# INTERFACE MAC
	ip -n a neigh replace 10.78.0.2 lladdr "$2" dev "$1" nud permanent
	ip -n a neigh replace fd78::2 lladdr "$2" dev "$1" nud permanent
}

# add_vlans [MAC]: above both interfaces, that of b with this MAC
add_vlans() {
	dirty
	modprobe 8021q
	add_vlan a va.100 va 10.78.0.1 fd78::1
	add_vlan b vb.100 vb 10.78.0.2 fd78::2 "$@"
	add_neighbours va.100 "${1:-02:77:00:00:00:02}"
}

# Since 6.6 rdma_cm compares interfaces, before that MACs.
finds_interfaces() { kernel_is_at_least 6.6; }

# calls_reach SERVER-ADDRESS...: a server on each is called at its address above, by both IP
calls_reach() {
	local at name to
	for at; do
		new_port
		name=server_${at//[.:]/_}
		serve "$name" b rping -s -P -V -a "$at" -p "$PORT"
		for to in 10.78.0.2 fd78::2; do
			case $at-$to in
			::-* | *:*-*:*) ;;
			*:*) continue ;; # not of one IP
			esac
			run "call_$at-$to" a rping -c -V -C 3 -a "$to" -p "$PORT"
		done
		stop "$name"
	done
}

# no_device_there: neither a server on the address nor one on all addresses is reached at it
no_device_there() {
	local at to
	for at in 10.78.0.2 fd78::2; do
		new_port
		must_fail "No such device" "${LIMITED[@]}" "$LIMIT" b rping -s -a "$at" -p "$PORT"
	done
	new_port
	serve server b rping -s -P -V -a :: -p "$PORT"
	for to in 10.78.0.2 fd78::2; do
		must_fail "error -104" a rping -c -C 3 -a "$to" -p "$PORT"
	done
	run still a rping -c -V -C 3 -a "$B4" -p "$PORT"
	stop server
}

scenario above_vlan 90 "addresses on VLANs, devices on their parents: every server is reached" \
	bridges newer
above_vlan() {
	add_vlans
	calls_reach 0.0.0.0 10.78.0.2 :: fd78::2
	link_delete mpa1
	link_add mpa3 b vb.100
	calls_reach 0.0.0.0 fd78::2
	rping_pair b a "$B4" 1000	# the VLAN's device serves its parent too
	rping_pair b a "$B6" 1000
}

# rdma_cm of 6.1 compares MACs, so there is no device for it.
scenario above_vlan_mac 90 "the same where the VLAN has a MAC of its own, or there is no device" \
	bridges newer
above_vlan_mac() {
	add_vlans 02:77:00:00:01:00
	if finds_interfaces; then
		calls_reach 0.0.0.0 10.78.0.2 :: fd78::2
	else
		no_device_there
	fi
}

scenario above_bridge 90 "addresses on a bridge, the device on its port: every server, or no device" \
	bridges newer
above_bridge() {
	dirty
	modprobe bridge
	ip -n b link add br0 type bridge
	ip -n b link set vb master br0
	ip -n b link set br0 up
	add_addresses b br0 10.78.0.2 fd78::2
	add_addresses a va 10.78.0.1 fd78::1
	add_neighbours va 02:77:00:00:00:02
	if finds_interfaces; then
		no_device_there
	else
		calls_reach 0.0.0.0 10.78.0.2 :: fd78::2
	fi
}

# served_by DEVICE OTHER ADDRESS: a call to the server goes to the device, once, not to the other
served_by() {
	local ok=$(($(hw_counter "$1" startups_ok) + 1)) other
	other=$(hw_counter "$2" startups_ok)
	run "call_$3" a rping -c -V -C 3 -a "$3" -p "$PORT"
	[ "$(hw_counter "$1" startups_ok) $(hw_counter "$2" startups_ok)" = "$ok $other" ] ||
		fail "$3: not one call of $1"
}

# each_to_its_own PARENT'S VLAN'S
each_to_its_own() {
	new_port
	serve "server$1" b rping -s -P -V -a :: -p "$PORT"
	served_by "$2" "$1" 10.78.0.2
	served_by "$1" "$2" "$B4"
	served_by "$2" "$1" fd78::2
	served_by "$1" "$2" "$B6"
	stop "server$1"
	calls_reach 10.78.0.2 fd78::2	# by a device that rdma_cm chooses
	rping_pair b a "$B4" 1000
	rping_pair b a "$B6" 1000
}

scenario above_both 90 "devices on an interface and on its VLAN: a call is for that of its address" \
	bridges newer
above_both() {
	add_vlans
	link_add mpa3 b vb.100
	each_to_its_own mpa1 mpa3
	link_delete mpa1
	link_add mpa4 b vb
	each_to_its_own mpa4 mpa3
}

# rdma_cm of 6.1 would give it the device, because it compares MACs.
scenario above_none 60 "an interface beside has the MAC of the device's: it has no device" \
	slow newer
above_none() {
	dirty
	ip link add vc index 103 address 02:77:00:00:00:03 netns a type veth \
		peer name vd index 104 address 02:77:00:00:00:02 netns b
	ip -n a link set vc up
	ip -n b link set vd up
	add_addresses a vc 10.78.0.1 fd78::1
	add_addresses b vd 10.78.0.2 fd78::2
	add_neighbours vc 02:77:00:00:00:02
	ip -n b neigh replace 10.78.0.1 lladdr 02:77:00:00:00:03 dev vd nud permanent
	link_add mpa2 a vc
	no_device_there
	new_port
	serve back a rping -s -P -a 10.78.0.1 -p "$PORT"
	# rping does not end where rdma_connect fails at once.
	start call_back b rping -c -C 3 -a 10.78.0.1 -p "$PORT"
	wait_for 10 grep -qE "No such device|error -19" "$WORK/call_back.log"
}

# WireGuard between the hosts, 10.79.0.1 and 10.79.0.2, with a device on each end.
# Its interfaces have no MAC.
wireguard_tunnel() {
	local host other address=10.79.0.1 peer=10.79.0.2 to=$B4
	modprobe wireguard
	for host in a b; do
		(umask 077; wg genkey >"$WORK/$host.key")
		wg pubkey <"$WORK/$host.key" >"$WORK/$host.pub"
	done
	for host in a b; do
		[ "$host" = a ] && other=b || other=a
		ip -n "$host" link add wg0 type wireguard
		"$host" wg set wg0 private-key "$WORK/$host.key" listen-port 51820 \
			peer "$(<"$WORK/$other.pub")" allowed-ips "$peer/32" endpoint "$to:51820"
		ip -n "$host" addr add "$address/24" dev wg0
		ip -n "$host" link set wg0 up
		address=10.79.0.2 peer=10.79.0.1 to=$A4
	done
	link_add mpa2 a wg0
	link_add mpa3 b wg0
}

scenario above_wireguard 60 "devices on WireGuard, which has no MAC; none on a tunnel of another kind" \
	bridges newer
above_wireguard() {
	local before
	dirty
	wireguard_tunnel
	before=$(hw_counter mpa2 tx_bytes)
	rping_pair b a 10.79.0.2 64000
	rping_pair a b 10.79.0.1 1001
	[ $(($(hw_counter mpa2 tx_bytes) - before)) -gt 300000 ] || fail "mpa2 did not carry that"
	rping_pair b a "$B4" 1000
	ip -n a link add t0 type ipip local "$A4" remote "$B4"
	must_fail "Invalid argument" link_add mpa4 a t0
	dmesg | grep -q 'rdma_mpa: no RNIC on t0: type 768' || fail "the log does not say why"
	ip -n a link delete wg0
	wait_for 10 not device_exists mpa2
}
