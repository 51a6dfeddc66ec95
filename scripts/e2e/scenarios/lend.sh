# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# MPA on TCP connections that programs use already.

# lend TEST [OPTION...]: runs a test of lend_probe
lend() {
	new_port
	run "lend_$1" a "$BIN/lend_probe" -p "$PORT" "${@:2}" "$1"
}

scenarios lend 40 "MPA on a program's own connection" lend \
	accepted closed_at_once rejected rejected_and_closed rejected_at_once unread \
	request_first data small_buffers options_return depths epoll_edges blocked_reader
scenarios lend 40 "MPA on a program's own connection, a scripted peer" lend \
	early_fpdu early_bytes text_not_request text_not_reply request_not_reply bad_reply \
	slow_frames reply_and_fpdu reply_fpdu_and_end reject_and_text reject_and_end \
	long_private_data text_waits long_last last_behind_text
scenarios lend 40 "the end of MPA on a program's own connection, in each state" lend \
	closed closed_with_linger destroyed_qp failed_qp killed killed_socket_last \
	peer_closed peer_reset peer_left connected_again
scenarios lend 40 "calls for MPA on a program's own connection that are refused" lend \
	bad_start bad_qp used_qp qp_for_two wrong_state bad_answer bad_option bad_socket \
	tls:tls kcm:bpf repair loopback busy stamps addrform addrform_before \
	addrform_again

# setting_of_both NAME VALUE
setting_of_both() {
	local dev
	dirty
	for dev in mpa0 mpa1; do
		echo "$2" >"/sys/class/infiniband/$dev/mpa/$1"
	done
}

# lend_in_time TEST: the time-outs are short
lend_in_time() {
	setting_of_both startup_timeout_ms $((150 * SLOW))
	setting_of_both accept_timeout_ms $((150 * SLOW))
	lend "$1"
}
scenarios lend 40 "MPA on a program's own connection: time-outs" lend_in_time \
	both_wait no_answer no_reply no_request half_request

scenario lend_both_initiate 40 "both programs start MPA as the initiator"
lend_both_initiate() {
	lengthen_cable 100
	lend both_initiate
}

scenario lend_ipv6 40 "MPA on a program's own connection, over IPv6"
lend_ipv6() {
	lend accepted -s "$B6"
	lend rejected -s "$B6"
	lend closed -s "$B6"
}

# A socket that takes both, as most servers have
scenario lend_mapped 40 "MPA on a program's own IPv6 socket with an IPv4 connection"
lend_mapped() {
	lend accepted -s "::ffff:$B4"
	lend data -s "::ffff:$B4"
}

scenario lend_flags 40 "MPA on a program's own connection: MPA_STREAM_ flags follow the settings"
lend_flags() {
	dirty
	FLAGS_A=1 FLAGS_B=1 lend flags
	echo 1 >/sys/class/infiniband/mpa0/mpa/markers
	FLAGS_A=5 FLAGS_B=3 lend flags
	setting_of_both crc off
	FLAGS_A=4 FLAGS_B=2 lend flags
	echo 1 >/sys/class/infiniband/mpa1/mpa/markers
	FLAGS_A=6 FLAGS_B=6 lend flags
	lend data
	setting_of_both markers 0
	FLAGS_A=0 FLAGS_B=0 lend flags
	lend data
}

scenario lend_lossy 60 "one packet in ten is lost while programs start MPA again and again"
lend_lossy() {
	local before resent
	dirty
	modprobe sch_netem
	before=$(($(resent a) + $(resent b)))
	tc -n a qdisc add dev va root netem loss 10%
	tc -n b qdisc add dev vb root netem loss 10%
	lend rejected
	resent=$(($(resent a) + $(resent b) - before))
	[ "$resent" -ge 5 ] || fail "$resent segments sent again, expected at least 5"
}

scenario lend_sockmap 40 "a program's own connection is in a sockmap of BPF" bpf
lend_sockmap() {
	dirty
	start_mesh
	lend sockmap
	stop mesh
	grep -qx 'taken 2 refused 0' "$WORK/mesh.log" || fail "$(<"$WORK/mesh.log")"
}

# hold TEST STATE: runs it to that state, where it waits for resume
hold() {
	new_port
	start held a "$BIN/lend_probe" -p "$PORT" "$1"
	wait_for 10 grep -qx "$2" "$WORK/held.log"
}

resume() {
	kill -USR1 "${PIDS[held]}"
	reap held
}

# lend_without_device TEST STATE DEVICE: the device is deleted
lend_without_device() {
	dirty
	hold "$1" "$2"
	link_delete "$3"
	resume
}
scenario lend_device_established 40 "a device is deleted under MPA on a program's own connection" \
	-- lend_without_device held established mpa0
scenario lend_device_starting 40 "a device is deleted while a program waits for a Request" \
	-- lend_without_device held_starting starting mpa1
scenario lend_device_requested 40 "a device is deleted while a program has to answer" \
	-- lend_without_device held_requested requested mpa1

scenario lend_closed_late 40 "close() of one stream spares the next one of the queue pair" \
	newer
lend_closed_late() {
	hold closed_late established
	stall held rnic_qp_close
	kill -USR1 "${PIDS[held]}"
	wait_for 10 grep -qx "the next one" "$WORK/held.log"
	is_stalled || fail "the program went on"
	trap - EXIT
	rmmod stall
	resume
}

scenario lend_killed_by_ss 40 "ss -K ends MPA on a program's own connection"
lend_killed_by_ss() {
	hold held established
	a ss -K dport = "$PORT"
	resume
}

scenario lend_shown 40 "rdma shows the queue pair of a program's own connection"
lend_shown() {
	hold kept established
	# Newer versions of rdma break the line of a queue pair.
	rdma resource show qp -dd | sed -z 's/ *\n  */ /g' >"$WORK/qp.log"
	grep -q 'link mpa0/.* state RTS .*comm lend_probe .*drv_open 1 drv_closing 0' "$WORK/qp.log" || fail "mpa0"
	grep -q 'link mpa1/.* state RTS .*comm lend_probe .*drv_open 1 drv_closing 0' "$WORK/qp.log" || fail "mpa1"
	resume
}

# reports: how often a router has said that a destination is unreachable
reports() { a cat /proc/net/snmp | awk '/^Icmp: [0-9]/ { print $5 }'; }
reported() { [ "$(reports)" -gt "$1" ]; }

# b has no address for a while, and says so as a router. TCP takes no notice of errors that come while
# the program has the socket locked, as it has while it sends. On a slow kernel TCP may try again only
# after many seconds, and a startup must not end before.
scenarios lend 40 "a router reports an error to a program's own connection" unreachable_for_a_while \
	router_error router_error_early
unreachable_for_a_while() {
	local seen
	setting_of_both startup_timeout_ms 60000
	hold "$1" established
	seen=$(reports)
	b sysctl -qw net.ipv4.ip_forward=1
	ip -n a neigh replace "$B4" lladdr 02:77:00:00:00:02 dev va nud permanent
	ip -n b addr add 10.79.0.1/32 dev lo
	ip -n b addr del "$B4/24" dev vb
	ip -n b route add 10.77.0.0/24 dev vb
	ip -n b route add unreachable "$B4"
	modprobe sch_netem
	tc -n b qdisc add dev vb root netem delay 50ms
	kill -USR1 "${PIDS[held]}"
	wait_for 10 reported "$seen"
	ip -n b route del unreachable "$B4"
	ip -n b addr add "$B4/24" dev vb
	resume
}

scenario lend_no_unload 40 "the module cannot be unloaded while a program has the protocol" newer
lend_no_unload() {
	dirty
	hold held established
	must_fail "in use" rmmod "$MODULE_NAME"
	topo_down
	# The program has not closed its sockets.
	must_fail "in use" rmmod "$MODULE_NAME"
	resume
	wait_for 10 rmmod "$MODULE_NAME"
}

scenario lend_kernel 60 "a kernel consumer makes an MPA stream of its connection" newer
lend_kernel() { memprobe lend; }

scenario lend_lingers 60 "SO_LINGER of the program does not hold the driver back" newer
lend_lingers() {
	dirty
	modprobe sch_netem
	lend lingers
	link_delete mpa0 || fail "the device cannot be deleted"
}

scenario lend_locked 60 "a program holds its socket's lock; others connect meanwhile" newer
lend_locked() {
	local workers=/sys/bus/workqueue/devices/rdma_mpa/max_active
	lend locked_startup
	# shellcheck disable=SC2064
	trap "echo '$(<"$workers")' >'$workers'" EXIT
	echo 1 >"$workers"
	lend locked_worker
}
