# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# What is on the cable, judged by tshark's iWARP dissectors.

# capture NAMESPACE NETDEV: from now on into $WORK/wire.pcap
capture() {
	start tcpdump "$1" tcpdump --immediate-mode -U -n -s 0 -B 16384 -i "$2" -w "$WORK/wire.pcap" tcp
	wait_for 10 grep -q "listening on" "$WORK/tcpdump.log"
}

end_capture() {
	kill -INT "${PIDS[tcpdump]}"
	ended tcpdump 10
	grep -q "^0 packets dropped" "$WORK/tcpdump.log" || fail "the capture has holes"
}

# What a Send carries is the program's own: no guesses at protocols above.
judge() {
	tshark -n -r "$WORK/wire.pcap" --enable-heuristic iwarp_mpa_tcp \
		--disable-protocol rpcordma --disable-protocol smb_direct \
		--disable-protocol iser "$@" 2>"$WORK/tshark.log"
}

# decode FILTER FIELD...: a line a frame, fields separated by "|"
decode() {
	local filter=$1 field fields=()
	shift
	for field in "$@"; do
		fields+=(-e "$field")
	done
	judge -Y "$filter" -T fields -E separator='|' "${fields[@]}"
}

# terminates TEST LAYER/TYPE/CODE...: the test's error is reported in one of these ways
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
# RFC 5041 (DDP, layer 1) part 8: type 1 is Tagged Buffer: 0 invalid STag, 1 base or
# bounds, 2 STag not associated; type 2 is Untagged Buffer: 2 no buffer for the MSN,
# 5 message too long. Writes are checked by DDP or by RDMAP, Reads by RDMAP alone;
# access rights are RDMAP's in both cases.
scenario wire_terminates 60 "each error is named on the wire as RFC 5040 and 5041 say"
wire_terminates() {
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

# Of the segments of a bulk transfer, how many begin with an FPDU? In a GSO-free
# capture an FPDU of EMSS size fills a segment, so its length field tells.
aligned_share() {
	local len head n=0 aligned=0
	while IFS='|' read -r len head; do
		n=$((n + 1))
		if [ "${head:6:2}" = 40 ] && [ $((16#${head:0:4} + 2)) -le "$len" ]; then
			aligned=$((aligned + 1))
		fi
	done < <(decode "tcp.dstport == $PORT && tcp.len > 1000" tcp.len tcp.payload |
		cut -c1-16)
	echo "$aligned $n"
}

scenario wire_clean 60 "tshark finds every FPDU well-formed, with a good CRC, unmarked"
wire_clean() {
	local bad fpdus
	dirty
	new_port
	capture a va
	serve server b rping -s -V -C 5 -S 20000 -a "$B4" -p "$PORT"
	run client a rping -c -V -C 5 -S 20000 -a "$B4" -p "$PORT"
	perf ib_read_bw -e -n 20 -s 5000
	end_capture
	fpdus=$(decode iwarp_mpa.fpdu frame.number | wc -l)
	[ "$fpdus" -gt 10 ] || fail "tshark sees $fpdus frames with FPDUs"
	bad=$(decode '_ws.malformed || iwarp_mpa.bad_length || iwarp_mpa.markers ||
		iwarp_mpa.res.not_set0' frame.number _ws.expert.message | head -5)
	[ -z "$bad" ] || fail "frames in error: $bad"
	decode iwarp_mpa.req iwarp_mpa.rev iwarp_mpa.crc_flag iwarp_mpa.marker_flag \
		>"$WORK/startup.log"
	judge -O iwarp_mpa -Y iwarp_mpa.fpdu >"$WORK/fpdus.txt"
	grep -c '(Good CRC32)' "$WORK/fpdus.txt" >"$WORK/good.log" ||
		[ "$TYPE" = siw ] || fail "no FPDU with a good CRC"
	! grep -m 3 '(Bad CRC' "$WORK/fpdus.txt" || fail "a bad CRC"
	rm -f "$WORK/fpdus.txt"
	note "$fpdus frames with FPDUs"
}

scenario wire_aligned 60 "bulk Writes: segments begin with an FPDU"
wire_aligned() {
	local aligned total
	dirty
	a ethtool -K va tso off gso off >/dev/null
	new_port
	capture a va
	perf ib_write_bw -n 5 -s 500000
	end_capture
	read -r aligned total < <(aligned_share)
	note "$aligned of $total full segments begin with an FPDU"
	[ "$total" -gt 500 ] || fail "too few segments"
	[ $((aligned * 100)) -ge $((total * 90)) ] || fail "not aligned"
}
