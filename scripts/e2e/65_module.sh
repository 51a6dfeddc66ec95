# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The module goes and comes back: idle, in use, under traffic.

scenario module_busy 60 "links deleted under traffic, then rmmod, then all anew"
module_busy() {
	dirty
	busy_pair
	link_delete mpa0 || fail "rdma link delete: status $?"
	link_delete mpa1 || fail "rdma link delete: status $?"
	must_die client 15
	ended server 15
	wait_for 5 rmmod "$MODULE_NAME"
	topo_up
	rping_pair b a "$B4" 4096
}

scenario module_in_use 40 "rmmod is refused while a program has a device open"
module_in_use() {
	dirty
	new_port
	serve server b rping -s -P -V -a "$B4" -p "$PORT"
	must_fail "in use" rmmod "$MODULE_NAME"
	run client a rping -c -V -C 3 -a "$B4" -p "$PORT"
	kill -9 "${PIDS[server]}"
	ended server
	wait_for 5 rmmod "$MODULE_NAME"
	[ -z "$(ls /sys/class/infiniband)" ] || fail "devices outlive the module"
}

scenario module_reload 40 "load, use, unload: three times, with devices and without"
module_reload() {
	local i
	dirty
	for i in 1 2 3; do
		topo_up
		rping_pair b a "$B4" 1000
		[ "$i" != 2 ] || topo_down
		wait_for 5 rmmod "$MODULE_NAME"
	done
	topo_down
	insert "$MODULE"
	rmmod "$MODULE_NAME"
}
