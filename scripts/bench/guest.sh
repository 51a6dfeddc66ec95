#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# guest.sh DRIVER MODULE.KO: (in a guest) measures what plan DRIVER names, in one
# boot. Prints "@ ROW VALUE" for each, VALUE "failed" where there is none, and
# after that why. The hosts and the cable are those of the end-to-end scenarios.
# shellcheck disable=SC2034,SC2153 # shared with the scenarios' lib.sh
set -euo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export RDMA_TYPE=$1 MODULE=$2
STATE=$(mktemp -d)
WORK=$STATE
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"
# shellcheck source=scripts/bench/lib.sh
. "$TOP/scripts/bench/lib.sh"
LIMIT=$((WINDOW + 20))
server_ns=b address=$B4

# use_path MTU: what follows goes over the cable with this MTU; or, to a host's own
# address, over lo. A device on lo itself would leave siw out: it has no GID there.
use_path() {
	if [ "$1" = lo ]; then
		server_ns=a address=$A4
	else
		server_ns=b address=$B4
		set_mtu "$1"
	fi
}

# set_crc off|on: siw has no such setting, its CRC is off as we build it
set_crc() {
	local file value=off
	[ "$1" = off ] || value=required
	for file in /sys/class/infiniband/*/mpa/crc; do
		[ ! -e "$file" ] || echo "$value" > "$file"
	done
}

# pair SERVER-COMMAND -- CLIENT-COMMAND: both have to end well
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

# Before anything is timed: warm caches, and every octet compared.
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
# perftest's own rate is not used: it looks for its clock while the queue still
# drains, and often finds none. In its duration mode the kernel's timer bounds
# the window instead.
count() {
	local op=$1 size=$2 window=$3
	shift 3
	perftest "ib_${op}_bw" -s "$size" -D "$window" -f 0 "$@"
	COUNT=$(column "$size" 2) || fail "no message finished in $window s"
}

# 8 MiB under way, in 16 to 128 messages, with 16 completions for them
bandwidth() {
	local op=$1 size=$2 depth=$((8388608 / $2))
	depth=$((depth < 16 ? 16 : depth > 128 ? 128 : depth))
	count "$op" "$size" "$WINDOW" -t "$depth" -Q $((depth / 16))
	awk -v bytes=$((COUNT * size)) -v window="$WINDOW" \
		'BEGIN { printf "%.2f\n", bytes / window / 1e6 }'
}

message_rate() {
	count "$1" "$2" 1
	echo "$COUNT"
}

# The median; half a round trip but for read. Events where the program has them.
latency() {
	local op=$1 size=$2 events=-e
	[ "$op" != write ] || events=''
	# shellcheck disable=SC2086
	perftest "ib_${op}_lat" -s "$size" -n 500 $events
	column "$size" 5 || fail "perftest found no clock"
}

tcp_stream() {
	pair iperf3 -s -1 -p "$PORT" -- \
		iperf3 -c "$address" -p "$PORT" -t "$WINDOW" -f m
	awk '/receiver/ {
		for (i = 2; i <= NF; i++)
			if ($i == "Mbits/sec")
				rate = $(i - 1) / 8
	} END { if (!rate) exit 1; printf "%.2f\n", rate }' "$WORK/client.log" ||
		fail "iperf3 gave no rate"
}

# The median of half a round trip, as perftest gives it. Both ends on one processor:
# across two it is the time the host takes to wake a virtual one. The server
# never ends.
tcp_latency() {
	serve server "$server_ns" timeout -k 1 "$LIMIT" taskset 1 \
		sockperf server --tcp -i "$address" -p "$PORT"
	run client a taskset 1 sockperf ping-pong --tcp -i "$address" -p "$PORT" -m "$1" -t 1
	awk '/percentile 50.000/ { value = $NF }
		END { if (value + 0 <= 0) exit 1; print value + 0 }' "$WORK/client.log" ||
		fail "sockperf gave no median"
}

# measure TEST SIZE: prints the value; fails with what is wrong on stdout
measure() {
	trap 'kill "${PIDS[@]}" 2> /dev/null || :' EXIT
	case $1 in
	stream) tcp_stream ;;
	latency) tcp_latency "$2" ;;
	*-rate) message_rate "${1%-rate}" "$2" ;;
	*-latency) latency "${1%-latency}" "$2" ;;
	*) bandwidth "$1" "$2" ;;
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

# Without data that arrives whole there is nothing worth timing.
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

# attempt TEST SIZE: sets VALUE. Two accidents mean that nothing was measured, and
# are no fault of the driver's: perftest's second connection may come before siw
# listens for it, and perftest may not find its clock. Then we try again.
attempt() {
	local try retry='Connection refused|no clock'
	for try in 1 2 3; do
		new_port
		rm -f "$WORK"/*.log
		if VALUE=$(measure "$@" 2>&1); then
			return 0
		fi
		echo "$VALUE" >> "$WORK/client.log"
		grep -Eo -m 1 "$retry" "$WORK/client.log" || return 1
	done
	return 1
}

run_plan() {
	local mtu who crc test size unit state='' ready=0
	while read -ru 3 mtu who crc test size unit; do
		if [ "$state" != "$mtu $who $crc" ]; then
			state="$mtu $who $crc" ready=1
			prepare "$mtu" "$who" "$crc" || ready=0
		fi
		VALUE=''
		if [ $ready = 1 ] && attempt "$test" "$size"; then
			echo "@ $mtu $who $crc $test $size $unit $VALUE"
		else
			echo "@ $mtu $who $crc $test $size $unit failed"
			[ $ready = 0 ] || explain "$VALUE"
		fi
	done 3< <(plan "$RDMA_TYPE")
}

"$TOP/scripts/vm/klog.sh" mark bench
topo_up > "$WORK/topology" 2>&1 || { cat "$WORK/topology"; exit 1; }
run_plan
if ! warnings=$("$TOP/scripts/vm/klog.sh" check bench); then
	echo "in the kernel's log:"
	echo "$warnings"
fi
