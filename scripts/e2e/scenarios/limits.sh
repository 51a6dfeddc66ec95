# shellcheck shell=bash disable=SC2034,SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Limits to what one program can take of a shared device: processor time and memory.

TRACING=/sys/kernel/tracing
# Events of deferred work: each prints the function, with the module that has it.
LATER=(workqueue/workqueue_execute_start timer/timer_expire_entry timer/hrtimer_expire_entry)

# trace_later 1|0
trace_later() {
	local event
	for event in "${LATER[@]}"; do
		echo "$1" >"$TRACING/events/$event/enable"
	done
}

# Has the trace a function of the module?
traced() { grep -q "\[$MODULE_NAME\]" "$TRACING/trace"; }

# nothing_ran: has nothing of the module run for ten seconds?
nothing_ran() {
	echo >"$TRACING/trace"
	sleep 10
	not traced
}

scenario limits_idle 120 "nothing runs for idle queue pairs in error, nor for unread completions" \
	slow
limits_idle() {
	# Functions of other modules, and timers that are gone, are traced too, and do not matter.
	trap 'trace_later 0' EXIT
	echo >"$TRACING/trace"
	trace_later 1
	start idle a "$BIN/limits_probe" idle
	wait_for 20 grep -q waiting "$WORK/idle.log"
	wait_for 5 traced		# so the trace does show the module
	wait_for 40 nothing_ran
	# Other users may look at them, but not make them run.
	echo >"$TRACING/trace"
	run show a "${ALICE[@]}" rdma resource show qp link mpa0
	sleep 1
	grep -q "state ERR" "$WORK/show.log" || fail "rdma shows no queue pair in error"
	not traced || fail "something ran because another user looked"
	kill -USR1 "${PIDS[idle]}"
	reap idle 60
}

all_connected() { [ "$(hw_counter mpa0 startups_ok)" -ge "$1" ]; }

# The programs spend most of their time in doorbells, so there they are preempted, with their socket
# locked. Data that arrives meanwhile wakes a worker.
scenario limits_workers 90 "tasks that are preempted in their doorbells hold up no worker" smp
limits_workers() {
	local i way before preempted most nice idle=()
	nice=$(</sys/bus/workqueue/devices/rdma_mpa/nice)
	[ "$nice" = 0 ] || fail "workers have a nice value of $nice, so one program takes the processors"
	before=$(hw_counter mpa0 startups_ok)
	for i in 1 2 3 4 5 6 7 8; do
		way="read"
		[ $((i % 2)) = 1 ] || way="send"
		new_port
		idle+=("idle$i")
		start "idle$i" a "$BIN/bulk" -s "$B4" -p "$PORT" -o $way -l 20000 -d 8
	done
	wait_for 30 all_connected $((before + 8))
	start hog1 a sh -c 'while :; do :; done'
	start hog2 a sh -c 'while :; do :; done'
	for i in "${idle[@]}"; do
		chrt -a -i -p 0 "${PIDS[$i]}"
	done
	nice -n -20 python3 "$HERE/programs/waits.py" 8 "${PIDS[@]}" >"$WORK/waits"
	read -r preempted most <"$WORK/waits"
	note "$preempted times a program was preempted in a doorbell, and $most workers waited"
	# The programs may have ended, because they wait 8 s for a completion.
	for i in hog1 hog2 "${idle[@]}"; do
		stop "$i" || :
	done
	[ "$preempted" != 0 ] || fail "no program was preempted in a doorbell"
	[ "$most" = 0 ] || fail "$most workers waited for a socket lock"
}

# Enough for the program itself and one or two of the objects that the test makes.
MEMORY=64M

for test in cqs qps srqs mrs; do
	scenario "limits_memory_$test" 120 \
		"memory of many $test is charged to their maker, and refused" memcg \
		-- charged "many_$test"
done

# make_cgroup CONTROLLER LIMIT: makes a cgroup, for programs that are started with IN_CGROUP
make_cgroup() {
	CGROUP=$STATE/cgroup
	mkdir -p "$CGROUP"
	mount -t cgroup2 none "$CGROUP"
	trap 'leave_cgroup' EXIT
	echo "+$1" >"$CGROUP/cgroup.subtree_control"
	mkdir "$CGROUP/user"
	echo "$2" >"$CGROUP/user/$1.max"
	# shellcheck disable=SC2016 # for that shell
	IN_CGROUP=(bash -c 'echo $$ >"$0" && exec "$@"' "$CGROUP/user/cgroup.procs")
}

leave_cgroup() {
	local pid
	for pid in "${PIDS[@]}"; do
		kill "$pid" 2>/dev/null || :
	done
	until_true 10 rmdir "$CGROUP/user" || :
	umount "$CGROUP"
}

# charged TEST: a test of limits_probe
charged() {
	make_cgroup memory "$MEMORY"
	run "$1" a "${IN_CGROUP[@]}" "$BIN/limits_probe" "$1"
	grep -qx "oom_kill 0" "$CGROUP/user/memory.events" || fail "a program was killed"
	note "$1: $(tail -n 1 "$WORK/$1.log")"
}

# slab_kib: the cgroup's slab memory
slab_kib() { awk '$1 == "slab" { print int($2 / 1024) }' "$CGROUP/user/memory.stat"; }

has_grown() { [ "$(slab_kib)" -ge $(($1 + 60)) ]; }

scenario limits_memory_startups 60 "startups of silent peers are charged to the listener" memcg slow
limits_memory_startups() {
	local before set=/sys/class/infiniband/mpa1/mpa
	dirty
	make_cgroup memory "$MEMORY"
	# They have to last until the kernel sums up, which it does every two seconds.
	echo 60000 >"$set/startup_timeout_ms"
	echo 60000 >"$set/request_timeout_ms"
	new_port
	serve server b "${IN_CGROUP[@]}" rping -s -a "$B4" -p "$PORT"
	before=$(slab_kib)
	start silent a python3 -c "import socket, time
calls = [socket.create_connection(('$B4', $PORT)) for i in range(60)]
time.sleep(600)"
	# 60 of them, each of more than 1 KiB
	wait_for 10 has_grown "$before"
}

# --- limits that the device reports (Documentation/limits.rst) ---

# attr TEST: a test of attr_probe
attr() {
	local LIMIT=$((280 * SLOW))
	new_port
	run "attr_$1" a "$BIN/attr_probe" -p "$PORT" "$1"
}

scenarios limits 270 "a limit is reached, and one above it is refused" attr \
	qps srqs cqs depths mr_size tables
scenario limits_contexts 270 "65536 contexts, and one above is refused" slow full -- attr contexts
scenario limits_nothing 40 "what the device does not have is 0, and is refused" -- attr nothing

scenario limits_objects 270 "as many objects as the device reports, and one above is refused" slow full
limits_objects() { memprobe limits; }

# 4 GiB, so without CRC
scenario limits_message 270 "a message of the length that the port reports, and a longer one" slow full
limits_message() { memprobe message crc off; }

# --- shares of users (core/limits.c) ---

# The rest of a share of 1/16384 after its user has one of each.
SHARE="qps 8 srqs 4 mrs 64 cqs 7 pds 7"
ALL="qps 100 srqs 100 mrs 100 cqs 100 pds 100"

# got NAME WHAT: the program got that many of each, until it was refused or had enough
got() {
	local all
	all=$(grep -E '^[a-z]+ [0-9]+$' "$WORK/$1.log" | tr '\n' ' ')
	[ "$all" = "$2 " ] || fail "$1 got $all"
}

# takes NAME WHAT COMMAND...: a program takes as much as it gets, which is WHAT, and keeps it
takes() {
	start "$1" a "${@:3}"
	wait_for 20 grep -q waiting "$WORK/$1.log"
	got "$1" "$2"
}

gives_back() {
	kill -USR1 "${PIDS[$1]}"
	reap "$1"
}

scenario limits_shares 60 "no user takes the last object of a device" newer
limits_shares() {
	dirty
	echo 16384 >/sys/class/infiniband/mpa0/mpa/shares
	takes alice "$SHARE" "${ALICE[@]}" "$BIN/limits_probe" share
	# The share is root's, because root opened the context before it gave up its rights.
	USER_ID=2001 run inherited a "$BIN/limits_probe" share_inherited
	got inherited "$SHARE"
	takes bob "$SHARE" "${BOB[@]}" "$BIN/limits_probe" share
	takes root "$ALL" "$BIN/limits_probe" share
	gives_back root
	gives_back bob
	gives_back alice
	takes alice "$SHARE" "${ALICE[@]}" "$BIN/limits_probe" share
	gives_back alice
	echo 1 >/sys/class/infiniband/mpa0/mpa/shares
	takes alice "$ALL" "${ALICE[@]}" "$BIN/limits_probe" share
	gives_back alice
}

scenario limits_share_contexts 60 "no user takes all contexts of a device" newer leaks
limits_share_contexts() {
	local set=/sys/class/infiniband/mpa0/mpa take=("$BIN/limits_probe" share_contexts)
	dirty
	echo 16384 >"$set/shares"
	takes alice "contexts 4" "${ALICE[@]}" "${take[@]}"
	takes bob "contexts 4" "${BOB[@]}" "${take[@]}"
	takes root "contexts 100" "${take[@]}"
	gives_back root
	gives_back alice
	takes alice "contexts 4" "${ALICE[@]}" "${take[@]}"
	gives_back bob
	gives_back alice
	echo 1 >"$set/shares"
	takes alice "contexts 100" "${ALICE[@]}" "${take[@]}"
	gives_back alice
}

# A share is of the user who listens, and ends with the program's listeners.
scenario limits_listeners 60 "no user takes all listeners of a device" newer
limits_listeners() {
	local -x ADDRESS=$A4
	local take=("$BIN/limits_probe" share_listeners)
	dirty
	echo 16384 >/sys/class/infiniband/mpa0/mpa/shares
	takes alice "listeners 4" "${ALICE[@]}" "${take[@]}"
	takes bob "listeners 4" "${BOB[@]}" "${take[@]}"
	takes root "listeners 100" "${take[@]}"
	gives_back root
	gives_back alice
	takes alice "listeners 4" "${ALICE[@]}" "${take[@]}"
	gives_back bob
	gives_back alice
}

waits_or_ended() { grep -q waiting "$WORK/$1.log" || not is_running "$1"; }

# gets_none NAME COMMAND...: a program is refused, and waits
gets_none() {
	start "$1" a "${@:2}" "$BIN/limits_probe" share_later
	wait_for 20 waits_or_ended "$1"
	is_running "$1" || fail "$1: $(tail -n 1 "$WORK/$1.log")"
}

# gets_one NAME: now it is not refused
gets_one() {
	kill -USR1 "${PIDS[$1]}"
	reap "$1"
}

# A kernel consumer leaves six protection domains. When the reserve is 4, users get two of them.
scenario limits_reserve 60 "users leave a share to CAP_SYS_ADMIN and to kernel consumers" newer full
limits_reserve() {
	local set=/sys/class/infiniband/mpa0/mpa
	local some="qps 4 srqs 2 mrs 32 cqs 3 pds 1"
	dirty
	echo 16384 >"$set/shares"	# which reserves 8, so the consumer takes some of these
	insert "$KMOD/hoard.ko" left=6
	trap 'rmmod hoard' EXIT
	gets_none bob "${BOB[@]}"
	echo 32768 >"$set/shares"
	gets_one bob
	takes alice "$some" "${ALICE[@]}" "$BIN/limits_probe" share
	gets_none bob "${BOB[@]}"
	takes root "${ALL/pds 100/pds 3}" "$BIN/limits_probe" share
	gives_back alice
	gets_none again "${BOB[@]}"	# although root has more than the reserve
	gives_back root
	gets_one bob
	gets_one again
	takes alice "$some" "${ALICE[@]}" "$BIN/limits_probe" share
	gives_back alice
	echo 1 >"$set/shares"		# which reserves none
	takes alice "${ALL/pds 100/pds 5}" "${ALICE[@]}" "$BIN/limits_probe" share
	gives_back alice
}

scenario limits_shares_namespace 60 "a user with many uids has one share" newer
limits_shares_namespace() {
	dirty
	echo 16384 >/sys/class/infiniband/mpa0/mpa/shares
	takes alice "$SHARE" "${ALICE[@]}" "$BIN/limits_probe" share
	USER_ID=2001 try namespace a "$BIN/limits_probe" share_namespace
	grep -q "Cannot allocate memory" "$WORK/namespace.log" || fail "it got more"
	USER_ID=2002 run other a "$BIN/limits_probe" share_namespace
	got other "$SHARE"
	gives_back alice
}

# Not run with kmemleak, because ib_uverbs of 6.1 leaks the task when the controller refuses a
# context.
scenario limits_rdma_cgroup 60 "the rdma controller bounds the objects of a cgroup, also root's" \
	newer memcg
limits_rdma_cgroup() {
	make_cgroup rdma "mpa0 hca_handle=2 hca_object=20"
	takes some "qps 18 srqs 0 mrs 0 cqs 0 pds 0" \
		"${IN_CGROUP[@]}" "$BIN/limits_probe" share
	takes more "contexts 1" "${IN_CGROUP[@]}" "$BIN/limits_probe" share_contexts
	grep -qx "mpa0 hca_handle=2 hca_object=20 *" "$CGROUP/user/rdma.current" ||
		fail "$(<"$CGROUP/user/rdma.current")"
	gives_back more
	gives_back some
}

# --- the stock of chunks (chunk.c) ---

CPU1=/sys/devices/system/cpu/cpu1/online

# fill_stock PROCESSOR: runs a program there whose doorbells send by themselves
fill_stock() {
	new_port
	run bulk a taskset -c "$1" "$BIN/bulk" -s "$B4" -p "$PORT" -n 2000 -l 1000 -d 4
}

# trace_frees 1|0: traces the pages of the sizes of chunks that are freed, with the calls that led
# there
trace_frees() {
	echo 16384 >"$TRACING/buffer_size_kb"
	echo "order == 3 || order == 5" >"$TRACING/events/kmem/mm_page_free/filter"
	echo "$1" >"$TRACING/options/stacktrace"
	echo "$1" >"$TRACING/options/sym-offset"	# to see the name of the module
	echo "$1" >"$TRACING/events/kmem/mm_page_free/enable"
	[ "$1" = 0 ] || echo >"$TRACING/trace"
}

shrink() { echo 2 >/proc/sys/vm/drop_caches; }

scenario limits_stock_shrinks 60 "the stock of chunks is given back when the kernel wants memory" \
	newer
limits_stock_shrinks() {
	trap 'trace_frees 0' EXIT
	fill_stock 0
	trace_frees 1
	shrink
	traced || fail "nothing was given back"
	echo >"$TRACING/trace"
	shrink
	not traced || fail "not all was given back at once"
	# and they are made anew
	trace_frees 0
	fill_stock 0
}

scenario limits_stock_offline 60 "a processor leaves no chunks behind when it goes offline" \
	hotplug smp newer
limits_stock_offline() {
	trap 'trace_frees 0; echo 1 >"$CPU1"' EXIT
	fill_stock 1
	trace_frees 1
	echo 0 >"$CPU1"
	traced || fail "its chunks were kept"
	trace_frees 0
	echo 1 >"$CPU1"
	fill_stock 1
}
