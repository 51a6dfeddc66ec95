# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# TCP segments and FPDUs: which of them begin together (segments.py), at any segment
# size, with loss, and while the path's MTU changes. bulk.c compares every octet.
#
# Segments are counted where they leave the sender, cut to their size: a capture
# must not see the big buffers that TCP leaves to the network device to cut.

cut_before_capture() {
	a ethtool -K va tso off gso off gro off >/dev/null
	b ethtool -K vb tso off gso off gro off >/dev/null
}

# segments [FROM-TO...]: counts them, into $WORK/segments.log
segments() {
	python3 "$HERE/segments.py" "$WORK/wire.pcap" "$PORT" "$@" \
		>"$WORK/segments.log" 2>"$WORK/segments.err" ||
		fail "$(tail -n 1 "$WORK/segments.err")"
}

# number KEY [WINDOW]: of those to the server's port
number() {
	sed -n "/ to=$PORT /s/.* $1=\([0-9]*\).*/\1/p" "$WORK/segments.log" | sed -n "${2:-1}p"
}

# show WHAT [WINDOW]: the share, as a note
show() {
	local n aligned
	n=$(number segments "${2:-1}")
	aligned=$(number aligned "${2:-1}")
	note "$1: $aligned of $n segments ($((aligned * 10000 / n)) in 10000) begin with an FPDU;" \
		"longest $(number longest "${2:-1}"), FPDU $(number full "${2:-1}")"
}

# all_begin WHAT MINIMUM [WINDOW]: each of at least MINIMUM segments does
all_begin() {
	show "$1" "${3:-1}"
	[ "$(number segments "${3:-1}")" -ge "$2" ] || fail "$1: too few segments"
	[ "$(number aligned "${3:-1}")" = "$(number segments "${3:-1}")" ] ||
		fail "$1: some segments begin inside an FPDU"
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

# steady WHAT ADDRESS OPTIONS...: one where every segment has to begin with an FPDU
steady() {
	local what=$1
	shift
	bulk "$@"
	segments
	all_begin "$what" 400
}

scenario seg_steady 60 "a steady bulk transfer: every segment begins with an FPDU (SEG-12, SEG-20)"
seg_steady() {
	dirty
	cut_before_capture
	steady "IPv4" "$B4" -n 40
	steady "IPv6" "$B6" -n 40
	a sysctl -qw net.ipv4.tcp_timestamps=0
	steady "no timestamps" "$B4" -n 40
}

scenario seg_odd 60 "segment sizes that are no multiple of 4 (SEG-02, SEG-11)"
seg_odd() {
	local mtu
	dirty
	cut_before_capture
	for mtu in 1499 1450 1497 1501; do
		set_mtu "$mtu"
		steady "MTU $mtu" "$B4" -n 20
	done
}

scenario seg_markers 60 "Markers: every segment begins with an FPDU (SEG-01, SEG-06)"
seg_markers() {
	dirty
	cut_before_capture
	echo 1 >/sys/class/infiniband/mpa1/mpa/markers
	steady "Markers, IPv4" "$B4" -n 40
	steady "Markers, IPv6" "$B6" -n 40
	a sysctl -qw net.ipv4.tcp_timestamps=0
	steady "Markers, no timestamps" "$B4" -n 40
}
