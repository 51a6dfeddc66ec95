# shellcheck shell=bash disable=SC2034 # what the scenarios use
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Two hosts in one machine, and the functions that the scenarios use.
#
#    namespace a                             namespace b
#   +--------------------------+           +--------------------------+
#   | mpa0                     |           | mpa1                     |
#   |  va (ifindex 101)  ------+-- cable --+------  vb (ifindex 102)  |
#   |  10.77.0.1/24            |           |            10.77.0.2/24  |
#   |  fd77::1/64              |           |              fd77::2/64  |
#   +--------------------------+           +--------------------------+
#
# RDMA devices are shared between namespaces (rdma netns mode); a socket lives in
# the namespace of the program it belongs to. A scenario is a bash function. It
# runs in a shell of its own with errexit set and ends well or not; what it
# starts in the background is killed when it ends. Output of each program goes to
# a file of its own in $WORK, the ends of which become the diagnostics.

TYPE=${RDMA_TYPE:-mpa}
MODULE=${MODULE:-$TOP/rdma_mpa.ko}
BIN=${E2E_BIN:-$TOP/build/e2e}
SIW=${SIW_DIR:-$TOP/build/siw/$(uname -r)}
KMOD=$TOP/build/e2e-kmod/$(uname -r)
A4=10.77.0.1 B4=10.77.0.2 A6=fd77::1 B6=fd77::2
MODULE_NAME=$(basename "$MODULE" .ko)
MODULE_NAME=${MODULE_NAME//-/_}
PEER_TYPE=$TYPE
SLOW=${E2E_SLOW:-1}		# a slow kernel (KASAN, lockdep) needs a factor
LIMIT=$((50 * SLOW))
PORT=${PORT:-10000}
declare -A PIDS=() COMMANDS=()

# The command that enters a namespace: programs/netns.c, or ip if that was not built, as for the
# measurements.
INTO=("$BIN/netns") LIMITED=("$BIN/netns" -t)
[ -x "$BIN/netns" ] || { INTO=(ip netns exec) LIMITED=(in_time); }
in_time() { timeout -k 1 "$1" ip netns exec "${@:2}"; }

# Users without privileges: words to put before a command
ALICE=(setpriv --reuid 2001 --regid 2001 --clear-groups)
BOB=(setpriv --reuid 2002 --regid 2002 --clear-groups)

a() { "${INTO[@]}" a "$@"; }
b() { "${INTO[@]}" b "$@"; }

note() { printf '# %s\n' "$*"; }

fail() {
	note "$*"
	exit 1
}

# Under emulation starting programs is most of what a scenario costs, so the shell itself does
# what is done over and over (package bash-builtins). It does not sleep by read with a time-out:
# if that ends before bash 5.2 begins to wait, bash restores a signal mask that it never saved. If
# the mask has SIGCHLD, bash does not notice that a program has ended.
for builtin in sleep mkdir rm; do
	enable -f "/usr/lib/bash/$builtin" "$builtin" 2>/dev/null || : # without it: slower
done

# until_true SECONDS COMMAND...: the only way to wait
until_true() {
	local end=$((${EPOCHREALTIME/./} + $1 * SLOW * 1000000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME/./}" -lt "$end" ] || return 1
		sleep 0.05
	done
}

wait_for() {
	until_true "$@" || fail "timed out after $1 s waiting for: ${*:2}"
}

not() { ! "$@"; }

# must_fail WHAT COMMAND...: the command has to fail with WHAT in its message
must_fail() {
	local what=$1 out
	shift
	if out=$("$@" 2>&1); then
		fail "succeeded: $*"
	fi
	[[ $out == *"$what"* ]] || fail "$*: '$out', expected '$what'"
}

new_port() { PORT=$((PORT + 1)); }

# --- programs ---

# start NAME NAMESPACE COMMAND...: in the background, output to NAME.log
start() {
	local name=$1 ns=$2
	shift 2
	COMMANDS[$name]=$*
	(exec "${INTO[@]}" "$ns" "$@") >"$WORK/$name.log" 2>&1 </dev/null &
	PIDS[$name]=$!
}

is_running() { kill -0 "${PIDS[$1]}" 2>/dev/null; }

# listens NAME PORT: does the program's namespace listen on the TCP port? Also true if the program
# has ended, so that nobody waits for it.
listens() {
	local pid=${PIDS[$1]} hex file lines
	is_running "$1" || return 0
	printf -v hex '%04X' "$2"
	for file in tcp tcp6; do
		mapfile lines 2>/dev/null <"/proc/$pid/net/$file" || continue
		# local address and port, remote ones, state LISTEN
		[[ "${lines[*]}" =~ :\ [0-9A-F]+:$hex\ [0-9A-F]+:0000\ 0A ]] && return
	done
	return 1
}

# serve NAME NAMESPACE COMMAND...: start, and wait until it listens on $PORT
serve() {
	start "$@"
	wait_for 10 listens "$1" "$PORT"
	is_running "$1" || fail "$1 ended before it listened"
}

# netns.c runs this before a time-out ends a program of try().
export NETNS_LATE="bash '$TOP/scripts/e2e/guest.sh' --snapshot"

# What an rping prints whose connection ends within a round trip. Both ends of that end with 0.
LOST='^(post send error|cq completion failed|wait for RDMA_(WRITE_|READ_COMPLETE))'

# judge_rping NAME: corrects STATUS, that of a program, if it is an rping.
#
# Its main thread closes the event channel at its end, and the thread that has just printed
# DISCONNECT reads from it once more. If the channel is closed by then, the program ends with
# 255. That is no failure if it printed only what it prints at each end. (State 10 is
# DISCONNECTED.)
judge_rping() {
	local log=$WORK/$1.log error='rdma_get_cm_event: Bad file descriptor'
	[[ ${COMMANDS[$1]:-} == *rping* ]] || return 0
	case $STATUS in
	0)
		! grep -qE "$LOST" "$log" || STATUS=1
		;;
	255)
		grep -qx "$error" "$log" || return 0
		grep -qvxE "$error|(client|server) DISCONNECT EVENT\.\.\.|wait for RDMA_READ_ADV state 10" \
			"$log" || STATUS=0
		;;
	esac
}

# try NAME NAMESPACE COMMAND...: runs it in the foreground. It has to end within $LIMIT, and
# leaves its exit status in STATUS.
try() {
	local name=$1 ns=$2
	shift 2
	COMMANDS[$name]=$*
	STATUS=0
	"${LIMITED[@]}" "$LIMIT" "$ns" "$@" >"$WORK/$name.log" 2>&1 </dev/null || STATUS=$?
	judge_rping "$name"
}

# run NAME NAMESPACE COMMAND...: like try, but the exit status has to be 0
run() {
	try "$@"
	[ "$STATUS" = 0 ] || fail "$1: exit status $STATUS: ${*:3}"
}

# look_closely [GROUP]: shows where the threads of that process group wait, by default the
# scenario's own, and the state of the interfaces, TCP, the devices and the queue pairs
look_closely() {
	local pid ns task group=${1:-}
	[ -n "$group" ] || read -r _ _ _ _ group _ </proc/self/stat
	for pid in $(pgrep -g "$group"); do
		for task in "/proc/$pid/task"/[0-9]*; do
			[ ! -e "$task" ] || echo "$(<"$task/comm") ${task##*/}:" \
				"$(head -n 4 "$task/stack" | tr '\n' ' ')"
		done
	done
	for ns in a b; do
		timeout -k 1 10 "${INTO[@]}" "$ns" ip -br link
		timeout -k 1 10 "${INTO[@]}" "$ns" ss -HtnOoi
	done
	timeout -k 1 10 rdma link
	timeout -k 1 10 rdma resource show qp -dd |
		sed 's/ rqpn.* type RC / /; s/ rq-psn.* pid/ pid/'
}

# snapshot [GROUP]: saves the output of look_closely for diagnose(), once a scenario
snapshot() {
	[ -s "$WORK/snapshot" ] || look_closely "$@" >"$WORK/snapshot" 2>&1 || :
}

# ended NAME [SECONDS]: a background program has to end soon; STATUS is its exit status
ended() {
	until_true "${2:-10}" not is_running "$1" || {
		snapshot ""
		fail "$1 still runs"
	}
	STATUS=0
	wait "${PIDS[$1]}" || STATUS=$?
	judge_rping "$1"
}

# stop NAME: ends a background program
stop() {
	kill "${PIDS[$1]}" 2>/dev/null || :
	ended "$1"
}

# reap NAME [SECONDS]: a background program has to end soon, with exit status 0
reap() {
	ended "$@"
	[ "$STATUS" = 0 ] || fail "$1: exit status $STATUS"
}

# --- topology ---

device_exists() { [ -e "/sys/class/infiniband/$1" ]; }

link_add() {		# DEVICE NAMESPACE NETDEV [TYPE]
	"${INTO[@]}" "$2" rdma link add "$1" type "${4:-$TYPE}" netdev "$3"
}

link_delete() {
	timeout -k 1 20 rdma link delete "$1"
}

# insert FILE [PARAMETER...]: insmod, after the modules it needs
insert() {
	local needs
	needs=$(modinfo -F depends "$1")
	# shellcheck disable=SC2086
	modprobe -a ${needs//,/ }
	insmod "$@"
}

# stall NAME FUNCTION: the program, which start() has started, stalls there until rmmod stall
stall() {
	insmod "$KMOD/stall.ko" tgid="${PIDS[$1]}" at="$2"
	trap 'rmmod stall' EXIT
}

is_stalled() { [ "$(</sys/module/stall/parameters/stalled)" = 1 ]; }

# Starts no program for what is loaded or set already.
load_modules() {
	local shared=/sys/module/ib_core/parameters/netns_mode mode=''
	if [ ! -d /sys/module/rdma_ucm ] || [ ! -d /sys/module/veth ] || [ ! -d /sys/module/dummy ]; then
		modprobe -a ib_core iw_cm rdma_cm ib_uverbs rdma_ucm veth dummy
	fi
	read -r mode 2>/dev/null <"$shared" || :
	[ "$mode" = Y ] || rdma system set netns shared 2>/dev/null || :
	[ -d "/sys/module/$MODULE_NAME" ] || insert "$MODULE"
}

topo_down() {
	local path list=''
	for path in /sys/class/infiniband/*; do
		[ ! -e "$path" ] || list+="link delete ${path##*/}"$'\n'
	done
	[ -z "$list" ] || timeout -k 1 40 rdma -f -b - <<<"$list" || :
	list=''
	for path in /run/netns/{a,b,r}; do		# r is a router, where there was one
		[ ! -e "$path" ] || list+="netns del ${path##*/}"$'\n'
	done
	[ -z "$list" ] || ip -force -batch - <<<"$list" || :
}

veth_ends() {
	ip link add va index 101 address 02:77:00:00:00:01 netns a type veth \
		peer name vb index 102 address 02:77:00:00:00:02 netns b
}

# The two cards of vm/run.sh -n, with the same addresses. When a namespace is deleted its card
# comes back to the initial one, a moment later.
card_ends() {
	modprobe e1000
	take_card 02:77:00:00:00:01 a va
	take_card 02:77:00:00:00:02 b vb
}

take_card() {		# ADDRESS HOST NAME
	until_true 10 find_card "$1" || fail "no card $1 here (scripts/vm/run.sh -n)"
	ip link set "$CARD" mtu 1500 netns "$2" name "$3"
}

find_card() {
	local file
	for file in /sys/class/net/*/address; do
		CARD=${file%/address} CARD=${CARD##*/}
		[ "$(<"$file")" != "$1" ] || return 0
	done
	return 1
}

# The neighbours are permanent, because rdma_resolve_addr of 6.1 overlooks an answer to its ARP
# request that comes as fast as over veth, and waits for its whole time-out (2 s for rping).
make_cable() {
	ip -batch - <<<$'netns add a\nnetns add b'
	"${CABLE:-veth}_ends"
	ip -n a -batch - <<-BATCH
		addr add $A4/24 dev va
		addr add $A6/64 dev va nodad
		link set lo up
		link set va up
		neigh add $B4 lladdr 02:77:00:00:00:02 dev va nud permanent
		neigh add $B6 lladdr 02:77:00:00:00:02 dev va nud permanent
	BATCH
	ip -n b -batch - <<-BATCH
		addr add $B4/24 dev vb
		addr add $B6/64 dev vb nodad
		link set lo up
		link set vb up
		neigh add $A4 lladdr 02:77:00:00:00:01 dev vb nud permanent
		neigh add $A6 lladdr 02:77:00:00:00:01 dev vb nud permanent
	BATCH
}

# lengthen_cable MS: each way along it takes so long
lengthen_cable() {
	dirty
	modprobe sch_netem
	tc -n a qdisc add dev va root netem delay "$1ms"
	tc -n b qdisc add dev vb root netem delay "$1ms"
}

topo_up() {
	topo_down
	load_modules
	make_cable
	link_add mpa0 a va
	link_add mpa1 b vb "$PEER_TYPE"
}

# The scenario leaves the topology changed, so it is built anew for the next one. A topo_up in the
# scenario itself does not undo that.
dirty() { : >"$STATE/dirty"; }

topo_ensure() {
	[ ! -e "$STATE/dirty" ] && device_exists mpa0 && device_exists mpa1 &&
		[ -e /run/netns/a ] && [ -e /run/netns/b ] && return
	topo_up
	rm -f "$STATE/dirty"
}

set_mtu() {
	ip -n a link set va mtu "$1"
	ip -n b link set vb mtu "$1"
}

# hw_counter DEVICE NAME
hw_counter() { echo "$(<"/sys/class/infiniband/$1/ports/1/hw_counters/$2")"; }

# Objects of each device, "mpa0: pd 0 cq 0 ..."; a device without any is not shown
objects() {
	local line some='[a-z_]+ [1-9]'
	while read -r line; do
		[[ ! ${line#*: *:} =~ $some ]] || echo "${line#*: }"
	done < <(rdma resource show 2>/dev/null)
}

no_objects() { [ -z "$(objects)" ]; }

# --- registration ---

NAMES=() FIRST=() LAST=()
declare -A SECONDS_OF=() TEXT_OF=() TAGS_OF=() COMMAND_OF=()

# scenario NAME SECONDS TEXT [TAG...] [-- COMMAND...]: registers a scenario that runs COMMAND, a
# function and its arguments, or else the function NAME, for SECONDS at most. Tags:
#
# first, last		where it stands; others come in the order in which their files are read
# bonding, bpf, bridges, hotplug, lockdep, memcg, nvmet, failslab, tls
#			what the kernel must have
# compiler, podman, sshd, iscsi	what the machine must have
# full			it fills the device, or moves gigabytes
# polls			a program polls memory and needs a processor of its own
# smp			it needs two processors
# turns			it counts turns of the workers
# siw			siw is the peer
# script		a script for the user
# wire			the scenario judges the bytes on the cable
# newer			check-all takes it more often on a newer kernel
# debug			check-all always takes it on the debug kernel
# leaks			ib_uverbs leaks memory in it, which kmemleak would find
# slow			make check leaves it to make check-all
scenario() {
	local name=$1
	SECONDS_OF[$name]=$((($2 + 30) * SLOW))	# a busy machine is no failure
	TEXT_OF[$name]=$3
	TAGS_OF[$name]=''
	shift 3
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		TAGS_OF[$name]+=" $1"
		shift
	done
	COMMAND_OF[$name]=${*:2}
	case ${TAGS_OF[$name]} in
	*' first'*) FIRST+=("$name") ;;
	*' last'*) LAST+=("$name") ;;
	*) NAMES+=("$name") ;;
	esac
}

# scenarios PREFIX SECONDS TEXT COMMAND TEST[:TAG]...: one for each TEST, an argument of COMMAND
scenarios() {
	local prefix=$1 seconds=$2 text=$3 command=$4 test tag
	shift 4
	for test; do
		tag=${test#"${test%:*}"} test=${test%:*}
		scenario "${prefix}_$test" "$seconds" "$text: ${test//_/ }" ${tag:+"${tag#:}"} \
			-- "$command" "$test"
	done
}
