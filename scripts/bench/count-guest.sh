#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# count-guest.sh DRIVER MODULE.KO ROWS...: (in a guest of vm/run.sh -i, where an
# instruction takes 8 ns) the instructions that a message costs both ends together.
# Prints "@ ROW INSTRUCTIONS". A ROW is OP:SIZE:FEW:MANY. The cost is that of the
# messages by which a run of MANY exceeds one of FEW, so starting and ending cancel. The cost
# of a latency is the median of MANY round trips.
# With POLL, programs poll.
# MARK is a program that is run before, between and after the runs of FEW and of MANY,
# whatever the row; the kernel's symbols are then left in /out (profile.sh).
# shellcheck disable=SC2034,SC2153 # shared with the scenarios' lib.sh
set -euo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export RDMA_TYPE=$1 MODULE=$2 E2E_SLOW=100
shift 2
STATE=$(mktemp -d)
WORK=$STATE
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"
# shellcheck source=scripts/bench/lib.sh
. "$TOP/scripts/bench/lib.sh"
# shellcheck source=scripts/bench/path.sh
. "$TOP/scripts/bench/path.sh"
LIMIT=1000

# busy: ns that the processor was not idle, since boot
busy() {
	awk '{ printf "%.0f\n", ($1 - $2) * 1e9 }' /proc/uptime
}

# once OP SIZE N: prints the cost
once() {
	local op=$1 size=$2 n=$3 before args
	new_port
	before=$(busy)
	case $op in
	tcp)
		serve server b iperf3 -s -1 -p "$PORT"
		run client a iperf3 -c "$B4" -p "$PORT" -n $((size * n)) -l "$size"
		;;
	connect)	# made and ended; the server never ends
		serve server b cmtime -b "$B4" -p "$PORT" -c "$n"
		run client a cmtime -s "$B4" -p "$PORT" -c "$n"
		stop server
		echo $(($(busy) - before))
		return
		;;
	*)
		args=(-R -F -p "$PORT" -s "$size" -n "$n")
		case $op in
		write_*) ;;
		*) [ -n "${POLL:-}" ] || args+=(-e) ;;
		esac
		case $op in
		*_bw) args+=(-t 16 -Q 1 -N) ;;	# -N: its search for a peak is quadratic
		esac
		[ "$op" != send_bw ] || args+=(-r 512)
		serve server b "ib_$op" "${args[@]}"
		run client a "ib_$op" "${args[@]}" "$B4"
		;;
	esac
	reap server
	echo $(($(busy) - before))
}

# trip OP SIZE N: instructions a round trip. They are measured by the clock, because
# ib_read_lat's server polls all the time, and a driver on which it polls less would have to
# count more of that.
trip() {
	once "$1" "$2" "$3" > /dev/null || return 1
	awk -v size="$2" -v times="$([ "$1" = read_lat ] && echo 1 || echo 2)" '
		$1 == size && NF >= 9 { value = $5 * times * 1000 / 8 }
		END { if (!value) exit 1; printf "%.0f\n", value }' "$WORK/client.log"
}

# twice OP SIZE N: the lesser cost of two runs, because the guest may do other things in one
twice() {
	local first second
	first=$(once "$@") && second=$(once "$@") || return 1
	echo $((first < second ? first : second))
}

# cost OP SIZE FEW MANY: instructions a message. The first run only warms up.
cost() {
	local low high
	if [ -z "${MARK:-}" ]; then
		[[ $1 != *_lat ]] || { trip "$1" "$2" "$4"; return; }
		once "$1" "$2" "$3" > /dev/null && low=$(twice "$1" "$2" "$3") &&
			high=$(twice "$1" "$2" "$4") || return 1
		echo $(((high - low) / ($4 - $3) / 8))
		return
	fi
	once "$1" "$2" "$3" > /dev/null && ${MARK:-} && low=$(once "$1" "$2" "$3") &&
		${MARK:-} && high=$(once "$1" "$2" "$4") && ${MARK:-} || return 1
	echo $(((high - low) / ($4 - $3) / 8))
}

path_up
say_processor
set_crc off
[ -z "${MARK:-}" ] || cat /proc/kallsyms > /out/symbols
for row in "$@"; do
	IFS=: read -r op size few many <<< "$row"
	if value=$(cost "$op" "$size" "$few" "$many" 2>&1); then
		echo "@ $row $value"
	else
		echo "@ $row failed"
		printf '%s\n' "$value"
		tail -n 5 "$WORK"/{client,server}.log
	fi
done
