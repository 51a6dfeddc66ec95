# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Devices are made, listed, queried and taken away in every way there is.

port_state() { cat "/sys/class/infiniband/$1/ports/1/state"; }
port_is() { [[ $(port_state "$1") == *"$2"* ]]; }

scenario link_add_delete 20 "rdma link add and delete, ten times" newer
link_add_delete() {
	local i
	ip -n a link add d0 type dummy
	ip -n a link set d0 up
	for i in 1 2 3 4 5 6 7 8 9 10; do
		link_add mpa9 a d0
		device_exists mpa9 || fail "no mpa9 in sysfs"
		link_delete mpa9
		not device_exists mpa9 || fail "mpa9 is still there"
	done
	rdma link show | grep -q "link mpa0/1 .*netdev va" ||
		a rdma link show | grep -q "link mpa0/1 .*netdev va" ||
		fail "rdma link does not show va: $(a rdma link show)"
	ip -n a link delete d0
}

scenario link_duplicate 15 "a second device on one netdev, or of one name, is refused"
link_duplicate() {
	must_fail "File exists" link_add mpa9 a va
	ip -n a link add d0 type dummy
	must_fail "Too many open files" link_add mpa0 a d0
	must_fail "" link_add mpa9 a nonesuch
	ip -n a link delete d0
	device_exists mpa0 || fail "mpa0 is gone"
}

# kernel_is_at_least VERSION
kernel_is_at_least() { printf '%s\n' "$1" "$(uname -r)" | sort -CV; }

# udev renames a device (rdma_rename) unless the kernel says that a user chose the name.
scenario link_name 15 "the kernel knows that a user chose the name, from 6.12 on" newer
link_name() {
	local index who
	index=$(rdma dev show mpa0 | sed 's/:.*//')
	who=$(python3 "$HERE/programs/name_assign.py" "$index")
	if kernel_is_at_least 6.12; then
		[ "$who" = "mpa0 1" ] || fail "it says '$who'"
	else
		[ "$who" = "mpa0 -" ] || fail "it says '$who', which this kernel cannot know"
	fi
}

scenario link_kinds 20 "eight devices at once, on dummy netdevs and lo, in both namespaces"
link_kinds() {
	local ns i
	for ns in a b; do
		link_add "mpalo$ns" "$ns" lo
		for i in 1 2 3; do
			ip -n "$ns" link add "d$i" type dummy
			ip -n "$ns" link set "d$i" up
			link_add "mpa$ns$i" "$ns" "d$i"
		done
	done
	[ "$(ibv_devices | grep -c mpa)" = 10 ] || fail "$(ibv_devices)"
	for ns in a b; do
		link_delete "mpalo$ns"
		for i in 1 2 3; do
			ip -n "$ns" link delete "d$i"	# takes the device along
			wait_for 5 not device_exists "mpa$ns$i"
		done
	done
}

scenario link_state 20 "the port follows the netdev down and up"
link_state() {
	dirty
	wait_for 5 port_is mpa0 ACTIVE
	ip -n a link set va down
	wait_for 5 port_is mpa0 DOWN
	ip -n a link set va up
	wait_for 5 port_is mpa0 ACTIVE
	ip -n b link set vb down	# no carrier here
	wait_for 5 not port_is mpa0 ACTIVE
	ip -n b link set vb up
	wait_for 5 port_is mpa0 ACTIVE
}

scenario netdev_rename 20 "a netdev is renamed under its device"
netdev_rename() {
	dirty
	ip -n a link set va down
	ip -n a link set va name eth7
	ip -n a link set eth7 up
	device_exists mpa0 || fail "mpa0 is gone"
	a rdma link show mpa0/1 | grep -q eth7 || fail "$(a rdma link show)"
	rping_pair b a "$B4" 1000
}

mac_gid_is() { [[ $(<"/sys/class/infiniband/$1/ports/1/gids/0") == "$2"* ]]; }

# rdma_cm looks for the device by the MAC.
scenario netdev_mac 20 "a netdev gets another MAC: the GID follows, the node GUID stays"
netdev_mac() {
	local guid
	dirty
	guid=$(</sys/class/infiniband/mpa0/node_guid)
	wait_for 5 mac_gid_is mpa0 0277:0000:0001:
	ip -n a link set va address 02:77:00:00:00:09
	ip -n b neigh replace "$A4" lladdr 02:77:00:00:00:09 dev vb nud permanent
	wait_for 5 mac_gid_is mpa0 0277:0000:0009:
	[ "$(</sys/class/infiniband/mpa0/node_guid)" = "$guid" ] || fail "another node GUID"
	rping_pair b a "$B4" 1000
	rping_pair a b "$A4" 1000
}

scenario netdev_removed 20 "a netdev goes away under an idle device; so does its namespace"
netdev_removed() {
	dirty
	ip -n a link delete va
	wait_for 5 not device_exists mpa0
	wait_for 5 not device_exists mpa1
	topo_up
	ip netns del a
	wait_for 10 not device_exists mpa0
}

ib_core_complained() { dmesg | grep "ib_query_port failed"; }

# ib_core asks for the port's attributes after each event of the port, and cannot any more.
scenario netdev_quiet 40 "interfaces go, or to another namespace: no message about their devices" \
	slow
netdev_quiet() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		ip -n a link add "d$i" type dummy
		ip -n a link set "d$i" up
		link_add "mpad$i" a "d$i"
	done
	for i in 1 2 3 4; do
		ip -n a link delete "d$i"
	done
	for i in 5 6; do
		ip -n a link set "d$i" netns b
		ip -n b link delete "d$i"
	done
	for i in 7 8; do
		ip -n a link set "d$i" down
		ip -n a link delete "d$i"
	done
	for i in 1 2 3 4 5 6 7 8; do
		wait_for 5 not device_exists "mpad$i"
	done
	not ib_core_complained || fail "the log is not empty"
}

scenario netdev_bond 30 "a bond with a device goes, its namespace and its members too" bonding
netdev_bond() {
	local ns
	modprobe bonding
	for ns in a b; do
		ip -n "$ns" link add bond9 type bond mode active-backup
		ip -n "$ns" link add d0 type dummy
		ip -n "$ns" link set d0 master bond9
		ip -n "$ns" link set bond9 up
		ip -n "$ns" addr add 10.78.9.1/24 dev bond9
		link_add "mpabond$ns" "$ns" bond9
		rping_pair "$ns" "$ns" 10.78.9.1 1000
	done
	ip -n a link delete d0
	ip -n a link delete bond9
	wait_for 10 not device_exists mpabonda
	dirty
	ip netns del b
	wait_for 20 not device_exists mpabondb
	rmmod bonding
}

nobody_listens() { [ -z "$(a ss -Htln "sport = :$PORT")" ]; }

scenario link_ipv6_only 20 "a device of an interface with IPv6 alone: used, deleted, its port free"
link_ipv6_only() {
	ip -n a link add d6 type dummy
	ip -n a link set d6 up
	ip -n a addr add fd78::1/64 dev d6 nodad
	link_add mpa6 a d6
	new_port
	serve server a rping -s -P -V -a fd78::1 -p "$PORT"
	run client a rping -c -V -C 3 -a fd78::1 -p "$PORT"
	link_delete mpa6
	wait_for 5 nobody_listens
	ip -n a link delete d6
}

scenario devinfo 15 "ibv_devices and ibv_devinfo -v are sane"
devinfo() {
	local key
	ibv_devices | grep -q mpa1 || fail "ibv_devices does not list mpa1"
	a ibv_devinfo -v -d mpa0 >"$WORK/devinfo.log"
	grep -q 'transport:.*iWARP' "$WORK/devinfo.log" || fail "transport"
	grep -q 'state:.*PORT_ACTIVE' "$WORK/devinfo.log" || fail "port state"
	grep -q 'link_layer:.*Ethernet' "$WORK/devinfo.log" || fail "link layer"
	for key in 'vendor_id 0x6d7061' 'vendor_part_id 1' 'hw_ver 0x2' \
		"fw_ver $(modinfo -F version "$MODULE").0"; do
		grep -qE "^\s*${key% *}:\s+${key#* }\$" "$WORK/devinfo.log" || fail "not $key"
	done
	[ "$(</sys/class/infiniband/mpa0/fw_ver)" = "$(modinfo -F version "$MODULE").0" ] ||
		fail "fw_ver in sysfs"
	[ "$(</sys/class/infiniband/mpa0/hca_type)" = rdma_mpa ] || fail hca_type
	[ "$(</sys/class/infiniband/mpa0/board_id)" = software ] || fail board_id
	# as in Documentation/limits.rst, which names the scenarios that reach them
	for key in 'max_qp 131072' 'max_qp_wr 32768' 'max_sge 6' 'max_sge_rd 1' 'max_cq 131072' \
		'max_cqe 1048576' 'max_mr 1048576' 'max_pd 131072' 'max_qp_rd_atom 128' \
		'max_qp_init_rd_atom 128' 'max_res_rd_atom 16777216' 'max_srq 65536' \
		'max_srq_wr 32768' 'max_srq_sge 6' 'max_pkeys 1' 'max_msg_sz 0xffffffff' \
		'gid_tbl_len 1' 'pkey_tbl_len 1' 'phys_port_cnt 1'; do
		grep -qE "^\s*${key% *}:\s+${key#* }\$" "$WORK/devinfo.log" || fail "not $key"
	done
}
