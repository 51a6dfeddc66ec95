# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Events in TCP and IP, below the device: loss while connections start, a
# peer that TCP gives up, IPsec.

# Segments that TCP sent again in namespace $1
resent() {
	"$1" cat /proc/net/snmp | awk '/^Tcp: [0-9]/ { print $13 }'
}

scenario startup_lossy 120 "one packet in five is lost while 20 connections start (CONN-21, DUAL-03)" \
	slow
startup_lossy() {
	local ok failed before resent
	dirty
	modprobe sch_netem
	ok=$(hw_counter mpa1 startups_ok)
	failed=$(hw_counter mpa0 startups_failed)
	echo 60000 >/sys/class/infiniband/mpa0/mpa/startup_timeout_ms
	echo 60000 >/sys/class/infiniband/mpa1/mpa/startup_timeout_ms
	echo 60000 >/sys/class/infiniband/mpa1/mpa/request_timeout_ms
	before=$(($(resent a) + $(resent b)))
	tc -n a qdisc add dev va root netem loss 20%
	tc -n b qdisc add dev vb root netem loss 20%
	new_port
	serve server b ucmatose -p "$PORT" -c 20 -C 1
	LIMIT=$((100 * SLOW)) run client a ucmatose -p "$PORT" -s "$B4" -c 20 -C 1
	reap server 60
	ok=$(($(hw_counter mpa1 startups_ok) - ok))
	failed=$(($(hw_counter mpa0 startups_failed) - failed))
	resent=$(($(resent a) + $(resent b) - before))
	note "sent again: $resent segments"
	[ "$resent" -ge 10 ] || fail "$resent segments sent again, expected at least 10"
	[ "$ok $failed" = "20 0" ] || fail "startups: $ok good, $failed failed"
}

scenario tcp_gives_up 40 "a peer vanishes: the program learns of TCP's time-out (ERR-01, CONN-19)"
tcp_gives_up() {
	local before
	dirty
	a sysctl -qw net.ipv4.tcp_retries2=3
	before=$(hw_counter mpa0 conn_reset)
	busy_pair
	ip -n b link set vb down
	ended client 20
	[ "$STATUS" != 0 ] || fail "the client ended as if nothing had happened"
	[ $(($(hw_counter mpa0 conn_reset) - before)) = 1 ] || fail "conn_reset did not move by 1"
}

# Has nothing arrived at vb for a moment?
quiet() {
	local before
	before=$(bytes_in)
	sleep 0.3
	[ "$(bytes_in)" = "$before" ]
}

# Has the server not yet acknowledged bytes of a's?
unacknowledged() {
	[ "$(a ss -Htn state established "dport = :$PORT" | awk '{ print $2 }')" -gt 0 ]
}

# The client is stopped while the cable is cut, so that it sends next.
scenario tcp_gives_up_small 40 "the same after all is sent and the MTU changes (ERR-01)" newer slow
tcp_gives_up_small() {
	local before
	dirty
	a sysctl -qw net.ipv4.tcp_retries2=3
	before=$(hw_counter mpa0 conn_reset)
	new_port
	serve server b rping -s -a "$B4" -p "$PORT" -S 4000
	start client a rping -c -a "$B4" -p "$PORT" -S 4000 -C 1000000
	wait_for 10 busy
	kill -STOP "${PIDS[client]}"
	wait_for 10 quiet
	ip -n b link set vb down
	kill -CONT "${PIDS[client]}"
	wait_for 10 unacknowledged
	ip -n a link set va mtu 1400
	ended client 20
	[ $(($(hw_counter mpa0 conn_reset) - before)) = 1 ] || fail "conn_reset did not move by 1"
	stop server
}

# is_held NAMESPACE dport|sport: does the device still have a socket of this end? TCP alone may
# have it.
is_held() {
	"$1" ss -Htne "$2 = :$PORT" 2>/dev/null | grep -q 'ino:[1-9]'
}

# outage TEST READY DONE SIDE... CUT...: starts a test of cm_probe. When it prints READY the cable
# is cut at CUT, and the test goes on until it prints DONE. When the device has given up its
# socket on SIDE the cable is mended, and the peer has to get the last words.
outage() {
	local test=$1 ready=$2 done=$3 side=("${@:4:2}") ns=$6 dev=$7
	dirty
	new_port
	start probe a "$BIN/cm_probe" -p "$PORT" "$test"
	wait_for 10 grep -q "$ready" "$WORK/probe.log"
	is_held "${side[@]}" || fail "the device has no socket"
	ip -n "$ns" link set "$dev" down
	kill -USR1 "${PIDS[probe]}"
	wait_for 10 grep -q "$done" "$WORK/probe.log"
	wait_for 10 not is_held "${side[@]}"
	ip -n "$ns" link set "$dev" up
	kill -USR1 "${PIDS[probe]}"
	reap probe 40
}

scenario cm_outage 60 "last words sent while the cable is cut arrive when it is mended" slow
cm_outage() {
	outage outage connected parted a dport b vb
}

scenario cm_reject_outage 60 \
	"a reject sent while the cable is cut arrives when it is mended (NEG-23)"
cm_reject_outage() {
	outage reject_outage called rejected b sport a va
}

# ipsec_state NAMESPACE add|delete SRC DST SPI: one direction, in one of the two ends
ipsec_state() {
	local key what=(src "$3" dst "$4" proto esp spi "$5")
	printf -v key '0x%040x' "$5"
	[ "$2" = delete ] || what+=(mode transport aead 'rfc4106(gcm(aes))' "$key" 128)
	ip -n "$1" xfrm state "$2" "${what[@]}"
}

# ipsec_both add|delete SPI: both directions at both ends
ipsec_both() {
	local ns
	for ns in a b; do
		ipsec_state $ns "$1" "$A4" "$B4" "$2"
		ipsec_state $ns "$1" "$B4" "$A4" $(($2 + 1))
	done
}

# ipsec_policy NAMESPACE OWN PEER: plain packets are neither sent nor taken
ipsec_policy() {
	ip -n "$1" xfrm policy add src "$2" dst "$3" dir out tmpl proto esp mode transport
	ip -n "$1" xfrm policy add src "$3" dst "$2" dir in tmpl proto esp mode transport
}

# Packets that the state with SPI $1 has let into b
ipsec_packets() {
	b ip -s xfrm state list spi "$1" | sed -n 's/.*(bytes), \([0-9]*\)(packets)$/\1/p'
}

scenario ipsec_transport 60 \
	"a stream under IPsec goes on when its associations are replaced (SEC-03, SEC-06)" wire slow
ipsec_transport() {
	dirty
	modprobe -a esp4 xfrm_user gcm
	# Without scatter-gather TCP copies the pages that it is given.
	a ethtool -K va sg off >/dev/null
	b ethtool -K vb sg off >/dev/null
	ipsec_policy a "$A4" "$B4"
	ipsec_policy b "$B4" "$A4"
	ipsec_both add 0x1000
	rping_pair b a "$B4" 64000
	rping_pair b a "$B4" 64
	[ "$(ipsec_packets 0x1000)" -gt 20 ] || fail "nothing went through IPsec"
	new_port
	serve server b rping -s -P -V -S 20000 -a "$B4" -p "$PORT"
	start client a rping -c -v -V -S 20000 -a "$B4" -p "$PORT"
	pings_on 3
	ipsec_both delete 0x1000
	sleep 0.5	# nothing gets through; TCP waits
	is_running client || fail "the client did not outlive the association"
	ipsec_both add 0x2000
	pings_on 20
	stop client
	[ "$(ipsec_packets 0x2000)" -gt 100 ] || fail "the new association was not used"
}

attached() { grep -qx attached "$WORK/mesh.log"; }

# start_mesh: BPF puts each TCP connection into a sockmap, until the program "mesh" is stopped
start_mesh() {
	local cgroup=$STATE/cgroup
	mkdir -p "$cgroup"
	mount -t cgroup2 none "$cgroup"
	# shellcheck disable=SC2064 # this folder
	trap "umount '$cgroup'" EXIT
	start mesh a "$BIN/sockmap" "$cgroup"
	wait_for 10 attached
}

# A service mesh does this. At the accepting end BPF takes our socket. At the other end it cannot,
# because sk_user_data is the driver's already. After a reset the initiator connects again with
# the older revision.
scenario tcp_sockmap 40 "BPF takes each connection into a sockmap: they fail, and later ones work" \
	bpf newer
tcp_sockmap() {
	local n
	dirty
	new_port
	serve server b rping -s -P -V -a "$B4" -p "$PORT"
	start_mesh
	for n in 1 2 3; do
		try "client$n" a rping -c -V -C 3 -a "$B4" -p "$PORT"
		[ "$STATUS" != 0 ] || fail "connected, though the connection is BPF's"
	done
	stop mesh
	grep -qx 'taken 6 refused 6' "$WORK/mesh.log" || fail "$(<"$WORK/mesh.log")"
	run client a rping -c -V -C 3 -a "$B4" -p "$PORT"
}
