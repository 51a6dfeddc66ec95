#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# count-guest.sh DRIVER MODULE.KO SHIFT ROWS...: (in a guest with one processor whose
# clock counts instructions, 2^SHIFT ns each) what a message costs both ends together.
# Prints "@ ROW INSTRUCTIONS". A ROW is OP:SIZE:FEW:MANY; the cost is that of the
# messages by which a run of MANY exceeds one of FEW, so starting and ending cancel.
# shellcheck disable=SC2034,SC2153 # shared with the scenarios' lib.sh
set -euo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export RDMA_TYPE=$1 MODULE=$2 E2E_SLOW=100
shift_ns=$3
shift 3
STATE=$(mktemp -d)
WORK=$STATE
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"
LIMIT=1000

# busy: ns that the processor was not idle, since boot
busy() {
	awk '{ printf "%.0f\n", ($1 - $2) * 1e9 }' /proc/uptime
}

crc() {
	local file
	for file in /sys/class/infiniband/*/mpa/crc; do
		[ ! -e "$file" ] || echo "$1" > "$file"
	done
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
	pingpong)
		serve server b sockperf server --tcp -i "$B4" -p "$PORT"
		run client a sockperf ping-pong --tcp -i "$B4" -p "$PORT" -m "$size" -n "$n"
		kill "${PIDS[server]}"
		echo $(($(busy) - before))
		return
		;;
	*)
		args=(-R -F -p "$PORT" -s "$size" -n "$n")
		case $op in
		write_*) ;;
		*) args+=(-e) ;;
		esac
		case $op in
		*_bw) args+=(-t 16 -Q 1) ;;
		esac
		[ "$op" != send_bw ] || args+=(-r 512)
		serve server b "ib_$op" "${args[@]}"
		run client a "ib_$op" "${args[@]}" "$B4"
		;;
	esac
	reap server
	echo $(($(busy) - before))
}

topo_up > "$STATE/topology" 2>&1 || { cat "$STATE/topology"; exit 1; }
crc off
once send_bw 4096 100 > /dev/null || tail -n 5 "$WORK"/*.log
for row in "$@"; do
	IFS=: read -r op size few many <<< "$row"
	once "$op" "$size" "$few" > /dev/null || { echo "@ $row failed"; tail -5 "$WORK"/{client,server}.log; continue; }
	low=$(once "$op" "$size" "$few") || continue
	high=$(once "$op" "$size" "$many") || continue
	echo "@ $row $(((high - low) / (many - few) >> shift_ns))"
done
