# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# TCP segments and FPDUs: segments.py finds the segments that begin with an FPDU, at any segment
# size, with loss, and while the path's MTU changes. bulk.c compares every byte.
#
# The capture is at the sender, with offloads off, because it must see the segments and not the
# big buffers that TCP leaves to the network device to cut.

cut_before_capture() {
	a ethtool -K va tso off gso off gro off >/dev/null
	b ethtool -K vb tso off gso off gro off >/dev/null
}

# widen: lets b's window hold all that a transfer sends. Otherwise the sender meets its edge, where TCP
# cuts an FPDU, if the receiver was kept from its processor.
widen() { b sysctl -qw net.ipv4.tcp_rmem="4096 16777216 16777216"; }

# segments [FROM-TO...]: counts the segments of the capture, into $WORK/segments.log
segments() {
	python3 "$HERE/capture/segments.py" "$WORK/wire.pcap" "$PORT" "$@" \
		>"$WORK/segments.log" 2>"$WORK/segments.err" ||
		fail "$(tail -n 1 "$WORK/segments.err")"
}

# number KEY [WINDOW]: a count for the segments to the server's port
number() {
	sed -n "/ to=$PORT /s/.* $1=\([0-9]*\).*/\1/p" "$WORK/segments.log" | sed -n "${2:-1}p"
}

# show WHAT [WINDOW]: notes the share of the segments that begin with an FPDU
show() {
	local n aligned
	n=$(number segments "${2:-1}")
	aligned=$(number aligned "${2:-1}")
	note "$1: $aligned of $n segments ($((aligned * 10000 / n)) in 10000) begin with an FPDU;" \
		"longest $(number longest "${2:-1}"), FPDU $(number full "${2:-1}")"
}

# all_begin WHAT MINIMUM [WINDOW]: all segments begin with an FPDU, and are MINIMUM or more
all_begin() {
	local aligned
	show "$1" "${3:-1}"
	aligned=$(number aligned "${3:-1}")
	[ "$aligned" -ge "$2" ] || fail "$1: too few segments"
	[ "$aligned" = "$(number segments "${3:-1}")" ] ||
		fail "$1: some segments begin inside an FPDU, $(number behind "${3:-1}") behind an edge"
}

# bulk ADDRESS OPTIONS...: a bulk transfer with a capture at the sender
bulk() {
	local address=$1
	shift
	new_port
	capture a va
	run bulk a "$BIN/bulk" -s "$address" -p "$PORT" "$@"
	end_capture
}

# steady WHAT ADDRESS OPTIONS...: a bulk transfer in which every segment has to begin with an FPDU
steady() {
	local what=$1
	shift
	bulk "$@"
	segments
	all_begin "$what" 400
}

scenario seg_steady 60 "a steady bulk transfer: every segment begins with an FPDU (SEG-12, SEG-20)" \
	wire newer
seg_steady() {
	dirty
	cut_before_capture
	widen
	steady "IPv4" "$B4" -n 40
	steady "IPv6" "$B6" -n 40
	a sysctl -qw net.ipv4.tcp_timestamps=0
	steady "no timestamps" "$B4" -n 40
}

scenario seg_odd 60 "segment sizes that are no multiple of 4 (SEG-02, SEG-11)" wire slow
seg_odd() {
	local mtu
	dirty
	cut_before_capture
	widen
	for mtu in 1499 1450 1497 1501; do
		set_mtu "$mtu"
		steady "MTU $mtu" "$B4" -n 20
	done
}

scenario seg_markers 60 "Markers: every segment begins with an FPDU (SEG-01, SEG-06)" wire slow
seg_markers() {
	dirty
	cut_before_capture
	widen
	echo 1 >/sys/class/infiniband/mpa1/mpa/markers
	steady "Markers, IPv4" "$B4" -n 40
	steady "Markers, IPv6" "$B6" -n 40
	a sysctl -qw net.ipv4.tcp_timestamps=0
	steady "Markers, no timestamps" "$B4" -n 40
}

# --- the edge of the receiver's window ---

# narrow: b's route bounds its window to 66000 bytes. On 6.1 nothing raises that. On 7.3 TCP raises
# it to 131070, because it measures how much of its buffers the payload takes. b's acknowledgments
# come later than the sender takes to send that much, also on a slow kernel, so that the sender meets
# the edge all the time. A smaller window is not scaled, and TCP makes it a multiple of the segment
# size.
#
# For TCP to cut there, the edge has to be inside an FPDU. The first window is a multiple of what b
# takes as a segment, so that is more than a sends. And nothing else may end a buffer before the
# edge: the congestion window is wider from the start, and TCP waits only for rests below a 255th of
# the window. The rests are longer: 66000 and 131070 bytes are 840 and 750 more than segments of 1448.
# TCP cuts only if the edge bounds a burst, and not if the pace of the connection does. At this round
# trip the pace allows two segments, and then no burst meets the edge if b acknowledges two at a time.
narrow() {
	cut_before_capture
	ip -n b link set vb mtu 1600
	ip -n a route add "$B4/32" dev va initcwnd 100
	ip -n a route add "$B6/128" dev va initcwnd 100
	a sysctl -qw net.ipv4.tcp_tso_win_divisor=255
	ip -n b route add "$A4/32" dev vb window 66000
	ip -n b route add "$A6/128" dev vb window 66000
	a sysctl -qw net.ipv4.tcp_min_tso_segs=40
	b sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0
	slow_answers add
}

slow_answers() {
	b tc qdisc "$1" dev vb root netem delay $((SLOW < 4 ? 150 * SLOW : 600))ms
}

# met_edge WHAT: the sender met the window's edge over and over, and TCP cut FPDUs there
met_edge() {
	show "$1"
	note "$1: $(number edge) segments met the window's edge," \
		"$(number cut) of them end inside an FPDU"
	[ "$(number edge)" -ge 20 ] || fail "$1: the window did not bound the sender"
	[ "$(number cut)" -gt 0 ] || fail "$1: no FPDU was cut"
	[ "$(number behind)" -gt 0 ] || fail "$1: alignment was not lost"
	[ $(($(number aligned) + $(number behind))) = "$(number segments)" ] ||
		fail "$1: $(number behind) behind an edge, and others begin inside an FPDU"
}

# against_edge WHAT ADDRESS
against_edge() {
	bulk "$2" -n 12
	segments
	met_edge "$1"
}

scenario seg_window 90 "against the edge of the receive window all data arrives (SEG-18)" wire slow
seg_window() {
	dirty
	narrow
	against_edge "IPv4" "$B4"
	against_edge "IPv6" "$B6"
	echo 1 >/sys/class/infiniband/mpa1/mpa/markers
	against_edge "Markers" "$B4"
}

all_acked() {
	a ss -Htn state established "dport = :$PORT" |
		awk '{ if ($2) waits = 1 } END { exit waits || !NR }'
}

# with_pause ADDRESS: the messages after the pause are too few and too short to fill the window,
# and follow each other without another pause
with_pause() {
	local from
	new_port
	capture a va
	start bulk a "$BIN/bulk" -s "$1" -p "$PORT" -n 12 -t 150:4200:4
	wait_for 40 grep -q paused "$WORK/bulk.log"
	wait_for 10 all_acked
	slow_answers del
	from=$EPOCHREALTIME
	kill -USR1 "${PIDS[bulk]}"
	reap bulk 30
	end_capture
	slow_answers add
	segments "0-$from" "$from-$EPOCHREALTIME"
}

# regained WHAT ADDRESS: alignment is lost before the pause, and not after it
regained() {
	with_pause "$2"
	met_edge "$1"
	all_begin "$1, after the pause" 400 2
}

scenario seg_pause 90 "a pause in which the send buffers empty regains alignment (SEG-19)" wire slow
seg_pause() {
	dirty
	narrow
	regained "IPv4" "$B4"
	regained "IPv6" "$B6"
	echo 1 >/sys/class/infiniband/mpa1/mpa/markers
	regained "Markers" "$B4"
}

# --- with a router ---
#
#    a: va 10.77.1.1 --- ra, r, rb --- vb 10.77.2.2 :b
#
# r drops packets behind the capture at va, and has a path MTU of its own.
routed() {
	topo_down
	load_modules
	ip netns add a
	ip netns add b
	ip netns add r
	# The links are made in a and b, because here a card may have such a name (card_ends).
	ip -n a link add va address 02:77:00:00:00:01 type veth \
		peer name ra address 02:77:00:00:00:11 netns r
	ip -n b link add vb address 02:77:00:00:00:02 type veth \
		peer name rb address 02:77:00:00:00:12 netns r
	B4=10.77.2.2 B6=fd77:2::2
	routed_end a va 1 1 02:77:00:00:00:11
	routed_end b vb 2 2 02:77:00:00:00:12
	routed_side ra 1 1 02:77:00:00:00:01
	routed_side rb 2 2 02:77:00:00:00:02
	"${INTO[@]}" r sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	cut_before_capture
	"${INTO[@]}" r ethtool -K ra tso off gso off gro off >/dev/null
	"${INTO[@]}" r ethtool -K rb tso off gso off gro off >/dev/null
	link_add mpa0 a va
	link_add mpa1 b vb
}

# routed_end NAMESPACE NETDEV NET HOST ROUTER-MAC
routed_end() {
	ip -n "$1" -batch - <<-BATCH
		addr add 10.77.$3.$4/24 dev $2
		addr add fd77:$3::$4/64 dev $2 nodad
		link set lo up
		link set $2 up
		neigh add 10.77.$3.254 lladdr $5 dev $2 nud permanent
		neigh add fd77:$3::fe lladdr $5 dev $2 nud permanent
		route add default via 10.77.$3.254
		route add ::/0 via fd77:$3::fe dev $2
	BATCH
}

# routed_side NETDEV NET HOST HOST-MAC
routed_side() {
	ip -n r -batch - <<-BATCH
		addr add 10.77.$2.254/24 dev $1
		addr add fd77:$2::fe/64 dev $1 nodad
		link set $1 up
		neigh add 10.77.$2.$3 lladdr $4 dev $1 nud permanent
		neigh add fd77:$2::$3 lladdr $4 dev $1 nud permanent
	BATCH
}

# lossy WHAT ADDRESS OPTIONS...: over 99 % of the segments begin with an FPDU
lossy() {
	local what=$1 n again
	shift
	bulk "$@"
	segments
	show "$what"
	n=$(number segments)
	again=$(number again)
	note "$what: $again sent again, $(number again_aligned) of them from an FPDU's start"
	[ "$n" -gt 3000 ] || fail "$what: too few segments"
	[ "$again" -ge $((n / 300)) ] || fail "$what: nothing was lost"
	[ $(((n - $(number aligned)) * 100)) -lt "$n" ] ||
		fail "$what: below 99 %, $(number behind) behind an edge"
}

scenario seg_loss 120 "1 % loss: over 99 % of segments begin with an FPDU (SEG-12, SEG-17)" \
	wire debug
seg_loss() {
	dirty
	routed
	widen
	"${INTO[@]}" r tc qdisc add dev rb root netem loss 1% limit 10000
	lossy "loss, IPv4" "$B4" -n 80
	lossy "loss, IPv6" "$B6" -n 80
	echo 1 >/sys/class/infiniband/mpa1/mpa/markers
	lossy "loss, Markers" "$B4" -n 80
}

sent_bytes() { hw_counter mpa0 tx_bytes; }

passed() { [ "$(sent_bytes)" -ge "$1" ]; }

# go_on BYTES: waits until the device has sent that many more
go_on() {
	wait_for 30 passed $(($(sent_bytes) + $1))
}

# window: notes a part of the transfer for segments(), after what was sent before has settled
window() {
	local from
	go_on 400000
	from=$EPOCHREALTIME
	go_on 500000
	WINDOWS+=("$from-$EPOCHREALTIME")
}

# path_change ADDRESS CHANGE: changes the path's MTU under load, by "CHANGE MTU"
path_change() {
	local address=$1 change=$2 mtu
	WINDOWS=()
	new_port
	capture a va
	start bulk a "$BIN/bulk" -s "$address" -p "$PORT" -l 30000 -d 6
	window
	for mtu in 1400 1301 1500; do
		"$change" "$mtu"
		window
	done
	kill -INT "${PIDS[bulk]}"
	reap bulk 20
	end_capture
	segments "${WINDOWS[@]}"
}

# followed WHAT HEADERS: in each window FPDUs and segments have the size of its MTU
followed() {
	local i=0 mtu mss
	for mtu in 1500 1400 1301 1500; do
		i=$((i + 1))
		mss=$((mtu - $2))
		all_begin "$1, MTU $mtu" 200 $i
		[ "$(number full $i)" = $((mss / 4 * 4)) ] || fail "$1, MTU $mtu: FPDUs of $(number full $i)"
		[ "$(number longest $i)" = $((mss / 4 * 4)) ] || fail "$1, MTU $mtu: segments of $(number longest $i)"
	done
}

change_link() { ip -n a link set va mtu "$1"; }

# Only the router knows the MTU, and the sender learns it by ICMP. The flush makes the sender forget
# the MTU, as it would in time.
change_router() {
	ip -n r link set rb mtu "$1"
	ip -n a route flush cache
	ip -n a -6 route flush cache
}

scenario seg_path_mtu 120 "the path's MTU falls and rises under load (SEG-09, SEG-15 to SEG-19)" \
	wire slow
seg_path_mtu() {
	dirty
	routed
	widen
	# Slow enough for the capture to keep up, and for the few commands of the change.
	"${INTO[@]}" r tc qdisc add dev rb root netem rate $((SLOW > 2 ? 8000 / SLOW : 4000))kbit limit 10000
	path_change "$B4" change_link
	followed "link, IPv4" 52
	path_change "$B4" change_router
	followed "ICMP, IPv4" 52
	path_change "$B6" change_router
	followed "ICMP, IPv6" 72
}
