# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Interfaces that look alike, and addresses that move. rdma_cm finds the device of a connection by
# itself, and it has to find the one that we gave the connection to.

# second_cable [HOST]: from vc in a to vd in HOST (b), with the MACs of the first cable
second_cable() {
	ip link add vc index 103 address 02:77:00:00:00:01 netns a type veth \
		peer name vd index 104 address 02:77:00:00:00:02 netns "${1:-b}"
	ip -n a addr add 10.77.1.1/24 dev vc
	ip -n a addr add fd77:1::1/64 dev vc nodad
	ip -n "${1:-b}" addr add 10.77.1.2/24 dev vd
	ip -n "${1:-b}" addr add fd77:1::2/64 dev vd nodad
	ip -n a link set vc up
	ip -n "${1:-b}" link set vd up
	ip -n a neigh add 10.77.1.2 lladdr 02:77:00:00:00:02 dev vc nud permanent
	ip -n a neigh add fd77:1::2 lladdr 02:77:00:00:00:02 dev vc nud permanent
}

# all_differ FILE...
all_differ() {
	[ "$(sort -u "$@" | wc -l)" = $# ] || fail "some are equal: $* $(cat "$@" | tr '\n' ' ')"
}

names_differ() {
	all_differ /sys/class/infiniband/mpa*/node_guid
	all_differ /sys/class/infiniband/mpa*/ports/1/gids/0
}

scenario twins_one_mac 60 "two devices of one host have one MAC: each accepts and connects" newer
twins_one_mac() {
	dirty
	second_cable
	link_add mpa2 a vc
	link_add mpa3 b vd
	names_differ
	new_port
	serve server b rping -s -P -V -a :: -p "$PORT"
	run first a rping -c -V -C 3 -a "$B4" -p "$PORT"
	run second a rping -c -V -C 3 -a 10.77.1.2 -p "$PORT"
	run second_v6 a rping -c -V -C 3 -a fd77:1::2 -p "$PORT"
	stop server
	new_port
	serve bound b rping -s -P -V -a 10.77.1.2 -p "$PORT"
	run to_bound a rping -c -V -C 3 -a 10.77.1.2 -p "$PORT"
	all_moved mpa3 rx_write
}

# Kernel consumers find their part of a device by the node GUID alone.
scenario twins_rxe 40 "rxe on the same interface has another node GUID" newer
twins_rxe() {
	dirty
	modprobe rdma_rxe
	link_add rxe9 a va rxe
	all_differ /sys/class/infiniband/{mpa0,rxe9}/node_guid
	link_delete rxe9
	rmmod rdma_rxe
}

# The MAC of vd changes to that of the other interface.
scenario twins_later 40 "a device takes the MAC of another one" slow
twins_later() {
	dirty
	second_cable
	ip -n b link set vd down
	ip -n b link set vd address 02:77:00:00:00:05
	ip -n b link set vd up
	link_add mpa2 a vc
	link_add mpa3 b vd
	names_differ
	ip -n b link set vd address 02:77:00:00:00:02
	wait_for 10 names_are_different
	new_port
	serve server b rping -s -P -V -a 0.0.0.0 -p "$PORT"
	run first a rping -c -V -C 3 -a "$B4" -p "$PORT"
	run second a rping -c -V -C 3 -a 10.77.1.2 -p "$PORT"
}

# ib_core updates the GID after the event.
names_are_different() {
	local files=(/sys/class/infiniband/mpa*/ports/1/gids/0)
	[ "$(sort -u "${files[@]}" | wc -l)" = ${#files[@]} ] &&
		grep -q 0277:0000:0002 /sys/class/infiniband/mpa3/ports/1/gids/0
}

scenario twins_container 60 "an interface in a container has its parent's MAC: a device each" slow
twins_container() {
	dirty
	ip netns add r
	second_cable r
	ip -n r link set lo up
	link_add mpa2 a vc
	"${INTO[@]}" r rdma link add mpa3 type "$TYPE" netdev vd
	new_port
	serve server r rping -s -P -V -a 0.0.0.0 -p "$PORT"
	run client a rping -c -V -C 3 -a 10.77.1.2 -p "$PORT"
	stop server
	new_port
	serve bound r rping -s -P -V -a 10.77.1.2 -p "$PORT"
	run to_bound a rping -c -V -C 3 -a 10.77.1.2 -p "$PORT"
	new_port
	serve back a rping -s -P -V -a 10.77.1.1 -p "$PORT"
	run caller r rping -c -V -C 3 -a 10.77.1.1 -p "$PORT"
}

scenario twins_link_local 60 "two interfaces have one link-local address: a connection through each"
twins_link_local() {
	dirty
	second_cable
	ip -n b link set vd down
	ip -n b link set vd address 02:77:00:00:00:06
	ip -n b link set vd up
	ip -n a addr add fe80::1/64 dev va nodad
	ip -n a addr add fe80::2/64 dev vc nodad
	ip -n b addr add fe80::77/64 dev vb nodad
	ip -n b addr add fe80::77/64 dev vd nodad
	ip -n a neigh replace fe80::77 lladdr 02:77:00:00:00:06 dev vc nud permanent
	ip -n a neigh replace fe80::77 lladdr 02:77:00:00:00:02 dev va nud permanent
	link_add mpa2 a vc
	link_add mpa3 b vd
	new_port
	serve server b rping -s -P -V -a :: -p "$PORT"
	run first a rping -c -V -C 3 -a fe80::77%va -p "$PORT"
	run second a rping -c -V -C 3 -a fe80::77%vc -p "$PORT"
}

# caller ADDRESS PORT: connects TCP, and sends the MPA Request when it gets a signal
CALLER='import signal, socket, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
sock = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)
print("connected", flush=True)
signal.sigwait([signal.SIGUSR1])
sock.sendall(b"MPA ID Req Frame" + bytes([0x40, 1, 0, 0]))
sock.settimeout(20)
try:
    data = sock.recv(100)
    print("answer", "no" if len(data) < 18 or data[16] & 0x20 else data, flush=True)
except ConnectionResetError:
    print("answer no", flush=True)
'

# accepted HOST PORT: there is a connection, and it does not wait in the listener's queue
accepted() {
	[ -n "$("$1" ss -Htn state established "sport = :$2")" ] &&
		[[ $("$1" ss -Hltn "sport = :$2") =~ ^LISTEN\ +0\  ]]
}

# If the server were asked, rdma_cm would take the request of mpa3 for one of mpa1.
scenario twins_moved 60 "an address moves to another device between TCP and the MPA Request" slow
twins_moved() {
	local dev
	dirty
	second_cable
	ip -n b link set vd down
	ip -n b link set vd address 02:77:00:00:00:06
	ip -n b link set vd up
	ip -n a neigh replace 10.77.1.2 lladdr 02:77:00:00:00:06 dev vc nud permanent
	link_add mpa3 b vd
	for dev in mpa1 mpa3; do # the Request waits for us
		echo 60000 >/sys/class/infiniband/$dev/mpa/request_timeout_ms
	done
	new_port
	serve server b "$BIN/cm_late" "$PORT"
	start caller a python3 -c "$CALLER" 10.77.1.2 "$PORT"
	wait_for 10 grep -qx connected "$WORK/caller.log"
	wait_for 10 accepted b "$PORT"
	ip -n b addr add 10.77.1.2/32 dev vb
	ip -n b addr del 10.77.1.2/24 dev vd
	ip -n b route replace 10.77.1.0/24 dev vd
	ip -n b link add d0 type dummy
	kill -USR1 "${PIDS[caller]}"
	wait_for 10 grep -qx -e called -e "answer.*" "$WORK/server.log" "$WORK/caller.log"
	link_delete mpa3
	link_add mpa4 b d0
	if grep -q called "$WORK/server.log"; then
		kill -USR1 "${PIDS[server]}"
		ended server
		fail "the server was asked with two devices, exit status $STATUS"
	fi
	reap caller
	grep -qx "answer no" "$WORK/caller.log" || fail "accepted"
	stop server
}
