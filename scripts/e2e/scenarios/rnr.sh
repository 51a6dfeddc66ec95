# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Receives that are posted after the message has arrived (rnr_wait_ms).

# rnr_waits MS TEST...: tests of programs/verbs_rnr.c
rnr_waits() {
	local dev
	dirty
	for dev in mpa0 mpa1; do
		[ "$TYPE" = siw ] || echo "$1" >"/sys/class/infiniband/$dev/mpa/rnr_wait_ms"
	done
	new_port
	run rnr a "$BIN/verbs_probe" -p "$PORT" "${@:2}"
}

scenario rnr_late 30 "a Send waits for its receive, and all behind it does" -- \
	rnr_waits 60000 rnr_late
scenario rnr_each 40 "each receive is posted after its Send" -- rnr_waits 60000 rnr_each
scenario rnr_doorbell 30 "a Send waits: the next doorbell looks for its receive" -- \
	rnr_waits 60000 rnr_doorbell
scenario rnr_srq 40 "an empty shared receive queue stops two streams and ends neither" -- \
	rnr_waits 60000 rnr_srq
scenario rnr_ends 40 "whatever ends a connection does so while a Send waits" -- \
	rnr_waits 60000 rnr_ends

scenario rnr_over 30 "both ends wait for a receive: over after rnr_wait_ms, and counted"
rnr_over() {
	local waits vain
	waits=$(($(hw_counter mpa0 rx_rnr_waits) + $(hw_counter mpa1 rx_rnr_waits)))
	vain=$(($(hw_counter mpa0 rx_no_receive) + $(hw_counter mpa1 rx_no_receive)))
	rnr_waits 1000 rnr_over
	waits=$(($(hw_counter mpa0 rx_rnr_waits) + $(hw_counter mpa1 rx_rnr_waits) - waits))
	vain=$(($(hw_counter mpa0 rx_no_receive) + $(hw_counter mpa1 rx_no_receive) - vain))
	[ "$waits" = 2 ] || fail "$waits Sends waited"
	# Each end's time is over at the same moment, or the Terminate of one ends the other.
	[[ $vain == [12] ]] || fail "$vain Sends waited in vain"
}

# hold_one: a program whose Send waits on mpa1
hold_one() {
	dirty
	echo 600000 >/sys/class/infiniband/mpa1/mpa/rnr_wait_ms
	new_port
	start held a "$BIN/verbs_probe" -p "$PORT" rnr_held
	wait_for 10 grep -q '^held' "$WORK/held.log"
	wait_for 10 is_shown mpa1 rnr 1 1
}

scenario rnr_shown 30 "rdma resource tells that a Send waits, and how many receives were taken"
rnr_shown() {
	hold_one
	[ "$(shown mpa1 receives)" = 1 ] || fail "receives: $(shown mpa1 receives)"
	[ "$(shown mpa0 rnr)" = 0 ] || fail "the sender waits for a receive"
	kill -USR1 "${PIDS[held]}"
	reap held 10
}

scenario rnr_delete 30 "rdma link delete while a Send waits"
rnr_delete() {
	hold_one
	link_delete mpa1
	kill -USR1 "${PIDS[held]}"
	reap held 10
}

scenario rnr_kernel 60 "kernel consumers that post late, to a queue of their own and a shared one"
rnr_kernel() { memprobe late; }
