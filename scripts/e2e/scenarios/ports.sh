# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Which server gets a port.

scenario ports_taken 60 "a port belongs to one server, whatever the port space" newer
ports_taken() {
	new_port
	run ports_taken b "$BIN/cm_ports" -p "$PORT" taken
}

scenario ports_datagrams 40 "a server for datagrams takes no port from anyone"
ports_datagrams() {
	new_port
	run ports_datagrams b "$BIN/cm_ports" -p "$PORT" datagrams
}

scenario ports_spaces 40 "programs of rdma-core in another port space"
ports_spaces() {
	new_port
	serve server b ucmatose -P ib -b "$B4" -p "$PORT"
	run client a ucmatose -P ib -s "$B4" -p "$PORT"
	reap server
	new_port
	serve server b ucmatose -P ib -p "$PORT"
	run client a ucmatose -P ib -s "$B4" -p "$PORT"
	reap server
}

# Both listen before there is a device that could find the port taken. All others can use the
# device nevertheless, and the first server gets its connections.
scenario ports_late_device 40 "two servers of one port, and then a device"
ports_late_device() {
	dirty
	link_delete mpa1
	new_port
	start server b "$BIN/cm_ports" -p "$PORT" await_device
	wait_for 10 grep -qx "listening" "$WORK/server.log"
	link_add mpa1 b vb
	kill -USR1 "${PIDS[server]}"
	reap server
}

# The program makes the range of b's ports narrow, so that a few connections take a good part of it.
scenarios ports 60 "a server gets the port of a TCP socket or not" cm_ports \
	beside_connections:newer any_port:newer held:newer at_once:newer

scenario ports_families 60 "an IPv6 wildcard gets IPv4 connections or not, as its program says" newer
ports_families() {
	dirty		# the program changes b's net.ipv6.bindv6only
	new_port
	run ports_families b "$BIN/cm_ports" -p "$PORT" families
}

cm_ports() {
	dirty
	new_port
	run "ports_$1" b "$BIN/cm_ports" -p "$PORT" "$1"
}
