# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# What a program can make a device do that others share: time of processors, memory.

TRACING=/sys/kernel/tracing
# Whatever is run later: each prints the function, with the module that has it.
LATER=(workqueue/workqueue_execute_start timer/timer_expire_entry timer/hrtimer_expire_entry)

# trace_later 1|0
trace_later() {
	local event
	for event in "${LATER[@]}"; do
		echo "$1" >"$TRACING/events/$event/enable"
	done
}

# Has something of the module been traced?
traced() { grep -q "\[$MODULE_NAME\]" "$TRACING/trace"; }

# nothing_ran: of the module, for ten seconds
nothing_ran() {
	echo >"$TRACING/trace"
	sleep 10
	not traced
}

scenario limits_idle 120 "nothing runs for idle queue pairs in error, nor for unread completions"
limits_idle() {
	# Functions of other modules, for timers that are gone, too, are of no interest.
	trap 'trace_later 0' EXIT
	echo >"$TRACING/trace"
	trace_later 1
	start idle a "$BIN/limits_probe" idle
	wait_for 20 grep -q waiting "$WORK/idle.log"
	wait_for 5 traced		# so it would be seen
	wait_for 40 nothing_ran
	kill -USR1 "${PIDS[idle]}"
	reap idle 60
}
