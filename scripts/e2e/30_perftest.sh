# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# perftest over rdma_cm. It prints no speed here (no clock rate under emulation)
# and compares no data: what counts is that both ends finish, and well.

# perf PROGRAM OPTIONS...: server in b, client in a
perf() {
	local program=$1
	shift
	new_port
	serve server b "$program" -R -F -p "$PORT" "$@"
	run client a "$program" -R -F -p "$PORT" "$@" "$B4"
	reap server
	grep -qE '^ *[0-9]+ +[0-9]+ ' "$WORK/client.log" || fail "the client has no result"
}

# Events (-e) where the program has them: polling takes both processors here.
declare -A EVENTS=([send]=-e [write]='' [read]=-e)

for op in send write read; do
	scenario "${op}_bw_sizes" 60 "ib_${op}_bw, 2 octets to 8 MiB"
	eval "${op}_bw_sizes() { perf ib_${op}_bw -a ${EVENTS[$op]} -n 5; }"

	scenario "${op}_bw_qp4" 30 "ib_${op}_bw, 4 queue pairs"
	eval "${op}_bw_qp4() {
		perf ib_${op}_bw -q 4 ${EVENTS[$op]} -n 20 -s 65536
		perf ib_${op}_bw -q 4 ${EVENTS[$op]} -n 50 -s 2
	}"

	scenario "${op}_bw_both" 30 "ib_${op}_bw in both directions, 1 and 4 queue pairs"
	eval "${op}_bw_both() {
		perf ib_${op}_bw -b ${EVENTS[$op]} -n 20 -s 65536
		perf ib_${op}_bw -b -q 4 ${EVENTS[$op]} -n 10 -s 10000
	}"
done

for op in send read; do
	scenario "${op}_bw_poll" 40 "ib_${op}_bw, polling"
	eval "${op}_bw_poll() { perf ib_${op}_bw -n 10 -s 16384; }"
done

scenario send_lat_sizes 60 "ib_send_lat, 2 octets to 8 MiB, with events"
send_lat_sizes() { perf ib_send_lat -a -e -n 5; }

scenario read_lat_sizes 60 "ib_read_lat, 2 octets to 8 MiB, with events"
read_lat_sizes() { perf ib_read_lat -a -e -n 5; }

scenario write_lat_sizes 60 "ib_write_lat, polling memory"
write_lat_sizes() {
	perf ib_write_lat -n 10 -s 2
	perf ib_write_lat -n 10 -s 4097
	perf ib_write_lat -n 5 -s 1048576
}

scenario lat_inline 30 "ib_send_lat with inline data"
lat_inline() { perf ib_send_lat -e -n 20 -s 64 -I 64; }

scenario perf_post_list 30 "lists of requests in one post, completions moderated"
perf_post_list() { perf ib_write_bw -n 64 -l 16 -Q 16 -s 4096; }
