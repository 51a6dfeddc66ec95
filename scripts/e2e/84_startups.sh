# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Startups that are given up, or should not have begun.

# connected_times N: as many connections has the silent peer of the scenario
connected_times() { [ "$(a ss -Htn state established "sport = :$PORT" | wc -l)" = "$1" ]; }

scenario startups_killed 60 "a program with 300 startups under way is killed, and gone soon"
startups_killed() {
	local n=300
	dirty
	echo 600000 >/sys/class/infiniband/mpa1/mpa/startup_timeout_ms
	new_port
	serve silent a python3 -c "import socket, time
s = socket.create_server(('$A4', $PORT), backlog=1024)
time.sleep(1000)"
	start program b "$BIN/startups" "$A4" "$PORT" "$n"
	wait_for 30 grep -qx connecting "$WORK/program.log"
	wait_for 10 connected_times "$n"
	kill -9 "${PIDS[program]}"
	ended program
	wait_for 5 connected_times 0
	stop silent || :
}

scenario startups_broken_qp 30 "a broken queue pair is refused before the peer is asked"
startups_broken_qp() { peer local broken; }

scenario startups_reserved 30 "a reserved local port is not used"
startups_reserved() {
	dirty
	b sysctl -qw net.ipv4.ip_local_port_range="20000 20039"
	b sysctl -qw net.ipv4.ip_local_reserved_ports=20000-20029
	peer local reserved
}

# In exclusive mode a device may move to another namespace. While it does nobody can get
# hold of it.
scenario startups_netns 60 "a device changes its namespace while its interface goes: it goes too"
startups_netns() {
	dirty
	topo_down
	until_true 10 rdma system set netns exclusive || fail "no exclusive mode"
	# shellcheck disable=SC2064 # these
	trap "ip netns del n 2>/dev/null || :; rdma system set netns shared" EXIT
	for _ in {1..20}; do
		ip link add d0 type dummy
		rdma link add mpa9 type "$TYPE" netdev d0
		ip netns add n
		rdma dev set mpa9 netns n >/dev/null 2>&1 &
		ip link del d0
		wait $! || :
		wait_for 10 gone_everywhere
		ip netns del n
	done
}

gone_everywhere() {
	[[ "$(rdma dev show) $(ip netns exec n rdma dev show)" != *mpa9* ]]
}
