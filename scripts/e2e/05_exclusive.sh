# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Devices that belong to one namespace. First of all, because the mode can be had only while
# there is no other namespace, and a connection that was cut keeps one for minutes.

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
