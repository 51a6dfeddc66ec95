#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# guest.sh DRIVER MODULE.KO [sweep]: (in a guest, or on a real machine with HOST) measures the
# rows of plan DRIVER, and those of sweep DRIVER if that is asked for, in one boot. Prints
# "@ ROW VALUE" for each; if a row cannot be measured VALUE is "failed", and the reason follows.
# Prints "% ROW PERCENT VALUE" for the distribution of a latency. The hosts and the cable are
# those of the end-to-end scenarios.
# shellcheck disable=SC2034,SC2153,SC2154 # shared with the scenarios' lib.sh
set -euo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export RDMA_TYPE=$1 MODULE=$2
SWEEP_TOO=${3:-}
STATE=$(mktemp -d)
WORK=$STATE
PROGRAMS=$TOP/build/bench
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"
# shellcheck source=scripts/bench/lib.sh
. "$TOP/scripts/bench/lib.sh"
path=path.sh
[ -z "${HOST:-}" ] || path=hosts.sh
# shellcheck source=scripts/bench/path.sh
. "$TOP/scripts/bench/$path"
LIMIT=$((WINDOW + 20))

# pair SERVER-COMMAND -- CLIENT-COMMAND: both have to end with status 0
pair() {
	local command=()
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	serve server "$server_ns" timeout -k 1 "$LIMIT" "${command[@]}"
	run client a "$@"
	reap server
}

# Runs before anything is timed: it warms caches, and compares every byte.
warm_up() {
	local args=(-V -C 5 -S 64000 -a "$address" -p "$PORT")
	pair rping -s "${args[@]}" -- rping -c "${args[@]}"
}

perftest() {
	local program=$1
	shift
	pair "$program" -R -F -p "$PORT" "$@" -- \
		"$program" -R -F -p "$PORT" "$@" "$address"
}

# column SIZE NUMBER: of perftest's result line
column() {
	awk -v size="$1" -v column="$2" '
		$1 == size && $2 ~ /^[0-9]+$/ { value = $column }
		END { if (value !~ /[1-9]/) exit 1; print value }' "$WORK/client.log"
}

# count OP SIZE SECONDS OPTIONS...: sets COUNT, the messages finished in a window.
# perftest's own rate is not used, because perftest looks for its clock while the queue
# still drains, and often finds none. In its duration mode the kernel's timer bounds
# the window instead.
count() {
	local op=$1 size=$2 window=$3
	shift 3
	perftest "ib_${op}_bw" -s "$size" -D "$window" -f 0 "$@"
	COUNT=$(column "$size" 2) || fail "no message finished in $window s"
}

# 8 MiB under way, in 16 to 128 messages, with 16 completions for them
bandwidth() {
	local op=$1 size=$2 depth=$((8388608 / $2)) window=1
	depth=$((depth < 16 ? 16 : depth > 128 ? 128 : depth))
	[[ " $SIZES " != *" $size "* ]] || window=$WINDOW
	count "$op" "$size" "$window" -t "$depth" -Q $((depth / 16))
	awk -v bytes=$((COUNT * size)) -v window="$window" \
		'BEGIN { printf "%.2f\n", bytes / window / 1e6 }'
}

# message_rate OP SIZE QUEUE-PAIRS. With several queue pairs perftest has its 128 for each.
message_rate() {
	local more=()
	[ "$3" = 1 ] || more=(-q "$3")
	count "$1" "$2" 1 "${more[@]}"
	echo "$COUNT"
}

# percentiles FILE: prints "PERCENT VALUE" lines for the numbers in it, by the nearest rank
percentiles() {
	sort -n "$1" | awk '
		{ value[NR] = $1 }
		END {
			n = split("0 1 2 5 10 15 20 25 30 35 40 45 50 55 60 65 70 75 80 " \
				"85 90 92 94 95 96 97 98 99 99.5 100", at, " ")
			for (i = 1; NR && i <= n; i++) {
				rank = int(at[i] * NR / 100 + 0.999999)
				print at[i], value[rank < 1 ? 1 : rank]
			}
		}'
}

# The median of half a round trip, or of a whole one for read. It uses events if the program has
# them. -H prints every value, "NUMBER, US" a line.
latency() {
	local op=$1 size=$2 events=-e
	[ "$op" != write ] || events=''
	# shellcheck disable=SC2086
	perftest "ib_${op}_lat" -s "$size" -n 1000 -H $events
	column "$size" 5 || fail "perftest found no clock"
	sed -nE 's/^[0-9]+, ([0-9.]+)$/\1/p' "$WORK/client.log" > "$WORK/values"
}

# tcp_stream SIZE: the rate of writes of that size; "-" leaves the size to iperf3 (128 KiB)
tcp_stream() {
	local window=$WINDOW length=()
	[ "$1" = - ] || window=1 length=(-l "$1")
	pair iperf3 -s -1 -p "$PORT" -- \
		iperf3 -c "$address" -p "$PORT" -t "$window" -f m "${length[@]}"
	awk '/receiver/ {
		for (i = 2; i <= NF; i++)
			if ($i == "Mbits/sec")
				rate = $(i - 1) / 8
	} END { if (!rate) exit 1; printf "%.2f\n", rate }' "$WORK/client.log" ||
		fail "iperf3 gave no rate"
}

# Kernels of 2026 do not let programs use the CRC by default. Our own guest may change that.
crc_pass() {
	local restrict=/proc/sys/crypto/af_alg_restrict
	[ -n "${HOST:-}" ] || [ ! -e $restrict ] || echo 0 > $restrict
	"$PROGRAMS/crc" 2> "$WORK/client.log" || fail "no CRC32C of the kernel's"
}

# of_boot TEST: the median of the values that TEST has had on this path, or nothing
of_boot() {
	[ ! -s "$STATE/$1" ] || percentiles "$STATE/$1" | awk '$1 == 50 { print $2 }'
}

# TCP and one pass of CRC32C on each side. The two sides work at the same time, so the
# time of one pass is added to the time that TCP takes for a byte.
tcp_with_crc() {
	awk -v tcp="$(of_boot stream)" -v crc="$(of_boot crc32c)" 'BEGIN {
		if (!tcp || !crc)
			exit 1
		printf "%.2f\n", 1 / (1 / tcp + 1 / crc)
	}' || fail "TCP's rate or that of the CRC is not known"
}

# The median of half a round trip, as perftest prints it. Both ends run on one processor, because
# with two the result is the time in which the host wakes a virtual one. The server
# never ends.
tcp_latency() {
	serve server "$server_ns" timeout -k 1 "$LIMIT" taskset 1 \
		sockperf server --tcp -i "$address" -p "$PORT"
	run client a taskset 1 sockperf ping-pong --tcp -i "$address" -p "$PORT" -m "$1" -t 1 \
		--full-log="$WORK/trips"
	awk '/percentile 50.000/ { value = $NF }
		END { if (value + 0 <= 0) exit 1; print value + 0 }' "$WORK/client.log" ||
		fail "sockperf gave no median"
	# packet, sent, received, us
	awk -F ', *' '$1 ~ /^[0-9]+$/ { print $4 }' "$WORK/trips" > "$WORK/values"
}

# Sets MS, the time from the first rdma_connect to the last established connection. The server
# never ends. cmtime goes on without connections that fail, and is then faster.
connect_time() {
	new_port
	serve server "$server_ns" timeout -k 1 "$LIMIT" cmtime -b "$address" -p "$PORT" -c "$1"
	run client a cmtime -s "$address" -p "$PORT" -c "$1"
	stop server
	! grep -q '^failure' "$WORK"/{client,server}.log || fail "not all of $1 connections stand"
	MS=$(awk '$1 == "connect" {
			sub(/.*:/, "")
			ms = $1
		}
		END { if (ms <= 0) exit 1; print ms }' "$WORK/client.log") ||
		fail "cmtime gave no time"
}

# Connections a second, by the median of five times
connect_rate() {
	local times=()
	while [ "${#times[@]}" -lt 5 ]; do
		connect_time "$1"
		times+=("$MS")
	done
	printf '%s\n' "${times[@]}" | sort -n |
		awk -v n="$1" 'NR == 3 { printf "%.0f\n", n / $1 * 1000 }'
}

# KiB of kernel memory of an idle connection, both ends together
idle_memory() {
	timeout -k 1 $((LIMIT + 60)) "$PROGRAMS/load" idle 100 500 > "$WORK/client.log" 2>&1 ||
		fail "exit status $? of load"
	awk '{ count[NR] = $1; kib[NR] = $2 }
		END { if (NR != 2) exit 1
		printf "%.1f\n", (kib[2] - kib[1]) / (count[2] - count[1]) }' \
		"$WORK/client.log" || fail "load gave no figures"
}

# measure CRC TEST SIZE: prints the value; if it fails it prints the reason
measure() {
	trap 'kill "${PIDS[@]}" 2> /dev/null || :' EXIT
	case $1:$2 in
	on:stream) tcp_with_crc ;;
	*:stream) tcp_stream "$3" ;;
	*:crc32c) crc_pass ;;
	*:latency) tcp_latency "$3" ;;
	*:connect) connect_rate "$3" ;;
	*:idle) idle_memory ;;
	*-rate) message_rate "${2%-rate}" "$3" 1 ;;
	*-rate16) message_rate "${2%-rate16}" "$3" 16 ;;
	*-latency) latency "${2%-latency}" "$3" ;;
	*) bandwidth "$2" "$3" ;;
	esac
}

explain() {
	local log
	printf '%s\n' "$1"
	for log in client server; do
		[ ! -s "$WORK/$log.log" ] || {
			echo "$log said:"
			tail -n 6 "$WORK/$log.log"
		}
	done
}

# It is not worth timing data that does not arrive whole.
prepare() {
	local out
	use_path "$1"
	[ "$2" != tcp ] || return 0
	set_crc "$3"
	new_port
	if ! out=$(trap 'kill "${PIDS[@]}" 2> /dev/null || :' EXIT; warm_up 2>&1); then
		explain "warm-up failed: $out"
		return 1
	fi
}

# attempt CRC TEST SIZE: sets VALUE. It tries again after two accidents, which are no fault of
# the driver: perftest's second connection may come before siw listens for it, and perftest may
# not find its clock.
attempt() {
	local try retry='Connection refused|Failed to connect RDMA CM events|no clock'
	for try in 1 2 3; do
		new_port
		rm -f "$WORK"/*.log "$WORK/values"
		if VALUE=$(measure "$@" 2>&1); then
			return 0
		fi
		echo "$VALUE" >> "$WORK/client.log"
		grep -Eo -m 1 "$retry" "$WORK/client.log" || return 1
	done
	return 1
}

rows() {
	plan "$RDMA_TYPE"
	[ -z "$SWEEP_TOO" ] || sweep "$RDMA_TYPE"
}

run_plan() {
	local mtu who crc test size unit state='' ready=0 on=''
	while read -ru 3 mtu who crc test size unit; do
		if [ "$state" != "$mtu $who $crc" ]; then
			state="$mtu $who $crc" ready=1
			prepare "$mtu" "$who" "$crc" || ready=0
		fi
		if [ "$on" != "$mtu" ]; then
			on=$mtu
			rm -f "$STATE/stream" "$STATE/crc32c"
		fi
		VALUE=''
		if [ $ready = 1 ] && attempt "$crc" "$test" "$size"; then
			echo "@ $mtu $who $crc $test $size $unit $VALUE"
			[ "$who" != tcp ] || [ "$crc $size" != '- -' ] || echo "$VALUE" >> "$STATE/$test"
			[ ! -s "$WORK/values" ] || percentiles "$WORK/values" |
				sed "s/^/% $mtu $who $crc $test $size /"
		else
			echo "@ $mtu $who $crc $test $size $unit failed"
			[ $ready = 0 ] || explain "$VALUE"
		fi
	done 3< <(rows)
}

"$TOP/scripts/vm/klog.sh" mark bench
path_up
say_processor
run_plan
if ! warnings=$("$TOP/scripts/vm/klog.sh" check bench); then
	echo "in the kernel's log:"
	echo "$warnings"
fi
