# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Interfaces in a VRF, whose addresses and routes are in a table of its own. An RDMA program
# makes no socket, so "ip vrf exec" does not put it there. rdma_cm finds the route by the
# caller's own address, and the driver puts the socket where the interface is.

# in_vrf HOST INTERFACE ADDRESS4 ADDRESS6: puts the interface into the host's VRF. It loses its IPv6
# addresses and its neighbours on the way.
in_vrf() {
	modprobe vrf
	ip -n "$1" link add red index 110 type vrf table 10
	ip -n "$1" link set red up
	ip -n "$1" link set "$2" master red
	ip -n "$1" addr replace "$4/64" dev "$2" nodad
}

vrf_neighbours() {
	local mac=02:77:00:00:00:0
	ip -n a neigh replace "$B4" lladdr ${mac}2 dev va nud permanent
	ip -n a neigh replace "$B6" lladdr ${mac}2 dev va nud permanent
	ip -n b neigh replace "$A4" lladdr ${mac}1 dev vb nud permanent
	ip -n b neigh replace "$A6" lladdr ${mac}1 dev vb nud permanent
}

# has_route HOST ADDRESS: is there a route outside of VRFs?
has_route() { "$1" ip route get "$2" 2>/dev/null; }

# vrf_calls: a connects to servers on b's address and on all addresses, over IPv4 and IPv6
vrf_calls() {
	local at name
	for at in "$B4" 0.0.0.0 "$B6" ::; do
		new_port
		name=server_${at//[.:]/_}
		serve "$name" b rping -s -P -V -a "$at" -p "$PORT"
		case $at in
		*:*) run "call_$at" a rping -c -V -C 3 -I "$A6" -a "$B6" -p "$PORT" ;;
		*) run "call_$at" a rping -c -V -C 3 -I "$A4" -a "$B4" -p "$PORT" ;;
		esac
		stop "$name"
	done
}

scenario vrf_both 90 "both interfaces are in VRFs: served and called by a bound address" newer
vrf_both() {
	dirty
	in_vrf a va "$A4" "$A6"
	in_vrf b vb "$B4" "$B6"
	vrf_neighbours
	not has_route a "$B4" || fail "there is a route outside of the VRF"
	vrf_calls
}

# rdma_cm gives 127.0.0.1 to the first device, mpa0, whose interface is in the VRF.
scenario vrf_loopback 40 "the loopback addresses are outside of VRFs, also for a device in one"
vrf_loopback() {
	local at
	dirty
	in_vrf a va "$A4" "$A6"
	link_add mpa2 a lo
	for at in 127.0.0.1 ::1; do
		new_port
		serve "server_${at//[.:]/_}" a rping -s -V -a "$at" -p "$PORT"
		run "call_$at" a rping -c -V -C 3 -a "$at" -p "$PORT"
		reap "server_${at//[.:]/_}"
	done
}

scenario vrf_exec 60 "ip vrf exec: a program in the VRF accepts from outside, and connects" bpf
vrf_exec() {
	dirty
	in_vrf b vb "$B4" "$B6"
	vrf_neighbours
	new_port
	serve server b ip vrf exec red rping -s -a "$B4" -V -p "$PORT"
	run call a rping -c -V -C 3 -a "$B4" -p "$PORT"
	reap server
	new_port
	serve back a rping -s -a "$A4" -V -p "$PORT"
	run call_back b ip vrf exec red rping -c -V -C 3 -I "$B4" -a "$A4" -p "$PORT"
	reap back
}

scenario vrf_ports 60 "a TCP port outside of the VRF is another one; one socket may serve all"
vrf_ports() {
	dirty
	in_vrf b vb "$B4" "$B6"
	vrf_neighbours
	new_port
	start tcp b python3 -c 'import socket, sys, time
sock = socket.socket(); sock.bind(("0.0.0.0", int(sys.argv[1]))); sock.listen()
print("listening", flush=True); time.sleep(100)' "$PORT"
	wait_for 10 grep -q listening "$WORK/tcp.log"
	start server b rping -s -V -a 0.0.0.0 -p "$PORT"
	wait_for 10 vrf_listens
	run call a rping -c -V -C 3 -a "$B4" -p "$PORT"
	reap server
	stop tcp
	b sysctl -qw net.ipv4.tcp_l3mdev_accept=1
	new_port
	serve for_all b rping -s -V -a 0.0.0.0 -p "$PORT"
	not vrf_listens || fail "in the VRF only"
	run call_all a rping -c -V -C 3 -a "$B4" -p "$PORT"
	reap for_all
}

vrf_listens() { b ss -Hltn "sport = :$PORT" | grep -q '%red:'; }

scenario vrf_main_route 40 "a route outside of the VRF leads to an address in it"
vrf_main_route() {
	dirty
	in_vrf a va "$A4" "$A6"
	vrf_neighbours
	new_port
	serve server b rping -s -V -a "$B4" -p "$PORT"
	must_fail "" a rping -c -V -C 3 -a "$B4" -p "$PORT"
	ip -n a route add 10.77.0.0/24 dev va
	run call a rping -c -V -C 3 -a "$B4" -p "$PORT"
	reap server
}
