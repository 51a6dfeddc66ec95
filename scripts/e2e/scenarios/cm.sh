# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Connections: what the initiator and the listener learn of each other.

scenarios cm 40 connections cm_probe \
	private_data reject:newer refused ird_ord depths:newer no_reads disconnects abandoned \
	burst named

cm_probe() {
	new_port
	run "cm_$1" a "$BIN/cm_probe" -p "$PORT" "$1"
}

scenario cm_ipv6 40 "private data and refusal over IPv6"
cm_ipv6() {
	new_port
	run cm_probe a "$BIN/cm_probe" -s "$B6" -p "$PORT" ird_ord depths reads_crossed \
		refused disconnects
}

# On a long cable each end has more Reads than it may send before the peer's first one arrives.
scenario cm_reads_crossed 60 "more Reads than the ORD from both ends of a short and a long cable" \
	newer
cm_reads_crossed() {
	cm_probe reads_crossed
	lengthen_cable 50
	cm_probe reads_crossed
}

# b is the router to two addresses that nobody may reach.
scenario cm_unreachable 40 "a router or firewall says that the peer cannot be reached"
cm_unreachable() {
	local far=10.78.0.1 far6=fd78::1 address
	dirty
	b sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	b ip route add prohibit "$far" && b ip -6 route add prohibit "$far6"
	a ip route add "$far" via "$B4" && a ip -6 route add "$far6" via "$B6"
	for address in "$far" "$far6"; do
		run cm_probe a "$BIN/cm_probe" -s "$address" -p 7471 unreachable
	done
}

# many_call: 50 callers connect to mpa1, which has room for two. None may be closed, because a
# caller then takes the other end for an old one.
many_call() {
	local before fallback
	before=$(hw_counter mpa1 pending_overflow)
	fallback=$(hw_counter mpa0 startups_fallback)
	both ucmatose -c 50
	[ "$(hw_counter mpa1 pending_overflow)" -gt "$before" ] || fail "nobody had to wait"
	[ "$(hw_counter mpa0 startups_fallback)" = "$fallback" ] ||
		fail "a caller fell back to revision 1"
}

scenario cm_pending 60 "more callers than max_pending: they wait, and none falls back" newer
cm_pending() {
	dirty
	echo 2 > /sys/class/infiniband/mpa1/mpa/max_pending
	# a good caller must not lose its place, however slow this machine is
	echo 600000 > /sys/class/infiniband/mpa1/mpa/request_timeout_ms
	echo 600000 > /sys/class/infiniband/mpa1/mpa/startup_timeout_ms
	many_call
	link_add mpalo b lo		# on the same port, with all its room
	many_call
	link_delete mpalo
}

# tcp_drops: prints how many SYNs the TCP of b has dropped because a queue was full or for another
# reason
tcp_drops() {
	b cat /proc/net/netstat | awk '$1 == "TcpExt:" && !names { names = split($0, name); next }
		$1 == "TcpExt:" { for (i = 2; i <= names; i++) if (name[i] ~ /^Listen/) n += $i }
		END { print n + 0 }'
}

scenario cm_crowd_waits 60 "TCP drops no caller when more wait for room than the backlog has places" \
	newer
cm_crowd_waits() {
	local drops
	drops=$(tcp_drops)
	dirty
	echo 2 >/sys/class/infiniband/mpa1/mpa/max_pending
	# The device evicts no caller, even on a slow machine.
	echo 600000 >/sys/class/infiniband/mpa1/mpa/request_timeout_ms
	echo 600000 >/sys/class/infiniband/mpa1/mpa/startup_timeout_ms
	cm_probe crowd_waits
	[ "$(tcp_drops)" = "$drops" ] || fail "TCP dropped SYNs"
}

# asks_server PORT: has rdma_cm an id for a request on that port of b?
asks_server() { rdma resource show cm_id | grep -q "mpa1.* state CONNECT .* src-addr $B4:$1 "; }

has_waited() { [ "$(hw_counter mpa1 pending_overflow)" -gt "$1" ]; }

# four_places: mpa1 has them for startups that wait for their program. Nobody gives up, however slow
# this machine is.
four_places() {
	dirty
	echo 4 >/sys/class/infiniband/mpa1/mpa/max_pending
	echo 600000 | tee /sys/class/infiniband/mpa[01]/mpa/{request,startup,accept}_timeout_ms >/dev/null
}

# silent_server NAME [PREFIX...]: a server that has a caller and never answers
silent_server() {
	new_port
	serve "$1" b "${@:2}" rping -s -a "$B4" -p "$PORT" -C 1
	kill -STOP "${PIDS[$1]}"
	start "caller_$1" a rping -c -a "$B4" -p "$PORT" -C 1
}

# Alice's servers take three of four places, because a user gets three times what is free.
scenario cm_silent_servers 60 "one who listens on many ports and answers on none leaves room to others"
cm_silent_servers() {
	local i before
	before=$(hw_counter mpa1 pending_overflow)
	four_places
	for i in 1 2 3 4 5; do
		silent_server "alice$i" "${ALICE[@]}"
		[ "$i" -gt 3 ] || wait_for 10 asks_server "$PORT"
	done
	wait_for 10 has_waited "$before"
	new_port
	serve root b rping -s -a "$B4" -p "$PORT" -C 1
	run client a rping -c -a "$B4" -p "$PORT" -C 1
	reap root
}

scenario cm_silent_root 60 "root's servers may take all places"
cm_silent_root() {
	local i
	four_places
	for i in 1 2 3 4; do
		silent_server "root$i"
		wait_for 10 asks_server "$PORT"
	done
}

# The caller of the stalled program ends, which is an event of the endpoint that is locked.
scenario cm_stalled 60 "a program that stalls in rdma_accept() delays nobody else's connections" \
	newer
cm_stalled() {
	new_port
	serve stalled b rping -s -a "$B4" -p "$PORT" -C 1
	stall stalled rnic_ep_set_depths
	start caller a rping -c -a "$B4" -p "$PORT" -C 1
	wait_for 10 is_stalled
	kill -KILL "${PIDS[caller]}"
	ended caller
	new_port
	serve server b rping -s -a "$B4" -p "$PORT" -C 1
	run client a rping -c -a "$B4" -p "$PORT" -C 1
	reap server
	is_stalled || fail "the program went on"
}

refusals() {
	echo $(($(hw_counter mpa1 backlog_overflow) + $(hw_counter mpa1 startups_rejected)))
}

scenario cm_crowd_refused 60 "callers beyond the program's backlog are refused and counted" newer
cm_crowd_refused() {
	local drops before counted
	drops=$(tcp_drops)
	before=$(refusals)
	cm_probe crowd_refused
	counted=$(($(refusals) - before))
	grep -qx "refused $counted" "$WORK/cm_crowd_refused.log" ||
		fail "the counters say that $counted were refused"
	[ "$(tcp_drops)" = "$drops" ] || fail "TCP dropped SYNs"
}

# Nobody is rejected because the time is over.
scenario cm_crowd_kernel 60 "callers wait while a kernel consumer's backlog is full, and hear of its end"
cm_crowd_kernel() { memprobe crowd accept_timeout_ms 600000; }

scenario cm_own_host 40 "127.0.0.1 and ::1 never lead to another namespace, whatever the device"
cm_own_host() {
	local address
	for address in 127.0.0.1 ::1; do
		new_port
		# rdma_cm takes the first device for these, and mpa0 is a's
		serve lure a python3 -c "import socket
at = socket.getaddrinfo('$address', $PORT)[0]
socket.create_server(at[4], family=at[0]).accept()"
		# not rping, which hangs when rdma_connect() itself fails
		try client b ucmatose -c 1 -s "$address" -p "$PORT"
		[ "$STATUS" != 0 ] || fail "somebody answered"
		grep -q "Cannot assign requested address" "$WORK/client.log" || fail "no such error"
		is_running lure || fail "a call came from another namespace"
		stop lure || :
	done
}

# late_answer: the program of b answers after twice the time that a peer has
late_answer() {
	new_port
	start probe a "$BIN/cm_probe" -p "$PORT" late_answer
	wait_for 10 grep -q called "$WORK/probe.log"
	sleep $((2 * SLOW))
	kill -USR1 "${PIDS[probe]}"
	reap probe
}

scenario cm_late_answer 40 "a program answers later than a peer may be silent (NEG-35)" newer
cm_late_answer() {
	local dev
	dirty
	for dev in mpa0 mpa1; do
		echo $((1000 * SLOW)) >/sys/class/infiniband/$dev/mpa/startup_timeout_ms
	done
	late_answer
	for dev in mpa0 mpa1; do
		echo 1 >/sys/class/infiniband/$dev/mpa/revision
		echo 1 >/sys/class/infiniband/$dev/mpa/rtr_frame
	done
	late_answer
}

# Only the time of b's program is short; a waits longer and gets the reject.
scenario cm_no_answer 40 "a program does not answer in its time, and both ends are told (NEG-23)"
cm_no_answer() {
	local over rejected
	dirty
	over=$(hw_counter mpa1 startups_timeout)
	rejected=$(hw_counter mpa0 startups_rejected)
	echo 1000 >/sys/class/infiniband/mpa1/mpa/accept_timeout_ms
	new_port
	run cm_no_answer a "$BIN/cm_probe" -p "$PORT" no_answer
	[ $(($(hw_counter mpa1 startups_timeout) - over)) = 1 ] || fail "startups_timeout"
	[ $(($(hw_counter mpa0 startups_rejected) - rejected)) = 1 ] || fail "startups_rejected"
}

scenario cm_tos 40 "a type of service for each direction, over IPv4 and IPv6"
cm_tos() {
	new_port
	run cm_tos a "$BIN/cm_probe" -p "$PORT" tos
	new_port
	run cm_tos_ipv6 a "$BIN/cm_probe" -s "$B6" -p "$PORT" tos
}

scenario cm_one_port 30 "two devices of one namespace listen on one port"
cm_one_port() {
	dirty
	ip link add vc index 103 netns a type veth peer name vd index 104 netns b
	ip -n a addr add 10.77.1.1/24 dev vc
	ip -n b addr add 10.77.1.2/24 dev vd
	ip -n a link set vc up
	ip -n b link set vd up
	link_add mpa2 a vc
	link_add mpa3 b vd
	new_port
	serve server b rping -s -P -V -a 0.0.0.0 -p "$PORT"
	run first a rping -c -V -C 3 -a "$B4" -p "$PORT"
	run second a rping -c -V -C 3 -a 10.77.1.2 -p "$PORT"
	link_delete mpa3 || fail "cannot delete a device with a listener"
	run third a rping -c -V -C 3 -a "$B4" -p "$PORT"
}

scenario cm_bound 30 "a listener on one address cannot be reached through another"
cm_bound() {
	dirty
	ip -n b addr add 10.77.0.3/24 dev vb
	new_port
	serve server b rping -s -P -V -a "$B4" -p "$PORT"
	run client a rping -c -V -C 3 -a "$B4" -p "$PORT"
	ip -n a neigh add 10.77.0.3 lladdr 02:77:00:00:00:02 dev va nud permanent
	must_fail "error -111" "${LIMITED[@]}" "$LIMIT" a rping -c -C 3 -a 10.77.0.3 -p "$PORT"
	new_port
	serve any b rping -s -P -V -a 0.0.0.0 -p "$PORT"
	run there a rping -c -V -C 3 -a 10.77.0.3 -p "$PORT"
}

scenario cm_port_taken 20 "a port that TCP uses cannot be listened on, and is free again"
cm_port_taken() {
	new_port
	serve server b rping -s -P -V -a "$B4" -p "$PORT"
	must_fail "in use" "${LIMITED[@]}" "$LIMIT" b rping -s -a "$B4" -p "$PORT"
	kill -9 "${PIDS[server]}"
	ended server
	serve again b rping -s -P -V -a "$B4" -p "$PORT"
	run client a rping -c -V -C 3 -a "$B4" -p "$PORT"
}

# rdma_cm makes a server on all addresses listen on each device, in all namespaces.
scenario cm_two_servers 30 "servers in two namespaces, one port: each has its own connections"
cm_two_servers() {
	new_port
	serve server_a a rping -s -V -C 3 -a 0.0.0.0 -p "$PORT"
	serve server_b b rping -s -V -C 3 -a 0.0.0.0 -p "$PORT"
	run to_b a rping -c -V -C 3 -a "$B4" -p "$PORT"
	run to_a b rping -c -V -C 3 -a "$A4" -p "$PORT"
	reap server_a
	reap server_b
	new_port
	serve own b rping -s -a 127.0.0.1 -p "$PORT"	# each device is asked for this, too
}

scenario cm_foreign 30 \
	"a server on all addresses is independent of another namespace's port and end"
cm_foreign() {
	dirty
	new_port
	serve holder a rping -s -P -a "$A4" -p "$PORT"
	serve server b rping -s -P -V -a 0.0.0.0 -p "$PORT"
	run client a rping -c -V -C 3 -a "$B4" -p "$PORT"
	stop holder
	ip netns del a
	wait_for 10 not device_exists mpa0	# its namespace is gone
	wait_for 10 not device_exists mpa1	# and the cable with it
	not listens server "$PORT" || fail "the port is open without a device"
	ip -n b link add d0 type dummy
	ip -n b addr add 10.78.0.1/24 dev d0
	ip -n b link set d0 up
	link_add mpa2 b d0
	run late b rping -c -V -C 3 -a 10.78.0.1 -p "$PORT"
}

# The device that goes is the last one on the port, which the new device opens.
scenario cm_handover 30 "a server's last device goes while another one comes"
cm_handover() {
	local old=mpa2 new=mpa3 round
	dirty
	link_delete mpa1
	for round in 2 3; do
		ip -n b link add "d$round" type dummy
		ip -n b addr add "10.78.$round.1/24" dev "d$round"
		ip -n b link set "d$round" up
	done
	link_add mpa2 b d2
	new_port
	serve server b rping -s -P -V -a 0.0.0.0 -p "$PORT"
	for round in 1 2 3 4; do
		start add b rdma link add "$new" type "$TYPE" netdev "d${new#mpa}"
		start delete b rdma link delete "$old"
		reap add
		reap delete
		listens server "$PORT" || fail "round $round: nobody listens"
		set -- "$old" "$new"
		old=$2 new=$1
	done
	run client b rping -c -V -C 3 -a "10.78.${old#mpa}.1" -p "$PORT"
}

scenario cm_listener_killed 30 "a listener's socket is killed: a device that comes later opens the port anew"
cm_listener_killed() {
	dirty
	ip -n b link add d0 type dummy
	ip -n b addr add 10.78.0.1/24 dev d0
	ip -n b link set d0 up
	new_port
	serve server b rping -s -P -V -a 0.0.0.0 -p "$PORT"
	b ss -HK state listening "sport = :$PORT" | grep -q ":$PORT" || fail "nothing was killed"
	not listens server "$PORT" || fail "it listens still"
	link_add mpa2 b d0
	listens server "$PORT" || fail "nobody listens for the new device"
	run client b rping -c -V -C 3 -a 10.78.0.1 -p "$PORT"
	link_delete mpa1 || fail "cannot delete the device whose listener was killed"
	run again b rping -c -V -C 3 -a 10.78.0.1 -p "$PORT"
}
