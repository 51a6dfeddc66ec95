# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# make bench HOST=..., which measures between two machines by ssh: here b is the other one.

serve_ssh() {
	local keys=$STATE/keys
	mkdir -p "$keys" /run/sshd ~/.ssh
	ssh-keygen -q -t ed25519 -N '' -f "$keys/host"
	ssh-keygen -q -t ed25519 -N '' -f "$keys/user"
	printf '%s\n' "IdentityFile $keys/user" "StrictHostKeyChecking no" \
		"UserKnownHostsFile /dev/null" >~/.ssh/config
	PORT=22 # where serve waits for it
	export PORT
	serve sshd b /usr/sbin/sshd -D -e -f /dev/null -o "HostKey=$keys/host" \
		-o "AuthorizedKeysFile=$keys/user.pub" -o StrictModes=no
}

# bench_hosts: a few values. Under emulation ssh takes seconds for each call.
bench_hosts() {
	"${LIMITED[@]}" $((400 * SLOW)) a env HOST="$B4" WHO=mpa ROUNDS=1 WINDOW=1 SIZES=65536 \
		SMALL=0 SWEEP=0 OUT="$WORK/bench" PATH="$PATH" bash "$TOP/scripts/bench/run.sh"
}

scenario hosts_bench 600 "make bench HOST=...: between two hosts, and it leaves nothing there" sshd
hosts_bench() {
	dirty
	serve_ssh
	bench_hosts >"$WORK/refused.log" 2>&1 && fail "it took an interface that has a device"
	grep -q "has a device already: rdma link delete mpa" "$WORK/refused.log" || fail "no reason"
	link_delete mpa0
	link_delete mpa1
	bench_hosts >"$WORK/bench.log" 2>&1 || fail "bench: status $?"
	grep -Eq '^write +64 KiB +MB/s +mpa +off +[0-9.]+' "$WORK/bench/table.txt" || fail "no rate"
	[ -z "$(rdma link show)" ] || fail "a device was left behind"
	stop sshd
}
