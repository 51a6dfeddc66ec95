# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The RtR frame (HIST-16), local errors of the startup, and how connections end.

# startup_test NAME SECONDS TEXT [TAG]: a test of peer/rtr_frame.py
startup_test() {
	scenario "startup_$1" "$2" "$3" "${@:4}" -- peer rtr_frame "$1"
}

startup_test rtr_taken 60 "the RtR frame opens the responder (HIST-16, HIST-17)"
startup_test rtr_and_fpdu 60 "FPDUs behind an RtR frame, Markers, IPv6 (NEG-39)"
startup_test rtr_bad 60 "another frame, or none, where the RtR frame is due (HIST-18)"
startup_test rtr_late 60 "the deadline covers the RtR frame, max_pending does not (NEG-35)"
startup_test rtr_opened 60 "after the RtR frame no deadline and no max_pending (NEG-35)"
startup_test rtr_abandoned 60 "the program dies while the RtR frame is due (CONN-24)"
startup_test rtr_not_wanted 60 "no RtR frame without the setting, S and revision 1 (GAP-03)"
startup_test rtr_sent 60 "the initiator sends an RtR frame when the Reply has S (HIST-17)"
startup_test rtr_ignored 60 "S at revision 1, ignored by the peer: plain revision 1 (NEG-11)"
startup_test local_error 60 "a local error in the startup: Terminate 5, or a reject (P2P-41)"
startup_test private_data_256 60 "more Private Data than iw_cm can pass on is refused (NEG-17)"
startup_test half_close 60 "Reads asked for before a FIN are answered after it (CONN-17)"
startup_test half_close_stalls 60 "a half-closed peer that takes nothing is given up (CONN-17)" slow
startup_test last_words 60 "requests posted before a disconnect arrive (CONN-20)"
startup_test unread 60 "unread bytes do not reset a Terminate or a reject away (CONN-20)"
startup_test unread_slowly 90 "a slow peer is read while it progresses, not for ever (CONN-20)" slow
startup_test after_reject 60 "TCP after a reject, both roles"
startup_test streaming 60 "bytes before MPA, and the role of the initiator (CONN-13)"
startup_test reset_at_once 60 "connections reset before a Request are counted (CONN-24)"
startup_test boundary 60 "FIN between FPDUs and inside one (GAP-08, CONN-18)"

rtr_frame_on() {
	local dev
	for dev in "$@"; do
		echo 1 >"/sys/class/infiniband/$dev/mpa/rtr_frame"
	done
}

# ucmatose's server sends first, its client waits: peer-to-peer (P2P-38). With
# revision 1 only the RtR frame makes that work.
scenario startup_rtr_both 60 "two devices of ours: the accepting side sends first, with RtR frames"
startup_rtr_both() {
	dirty
	rtr_frame_on mpa0 mpa1
	capture a va
	both ucmatose -c 3 -C 5 -S 1000
	end_capture
	decode 'tcp contains "MPA ID RtR Frame"' tcp.len >"$WORK/rtr.log"
	[ "$(wc -l <"$WORK/rtr.log")" = 3 ] || fail "not three RtR frames"
	rping_pair b a "$B4" 4096
	rping_pair a b "$A6" 64
}

scenario startup_rtr_mixed 60 "two devices of ours, one with rtr_frame: plain revision 1"
startup_rtr_mixed() {
	local ok failed
	dirty
	rtr_frame_on mpa0
	ok=$(hw_counter mpa0 startups_ok)
	failed=$(hw_counter mpa0 startups_failed)
	rping_pair b a "$B4" 4096
	rping_pair a b "$A4" 4096
	[ "$(hw_counter mpa0 startups_ok)" -gt "$ok" ] || fail "no connection"
	[ "$(hw_counter mpa0 startups_failed)" = "$failed" ] || fail "a startup failed"
}
