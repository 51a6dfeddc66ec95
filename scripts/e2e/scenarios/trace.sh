# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The tracepoints of Documentation/tracing.rst.

# trace_setup: makes a buffer of our own, so that it has nobody else's events
trace_setup() {
	TRACE=/sys/kernel/tracing/instances/e2e
	EVENTS=$TRACE/events/rdma_mpa
	mkdir "$TRACE"
	trap 'trace_enable 0; rmdir "$TRACE"' EXIT
	[ -d "$EVENTS" ] || fail "there are no events of rdma_mpa"
}

# trace_enable 1|0 [EVENT...]: turns these events on or off, or all
trace_enable() {
	local event
	[ $# -gt 1 ] || echo "$1" >"$EVENTS/enable"
	for event in "${@:2}"; do
		echo "$1" >"$EVENTS/rnic_$event/enable"
	done
}

# has_event EVENT FIELDS: FIELDS are a pattern for the whole rest of the line
has_event() { grep -qE " rnic_$1: $2\$" "$TRACE/trace"; }

# event EVENT FIELDS: this event has to come soon
event() {
	until_true 5 has_event "$@" && return
	cp "$TRACE/trace" "$WORK/events.log"
	fail "no event rnic_$1 with '$2'"
}

# qpn_of DEVICE: the number of its only connected queue pair, from rdma(8)
qpn_of() { rdma resource show qp link "$1/1" | sed -nE 's/.* lqpn ([0-9]+) .* state RTS .*/\1/p'; }
is_connected() { [ -n "$(qpn_of mpa0)" ] && [ -n "$(qpn_of mpa1)" ]; }

# is_silent DEVICE: has it received nothing for a moment?
is_silent() {
	local before
	before=$(hw_counter "$1" rx_bytes)
	sleep 0.3
	[ "$(hw_counter "$1" rx_bytes)" = "$before" ]
}

# field EVENT PATTERN NAME: the field of the first line of that event with the pattern
field() { sed -nE "s/.* rnic_$1: .*$2.*/&/; T; s/.* $3=([^ ]*).*/\1/p; q" "$TRACE/trace"; }

data_events=(completion fpdu_received fpdu_sent post)
hex='0x[0-9a-f]+'

# hold_server: rping's server stops, and then its client waits for it. An event is enabled and
# disabled while no processor runs the code of it, because an emulator may go on for ever with the
# breakpoint by which the kernel patches that code, when one processor translates it there while
# another one writes it.
hold_server() {
	kill -STOP "${PIDS[server]}"
	wait_for 10 is_silent mpa0
}

# rping's server reads 64 bytes of the client, then writes 64 there, and each tells the other
# in messages of 16 bytes. It never ends by itself, so its data is traced for a moment only.
scenario trace_rping 40 "tracepoints: a connection from its startup to its close, with its data"
trace_rping() {
	local a b wr state
	trace_setup
	trace_enable 1 state error close
	new_port
	serve server b rping -s -S 64 -a "$B4" -p "$PORT"
	start client a rping -c -S 64 -a "$B4" -p "$PORT"
	wait_for 10 is_connected
	a=$(qpn_of mpa0) b=$(qpn_of mpa1)
	state="dev=mpa0 qpn=$a role=initiator lport=[1-9][0-9]* rport=$PORT"
	event state "$state from=connecting event=tcp_up to=wait_reply status=0"
	event state "$state from=wait_reply event=accepted to=operating status=0"
	state="role=responder lport=$PORT rport=[1-9][0-9]*"
	event state "dev=mpa1 qpn=0 $state from=wait_request event=request to=wait_consumer status=0"
	event state "dev=mpa1 qpn=$b $state from=wait_consumer event=accept to=operating status=0"

	# The number of a work request leads to its completion.
	hold_server
	trace_enable 1 "${data_events[@]}"
	kill -CONT "${PIDS[server]}"
	event post "dev=mpa1 qpn=$b wr=[0-9]+ op=write .*"
	wr=$(field post "dev=mpa1 qpn=$b wr=[0-9]+ op=write" wr)
	event completion "dev=mpa1 qpn=$b wr=$wr op=write status=success bytes=64"
	event post "dev=mpa0 qpn=$a wr=[0-9]+ op=send flags=signaled bytes=16 stag=0x00000000 to=0x0"
	event post "dev=mpa1 qpn=$b wr=[0-9]+ op=write flags=signaled bytes=64 stag=$hex to=0x[1-9a-f][0-9a-f]+"
	event post "dev=mpa1 qpn=$b wr=[0-9]+ op=read flags=signaled bytes=64 stag=$hex to=0x[1-9a-f][0-9a-f]+"
	event fpdu_sent "dev=mpa0 qpn=$a opcode=send last=1 bytes=16 msn=[1-9][0-9]* mo=0 stag=0x00000000 to=0x0"
	event fpdu_sent "dev=mpa0 qpn=$a opcode=read_response last=1 bytes=64 msn=0 mo=0 stag=$hex to=$hex"
	event fpdu_sent "dev=mpa1 qpn=$b opcode=read_request last=1 bytes=64 msn=[1-9][0-9]* mo=0 stag=$hex to=0x[1-9a-f][0-9a-f]+"
	event fpdu_sent "dev=mpa1 qpn=$b opcode=write last=1 bytes=64 msn=0 mo=0 stag=$hex to=0x[1-9a-f][0-9a-f]+"
	event fpdu_received "dev=mpa1 qpn=$b opcode=send last=1 bytes=16 msn=[1-9][0-9]* mo=0 stag=0x00000000"
	event fpdu_received "dev=mpa1 qpn=$b opcode=read_response last=1 bytes=64 msn=0 mo=0 stag=$hex"
	event fpdu_received "dev=mpa0 qpn=$a opcode=read_request last=1 bytes=64 msn=[1-9][0-9]* mo=0 stag=$hex"
	event fpdu_received "dev=mpa0 qpn=$a opcode=write last=1 bytes=64 msn=0 mo=0 stag=$hex"
	event completion "dev=mpa0 qpn=$a wr=0 op=recv status=success bytes=16"
	hold_server
	trace_enable 0 "${data_events[@]}"
	not has_event error '.*' || fail "an error, in a good connection"

	# The server is still held, because it may not ask for memory of the client that the kernel
	# has taken back. The kernel does so before it destroys the queue pair.
	stop client
	kill -CONT "${PIDS[server]}"
	ended server
	event close "dev=mpa0 qpn=$a by=consumer"
	event close "dev=mpa1 qpn=$b by=(consumer|peer|lost)"
	event state "dev=mpa0 qpn=$a role=initiator .* from=operating event=ended to=linger status=0"
}

# a's Write reaches beyond the end of b's region: RFC 5041 says layer 1, type 1, code 1.
scenario trace_refused_write 40 "tracepoints: both ends show a Write that the peer refuses"
trace_refused_write() {
	local a b port name terminate='layer=ddp type=1 code=0x01 name=ddp_t_bounds'
	trace_setup
	trace_enable 1
	verbs write_past_end
	a=$(field state 'role=initiator.* to=operating' qpn)
	port=$(field state 'role=initiator.* to=operating' lport)
	b=$(field state "role=responder .* rport=$port .* to=operating" qpn)
	if [ "${a:-0}" = 0 ] || [ "${b:-0}" = 0 ]; then
		fail "no queue pairs: '$a', '$b'"
	fi

	event post "dev=mpa0 qpn=$a wr=[0-9]+ op=write .*"
	event fpdu_sent "dev=mpa0 qpn=$a opcode=write .*"
	event fpdu_received "dev=mpa1 qpn=$b opcode=write .*"
	event error "dev=mpa1 qpn=$b by=local $terminate"
	event fpdu_received "dev=mpa0 qpn=$a opcode=terminate .*"
	event error "dev=mpa0 qpn=$a by=peer $terminate"
	event completion "dev=mpa0 qpn=$a .* status=wr_flush_err .*"
	event close "dev=mpa0 qpn=$a by=error"
	event close "dev=mpa1 qpn=$b by=error"
	# The scenario has seen every event that there is.
	for name in "$EVENTS"/rnic_*; do
		has_event "${name##*/rnic_}" '.*' || fail "${name##*/} never came"
	done
}

scenario trace_linger 60 "connections that linger do not take the turns of startups"
trace_linger() {
	trace_setup
	export TRACE
	echo 1 >"$TRACE/events/workqueue/workqueue_queue_work/enable"
	peer linger floods
}

# A connection takes six turns: TCP connects and accepts, the Request and the Reply arrive, and a FIN
# at each end. Chance adds some on a busy machine, because a turn may find half of a thing done. It
# was 20 to 28 once. The startup has three of the six at most, and a close none.
scenario trace_works 60 "a connection takes few turns of the workers" turns
trace_works() {
	local works='function [a-z_]+ \[rdma_mpa\]$' number startups
	trace_setup
	echo 1 >"$TRACE/events/workqueue/workqueue_execute_start/enable"
	both ucmatose -c 50 -C 0
	echo 0 >"$TRACE/events/workqueue/workqueue_execute_start/enable"
	grep -oE "$works" "$TRACE/trace" | sort | uniq -c
	number=$(grep -cE "$works" "$TRACE/trace")
	[ "$number" -le $((50 * 8)) ] || fail "$number turns of the workers for 50 connections"
	startups=$(grep -c 'function rnic_startup_work ' "$TRACE/trace")
	[ "$startups" -le $((50 * 7 / 2)) ] || fail "$startups of the startups' work"
	[ "$number" -ge $((50 * 3)) ] || fail "only $number turns: the trace is not whole"
}
