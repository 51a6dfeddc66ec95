#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# guest.sh TYPE MODULE.KO: the demo itself, in the virtual machine.
#
#   host a                                 host b        (network namespaces)
#   TYPE0 on va, 10.77.0.1  ---- veth ----  TYPE1 on vb, 10.77.0.2
#
# A server runs on b, its client on a. Each row of the table that comes last is
# one pair of unmodified programs from the distribution.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

type=$1 module=$2
server=10.77.0.2
logs=$(mktemp -d)
failures=0
rows=()

say() {
	echo "==> $*"
}

a() { ip netns exec a "$@"; }
b() { ip netns exec b "$@"; }

# The ends get different indexes, because user space sees both hosts' devices and tells
# them apart by these.
make_hosts() {
	ip netns add a
	ip netns add b
	ip link add va index 101 netns a type veth peer name vb index 102 netns b
	a ip addr add 10.77.0.1/24 dev va
	b ip addr add "$server/24" dev vb
	a ip link set va mtu 1500 up
	b ip link set vb mtu 1500 up
	a ip link set lo up
	b ip link set lo up
}

make_devices() {
	a rdma link add "${type}0" type "$type" netdev va
	b rdma link add "${type}1" type "$type" netdev vb
	rdma link show
}

# wait_listen PORT PID: waits until the server, if it still runs, takes connections.
wait_listen() {
	for _ in $(seq 100); do
		b ss -Hltn "sport = :$1" | grep -q . && return
		kill -0 "$2" 2> /dev/null || return
		sleep 0.1
	done
}

# pair PORT SERVER-COMMAND -- CLIENT-COMMAND: succeeds when both ends do.
pair() {
	local port=$1 pid server_command=()
	shift
	while [ "$1" != -- ]; do
		server_command+=("$1")
		shift
	done
	shift
	b timeout 60 "${server_command[@]}" > "$logs/server" 2>&1 &
	pid=$!
	wait_listen "$port" "$pid"
	if a timeout 60 "$@" > "$logs/client" 2>&1; then
		wait "$pid"
	else
		kill "$pid" 2> /dev/null
		return 1
	fi
}

row() {
	rows+=("$(printf '%-24s %-44s %-8s %s' "$@")")
}

failed() {
	failures=$((failures + 1))
	row "$1" "$2" FAILED ""
	echo "    FAILED; the client said:"
	sed 's/^/      /' "$logs/client"
	echo "    and the server:"
	sed 's/^/      /' "$logs/server"
}

run_rping() {
	local size=$1 name="rping, $1 bytes" shows="10 pings by READ and WRITE, compared"
	local common=(-V -C 10 -S "$1")

	say "rping: 10 round trips of $size bytes, every byte compared"
	if pair 7174 rping -s -a "$server" "${common[@]}" -- \
		rping -c -a "$server" "${common[@]}"; then
		row "$name" "$shows" ok ""
	else
		failed "$name" "$shows"
	fi
}

# The average that perftest printed. In some emulated machines it finds no clock rate
# and prints 0; then the time of the whole run is used.
rate() {
	local bytes=$1 ms=$2
	awk -v bytes="$bytes" -v ms="$ms" '
		$1 == "65536" && NF >= 5 { rate = $4 }
		END {
			if (rate > 0)
				printf "%.0f MB/s\n", rate
			else
				printf "over %.0f MB/s\n", bytes / 1000 / (ms + 1)
		}' "$logs/client"
}

run_perftest() {
	local program=$1 shows=$2 count=400 start
	local args=(-R -F -s 65536 -n "$count")

	say "$program: $((count / 16)) MiB in messages of 64 KiB"
	start=$(date +%s%3N)
	if pair 18515 "$program" "${args[@]}" -- "$program" "${args[@]}" "$server"; then
		row "$program" "$shows" ok \
			"$(rate $((count * 65536)) $(($(date +%s%3N) - start)))"
	else
		failed "$program" "$shows"
	fi
}

scripts/vm/klog.sh mark demo
say "making two hosts, a and b, joined by a cable of MTU 1500"
make_hosts
say "loading $(basename "$module") and the RDMA core"
scripts/vm/load.sh "$module"
modprobe -a ib_uverbs rdma_ucm
say "rdma link add: a device on each host's network interface"
make_devices
for size in 64 4096 64000; do
	run_rping "$size"
done
run_perftest ib_send_bw "SEND: messages into posted buffers"
run_perftest ib_write_bw "RDMA WRITE: into the other host's memory"
run_perftest ib_read_bw "RDMA READ: from the other host's memory"

say "removing the devices and the module"
rdma link delete "${type}0"
rdma link delete "${type}1"
rmmod "$(modinfo -F name "$module")"
if ! scripts/vm/klog.sh check demo > "$logs/kernel"; then
	failures=$((failures + 1))
	echo "    FAILED; the kernel warned:"
	sed 's/^/      /' "$logs/kernel"
fi

echo
printf '%-24s %-44s %-8s %s\n' program "what it shows" result rate
printf '%s\n' "${rows[@]}"
echo
[ $failures = 0 ] || { echo "$failures FAILED"; exit 1; }
echo "All went well. (The rates are those of a small virtual machine, often an emulated one.)"
