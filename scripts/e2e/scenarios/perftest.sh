# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# perftest over rdma_cm. It prints no speed here (no clock rate under emulation)
# and compares no data: both ends must finish without an error.

# perf PROGRAM OPTIONS...: server in b, client in a
perf() { perf_between b "$B4" a "$@"; }

# was_early NAME: did perftest's client connect before its server listened?
was_early() { grep -q 'RDMA_CM_EVENT_REJECTED; error: -111' "$WORK/$1.log"; }

# perf_between SERVER-NAMESPACE ADDRESS CLIENT-NAMESPACE PROGRAM OPTIONS...
#
# The two programs talk over a plain TCP connection first. Then the server closes that
# port and opens it again with rdma_listen. The client does not wait for that, so it may be
# refused. It means to try again, but crashes in the attempt (4.5). So both programs are started
# again here. A refusal for any other reason comes back each time.
perf_between() {
	local server=$1 address=$2 client=$3 program=$4 turn status
	shift 4
	for turn in 1 2 3; do
		new_port
		serve server "$server" "$program" -R -F -p "$PORT" "$@"
		try client "$client" "$program" -R -F -p "$PORT" "$@" "$address"
		status=$STATUS
		if [ "$status" = 0 ] || ! was_early client; then
			break
		fi
		note "try $turn: $program connected before its server listened"
		stop server
	done
	[ "$status" = 0 ] || fail "client: exit status $status: $program $* $address"
	reap server
	grep -qE '^ *[0-9]+ +[0-9]+ ' "$WORK/client.log" || fail "the client has no result"
}

# Events (-e) where perftest can: ib_write_bw has none. ib_send_bw limits itself by
# credits that the server writes into its memory, and the client sleeps for a send
# completion while it waits for one. If a credit comes later than the last completion the client
# sleeps for ever, on any device. So ib_send_lat tests Sends with events.
# Polling takes both processors here.
declare -A EVENTS=([send]='' [write]='' [read]=-e)
declare -A SIZE=([send]=16384 [write]=65536 [read]=65536)

bw_qp4() {
	# shellcheck disable=SC2086 # -e, or nothing
	perf "ib_$1_bw" -q 4 ${EVENTS[$1]} -n 20 -s "${SIZE[$1]}"
	# shellcheck disable=SC2086
	perf "ib_$1_bw" -q 4 ${EVENTS[$1]} -n 20 -s 2
}

bw_both() {
	# shellcheck disable=SC2086
	perf "ib_$1_bw" -b ${EVENTS[$1]} -n 20 -s "${SIZE[$1]}"
	# shellcheck disable=SC2086
	perf "ib_$1_bw" -b -q 4 ${EVENTS[$1]} -n 20 -s 5000
}

for op in send write read; do
	scenario "${op}_bw_qp4" 30 "ib_${op}_bw, 4 queue pairs" -- bw_qp4 "$op"
	scenario "${op}_bw_both" 30 "ib_${op}_bw in both directions, 1 and 4 queue pairs" -- bw_both "$op"
done

scenario send_bw_sizes 90 "ib_send_bw, 2 bytes to 8 MiB" slow
send_bw_sizes() { perf ib_send_bw -a -n 5; }

scenario write_bw_sizes 90 "ib_write_bw, 2 bytes to 8 MiB" slow
write_bw_sizes() { perf ib_write_bw -a -n 5; }

scenario read_bw_sizes 90 "ib_read_bw, 2 bytes to 8 MiB, with events" slow
read_bw_sizes() { perf ib_read_bw -a -e -n 5; }

for op in send read; do
	scenario "${op}_bw_poll" 40 "ib_${op}_bw, polling" -- perf "ib_${op}_bw" -n 10 -s 16384
done

scenario send_lat_sizes 60 "ib_send_lat, 2 bytes to 8 MiB, with events" slow
send_lat_sizes() { perf ib_send_lat -a -e -n 5; }

scenario read_lat_sizes 60 "ib_read_lat, 2 bytes to 8 MiB, with events" slow
read_lat_sizes() { perf ib_read_lat -a -e -n 5; }

# An answer that goes out in the softirq may fill its budget of 8 KiB and be complete. If TCP
# held it back, each would take 0.2 s, and all of them more than the time of the scenario.
scenario read_lat_budget 60 "ib_read_lat, just below and above 8 KiB, MTU 9000, with events"
read_lat_budget() {
	local size
	dirty
	set_mtu 9000
	for size in 8100 8180 8192 8300; do
		perf ib_read_lat -e -n 400 -s "$size"
	done
}

scenario write_lat_sizes 60 "ib_write_lat, polling memory" slow
write_lat_sizes() {
	perf ib_write_lat -n 10 -s 2
	perf ib_write_lat -n 10 -s 4097
	perf ib_write_lat -n 5 -s 1048576
}

scenario lat_inline 30 "ib_send_lat with inline data"
lat_inline() { perf ib_send_lat -e -n 20 -s 64 -I 64; }

# held DEVICE: the number of doorbells whose bytes waited for those of the next one
held() { hw_counter "$1" tx_held; }

# The test knows which messages wait. How long they wait depends on the machine.
scenario small_stream 30 "small messages in a row are coalesced, those of a dialogue are not" \
	newer
small_stream() {
	local ours theirs asked
	ours=$(held mpa0) theirs=$(held mpa1)
	perf ib_send_lat -e -n 100 -s 64
	perf ib_write_lat -n 20 -s 64
	[ "$(held mpa0) $(held mpa1)" = "$ours $theirs" ] || fail "a dialogue was held up"
	perf ib_write_bw -n 200 -s 64
	[ "$(held mpa0)" -gt "$ours" ] || fail "200 Writes of 64 bytes, and none waited"
	# Nothing follows the last message that could send it, so only the timer does.
	ours=$(held mpa0)
	new_port
	run bulk a "$BIN/bulk" -s "$B4" -p "$PORT" -n 40 -l 64 -d 40
	[ "$(held mpa0)" -gt "$ours" ] || fail "40 Sends of 64 bytes, and none waited"
	ours=$(held mpa0)
	asked=$(hw_counter mpa0 tx_send_se)
	new_port
	run bulk a "$BIN/bulk" -s "$B4" -p "$PORT" -n 40 -l 64 -d 40 -o solicited
	[ "$(held mpa0)" = "$ours" ] || fail "a Send with a Solicited Event waited"
	[ $(($(hw_counter mpa0 tx_send_se) - asked)) = 40 ] || fail "they count as other messages"
}

scenario small_apart 20 "with the setting coalesce off no small message waits"
small_apart() {
	local ours
	dirty
	set_to coalesce 0
	ours=$(held mpa0)
	perf ib_write_bw -n 200 -s 64
	perf ib_read_bw -n 200 -s 64
	[ "$(held mpa0)" = "$ours" ] || fail "messages waited although the setting is off"
	set_to coalesce 1
	perf ib_write_bw -n 200 -s 64
	[ "$(held mpa0)" -gt "$ours" ] || fail "200 Writes of 64 bytes, and none waited"
}

# perftest asks for a completion of every hundredth Read, and with -Q 1 of each.
scenario small_reads 30 "small Reads without a completion are coalesced"
small_reads() {
	local ours
	ours=$(held mpa0)
	perf ib_read_lat -n 100 -s 64
	perf ib_read_bw -n 200 -s 64 -Q 1
	[ "$(held mpa0)" = "$ours" ] || fail "a Read whose completion is asked for waited"
	perf ib_read_bw -n 200 -s 64
	[ "$(held mpa0)" -gt "$ours" ] || fail "200 Reads of 64 bytes, and none waited"
	# A program that polls the memory has to wait after 8 Reads, then 16, then 32.
	ours=$(held mpa0)
	new_port
	run bulk a "$BIN/bulk" -s "$B4" -p "$PORT" -n 64 -l 64 -d 1 -o unseen
	ours=$(($(held mpa0) - ours))
	[[ $ours = [1-4] ]] || fail "of 64 Reads in a dialogue $ours waited"
}

# One of them sends the last bytes of a message while the next message is posted for the other.
scenario bulk_turns 40 "doorbell and worker send by turns, and nothing stays unsent" newer
bulk_turns() {
	by_turns 9000 20000 70000
	dirty
	set_mtu 65535	# an FPDU is more than a doorbell sends
	by_turns 9000 70000 140000
}

by_turns() {
	local length depth
	for length; do
		for depth in 1 2 5; do
			new_port
			run bulk a "$BIN/bulk" -s "$B4" -p "$PORT" -n 200 -l "$length" -d "$depth"
		done
	done
}

scenario perf_post_list 30 "lists of requests in one post, completions moderated"
perf_post_list() { perf ib_write_bw -n 64 -l 16 -Q 16 -s 4096; }
