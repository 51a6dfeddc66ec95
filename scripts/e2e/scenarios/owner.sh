# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Which programs may connect a queue pair.

scenarios owner 40 "only its owner connects a queue pair" cm_owner \
	stranger_connects stranger_accepts child threads numbers:newer

cm_owner() {
	new_port
	run "owner_$1" a "$BIN/cm_owner" -p "$PORT" "$1"
}

# The disk and its host are in the initial namespace, so that gets the names of both of ours.
scenario owner_kernel 60 "a program names a queue pair of NVMe, which is the kernel's"
owner_kernel() {
	local qpn
	nvme_up
	ip netns attach a $$
	ip netns attach b $$
	qpn=$(rdma resource show qp |
		sed -n 's,.*mpa0/1 lqpn \([0-9]*\) .*comm \[.*,\1,p' | head -n 1)
	[ -n "$qpn" ] || fail "no queue pair of the kernel"
	new_port
	QPN=$qpn run named a "$BIN/cm_owner" -s "$NVME_ADDRESS" -p "$PORT" kernel
	copy if="$NVME" of=/dev/null bs=64K count=4 iflag=direct
	put 1 /sys/class/nvme/nvme0/delete_controller
	wait_for 10 nvme_gone
	trap - EXIT
	nvme_target_down
}

# sees_data_path COMMAND...: shows the queue pairs of mpa0 and the state of their connections
sees_data_path() {
	"${@}" rdma resource show qp link mpa0/1 -dd >"$WORK/seen.log"
	grep -q " state RTS " "$WORK/seen.log" && grep -q drv_reads_out "$WORK/seen.log"
}

scenario owner_sees 30 "a connection's state is shown to its user and to root, not to others" \
	newer
owner_sees() {
	new_port
	serve server b rping -s -a "$B4" -p "$PORT"
	start client a "${ALICE[@]}" rping -c -a "$B4" -p "$PORT"
	wait_for 10 sees_data_path env
	sees_data_path "${ALICE[@]}" || fail "its user does not see it"
	not sees_data_path "${BOB[@]}" || fail "another user sees it"
	grep -q " state RTS " "$WORK/seen.log" || fail "another user does not see the queue pair"
	stop client
}

# Without -p: the rdma of iproute2 6.1 ends an array there that it did not begin.
scenario resource_json 30 "rdma resource is JSON that a program can read"
resource_json() {
	new_port
	serve server b rping -s -a "$B4" -p "$PORT"
	start client a rping -c -a "$B4" -p "$PORT"
	wait_for 10 sees_data_path env
	rdma -j -dd resource show qp link mpa0/1 >"$WORK/seen.json"
	python3 - "$WORK/seen.json" <<-'END'
		import json, sys
		qps = [qp for qp in json.load(open(sys.argv[1])) if qp["state"] == "RTS"]
		assert len(qps) == 1 and qps[0]["drv_open"] == 1 and qps[0]["drv_receives"] > 0, qps
	END
	stop client
}
