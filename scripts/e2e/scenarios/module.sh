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

# rmmod succeeds, because the core tells programs that their device is gone (disassociate). Their
# open files live on, dead, until they close them.
scenario module_in_use 60 "rmmod with devices in use: programs learn of it, and nothing stays"
module_in_use() {
	dirty
	busy_pair
	new_port
	serve idle a rping -s -P -a "$A4" -p "$PORT"
	rmmod "$MODULE_NAME" || fail "rmmod: status $?"
	[ -z "$(ls /sys/class/infiniband)" ] || fail "devices outlive the module"
	must_die client 15
	ended server 15
	ended idle 15
	topo_up
	rping_pair b a "$B4" 4096
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
