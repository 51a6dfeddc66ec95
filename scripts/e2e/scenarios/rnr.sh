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
scenario rnr_markers 40 "Sends wait for their receives, with Markers and without CRC"
rnr_markers() {
	local dev
	for dev in mpa0 mpa1; do
		echo 1 >"/sys/class/infiniband/$dev/mpa/markers"
		echo off >"/sys/class/infiniband/$dev/mpa/crc"
	done
	rnr_waits 60000 rnr_late rnr_each
}

# Which work is queued for a queue pair of mpa1, "TASK WORK" a line. Only the timer's is queued while
# a Send waits.
works() { sed -nE 's/^ *([^ ]+)-[0-9]+ .*work struct=([^ ]+) function=rnic_qp_work .*/\1 \2/p' "$TRACE/trace"; }
timer_looked() { works | grep -q .; }

scenario rnr_doorbell 30 "a Send waits: the next doorbell looks for its receive"
rnr_doorbell() {
	local work
	trace_setup
	trap 'rmdir "$TRACE"' EXIT
	dirty
	echo 60000 >/sys/class/infiniband/mpa1/mpa/rnr_wait_ms
	new_port
	start rnr a "$BIN/verbs_probe" -p "$PORT" rnr_doorbell
	wait_for 10 grep -q '^waits' "$WORK/rnr.log"
	wait_for 10 is_shown mpa1 rnr 1 1
	echo 1 >"$TRACE/events/workqueue/workqueue_queue_work/enable"
	wait_for 10 timer_looked
	work=$(works | head -n 1)
	kill -USR1 "${PIDS[rnr]}"
	wait_for 10 grep -q '^received' "$WORK/rnr.log"
	echo 0 >"$TRACE/events/workqueue/workqueue_queue_work/enable"
	works >"$WORK/works.log"
	kill -USR1 "${PIDS[rnr]}"
	reap rnr
	grep -qx "verbs_probe ${work#* }" "$WORK/works.log" || fail "the doorbell did not look"
}

scenario rnr_srq 40 "an empty shared receive queue stops two streams and ends neither" -- \
	rnr_waits 60000 rnr_srq
scenario rnr_srq_busy 40 "a shared receive queue that others empty ends no stream that waits" -- \
	rnr_waits 3000 rnr_srq_busy
scenario rnr_closed 40 "a Send waits for its receive after its sender has disconnected" -- \
	rnr_waits 60000 rnr_closed
scenario rnr_ends 40 "the receiver can end a connection in each way while a Send waits" -- \
	rnr_waits 60000 rnr_ends

scenario rnr_over 30 "both ends wait for a receive: that ends after rnr_wait_ms, and is counted"
rnr_over() {
	local waits vain
	waits=$(($(hw_counter mpa0 rx_rnr_waits) + $(hw_counter mpa1 rx_rnr_waits)))
	vain=$(($(hw_counter mpa0 rx_no_receive) + $(hw_counter mpa1 rx_no_receive)))
	rnr_waits 1000 rnr_over
	waits=$(($(hw_counter mpa0 rx_rnr_waits) + $(hw_counter mpa1 rx_rnr_waits) - waits))
	vain=$(($(hw_counter mpa0 rx_no_receive) + $(hw_counter mpa1 rx_no_receive) - vain))
	[ "$waits" = 2 ] || fail "$waits Sends waited"
	# The time of both ends is over at the same moment, or the Terminate of one ends the other.
	[[ $vain == [12] ]] || fail "$vain Sends found no receive"
}

# begin_one: starts a program that has a connection
begin_one() {
	dirty
	echo 600000 >/sys/class/infiniband/mpa1/mpa/rnr_wait_ms
	new_port
	start held a "$BIN/verbs_probe" -p "$PORT" rnr_held
	wait_for 10 grep -q '^idle' "$WORK/held.log"
}

# hold_one: the program sends, and its Send waits on mpa1
hold_one() {
	kill -USR1 "${PIDS[held]}"
	wait_for 10 grep -q '^held' "$WORK/held.log"
	wait_for 10 is_shown mpa1 rnr 1 1
}

scenario rnr_shown 30 "rdma resource shows that a Send waits, and how many receives were taken"
rnr_shown() {
	begin_one
	is_shown mpa1 rnr 0 0 || fail "an idle connection waits for a receive"
	hold_one
	[ "$(shown mpa1 receives)" = 1 ] || fail "receives: $(shown mpa1 receives)"
	[ "$(shown mpa0 rnr)" = 0 ] || fail "the sender waits for a receive"
	kill -USR1 "${PIDS[held]}"
	reap held 10
}

scenario rnr_delete 30 "rdma link delete while a Send waits"
rnr_delete() {
	begin_one
	hold_one
	link_delete mpa1
	kill -USR1 "${PIDS[held]}"
	reap held 10
}

# looks SECONDS: how often workers of queue pairs run in that time
looks() {
	echo >"$TRACE/trace"
	sleep "$1"		# the time itself
	grep -c 'function rnic_qp_work' "$TRACE/trace" || :
}

looked() { grep -q 'function rnic_qp_work' "$TRACE/trace"; }

# Each wait is longer than the one before by a quarter, so there are about 10 looks for each factor
# of 10.
scenario rnr_looks 60 "a Send that waits costs few looks, and a connection without one none" slow
rnr_looks() {
	local n
	trace_setup
	trap 'rmdir "$TRACE"' EXIT
	begin_one
	echo 1 >"$TRACE/events/workqueue/workqueue_execute_start/enable"
	n=$(looks 3)
	[ "$n" = 0 ] || fail "$n looks at an idle connection"
	hold_one
	wait_for 20 looked
	n=$(looks 8)
	((n <= 50)) || fail "$n looks in 8 s"
	kill -USR1 "${PIDS[held]}"
	reap held 10
	echo 0 >"$TRACE/events/workqueue/workqueue_execute_start/enable"
}

# Both ends of fio's verb "send" post as many Sends as receives, and none before the other has.
scenario rnr_fio 60 "fio sends: its receives come after the first messages"
rnr_fio() {
	local fio=(fio --ioengine=rdma --bs=16k --size=16m --iodepth=16 --name=sends)
	new_port
	serve server b "${fio[@]}" --rw=read --port="$PORT"
	run client a "${fio[@]}" --rw=write --verb=send --hostname="$B4" --port="$PORT"
	reap server
	note "$(hw_counter mpa1 rx_rnr_waits) Sends waited"
}

scenario rnr_qperf 60 "qperf, both ways at once: receives come after the first messages"
rnr_qperf() {
	local size
	new_port
	serve server b qperf -lp "$PORT"
	for size in 64 65536; do
		run_qperf -m "$size" rc_bi_bw
	done
	note "$(hw_counter mpa0 rx_rnr_waits) and $(hw_counter mpa1 rx_rnr_waits) Sends waited"
}

scenario rnr_kernel 60 "kernel consumers that post late, to a queue of their own and a shared one"
rnr_kernel() { memprobe late; }
