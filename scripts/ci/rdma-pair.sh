#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Two hosts with an RDMA device each, in one machine, for the job of a CI. As root:
#
#   rdma-pair.sh up                 installs what is missing, builds and loads the
#                                   module, makes the hosts, checks them with rping
#   rdma-pair.sh run a|b COMMAND    runs a command on one of them
#   rdma-pair.sh logs               prints what to look at when something fails
#   rdma-pair.sh down               takes all of it away
#
#    namespace rdma-a                        namespace rdma-b
#   +--------------------------+            +--------------------------+
#   | mpa_a on veth-a   -------+--- cable --+-------   mpa_b on veth-b |
#   | 10.77.0.1, fd77::1       |            |       10.77.0.2, fd77::2 |
#   +--------------------------+            +--------------------------+
#
# MODULE=FILE.ko: that module is loaded, and none is built.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

A4=10.77.0.1 B4=10.77.0.2 A6=fd77::1 B6=fd77::2
A_MAC=02:77:00:00:00:01 B_MAC=02:77:00:00:00:02
OUT=$BUILD/ci
LOADED=/run/rdma-pair.loaded	# there when "up" loaded the module

usage() {
	sed -n '3,9s/^#\( \|$\)//p' "${BASH_SOURCE[0]}" >&2
	exit 2
}

on() { ip netns exec "rdma-$1" "${@:2}"; }

is_up() { [ -e /run/netns/rdma-a ] || [ -e /run/netns/rdma-b ]; }

is_loaded() { [ -d /sys/module/rdma_mpa ]; }

is_shared() { [[ $(rdma system show netns) == *"netns shared"* ]]; }

# --- up ---

need_modules() {
	local have
	have=$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status)
	if [ ! -e /proc/modules ] || [ $((0x$have >> 16 & 1)) = 0 ]; then
		die "no module can be loaded here: run the job on the machine itself or" \
			"in a virtual machine, not in a container"
	fi
}

build() {
	local release
	release=$(uname -r)
	"$TOP/scripts/deps.sh" running
	step "building rdma_mpa.ko for $release"
	make -C "$TOP" KDIR="/lib/modules/$release/build" -j"$(nproc)" modules \
		> "$OUT/build.log" 2>&1 || die "the module does not build for $release"
	MODULE=$TOP/rdma_mpa.ko
}

# The job's user made the checkout, and its next checkout has to remove what root built in it.
# shellcheck disable=SC2317 # called by ended
give_to_user() {
	[ "$(stat -c %u "$TOP")" = 0 ] || chown -R --reference="$TOP" "$TOP"
}

load() {
	local needs
	if is_loaded; then
		step "rdma_mpa is loaded already: taking that one"
	else
		[ -n "${MODULE:-}" ] || build
		needs=$(modinfo -F depends "$MODULE") || die "MODULE=$MODULE is no module"
		step "loading $MODULE"
		# shellcheck disable=SC2086 # a list of names
		modprobe -a ${needs//,/ }
		insmod "$MODULE"
		: > "$LOADED"
	fi
	modprobe -a veth ib_uverbs rdma_ucm
}

# neighbour HOST MAC ADDRESS4 ADDRESS6: the host knows the other one permanently, because
# rdma_resolve_addr of 6.1 overlooks an answer to its ARP request that comes as fast as
# over veth, and waits for its whole time-out.
neighbour() {
	ip -n "rdma-$1" neigh add "$3" lladdr "$2" dev "veth-$1" nud permanent
	ip -n "rdma-$1" neigh add "$4" lladdr "$2" dev "veth-$1" nud permanent
}

# interface HOST ADDRESS4 ADDRESS6
interface() {
	ip -n "rdma-$1" addr add "$2/24" dev "veth-$1"
	ip -n "rdma-$1" addr add "$3/64" dev "veth-$1" nodad
	ip -n "rdma-$1" link set lo up
	ip -n "rdma-$1" link set "veth-$1" up
}

# The two interfaces get different indexes, because librdmacm, which sees the devices of
# both hosts, tells them apart by these.
hosts() {
	ip netns add rdma-a
	ip netns add rdma-b
	ip link add veth-a index 101 address $A_MAC netns rdma-a type veth \
		peer name veth-b index 102 address $B_MAC netns rdma-b
	interface a $A4 $A6
	interface b $B4 $B6
	neighbour a $B_MAC $B4 $B6
	neighbour b $A_MAC $A4 $A6
}

# A device begins in the first namespace. If devices are not shared it has to be moved.
device() {
	on "$1" rdma link add "mpa_$1" type mpa netdev "veth-$1"
	is_shared || rdma dev set "mpa_$1" netns "rdma-$1"
}

listens() { on b ss -Hltn "sport = :7174" | grep -q .; }

# rping's main thread may close the channel from which its other thread reads, and end with status
# 255 when all is done. So its pings are counted: it prints one after it has compared the data.
check() {
	local server status=0 pings
	step "checking them: rping, from rdma-a to rdma-b"
	ip netns exec rdma-b timeout 60 rping -s -a $B4 -V -C 10 > "$OUT/server.log" 2>&1 &
	server=$!
	until listens || ! kill -0 $server 2> /dev/null; do
		sleep 0.1
	done
	on a timeout 60 rping -c -a $B4 -v -V -C 10 > "$OUT/client.log" 2>&1 || status=$?
	pings=$(grep -c '^ping data: ' "$OUT/client.log" || :)
	if [ "$pings" != 10 ] || [ $status = 124 ]; then
		kill $server 2> /dev/null || :
		die "rping from rdma-a to rdma-b failed: $pings of 10 pings, status $status"
	fi
	wait $server || :
}

# shellcheck disable=SC2317 # called by the EXIT trap
ended() {
	local status=$?
	[ $status = 0 ] || {
		logs
		step "up failed, see above; rdma-pair.sh down takes away what there is"
	} >&2
	give_to_user || :
}

up() {
	need_modules
	! is_up || die "the hosts are there already; rdma-pair.sh down takes them away"
	mkdir -p "$OUT"
	rm -f "$OUT"/*.log
	trap ended EXIT
	"$TOP/scripts/vm/klog.sh" mark rdma-pair
	"$TOP/scripts/deps.sh" pair
	load
	hosts
	device a
	device b
	check
	step "two RDMA hosts are up: mpa_a has $A4 and $A6, mpa_b has $B4 and $B6"
	echo "    a server:  ip netns exec rdma-b rping -s -a $B4 -C 10"
	echo "    a client:  ip netns exec rdma-a rping -c -a $B4 -C 10 -v"
	printf '    all away:  %q down\n' "$TOP/scripts/ci/rdma-pair.sh"
}

# --- run, logs, down ---

# The limit of locked memory is lifted for the job's own user, too. ip netns exec gives
# a program a /sys of its own, without the cgroups that podman looks for.
run() {
	local host=${1:-} cgroups=''
	if [[ $host != [ab] ]] || [ $# -lt 2 ]; then
		usage
	fi
	shift
	[ -e "/run/netns/rdma-$host" ] || die "there is no host $host yet: rdma-pair.sh up"
	ulimit -l unlimited 2> /dev/null || :
	[ "$(stat -fc %T /sys/fs/cgroup 2> /dev/null)" != cgroup2fs ] || cgroups=1
	# shellcheck disable=SC2016 # for that shell
	exec ip netns exec "rdma-$host" bash -c '
		[ -z "$0" ] || mount -t cgroup2 cgroup2 /sys/fs/cgroup
		exec "$@"' "$cgroups" "$@"
}

section() { printf '==== %s\n' "$*"; }

# show TEXT COMMAND...: if the command fails it says so, and the others still run
show() {
	section "$1"
	"${@:2}" 2>&1 || :
}

kernel_log() {
	"$TOP/scripts/vm/klog.sh" show rdma-pair 2> /dev/null | tail -n 100
}

logs() {
	local host log
	section "kernel $(uname -r), $(rdma system show netns 2>&1 || :)"
	show "RDMA devices" rdma link show
	for host in a b; do
		[ -e "/run/netns/rdma-$host" ] || continue
		show "rdma-$host: RDMA devices" on $host rdma link show
		show "rdma-$host: addresses" on $host ip addr show
		show "rdma-$host: neighbours" on $host ip neigh show
		show "rdma-$host: TCP" on $host ss -Htanp
	done
	show "modules" grep -E '^(rdma|ib_|iw_)' /proc/modules
	show "device files" ls -l /dev/infiniband
	for log in "$BUILD/deps.log" "$OUT"/*.log; do
		[ ! -s "$log" ] || show "${log#"$TOP"/}" tail -n 40 "$log"
	done
	show "the kernel's log since rdma-pair.sh up" kernel_log
}

# A namespace lives as long as a program runs in it.
down() {
	local host pids
	for host in a b; do
		[ -e "/run/netns/rdma-$host" ] || continue
		! on $host rdma link show "mpa_$host/1" > /dev/null 2>&1 ||
			on $host rdma link delete "mpa_$host"
		pids=$(ip netns pids "rdma-$host" | paste -sd ' ')
		[ -z "$pids" ] || step "these still run on host $host, which lasts until they end: $pids"
		ip netns del "rdma-$host"
	done
	if [ -e "$LOADED" ]; then
		! is_loaded || rmmod rdma_mpa
		rm -f "$LOADED"
	fi
}

[ $# -gt 0 ] || usage
command=$1
shift
case $command in
up | down | logs) [ $# = 0 ] || usage ;;
run) ;;
*) usage ;;
esac
[ "$(id -u)" = 0 ] || die "not root; please run: sudo $0 $command $*"
"$command" "$@"
