# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The device's sockets belong to its callers: a program that may have no sockets gets none
# through the device.

# confined NAME NAMESPACE COMMAND...: like try, in the cgroup without sockets. It has to fail and
# say why.
confined() {
	local name=$1
	shift
	(
		echo "$BASHPID" >"$STATE/cgroup/confined/cgroup.procs"
		exec "${LIMITED[@]}" "$LIMIT" "$@"
	) >"$WORK/$name.log" 2>&1 </dev/null && fail "$name succeeded"
	grep -q "Operation not permitted" "$WORK/$name.log" || fail "$name: no such error"
}

# The BPF program is called where security modules are asked: when a socket is created, unless it
# is for the kernel.
scenario callers_sockets 40 "a program that may have no sockets gets none through the device" \
	bpf newer
callers_sockets() {
	local cgroup=$STATE/cgroup
	mkdir -p "$cgroup"
	mount -t cgroup2 none "$cgroup"
	# shellcheck disable=SC2064 # this folder
	trap "umount '$cgroup'" EXIT
	mkdir -p "$cgroup/confined"
	start nosock a "$BIN/nosock" "$cgroup/confined"
	wait_for 10 grep -qx attached "$WORK/nosock.log"
	new_port
	serve server b rping -s -P -V -a "$B4" -p "$PORT"
	run free a rping -c -V -C 3 -a "$B4" -p "$PORT"
	confined caller a ucmatose -c 1 -s "$B4" -p "$PORT"
	confined listener a rping -s -a "$A4" -p "$((PORT + 1))"
	run again a rping -c -V -C 3 -a "$B4" -p "$PORT"
	stop nosock || :
}

scenario callers_fallback 40 "the second attempt is the caller's too, and its error is reported" \
	newer
callers_fallback() {
	dirty
	peer callers unreachable
}

# alice runs the program of peer.py, in a cgroup of hers.
scenario callers_owners 40 "connections have the uid and the cgroup of the program" \
	bpf newer
callers_owners() {
	local cgroup=$STATE/cgroup
	dirty
	mkdir -p "$cgroup"
	mount -t cgroup2 none "$cgroup"
	# shellcheck disable=SC2064 # this folder
	trap "echo \$BASHPID >'$cgroup/cgroup.procs'; umount '$cgroup'" EXIT
	mkdir -p "$cgroup/alice"
	echo "$BASHPID" >"$cgroup/alice/cgroup.procs"
	export USER_ID=2001 USER_IS="${ALICE[*]}" CGROUP_PATH=/alice
	peer callers owners
}

sock_memory() { awk '$1 == "sock" { print $2 }' "$STATE/cgroup/charged/memory.stat"; }
pays_for_socket() { [ "$(sock_memory)" -ge 40000 ]; }

# TCP keeps the bytes of an FPDU that is not complete, because the device cannot use them yet.
scenario callers_memory 40 "the memory of an accepted connection is charged to the server's cgroup" \
	memcg newer
callers_memory() {
	local cgroup=$STATE/cgroup
	dirty
	mkdir -p "$cgroup"
	mount -t cgroup2 none "$cgroup"
	# shellcheck disable=SC2064 # this folder
	trap "umount '$cgroup'" EXIT
	echo +memory >"$cgroup/cgroup.subtree_control"
	mkdir -p "$cgroup/charged"
	new_port
	serve server b bash -c "echo \$\$ >'$cgroup/charged/cgroup.procs'
		exec rping -s -P -V -a '$B4' -p '$PORT'"
	start sender a env PORT="$PORT" \
		python3 "$HERE/peer/unfinished.py" "$B4"
	wait_for 10 pays_for_socket
	stop sender || :
	wait_for 10 not pays_for_socket
}
