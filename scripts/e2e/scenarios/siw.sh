# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Interoperation with siw, the kernel's own software iWARP. These come late, because rmmod siw
# takes devices of other drivers along.

# with_siw FILE OUR-NAMESPACE: siw in one namespace, our device in the other
with_siw() {
	dirty
	topo_down
	[ ! -d /sys/module/siw ] || rmmod siw
	load_modules
	insert "$SIW/$1"
	make_cable
	if [ "$2" = a ]; then
		link_add mpa0 a va
		link_add siw1 b vb siw
	else
		link_add siw0 a va siw
		link_add mpa1 b vb
	fi
}

our_crc() {
	local dev
	for dev in mpa0 mpa1; do
		! device_exists "$dev" || echo "$1" >"/sys/class/infiniband/$dev/mpa/crc"
	done
}

# talk OUR-NAMESPACE: both roles, all operations, data compared if the program can
#
# perftest's server listens on every address of every device. siw then takes the port in the
# caller's namespace, even for a device of another one, and leaves none to us there. So perftest's
# servers run on siw's side. On our side run servers that bind to an address.
talk() {
	local size server=b address=$B4
	[ "$1" = a ] || { server=a address=$A4; }
	for size in 64 64000; do
		rping_pair b a "$B4" "$size"
		rping_pair a b "$A4" "$size"
	done
	rping_pair b a "$B6" 1000
	perf_between "$server" "$address" "$1" ib_send_bw -n 20 -s 65536
	perf_between "$server" "$address" "$1" ib_write_bw -n 20 -s 65536
	perf_between "$server" "$address" "$1" ib_read_bw -e -n 20 -s 65536
	perf_between "$server" "$address" "$1" ib_send_lat -e -n 20 -s 30
}

# siw_crc FILE OUR-NAMESPACE OUR-CRC
siw_crc() {
	with_siw "$1" "$2"
	our_crc "$3"
	talk "$2"
}

scenario siw_crc_off_a 90 "siw without CRC, we in a with CRC off" \
	siw slow -- siw_crc siw-peer.ko a off
scenario siw_crc_ours_a 90 "siw without CRC, we in a require it" \
	siw slow -- siw_crc siw-peer.ko a required
scenario siw_crc_theirs_a 90 "siw requires CRC, we in a do not" \
	siw slow -- siw_crc siw-crc.ko a off
scenario siw_crc_both_a 90 "siw and we, in a, require CRC" \
	siw newer -- siw_crc siw-crc.ko a required
scenario siw_crc_off_b 90 "siw without CRC, we in b with CRC off" \
	siw newer -- siw_crc siw-peer.ko b off
scenario siw_crc_ours_b 90 "siw without CRC, we in b require it" \
	siw slow -- siw_crc siw-peer.ko b required
scenario siw_crc_theirs_b 90 "siw requires CRC, we in b do not" \
	siw slow -- siw_crc siw-crc.ko b off
scenario siw_crc_both_b 90 "siw and we, in b, require CRC" \
	siw slow -- siw_crc siw-crc.ko b required

# We receive each message. What siw receives is not whole for a watcher, because the kernel's memcpy()
# may store the last bytes first.
scenario siw_watched 150 "siw and we: a message is whole when its last byte is seen" polls siw
siw_watched() {
	local test
	with_siw siw-peer.ko b
	# Each has its own time, because siw is slow on a busy machine.
	for test in watched_write watched_send; do
		new_port
		run "$test" a "$BIN/verbs_probe" -p "$PORT" "$test"
	done
	with_siw siw-peer.ko a
	new_port
	run watched_a a "$BIN/verbs_probe" -p "$PORT" watched_read
}

# Also with siw at both ends, because the test expects what siw does. Without Reads there: a siw that
# has more of them than its ORD answers none, so two of them may wait for each other forever. On a
# long cable each end has them before the peer's first one arrives.
scenario siw_depths 90 "read depths: siw and we report the same to a program" siw debug
siw_depths() {
	local ours
	for ours in a b none; do
		if [ "$ours" = none ]; then
			with_siw siw-peer.ko a
			link_delete mpa0
			link_add siw0 a va siw
		else
			with_siw siw-peer.ko "$ours"
			new_port
			run "short_$ours" a "$BIN/cm_probe" -p "$PORT" reads_crossed
			lengthen_cable 50
			new_port
			run "long_$ours" a "$BIN/cm_probe" -p "$PORT" reads_crossed
		fi
		new_port
		run "depths_$ours" a "$BIN/cm_probe" -p "$PORT" ird_ord depths
	done
}

scenario siw_apps 90 "ucmatose, rstream and verbs of all sizes against siw" siw debug
siw_apps() {
	with_siw siw-peer.ko a
	both ucmatose -c 8 -C 5 -S 3000
	both rstream -S 5000 -C 10 -I 2 -T v
	new_port
	run probe a "$BIN/verbs_probe" -p "$PORT" sizes_send sizes_write unsignalled
	with_siw siw-peer.ko b
	new_port
	serve server b rstream -b "$B4" -p "$PORT" -S 5000 -C 10 -I 2 -T v
	run client a rstream -s "$B4" -p "$PORT" -S 5000 -C 10 -I 2 -T v
	reap server
	topo_down
	rmmod siw
}
