# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# What lockdep makes of our locks, on a kernel that has it.

# lock_edges: "FIRST LAST" for each pair of locks of which the last was taken while the first
# was held
lock_edges() {
	awk '/^ -> / { print first, $3 } !/^ -> / && NF { first = $NF }' /proc/lockdep
}

# Its own class keeps a lock apart from those of the kernel's other users of TCP, as NFS and
# NVMe over TCP are: what they do under theirs we need not be able to do under ours.
scenario lock_classes 60 "lockdep tells the locks of our sockets from those of others" lockdep
lock_classes() {
	local class
	rping_pair b a "$B4" 1000
	rping_pair a b "$A6" 1000
	lock_edges >"$WORK/edges"
	for class in {sk_lock,slock}-AF_INET{,6}-RDMA-MPA; do
		grep -q " $class\$" "$WORK/edges" || fail "no $class was taken"
	done
	not grep '^&ep->lock k-sk_lock-' "$WORK/edges" ||
		fail "a lock of others' class was taken under one of ours"
}
