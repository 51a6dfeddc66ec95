# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Verbs, through verbs_probe: data, queues and completions, rights and errors.

verbs() {
	new_port
	run "verbs_$1" a "$BIN/verbs_probe" -p "$PORT" "$@"
}

scenarios data 40 data verbs \
	sizes_send:newer sizes_write:newer sizes_read:newer straddle zero_based gather:newer \
	gather_write inline_data fence responder_first many_reads

# Up to 15 are outstanding, no power of two, and the places wrap soon (readq.c). The Reads are long
# enough for the worker to answer them, because a short one comes back before the next goes.
scenario data_reads_wrap 40 "data: many Reads outstanding, places wrap"
data_reads_wrap() {
	new_port
	run bulk a "$BIN/bulk" -s "$B4" -p "$PORT" -o read -n 100 -l 20000
}

# watch CRC MARKERS: a program polls the last byte of each message, not its completion
watch() {
	local dev
	dirty
	for dev in mpa0 mpa1; do
		echo "$1" >"/sys/class/infiniband/$dev/mpa/crc"
		echo "$2" >"/sys/class/infiniband/$dev/mpa/markers"
	done
	new_port
	run watched a "$BIN/verbs_probe" -p "$PORT" watched_write watched_read watched_send
}

scenario watched_crc 120 "data: a message is whole when its last byte is seen" polls newer
watched_crc() { watch required 0; }
scenario watched_plain 120 "data: a message is whole when its last byte is seen, without CRC" polls
watched_plain() { watch off 0; }
scenario watched_markers 120 "data: a message is whole when its last byte is seen, with Markers" \
	polls
watched_markers() { watch required 1; }
scenario watched_markers_plain 120 "data: whole when its last byte is seen, Markers and no CRC" \
	polls
watched_markers_plain() { watch off 1; }

scenarios queue 40 queues verbs \
	unsignalled order full_queue whole_queue whole_list solicited late_arming:newer \
	late_solicited told_once only_armed srq:newer srq_last flush drain reset query

scenario queue_cq_overflow 40 "queues: cq overflow" newer
queue_cq_overflow() {
	local before
	before=$(hw_counter mpa0 cq_overflow)
	verbs cq_overflow
	[ "$(hw_counter mpa0 cq_overflow)" -gt "$before" ] || fail "not counted"
}

scenarios error 30 errors verbs \
	write_past_end:newer write_before write_no_right write_stale write_gone write_revoked write_other_pd \
	write_qp_forbids read_past_end read_before read_no_right read_stale read_gone \
	read_other_pd read_qp_forbids second_read behind_a_read send_too_long send_to_read_only \
	local_bad_lkey local_behind local_gone local_past_end local_read_sink \
	refused_posts refused_regions

scenario error_send_no_recv 30 "errors: send no recv, at once with rnr_wait_ms 0" -- \
	rnr_waits 0 send_no_recv

scenario error_create 60 "errors: a queue pair that cannot be made has no events" newer debug -- \
	verbs create_unanswered

scenario error_show 60 "queue pairs are shown while they are destroyed" newer debug -- \
	verbs show_destroyed

# verbs_ring.c spoils ten entries, each in its own way.
scenario ring_nonsense 60 "a send ring with nonsense in it: an error, and it is counted"
ring_nonsense() {
	local before
	before=$(hw_counter mpa0 bad_wqes)
	verbs nonsense
	[ $(($(hw_counter mpa0 bad_wqes) - before)) = 10 ] || fail "$(hw_counter mpa0 bad_wqes) - $before"
	rping_pair b a "$B4" 1000
}

scenario ring_receives 60 "bad entries in a receive ring: the program's fault, and no peer's"
ring_receives() {
	local none told
	none=$(hw_counter mpa1 rx_no_receive)
	told=$(hw_counter mpa0 rx_terminate_ddp_local)
	verbs bad_receives
	[ "$(hw_counter mpa1 rx_no_receive)" = "$none" ] || fail "counted as a missing receive"
	[ $(($(hw_counter mpa0 rx_terminate_ddp_local) - told)) = 4 ] || fail "not four Terminates 1/0/0"
	rping_pair b a "$B4" 1000
}

scenario ring_kept 60 "a process has rings mapped whose queue pair is gone" debug -- verbs kept

scenario ring_scribbled 60 "a send ring that changes while it is read"
ring_scribbled() {
	rnr_waits 0 scribbled
	rping_pair b a "$B4" 1000
}
