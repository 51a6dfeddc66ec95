# shellcheck shell=bash disable=SC2016,SC2034,SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The hosts that a CI job gets (scripts/ci/rdma-pair.sh), and containers that get a device
# (scripts/ci/cdi.sh). pair_exclusive and pair_moved are in exclusive.sh.

CI=$TOP/scripts/ci
NODES=/dev/infiniband

# The hosts are rdma-a and rdma-b, with the addresses that a and b have here.
pair() { MODULE=$MODULE "$CI/rdma-pair.sh" "$@"; }

# no_pair: the state of a machine on which no pair was made yet, without the module
no_pair() {
	dirty
	pair down
	topo_down
	[ ! -d "/sys/module/$MODULE_NAME" ] || wait_for 5 rmmod "$MODULE_NAME"
	trap 'pair down' EXIT
}

pair_up() {
	no_pair
	pair up >"$WORK/up.log" 2>&1
}

# printed WHAT: the command that "up" printed under that name
printed() { sed -n "s/^    $1:  //p" "$WORK/up.log"; }

# Does a program listen on rping's own port in rdma-b?
rping_listens() { ip netns exec rdma-b ss -Hltn "sport = :7174" | grep -q .; }

nothing_of_the_pair() {
	[ ! -e /run/netns/rdma-a ] && [ ! -e /run/netns/rdma-b ] &&
		[ -z "$(rdma dev show)" ] && [ ! -d "/sys/module/$MODULE_NAME" ]
}

scenario pair_up_and_down 60 "rdma-pair.sh: makes hosts, the printed commands work, nothing stays" \
	script
pair_up_and_down() {
	local server client
	pair_up
	must_fail "the hosts are there already" pair up
	read -ra server <<<"$(printed "a server")"
	read -ra client <<<"$(printed "a client")"
	timeout "$LIMIT" "${server[@]}" >"$WORK/server.log" 2>&1 &
	PIDS[server]=$! COMMANDS[server]=rping
	wait_for 10 rping_listens
	timeout "$LIMIT" "${client[@]}" >"$WORK/client.log" 2>&1 || STATUS=$?
	[ "$(grep -c '^ping data: ' "$WORK/client.log")" = 10 ] || fail "not ten pings"
	ended server
	[ "$(pair run a bash -c 'ulimit -l; echo "$1"' - 'two words')" = $'unlimited\ntwo words' ] ||
		fail "run changes the command, or has no memory to lock"
	must_fail "" pair run a false
	must_fail "rdma-pair.sh run a|b COMMAND" pair run c true
	must_fail "rdma-pair.sh run a|b COMMAND" pair run a
	bash -c "$(printed "all away")"
	nothing_of_the_pair || fail "something stays: $(rdma dev show) $(ip netns list)"
	must_fail "there is no host a yet" pair run a true
	pair down
}

# The pair must not unload a module that was loaded before.
scenario pair_loaded 40 "rdma-pair.sh uses a module that is loaded already, and leaves it" script
pair_loaded() {
	dirty
	trap 'pair down' EXIT
	pair up >"$WORK/up.log" 2>&1
	grep -q "is loaded already" "$WORK/up.log" || fail "loaded twice?"
	rping_pair b a "$B4" 1000
	pair down
	device_exists mpa0 || fail "mpa0 is gone"
	rping_pair b a "$B4" 1000
}

# complains TEXT LOG...: "up" failed and said so, and each line is among what it showed
complains() {
	local line
	for line in "$@"; do
		grep -qF -- "$line" "$WORK/up.log" || fail "'up' did not say: $line"
	done
}

# The rping in its PATH fails.
scenario pair_logs 60 "rdma-pair.sh shows why its check fails" script slow
pair_logs() {
	no_pair
	not env MODULE="$WORK/none.ko" "$CI/rdma-pair.sh" up >"$WORK/up.log" 2>&1 ||
		fail "up went well without a module"
	complains "none.ko is no module"
	pair down
	mkdir "$WORK/bin"
	printf '#!/bin/sh\necho "made up: $*"\nexit 3\n' >"$WORK/bin/rping"
	chmod +x "$WORK/bin/rping"
	not env PATH="$WORK/bin:$PATH" MODULE="$MODULE" "$CI/rdma-pair.sh" up \
		>"$WORK/up.log" 2>&1 || fail "up went well without rping"
	complains "rping from rdma-a to rdma-b failed: 0 of 10 pings, status 3" \
		"made up: -c -a $B4" "mpa_a/1 state ACTIVE" "inet $A4/24" "$B4 dev veth-a" \
		"uverbs" "rdma_mpa" "kernel's log since"
	pair down
	nothing_of_the_pair || fail "something stays: $(rdma dev show) $(ip netns list)"
}

# First the module does not compile, then it does. Changes of the guest's files stay in the guest.
scenario pair_build 400 "rdma-pair.sh builds the module for the kernel that runs" compiler script
pair_build() {
	local file=$TOP/drivers/infiniband/sw/mpa/main.c
	no_pair
	cp -p "$file" "$WORK/main.c"
	echo '#error made up' >>"$file"
	not env -u MODULE "$CI/rdma-pair.sh" up >"$WORK/up.log" 2>&1 || fail "that was built"
	complains "the module does not build for $(uname -r)" "#error made up"
	pair down
	cp "$WORK/main.c" "$file"
	rm -f "$TOP/rdma_mpa.ko"
	env -u MODULE "$CI/rdma-pair.sh" up >"$WORK/up.log" 2>&1
	complains "building rdma_mpa.ko for $(uname -r)" "loading $TOP/rdma_mpa.ko"
	pair down
}

# As a CI runner does it, which sets the variables that a step leaves in GITHUB_ENV for later ones.
scenario pair_action 90 "the action, and the example of a workflow: their steps, run" script
pair_action() {
	local file
	no_pair
	export MODULE GITHUB_ACTION_PATH=$CI GITHUB_ENV=$WORK/env
	for file in action example-workflow; do
		{
			echo 'sudo() { "$@"; }'
			python3 "$CI/steps.py" "$CI/$file.yml"
		} >"$WORK/$file.sh"
		(cd "$WORK" && bash -eo pipefail "$file.sh") >"$WORK/$file.log" 2>&1
		[ ! -e "$GITHUB_ENV" ] || export "$(<"$GITHUB_ENV")"
	done
	grep -qx 'return status 0' "$WORK/server.log" || fail "the example's program did not run"
	printf 'name: no steps\nruns:\n  using: composite\n  steps: [\n' >"$WORK/broken.yml"
	must_fail "" python3 "$CI/steps.py" "$WORK/broken.yml"
}

# --- the description of a device for containers ---

# nodes FILE: the device nodes in a description
nodes() {
	python3 -c 'import json, sys
for node in json.load(open(sys.argv[1]))["devices"][0]["containerEdits"]["deviceNodes"]:
    print(node["path"])' "$1" | paste -sd ' '
}

scenario pair_cdi 60 "cdi.sh: the right device files, also after the device's number changed" script
pair_cdi() {
	local before
	pair_up
	describe mpa_a
	describe mpa_b
	before=$(nodes "$WORK/mpa_a.json")
	link_delete mpa_a
	link_delete mpa_b
	link_add mpa_b rdma-b veth-b
	link_add mpa_a rdma-a veth-a
	describe mpa_a
	[ "$(nodes "$WORK/mpa_a.json")" != "$before" ] || fail "the number did not change: no test"
	must_fail 'no RDMA device "nonesuch"' "$CI/cdi.sh" nonesuch
	must_fail "usage: cdi.sh" "$CI/cdi.sh"
	rdma dev set mpa_a name 'mpa{a}'
	must_fail "can have no device called" "$CI/cdi.sh" 'mpa{a}'
	rdma dev set 'mpa{a}' name mpa_a
	mv "$NODES/rdma_cm" "$NODES/aside"
	must_fail "modprobe rdma_ucm" "$CI/cdi.sh" mpa_a
	mv "$NODES/aside" "$NODES/rdma_cm"
}

# describe DEVICE: its description must have its two files, and no other
describe() {
	local verbs cm more
	"$CI/cdi.sh" "$1" >"$WORK/$1.json"
	read -r verbs cm more <<<"$(nodes "$WORK/$1.json")"
	[ -c "$verbs" ] || fail "no $verbs"
	[ "$(<"/sys/class/infiniband_verbs/${verbs##*/}/ibdev")" = "$1" ] ||
		fail "$verbs is another device's"
	[ "$cm $more" = "$NODES/rdma_cm " ] || fail "more files: $cm $more"
}

# --- containers: podman, which is large, comes with make container-check ---

# make_root DIR: copies what rping and ibv_devices need of this machine. The C library loads
# libgcc_s when a thread ends.
make_root() {
	local programs files
	mapfile -t programs < <(command -v rping ibv_devices cat)
	mapfile -t files < <({
		ldd "${programs[@]}" "$PROVIDER" | grep -o '/[^ :]*'
		printf '%s\n' "${programs[@]}" "$PROVIDER" /etc/libibverbs.d/siw.driver
		gcc -print-file-name=libgcc_s.so.1
	} | sort -u)
	mkdir -p "$1"/{dev,etc,proc,run,sys,tmp}
	cp -L --parents "${files[@]}" "$1"
}

# listed: the names in what ibv_devices prints
listed() { awk '$2 ~ /^[0-9a-f]+$/ { print $1 }' | paste -sd ' '; }

# containers: the hosts, the descriptions, a root file system, and a user
containers() {
	command -v podman >/dev/null || fail "no podman here (scripts/deps.sh containers)"
	PROVIDER=$(find /usr/lib -path '*/libibverbs/libsiw-*.so')
	pair_up
	[ "$(pair run a ibv_devices | listed)" = 'mpa_a mpa_b' ] || fail "no second device to hide"
	mkdir -p /etc/cdi
	"$CI/cdi.sh" mpa_a >/etc/cdi/mpa_a.json
	mount -t cgroup2 none /sys/fs/cgroup
	trap 'pair down; umount /sys/fs/cgroup' EXIT
	make_root "$WORK/root"
	OPTIONS=(--device rdma-mpa/device=mpa_a --ulimit memlock=-1:-1)
	PODMAN=(podman --root "$WORK/storage" --runroot "$WORK/runroot"
		--storage-driver vfs --log-level error)
}

# in_container NAME [OPTION...] -- COMMAND: on host a, whose network it shares. The first
# start of podman takes most of a minute under emulation.
in_container() {
	local name=$1 options=(--rm --network host)
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	# shellcheck disable=SC2004 # an associative array
	COMMANDS[$name]=$*
	STATUS=0
	timeout -k 1 $((200 * SLOW)) "$CI/rdma-pair.sh" run a "${PODMAN[@]}" run "${options[@]}" \
		--rootfs "$WORK/root" "$@" >"$WORK/$name.log" 2>&1 </dev/null || STATUS=$?
	judge_rping "$name"
}

# pings_from_container [OPTION...]: rping there, to the other host; also its list of devices
pings_from_container() {
	in_container devices "${OPTIONS[@]}" "$@" -- ibv_devices
	[ "$STATUS" = 0 ] || fail "ibv_devices: status $STATUS"
	[ "$(listed <"$WORK/devices.log")" = mpa_a ] || fail "the container has not just mpa_a"
	in_container uid_map "${OPTIONS[@]}" "$@" -- cat /proc/self/uid_map
	new_port
	serve server rdma-b rping -s -V -C 10 -S 64000 -a "$B4" -p "$PORT"
	in_container client "${OPTIONS[@]}" "$@" -- \
		rping -c -V -C 10 -S 64000 -a "$B4" -p "$PORT"
	[ "$STATUS" = 0 ] || fail "rping: status $STATUS"
	reap server
}

# root_is_outside ID: root in the last container has to be user ID of the machine
root_is_outside() {
	awk -v id="$1" '$1 == 0 && $2 == id { found = 1 } END { exit !found }' "$WORK/uid_map.log" ||
		fail "root there is another user: $(<"$WORK/uid_map.log")"
}

scenario container_root 600 "a container of root, its users mapped: one device, and rping" podman
container_root() {
	containers
	OPTIONS+=(--uidmap 0:100000:65536 --gidmap 0:100000:65536)
	chown -R 100000:100000 "$WORK/root"
	pings_from_container
	root_is_outside 100000
	pings_from_container --user 1000:1000
}

scenario container_user 600 "a container of a user without privileges: one device, and rping" podman
container_user() {
	containers
	useradd -m joe
	install -d -o joe -m 700 /run/user/joe
	chown -R joe: "$WORK/root"
	PODMAN=(runuser -u joe -- env HOME=/home/joe XDG_RUNTIME_DIR=/run/user/joe
		podman --storage-driver vfs --log-level error)
	# podman leaves a process behind that keeps the namespace.
	trap 'pair run a "${PODMAN[@]}" system migrate; pair down; umount /sys/fs/cgroup' EXIT
	pings_from_container
	root_is_outside "$(id -u joe)"
}

scenario container_without 600 "a container without the device, or memory to lock, is refused" \
	podman
container_without() {
	containers
	in_container none -- rping -c -a "$B4" -C 1
	[ "$STATUS" != 0 ] || fail "rping ran without a device"
	grep -q "No RDMA devices were detected" "$WORK/none.log" || fail "it failed for another reason"
	in_container unknown --device rdma-mpa/device=mpa_b -- ibv_devices
	[ "$STATUS" != 0 ] || fail "podman accepted a device without a description"
	grep -q "unresolvable CDI devices" "$WORK/unknown.log" || fail "it failed for another reason"
	serve server rdma-b rping -s -P -a "$B4" -p "$PORT"
	in_container memory "${OPTIONS[@]}" --ulimit memlock=65536:65536 -- \
		rping -c -S 64000 -C 1 -a "$B4" -p "$PORT"
	[ "$STATUS" != 0 ] || fail "rping locked 128000 bytes of 65536"
	grep -q "rping_setup_buffers failed\|reg_mr failed" "$WORK/memory.log" ||
		fail "it failed for another reason"
}
