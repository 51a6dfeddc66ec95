# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Devices that belong to one namespace. These scenarios come first, because the mode can be set
# only while there is no other namespace, and a connection that was cut keeps one for minutes.

# In exclusive mode a device may move to another namespace. While it moves nobody can get a
# reference to it.
scenario startups_netns 60 "an interface is deleted while its device changes namespace: both go" \
	first slow
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

# A program must see the /sys of its own namespace, which ip(8) mounts and netns.c does not.
exclusive() {
	# shellcheck disable=SC2034 # for lib.sh
	INTO=(ip netns exec) LIMITED=(in_time)
	dirty
	pair down
	topo_down
	trap shared EXIT
	until_true 60 rdma system set netns exclusive || fail "no exclusive mode"
}

shared() {
	local name
	pair down
	for name in d0 spare_x spare_y; do
		ip link del "$name" 2>/dev/null || :
	done
	ip netns del n 2>/dev/null || :
	ip netns del m 2>/dev/null || :
	ip netns del first 2>/dev/null || :
	until_true 60 rdma system set netns shared || fail "the mode stays exclusive"
}

# has_no NAMESPACE COUNTERS-FOLDER: it must not be in the namespace's /sys, which ip(8) mounts
has_no() { not ip netns exec "$1" test -e "$2"; }

# devices NAMESPACE: the names of the devices that are seen there
devices() { ip netns exec "$1" rdma dev show | sed 's/^[0-9]*: \([^:]*\):.*/\1/' | paste -sd ' '; }

sees() { [ "$(devices "$1")" = "$2" ]; }

must_see() { sees "$@" || fail "$1 sees '$(devices "$1")', not '$2'"; }

scenario pair_exclusive 90 "rdma-pair.sh in exclusive mode: a device leaves its host and returns" \
	first script slow
pair_exclusive() {
	exclusive
	ip netns attach first $$
	pair up >"$WORK/up.log" 2>&1
	must_see first ''
	must_see rdma-a mpa_a
	must_see rdma-b mpa_b
	ip netns exec rdma-a rdma dev set mpa_a netns first
	must_see first mpa_a
	must_see rdma-a ''
	rdma dev set mpa_a netns rdma-a
	must_see first ''
	rping_pair rdma-b rdma-a "$B4" 1000
	rping_pair rdma-a rdma-b "$A6" 64000
	pair down
	must_see first ''
}

# Two devices without addresses, x and y, in the first namespace, with namespaces n and m
spare_devices() {
	local name
	exclusive
	ip netns attach first $$
	ip netns add n
	ip netns add m
	for name in x y; do
		ip link add name "spare_$name" type dummy
		link_add "mpa$name" first "spare_$name"
	done
}

# ib_core does that (containers.rst).
scenario link_exclusive 60 "a device made in a namespace is in the first one, until it is moved there" \
	first newer
link_exclusive() {
	exclusive
	ip netns attach first $$
	ip netns add n
	ip -n n link add d0 type dummy
	ip -n n addr add "$A4/24" dev d0
	ip -n n link set d0 up
	ip -n n link set lo up
	ip netns exec n rdma link add mpax type "$TYPE" netdev d0
	must_see n ''
	must_see first mpax
	must_fail "No RDMA devices" "${LIMITED[@]}" "$LIMIT" n rping -s -a "$A4" -p "$PORT"
	rdma dev set mpax netns n
	must_see n mpax
	rping_pair n n "$A4" 1000
}

# A device that moves gets no events of its interface, and has to look for itself afterwards. The pause
# finds the moment: it gets longer each time.
scenario events_exclusive 90 "a link goes down while its device moves: that it comes up is told" \
	first newer
events_exclusive() {
	local i
	exclusive
	ip netns attach first $$
	ip netns add n
	ip link add d0 type dummy
	ip link set d0 up
	link_add mpax first d0
	for i in 0 3 6 9; do
		rdma dev set mpax netns n &
		sleep "0.0$i"
		ip link set d0 down
		wait $!
		start watch n ibv_asyncwatch -d mpax
		wait_for 10 grep -q 'async event FD' "$WORK/watch.log"
		ip link set d0 up
		wait_for 10 grep -q 'PORT_ACTIVE\|port active' "$WORK/watch.log"
		stop watch
		ip netns exec n rdma dev set mpax netns first
	done
}

# have_listeners NAMESPACE NUMBER: as many listen on the port, counting one for each device
have_listeners() {
	[ "$(ip netns exec "$1" rdma resource show cm_id | grep -c "state LISTEN .*:$PORT ")" = "$2" ]
}

# As ports_late_device: rdma_cm adds the listeners of the namespace to a device that arrives there.
# The programs need a device to begin. Nobody can listen on it, because its interface is elsewhere.
scenario ports_exclusive 60 "two servers of one port, and then a device is moved to them" \
	first newer
ports_exclusive() {
	spare_devices
	rdma dev set mpax netns n
	ip -n n link add d0 type dummy
	ip -n n addr add "$A4/24" dev d0
	ip -n n link set d0 up
	ip -n n link set lo up
	new_port
	start one n ucmatose -P ib -p "$PORT"
	wait_for 10 have_listeners n 1
	start other n ucmatose -p "$PORT"
	wait_for 10 have_listeners n 2
	ip netns exec n rdma link add mpaz type "$TYPE" netdev d0
	rdma dev set mpaz netns n
	must_see n 'mpax mpaz'
	wait_for 10 have_listeners n 4
	run caller n ucmatose -P ib -s "$A4" -p "$PORT"
	reap one
	stop other
	rping_pair n n "$A4" 1000
}

# Since 7.3 a name is unique in its namespace, before that it is unique in the machine.
scenario names_exclusive 90 "names of devices in several namespaces: taken, free again, given back" \
	first newer
names_exclusive() {
	spare_devices
	must_fail "exists" rdma dev set mpax name mpay
	rdma dev set mpax netns n
	must_see n mpax
	must_see first mpay
	ip netns exec n rdma dev set mpax name mpaz
	must_see n mpaz
	rdma dev set mpay netns m
	if kernel_is_at_least 7.3; then
		ip netns exec m rdma dev set mpay name mpaz
		must_see n mpaz
		must_see m mpaz
		must_fail "" ip netns exec m rdma dev set mpaz netns n
		must_see m mpaz
		ip netns exec m rdma dev set mpaz name mpay
	else
		must_fail "exists" ip netns exec m rdma dev set mpay name mpaz
		must_see m mpay
	fi
	ip netns del m
	wait_for 10 sees first mpay
	ip link del spare_y
	wait_for 10 sees first ''
	ip link del spare_x			# the device is in n, its interface here
	wait_for 10 sees n ''
}

scenario counters_exclusive 60 "counters in exclusive mode go where their device goes" \
	first newer
counters_exclusive() {
	local folder=/sys/class/infiniband/mpax/ports/1/hw_counters
	spare_devices
	[ "$(cat "$folder/startups_ok")" = 0 ] || fail "a new device has connections"
	rdma dev set mpax netns n
	has_no first "$folder"
	has_no m "$folder"
	[ "$(ip netns exec n cat "$folder/startups_ok")" = 0 ] || fail "no counters in n"
	[[ "$(ip netns exec n rdma statistic show link mpax/1)" == *"startups_ok 0"* ]] ||
		fail "rdma(8) shows none in n"
	must_fail "" rdma statistic show link mpax/1
	ip netns del n
	wait_for 10 sees first 'mpax mpay'
	[ "$(cat "$folder/startups_ok")" = 0 ] || fail "the counters did not come back"
	ip link del spare_x
	ip link del spare_y
	wait_for 10 sees first ''
}

# mpa8 has its interface in the first namespace, with one end of the cable. mpa9 goes with its
# interface, which goes with its namespace.
scenario pair_moved 90 "a device returns to its interface's namespace when its own ends" \
	first script slow
pair_moved() {
	exclusive
	ip netns attach first $$
	ip netns add n
	ip link add v8 address 02:77:00:00:00:08 type veth \
		peer name v9 address 02:77:00:00:00:09 netns n
	ip address add 10.78.0.8/24 dev v8
	ip -n n address add 10.78.0.9/24 dev v9
	ip link set v8 up
	ip -n n link set v9 up
	ip neigh add 10.78.0.9 lladdr 02:77:00:00:00:09 dev v8 nud permanent
	ip -n n neigh add 10.78.0.8 lladdr 02:77:00:00:00:08 dev v9 nud permanent
	link_add mpa8 first v8
	link_add mpa9 n v9
	must_see first 'mpa8 mpa9'
	rdma dev set mpa9 netns n
	must_see first mpa8
	must_see n mpa9
	rping_pair n first 10.78.0.9 1000
	rping_pair first n 10.78.0.8 64000
	ip netns add m
	rdma dev set mpa8 netns m
	must_see first ''
	must_see m mpa8
	new_port
	serve there n rping -s -P -a 10.78.0.9 -p "$PORT"
	must_fail "No RDMA devices" "${LIMITED[@]}" "$LIMIT" first rping -c -a 10.78.0.9 -p "$PORT" -C 1
	stop there
	ip netns del m
	wait_for 10 sees first mpa8
	rping_pair n first 10.78.0.9 1000
	rping_pair first n 10.78.0.8 64000
	ip netns del n
	wait_for 20 sees first ''
}
