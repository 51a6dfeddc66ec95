# shellcheck shell=bash disable=SC2034 # what the measurements use
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The path of the benchmarks between two real machines: this one, a, and $HOST, b, by ssh. To
# be sourced in place of path.sh, with RDMA_TYPE and HOST set. The driver must be installed on
# both, and the interface of the path must have no RDMA device, because we make one and delete it.

export HOST STATE
INTO=("$TOP/scripts/bench/on.sh") LIMITED=(in_time)
in_time() { timeout -k 1 "$1" "${INTO[@]}" "${@:2}"; }
server_ns=b
SLOW=$((3 * SLOW)) # a program over there is started by ssh, and looked for by ssh
made=() # the ends that have a device of ours

die_on() {
	echo "$*"
	exit 1
}

# theirs COMMAND...: runs it on the other host, whose terminal also ends lines with a CR
theirs() { b "$@" < /dev/null | tr -d '\r'; }

# Its address: PEER_ADDRESS, or that of its name
find_address() {
	address=${PEER_ADDRESS:-$(getent ahostsv4 "${HOST#*@}" | awk '{ print $1; exit }')}
	[ -n "$address" ] || die_on "no address for ${HOST#*@}; name one: PEER_ADDRESS=192.0.2.2"
}

# word NAME LINE: the word after NAME in the line
word() { sed -n "s/.*\<$1 \([^ ]*\).*/\1/p" <<< "$2"; }

# The interface at each end, by the route to the other
find_interfaces() {
	local route
	route=$(ip -o route get "$address") || die_on "no route to $address"
	our_dev=$(word dev "$route") our_address=$(word src "$route")
	[ "$our_dev" != lo ] || die_on "$address is an address of this machine"
	route=$(theirs ip -o route get "$our_address") ||
		die_on "ssh $HOST does not work, or has no route to $our_address"
	their_dev=$(word dev "$route")
}

# make_device HOST NETDEV
make_device() {
	local taken
	taken=$("$1" rdma link show < /dev/null | tr -d '\r' | grep -w "netdev $2" || true)
	[ -z "$taken" ] || die_on "$2 of host $1 has a device already: rdma link delete" \
		"$(word link "$taken" | cut -d / -f 1)"
	"$1" modprobe rdma_ucm < /dev/null
	"$1" rdma link add "bench-$1" type "$RDMA_TYPE" netdev "$2" < /dev/null ||
		die_on "host $1 has no driver $RDMA_TYPE (ours: make install, on both hosts)"
	made+=("$1")
}

take_away() {
	local end
	for end in "${made[@]}"; do
		"$end" rdma link delete "bench-$end" < /dev/null || :
	done
	[ -z "${HOST:-}" ] || ssh -q -o "ControlPath=$STATE/ssh-%C" -O exit "$HOST" 2> /dev/null || :
}

path_up() {
	find_address
	find_interfaces
	trap take_away EXIT
	make_device a "$our_dev"
	make_device b "$their_dev"
	echo "= path: $our_dev, MTU $(word mtu "$(ip -o link show dev "$our_dev")"), and $their_dev of" \
		"${HOST#*@}, kernel $(theirs uname -r)"
}

# The MTU is the interfaces' own.
use_path() { :; }

# set_crc off|on: at both ends; siw has no such setting
set_crc() {
	local value=off end
	[ "$1" = off ] || value=required
	for end in a b; do
		"$end" sh -c "for file in /sys/class/infiniband/bench-$end/mpa/crc; do
			[ ! -e \$file ] || echo $value > \$file; done" < /dev/null
	done
}

# Does the program on the other host listen on the port?
listens() {
	is_running "$1" || return 0
	case $RDMA_TYPE in
	rxe) theirs rdma resource show cm_id link bench-b | grep -q "state LISTEN .*:$2 " ;;
	*) theirs ss -Hltn "sport = :$2" | grep -q . ;;
	esac
}
