# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Places for startups: which peers get one, and which have to give way (SEC-13, CONN-22).

# fair_test NAME SECONDS TEXT: a test of peer/fair.py
fair_test() {
	scenario "fair_$1" "$2" "$3" -- peer fair "$1"
}

fair_test flood 90 "one source floods; good callers get through (SEC-13, CONN-22)"
fair_test never_answers 60 "a program never answers; others' callers get through (SEC-13)"
fair_test request_time 60 "the first frame has a deadline of its own (NEG-35)"

# second_device: host b has mpa2 too, with the address 10.78.0.1
second_device() {
	dirty
	ip -n b link add d0 type dummy
	ip -n b addr add 10.78.0.1/24 dev d0
	ip -n b link set d0 up
	ip -n a route add 10.78.0.0/24 via "$B4"
	link_add mpa2 b d0
}

# A silent caller loses its place to the next one after a fortieth of the time for a Request. If it
# had all of that time, the good caller's would be over before.
scenario fair_devices 40 "a flood to one device does not hold up another device on the same port"
fair_devices() {
	local set=/sys/class/infiniband/mpa1/mpa before
	second_device
	before=$(hw_counter mpa1 pending_overflow)
	echo 4 >$set/max_pending
	echo 20000 | tee $set/request_timeout_ms $set/startup_timeout_ms >/dev/null
	new_port
	serve server b rping -s -P -V -a 0.0.0.0 -p "$PORT"
	start flood a python3 -c "import socket, time
s = [socket.create_connection(('$B4', $PORT)) for _ in range(12)]
print('flooded', flush=True)
time.sleep(1000)"
	wait_for 10 grep -q flooded "$WORK/flood.log"
	wait_for 10 flood_overflows "$before"
	echo 12000 >/sys/class/infiniband/mpa0/mpa/startup_timeout_ms
	echo 500 >/sys/class/infiniband/mpa0/mpa/accept_timeout_ms
	run client a rping -c -V -C 3 -a 10.78.0.1 -p "$PORT"
	stop flood || :
}

# flood_overflows BEFORE: have some of the connections had to wait?
flood_overflows() { [ "$(hw_counter mpa1 pending_overflow)" -gt "$1" ]; }

# A socket has an inode once it is accepted.
waits_in_tcp() { b ss -Htne state established src "$1:$PORT" | grep -q 'ino:0 '; }

# The second silent caller may take the place of the first after a fortieth of the time for a
# Request: 15 s. The good caller must not have to wait for that. There are eight, so that it waits
# also on a machine that takes longer than that to start it.
scenario fair_device_gone 60 "callers for another device do not wait for one that has gone"
fair_device_gone() {
	local set=/sys/class/infiniband/mpa1/mpa before
	second_device
	before=$(hw_counter mpa1 pending_overflow)
	echo 1 >$set/max_pending
	echo 600000 | tee $set/request_timeout_ms $set/startup_timeout_ms >/dev/null
	new_port
	serve server b rping -s -P -V -a 0.0.0.0 -p "$PORT"
	start silent a python3 -c "import socket, time
s = [socket.create_connection(('$B4', $PORT)) for _ in range(8)]
time.sleep(1000)"
	wait_for 10 flood_overflows "$before"
	start client a rping -c -v -V -C 3 -a 10.78.0.1 -p "$PORT"
	wait_for 10 waits_in_tcp 10.78.0.1
	link_delete mpa1
	wait_for 10 pinged 1
	reap client
	stop silent || :
}
