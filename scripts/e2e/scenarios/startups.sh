# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Startups that are given up, or should not have begun.

# connected_times N: has the scenario's silent peer so many connections?
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

scenario startups_reserved 30 "a reserved local port is not used" newer
startups_reserved() {
	dirty
	b sysctl -qw net.ipv4.ip_local_port_range="20000 20039"
	b sysctl -qw net.ipv4.ip_local_reserved_ports=20000-20029
	peer local reserved
}
