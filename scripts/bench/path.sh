# shellcheck shell=bash disable=SC2034 # what the measurements use
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The path of the benchmarks, for siw, our device and rxe. To be sourced in a guest,
# behind the scenarios' lib.sh, with RDMA_TYPE and MODULE set.

server_ns=b address=$B4

# rxe and NVMe of Linux 6.1 have their sockets and routes in the first network namespace only.
# So "a" and "b" are two names for that namespace, and rules send packets from one address to
# the other over the cable. These rules come before the table of local addresses, and hold for
# packets that begin here, not for those that arrive.
one_host_cable() {
	local dev
	ip netns attach a $$
	ip netns attach b $$
	"${CABLE:-veth}_ends"
	for dev in all va vb; do
		echo 0 > "/proc/sys/net/ipv4/conf/$dev/rp_filter"
		echo 1 > "/proc/sys/net/ipv4/conf/$dev/accept_local"
	done
	ip -batch - <<-BATCH
		addr add $A4/24 dev va
		addr add $B4/24 dev vb
		link set va up
		link set vb up
		neigh add $B4 lladdr 02:77:00:00:00:02 dev va nud permanent
		neigh add $A4 lladdr 02:77:00:00:00:01 dev vb nud permanent
		route add $B4 dev va src $A4 table 101
		route add $A4 dev vb src $B4 table 102
		rule add pref 10 oif va table 101
		rule add pref 11 oif vb table 102
		rule add pref 20 iif lo to $B4 table 101
		rule add pref 21 iif lo to $A4 table 102
		rule add pref 100 table local
		rule del pref 0
	BATCH
}

# A listener of rxe has no TCP port, so rdma_cm has to say that it listens.
rxe_listens() {
	is_running "$1" || return 0
	rdma resource show cm_id link mpa1 | grep -q "state LISTEN .*:$2 "
}

if [ "$RDMA_TYPE" = rxe ]; then
	make_cable() { one_host_cable; }
	listens() { rxe_listens "$@"; }
fi

# path_up: the cable, with a device at each end
path_up() {
	[ "$RDMA_TYPE" != rxe ] || modprobe rdma_rxe
	topo_up > "$STATE/topology" 2>&1 || { cat "$STATE/topology"; return 1; }
}

# use_path MTU: everything after it goes over the cable with this MTU; or, to a host's own
# address, over lo. A device on lo itself would exclude siw, which has no GID there.
use_path() {
	[ "$RDMA_TYPE" != rxe ] || ip rule del pref 21 2> /dev/null || :
	if [ "$1" = lo ]; then
		server_ns=a address=$A4
		return
	fi
	server_ns=b address=$B4
	set_mtu "$1"
	[ "$RDMA_TYPE" != rxe ] || ip rule add pref 21 iif lo to "$A4" table 102
}

# set_crc off|on: siw has no such setting, its CRC is off as we build it; rxe's
# is always on
set_crc() {
	local file value=off
	[ "$1" = off ] || value=required
	for file in /sys/class/infiniband/*/mpa/crc; do
		[ ! -e "$file" ] || echo "$value" > "$file"
	done
}
