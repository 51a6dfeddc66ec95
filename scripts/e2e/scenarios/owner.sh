# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Who may connect a queue pair.

scenarios owner 40 "who may connect a queue pair" cm_owner \
	stranger_connects stranger_accepts child threads numbers:newer

cm_owner() {
	new_port
	run "owner_$1" a "$BIN/cm_owner" -p "$PORT" "$1"
}

# The disk and its host are of the initial namespace, which gets the names of both of ours.
scenario owner_kernel 60 "a program names a queue pair of the kernel, of NVMe"
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
