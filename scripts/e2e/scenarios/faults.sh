# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Programs, links and namespaces go away in mid-transfer.

# perf_until LOOK PROGRAM OPTIONS...: starts a server in b and a client in a that would go on for a
# minute, and waits until LOOK succeeds. perf_between() says why they may be started again.
perf_until() {
	local look=$1 turn
	shift
	for turn in 1 2 3; do
		new_port
		serve server b "$1" -R -F -p "$PORT" "${@:2}" -n 100000
		start client a "$1" -R -F -p "$PORT" "${@:2}" -n 100000 "$B4"
		wait_for 30 early_or "$look"
		was_early client || return 0
		note "try $turn: $1 connected before its server listened"
		stop client
		stop server
	done
	fail "the client connected before its server listened, three times"
}

early_or() { was_early client || "$@"; }

# busy_pair: bulk writes from a to b
busy_pair() { perf_until busy ib_write_bw -s 65536; }

# bytes_in: the bytes that vb has received so far. The server has entered its namespace, because it
# listens there.
bytes_in() { awk '$1 == "vb:" { print $2 }' "/proc/${PIDS[server]}/net/dev"; }

# Are bytes moving? The first look alone might see only those of the startup.
busy() {
	local one two
	one=$(bytes_in)
	sleep 0.3
	two=$(bytes_in)
	[ $((${two:-0} - ${one:-0})) -gt 30000 ]
}

# must_die NAME SECONDS: the program notices and ends, with an error
must_die() {
	ended "$1" "$2"
	[ "$STATUS" != 0 ] || fail "$1 ended as if nothing had happened"
}

scenario killed_client 90 "the writing side is killed with -9"
killed_client() {
	busy_pair
	kill -9 "${PIDS[client]}"
	ended client
	# The server of a one-sided test waits on a connection event.
	ended server 10
	wait_for 5 no_objects
}

scenario killed_server 90 "the side written to is killed with -9"
killed_server() {
	busy_pair
	kill -9 "${PIDS[server]}"
	must_die client 10
	wait_for 5 no_objects
}

scenario killed_rping 30 "rping loses its peer, either side" newer
killed_rping() {
	local victim
	for victim in server client; do
		new_port
		serve server b rping -s -V -S 64000 -a "$B4" -p "$PORT"
		start client a rping -c -V -S 64000 -a "$B4" -p "$PORT"
		wait_for 10 busy
		kill -9 "${PIDS[$victim]}"
		ended client 10
		ended server 10
	done
}

scenario link_deleted_busy 90 "rdma link delete on the sending side, under traffic" newer
link_deleted_busy() {
	dirty
	busy_pair
	link_delete mpa0 || fail "rdma link delete: status $?"
	must_die client 15
	ended server 15
}

scenario link_deleted_receiver 90 "rdma link delete on the receiving side, under traffic"
link_deleted_receiver() {
	dirty
	busy_pair
	link_delete mpa1 || fail "rdma link delete: status $?"
	must_die client 15
	ended server 15
}

scenario netdev_removed_busy 120 "the cable is removed under traffic"
netdev_removed_busy() {
	dirty
	busy_pair
	timeout 20 ip -n a link delete va || fail "ip link delete: status $?"
	wait_for 10 not device_exists mpa0
	wait_for 10 not device_exists mpa1
	must_die client 15
	ended server 15
}

scenario cable_pulled 30 "the cable is out for two seconds; the connection survives"
cable_pulled() {
	dirty		# IPv6 addresses go with the cable
	new_port
	serve server b rping -s -P -V -S 64000 -a "$B4" -p "$PORT"
	start client a rping -c -v -V -S 64000 -a "$B4" -p "$PORT"
	pings_on 3
	ip -n b link set vb down
	sleep 2		# the outage itself
	ip -n b link set vb up
	pings_on 20
	stop client
	is_running server || fail "the server ended"
}

# shown DEVICE NAME: the largest value that "rdma resource" has for a connection of the device.
# (perftest has two, and uses one only for its own messages. That one comes first or last, because
# queue pair numbers are random.)
shown() {
	rdma resource show qp link "$1/1" -dd | sed -n "s/.* drv_$2 \([0-9]*\).*/\1/p" |
		sort -n | tail -n 1
}

# is_shown DEVICE NAME FROM TO: is the value in this range?
is_shown() {
	local value
	value=$(shown "$1" "$2")
	[ "${value:-0}" -ge "$3" ] && [ "${value:-0}" -le "$4" ]
}

reads_wait() { is_shown mpa0 taken 5 200; }

scenario resource_qp 120 "rdma resource shows what a connection waits for when nothing comes back"
resource_qp() {
	dirty
	modprobe sch_netem
	perf_until reads_wait ib_read_bw -s 4194304 -o 4
	tc -n b qdisc add dev vb root netem loss 100%
	wait_for 10 is_shown mpa0 reads_out 4 4	# as many as the client may ask for
	wait_for 10 is_shown mpa1 reads_in 3 4	# the answer to one may be in TCP
	is_shown mpa0 waits 1 1 || fail "the next Read does not wait"
	is_shown mpa0 taken 5 200 || fail "taken: $(shown mpa0 taken)"
	is_shown mpa1 left 1 4194304 || fail "the server has nothing left to send"
	tc -n b qdisc del dev vb root
	stop client
	stop server
}

# TCP may be full amid an FPDU or between two.
is_full() {
	local left=$(($(shown mpa0 left) + $(shown mpa0 unsent)))
	[ $left -gt 0 ] && is_shown mpa0 bulk 1 1
}

scenario resource_bulk 60 "rdma resource shows that the worker sends as long as TCP is full" slow
resource_bulk() {
	local look
	dirty
	modprobe sch_netem
	busy_pair
	tc -n a qdisc add dev va root netem loss 100%
	wait_for 10 is_full
	for look in {1..20}; do
		is_full || fail "look $look: bulk is $(shown mpa0 bulk)"
	done
	is_shown mpa1 bulk 0 0 || fail "the server, which sends nothing, has bulk $(shown mpa1 bulk)"
	tc -n a qdisc del dev va root
	stop client
	stop server
}

look_for_ever() {
	while :; do
		rdma resource show qp -dd
		rdma resource show cq
		rdma resource show mr
		rdma resource show cm_id
	done
}

scenario resource_race 60 "rdma resource looks at objects that come and go"
resource_race() {
	export -f look_for_ever
	start looker a bash -c look_for_ever
	new_port
	run named a "$BIN/cm_probe" -p "$PORT" named
	both ucmatose -c 20
	stop looker
	grep -q 'type RC' "$WORK/looker.log" || fail "it saw no queue pair"
}

scenario peer_vanished 90 "the peer's host is gone without a word; both sides can clean up"
peer_vanished() {
	dirty
	busy_pair
	ip -n b link set vb down
	kill -9 "${PIDS[server]}"
	ended server
	ip netns del b
	wait_for 15 not device_exists mpa1
	# TCP would go on trying for minutes; its device may have gone with the cable
	kill -9 "${PIDS[client]}" 2>/dev/null || :
	ended client
	wait_for 10 no_objects
}
