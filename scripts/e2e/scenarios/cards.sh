# shellcheck shell=bash disable=SC2034,SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Two network cards at the ends of the cable (e1000; vm/run.sh -n). They take TCP's big
# buffers as they are, the pages by reference, and gather, sum and cut by themselves
# (TSO, for IPv4); what arrives is joined (GRO).

use_cards() {
	dirty
	topo_down
	CABLE=card
	topo_up >"$WORK/topology.log" 2>&1
	wait_for 10 cards_are_up
}

# A card is reset for another MTU, and then it is down for a moment.
cards_are_up() {
	a ip link show va | grep -q "state UP" && b ip link show vb | grep -q "state UP"
}

scenario cards_data 60 "over network cards: every byte, with the CRC and without" newer
cards_data() {
	local mtu crc way
	use_cards
	for mtu in 1500 9000; do
		set_mtu $mtu
		wait_for 10 cards_are_up
		for crc in required off; do
			echo $crc >/sys/class/infiniband/mpa0/mpa/crc
			echo $crc >/sys/class/infiniband/mpa1/mpa/crc
			for way in send read; do
				new_port
				run bulk a "$BIN/bulk" -s "$B4" -p "$PORT" -o $way -n 60 -l 100001 -d 5
			done
			new_port
			run bulk a "$BIN/bulk" -s "$B6" -p "$PORT" -n 60 -l 100001 -d 5
		done
	done
}

# The capture is at the receiver, so each frame is as the sender's card made it.
scenario seg_cards 60 "segments that a network card cuts begin with FPDUs (SEG-12)" wire slow
seg_cards() {
	use_cards
	b ethtool -K vb tso off gso off gro off >/dev/null
	widen
	arrived "IPv4" "$B4"
	[ "$BUFFERS" -ge 40 ] || fail "only $BUFFERS buffers were longer than a segment"
	arrived "IPv6" "$B6"
}

# arrived WHAT ADDRESS: checks the segments of a transfer. BUFFERS is the number of buffers that
# were sent and are longer than a segment.
arrived() {
	new_port
	start buffers a tcpdump --immediate-mode -n -s 96 -B 4096 -i va -w "$WORK/buffers.pcap" \
		"tcp and greater 1600"
	wait_for 10 grep -q "listening on" "$WORK/buffers.log"
	capture b vb
	run bulk a "$BIN/bulk" -s "$2" -p "$PORT" -n 40
	end_capture
	kill -INT "${PIDS[buffers]}"
	ended buffers 10
	BUFFERS=$(tcpdump -n -r "$WORK/buffers.pcap" 2>/dev/null | wc -l)
	note "$1: $BUFFERS buffers were longer than a segment"
	segments
	all_begin "$1" 400
}
