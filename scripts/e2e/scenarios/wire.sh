# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The bytes on the cable, judged by tshark's iWARP dissectors.

# capture NAMESPACE NETDEV: from now on into $WORK/wire.pcap
capture() {
	start tcpdump "$1" tcpdump --immediate-mode -U -n -s 0 -B 16384 -i "$2" -w "$WORK/wire.pcap" tcp
	wait_for 10 grep -q "listening on" "$WORK/tcpdump.log"
}

# Has tcpdump written all packets that the kernel has for it? If so, its next answer has the same
# count, because after an answer it reads on. (The kernel's count may still grow now and then.)
caught_up() {
	kill -USR1 "${PIDS[tcpdump]}"
	awk '/received by filter/ { before = now; now = $2 }
		END { exit now == "" || now != before }' "$WORK/tcpdump.log"
}

# The capture must have caught up, because tcpdump drops unread packets when it is told to end.
end_capture() {
	wait_for 30 caught_up
	kill -INT "${PIDS[tcpdump]}"
	ended tcpdump 10
	grep -q "^0 packets dropped" "$WORK/tcpdump.log" || fail "the capture has holes"
}

# judge [-r FILE] TSHARK-OPTIONS...: a Send carries the program's own data, so tshark must not
# guess at protocols above. It looks for startup frames before it looks at port numbers, because a
# caller's port may be that of some protocol.
judge() {
	local file=$WORK/wire.pcap
	if [ "$1" = -r ]; then
		file=$2
		shift 2
	fi
	tshark -n -r "$file" --enable-heuristic iwarp_mpa_tcp -o tcp.try_heuristic_first:TRUE \
		--disable-protocol rpcordma --disable-protocol smb_direct \
		--disable-protocol iser "$@" 2>"$WORK/tshark.log"
}

# decode FILTER FIELD...: one line for each frame, fields separated by "|"
decode() {
	local filter=$1 field fields=()
	shift
	for field in "$@"; do
		fields+=(-e "$field")
	done
	judge -Y "$filter" -T fields -E separator='|' "${fields[@]}"
}

# terminates TEST LAYER/TYPE/CODE...: the test's error must be reported in one of these ways
terminates() {
	local test=$1
	shift
	new_port
	run "$test" a "$BIN/verbs_probe" -p "$PORT" "$test"
	printf '%s %s %s\n' "$PORT" "$test" "$*" >>"$WORK/expected"
}

# The Terminates of the capture: "PORT LAYER/TYPE/CODE" of those that b sent
seen_terminates() {
	decode 'iwarp_rdma.opcode == 7' tcp.srcport iwarp_rdma.term_layer \
		iwarp_rdma.term_etype_rdma iwarp_rdma.term_etype_ddp \
		iwarp_rdma.term_errcode_rdma iwarp_rdma.term_errcode_ddp_tagged \
		iwarp_rdma.term_errcode_ddp_untagged |
		while IFS='|' read -r port layer type_r type_d code_r code_t code_u; do
			printf '%d %d/%d/%d\n' "$port" "$layer" "$type_r$type_d" \
				"$code_r$code_t$code_u"
		done
}

compare_terminates() {
	local port test accepted got bad=0
	seen_terminates >"$WORK/terminates.log"
	while read -r port test accepted; do
		got=$(sed -n "s/^$port //p" "$WORK/terminates.log" | tr '\n' ' ')
		[[ -n $got && " $accepted " == *" $got"* ]] && continue
		note "$test: Terminate '${got% }' (layer/type/code), accepted: $accepted"
		bad=1
	done <"$WORK/expected"
	[ "$bad" = 0 ]
}

# RFC 5040 (RDMAP, layer 0) part 4.8: type 1 is Remote Protection: 0 invalid STag,
# 1 base or bounds, 2 access rights, 3 STag not associated with the stream.
# RFC 5041 (DDP, layer 1) part 7.2: type 1 is Tagged Buffer: 0 invalid STag, 1 base or
# bounds, 2 STag not associated; type 2 is Untagged Buffer: 2 no buffer for the MSN,
# 5 message too long. Writes are checked by DDP or by RDMAP, Reads by RDMAP alone;
# access rights are RDMAP's in both cases.
scenario wire_terminates 60 "Terminates name each error as RFC 5040 and 5041 say" wire
wire_terminates() {
	dirty
	[ "$TYPE" = siw ] || echo 0 >/sys/class/infiniband/mpa1/mpa/rnr_wait_ms
	capture a va
	terminates write_stale 1/1/0 0/1/0
	terminates write_past_end 1/1/1 0/1/1
	terminates write_no_right 0/1/2
	terminates write_qp_forbids 0/1/2
	terminates write_other_pd 1/1/2 0/1/3
	terminates read_stale 0/1/0
	terminates read_past_end 0/1/1
	terminates read_no_right 0/1/2
	terminates read_qp_forbids 0/1/2
	terminates read_other_pd 0/1/3
	terminates send_no_recv 1/2/2
	terminates send_too_long 1/2/5
	end_capture
	compare_terminates || fail "wrong Terminates, see above"
}

scenario wire_clean 60 "tshark finds every FPDU well-formed, with a good CRC, unmarked" wire
wire_clean() {
	local fpdus
	dirty
	new_port
	capture a va
	serve server b rping -s -V -C 5 -S 20000 -a "$B4" -p "$PORT"
	run client a rping -c -V -C 5 -S 20000 -a "$B4" -p "$PORT"
	perf ib_read_bw -e -n 20 -s 5000
	end_capture
	fpdus=$(decode iwarp_mpa.fpdu frame.number | wc -l)
	[ "$fpdus" -gt 10 ] || fail "tshark sees $fpdus frames with FPDUs"
	decode '_ws.malformed || iwarp_mpa.bad_length || iwarp_mpa.markers ||
		iwarp_mpa.res.not_set0' frame.number _ws.expert.message >"$WORK/bad.log" ||
		fail "tshark did not look"
	[ ! -s "$WORK/bad.log" ] || fail "frames in error: $(head -5 "$WORK/bad.log")"
	judge -O iwarp_mpa -Y iwarp_mpa.fpdu >"$WORK/fpdus.txt"
	grep -c '(Good CRC32)' "$WORK/fpdus.txt" >"$WORK/good.log" ||
		[ "$TYPE" = siw ] || fail "no FPDU with a good CRC"
	! grep -m 3 '(Bad CRC' "$WORK/fpdus.txt" || fail "a bad CRC"
	rm -f "$WORK/fpdus.txt"
	note "$fpdus frames with FPDUs"
}

# --- the judge in every mode ---
#
# Wireshark's MPA dissector is as old as RFC 5044, and by its source
# (epan/dissectors/packet-iwarp-mpa.c) cannot follow Markers in a capture as it is:
#
# - Of a connection with Markers in one direction it expects them in both.
# - It takes the rest of the TCP segment for the FPDU when it looks for Markers, so it
#   misses a second FPDU in a segment.
# - It counts a Marker too many when an FPDU ends where the next one would stand,
#   does not show that FPDU, and waits for 4 bytes more: from there on it has lost
#   the stream.
# - Behind the second Marker of an FPDU it takes 512 bytes for the 508 that lie
#   between two, so it shows wrong payload there. It computes the CRC over the segment, so
#   that is right.
# - Revision 2 and its S bit are warnings to it.
#
# So where there are Markers it gets a capture for each direction, one segment an
# FPDU, and a new connection behind each FPDU of the third kind (fpdus.py split; same
# bytes, same sequence numbers). All FPDUs but those of the third kind have to be good.

# verdict FILE: the numbers of FPDUs that the judge sees, of those with a good and with a bad CRC,
# and of frames in error
verdict() {
	judge -r "$1" -O iwarp_mpa -Y 'iwarp_mpa || _ws.malformed' >"$WORK/verdict.txt"
	awk '/ULPDU length:/ { n++ } /Good CRC32/ { good++ } /Bad CRC32/ { bad++ }
		/Malformed|Bad length/ { wrong++ }
		END { print n + 0, good + 0, bad + 0, wrong + 0 }' "$WORK/verdict.txt"
}

# good FILE FPDUS [CRCS]: the judge must see that many FPDUs and good CRCs, and nothing bad
good() {
	local seen expected="$2 ${3:-$2} 0 0"
	seen=$(verdict "$1")
	[[ ${2:-0} -gt 0 && $seen == "$expected" ]] ||
		fail "${1##*/}: FPDUs, good and bad CRCs, errors: $seen, expected $expected"
	note "${1##*/}: $2 FPDUs, ${3:-$2} good CRCs"
}

# not_good FILE FPDUS: the judge must see an error in a capture that was damaged
not_good() {
	local seen
	seen=$(verdict "$1")
	[[ $seen != "$2 $2 0 0" && $seen != 0\ * ]] ||
		fail "${1##*/}: damaged, and the judge saw $seen"
	note "${1##*/}: FPDUs, good and bad CRCs, errors: $seen instead of $2 $2 0 0"
}

# set_on DEVICE NAME VALUE
set_on() { echo "$3" >"/sys/class/infiniband/$1/mpa/$2"; }
set_both() {
	set_on mpa0 "$1" "$2"
	set_on mpa1 "$1" "$2"
}

# speak ADDRESS: Sends and Reads, long enough for several FPDUs a message
speak() {
	new_port
	run sends a "$BIN/bulk" -s "$1" -p "$PORT" -n 5 -l 9001
	new_port
	run reads a "$BIN/bulk" -s "$1" -p "$PORT" -o read -n 3 -l 7000
}

# fpdus_of FILE [PORT]: how many FPDUs it holds, by our own reader
fpdus_of() {
	python3 "$HERE/capture/segments.py" "$@" >"$WORK/segments.log" 2>"$WORK/segments.err" ||
		fail "$(tail -n 1 "$WORK/segments.err")"
	awk '{ for (i = 1; i <= NF; i++) if (sub(/^fpdus=/, "", $i)) n += $i }
		END { print n + 0 }' "$WORK/segments.log"
}

# first_of PORT: RDMAP opcode and ULPDU length of the first FPDU to the port
first_of() {
	[ -s "$WORK/fpdus.log" ] ||
		judge -Y iwarp_mpa.fpdu -T fields -E separator='|' -E occurrence=f \
			-e tcp.dstport -e iwarp_rdma.opcode -e iwarp_mpa.ulpdulength \
			>"$WORK/fpdus.log"
	sed -n "s/^$1|0x0\(.\)|/\1 /p" "$WORK/fpdus.log" | head -n 1
}

# An RTR is a message without data: a Write has 14 bytes of header, a Read Request
# 46, a Send 18. Without RTR the program's own Send of one byte comes first.
scenario wire_rtr 90 "the judge: revisions 1 and 2, each RTR type, IPv6, CRC on (P2P-28, NEG-30)" \
	wire
wire_rtr() {
	local mode
	declare -A first=([write]="0 14" [read]="1 46" [send]="3 18" [none]="3 19"
		[revision_1]="3 19") port_of=()
	dirty
	cut_before_capture
	capture a va
	for mode in write read send none; do
		set_both rtr "$mode"
		port_of[$mode]=$((PORT + 1))
		speak "$B4"
	done
	set_both revision 1
	port_of[revision_1]=$((PORT + 1))
	speak "$B4"
	speak "$B6"
	end_capture
	good "$WORK/wire.pcap" "$(fpdus_of "$WORK/wire.pcap")"
	for mode in "${!port_of[@]}"; do
		[ "$(first_of "${port_of[$mode]}")" = "${first[$mode]}" ] ||
			fail "$mode: first FPDU is $(first_of "${port_of[$mode]}"), not ${first[$mode]}"
	done
}

scenario wire_no_crc 60 "the judge: CRC off, and on because one end asks (CRC-05)" wire
wire_no_crc() {
	local all checked
	dirty
	cut_before_capture
	set_both crc off
	capture a va
	speak "$B4"
	set_on mpa1 crc required
	speak "$B4"
	end_capture
	all=$(fpdus_of "$WORK/wire.pcap")
	checked=$(($(fpdus_of "$WORK/wire.pcap" "$((PORT - 1))") + $(fpdus_of "$WORK/wire.pcap" "$PORT")))
	good "$WORK/wire.pcap" "$all" "$checked"
}

# judged NAME: our own count of the FPDUs in NAME.pcap that the judge can see, by fpdus.py split
judged() { awk -v name="$1" '$1 == name { print $2 - $3 }' "$WORK/split.log"; }

# marked NAME: a transfer with the Marker settings that are set, both directions judged
marked() {
	local way
	capture a va
	speak "$B4"
	speak "$B6"
	end_capture
	mv "$WORK/wire.pcap" "$WORK/$1.pcap"
	python3 "$HERE/capture/fpdus.py" split "$WORK/$1.pcap" "$WORK/$1-out.pcap" "$WORK/$1-in.pcap" |
		sed "1s/^/$1-out /; 2s/^/$1-in /" >"$WORK/split.log"
	for way in out in; do
		good "$WORK/$1-$way.pcap" "$(judged "$1-$way")"
	done
}

scenario wire_markers 120 "the judge: Markers in one, the other, and both directions (MRK-03)" wire slow
wire_markers() {
	dirty
	cut_before_capture
	set_on mpa0 markers 1
	marked to_caller
	set_on mpa1 markers 1
	marked both
	set_on mpa0 markers 0
	marked to_listener
}

scenario wire_judge 120 "the judge finds a wrong byte and a wrong length" wire slow
wire_judge() {
	local fpdus what
	dirty
	cut_before_capture
	capture a va
	speak "$B4"
	end_capture
	mv "$WORK/wire.pcap" "$WORK/plain.pcap"
	fpdus=$(fpdus_of "$WORK/plain.pcap")
	good "$WORK/plain.pcap" "$fpdus"
	set_on mpa1 markers 1
	marked both
	for what in crc length; do
		python3 "$HERE/capture/fpdus.py" break "$what" "$WORK/plain.pcap" "$WORK/$what.pcap"
		not_good "$WORK/$what.pcap" "$fpdus"
		python3 "$HERE/capture/fpdus.py" break "$what" "$WORK/both-out.pcap" "$WORK/marked-$what.pcap"
		not_good "$WORK/marked-$what.pcap" "$(judged both-out)"
	done
}
