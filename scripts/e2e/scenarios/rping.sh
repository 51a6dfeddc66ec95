# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# rping: RDMA Reads, Writes and Sends whose data both ends compare.

SIZES='64 1001 4096 64000'

# rping_pair SERVER-NS CLIENT-NS ADDRESS SIZE [OPTIONS...]: one server, one client
rping_pair() {
	local sns=$1 cns=$2 addr=$3 size=$4
	shift 4
	new_port
	serve server "$sns" rping -s -V -C 5 -S "$size" -a "$addr" -p "$PORT"
	run client "$cns" rping -c -V -C 5 -S "$size" -a "$addr" -p "$PORT" "$@"
	reap server
}

# rping_sizes SERVER-NS CLIENT-NS ADDRESS: one persistent server, a client a size
rping_sizes() {
	local size
	new_port
	serve server "$1" rping -s -P -V -S 64000 -a "$3" -p "$PORT"
	for size in $SIZES; do
		run "client_$size" "$2" rping -c -V -C 3 -S "$size" -a "$3" -p "$PORT"
	done
	is_running server || fail "the server ended"
}

scenario rping_ipv4 40 "rping, 64 to 64000 bytes, IPv4, MTU 1500" newer
rping_ipv4() { rping_sizes b a "$B4"; }

scenario rping_ipv6 40 "rping, 64 to 64000 bytes, IPv6" newer
rping_ipv6() { rping_sizes a b "$A6"; }

scenario rping_once 20 "rping ends well at both ends"
rping_once() {
	rping_pair b a "$B4" 64
	rping_pair a b "$A6" 64000
}

scenario rping_wildcard 20 "a server on any address, IPv4 and IPv6"
rping_wildcard() {
	new_port
	serve server b rping -s -P -V -a 0.0.0.0 -p "$PORT"
	run client a rping -c -V -C 3 -a "$B4" -p "$PORT"
	new_port
	serve server6 b rping -s -P -V -a :: -p "$PORT"
	run client6 a rping -c -V -C 3 -a "$B6" -p "$PORT"
	run client4 a rping -c -V -C 3 -a "$B4" -p "$PORT"	# a mapped address there
}

scenario rping_mtu_9000 40 "rping over jumbo frames"
rping_mtu_9000() {
	dirty
	set_mtu 9000
	rping_sizes b a "$B4"
}

scenario rping_mtu_change 40 "the MTU shrinks and grows under a running rping" newer
rping_mtu_change() {
	local mtu
	dirty
	new_port
	serve server b rping -s -P -V -S 64000 -a "$B4" -p "$PORT"
	start client a rping -c -v -V -S 64000 -a "$B4" -p "$PORT"
	for mtu in 9000 1500 1280 4000 1500; do
		set_mtu "$mtu"
		pings_on 20
	done
	stop client
	is_running server || fail "the server ended"
}

# pings_on N: the client, with -v, makes that many more round trips
pings_on() { wait_for 30 pinged $(($(pings) + $1)); }
pings() { grep -c '^ping data: ' "$WORK/client.log" || :; }
pinged() { [ "$(pings)" -ge "$1" ]; }

scenario rping_lo 40 "a device on lo, both ends on it"
rping_lo() {
	dirty
	# Not 127.0.0.1, because rdma_cm connects to that through the first device it knows,
	# whatever its network device. See rping_loopback.
	ip -n a address add 10.99.0.1/32 dev lo
	ip -n a address add fd99::1/128 dev lo nodad
	link_add mpalo a lo
	rping_sizes a a 10.99.0.1
	rping_pair a a fd99::1 1000
	link_delete mpalo
}

scenario rping_loopback 40 "127.0.0.1 and ::1, with a device on lo that is not the first"
rping_loopback() {
	dirty
	link_add mpalo a lo
	rping_pair a a 127.0.0.1 1000
	rping_pair a a ::1 1000
	link_delete mpalo
}

scenario rping_self 30 "to one's own address on the cable"
rping_self() {
	dirty
	link_add mpalo a lo
	rping_pair a a "$A4" 64
	rping_pair a a "$A4" 64000
	link_delete mpalo
}

scenario rping_many 40 "four connections at once"
rping_many() {
	local i
	# A server each, because rping -P loses a connection that comes while it takes another.
	for i in 1 2 3 4; do
		new_port
		serve "server$i" b rping -s -V -C 20 -S 16000 -a "$B4" -p "$PORT"
	done
	for i in 1 2 3 4; do
		start "client$i" a rping -c -V -C 20 -S 16000 -a "$B4" -p "$((PORT - 4 + i))"
	done
	for i in 1 2 3 4; do
		reap "client$i" 20
		reap "server$i" 5
	done
}
