# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# lockdep's view of our locks, on a kernel that has lockdep.

# lock_edges: "FIRST LAST" for each pair of locks of which the last was taken while the first
# was held
lock_edges() {
	awk '/^ -> / { print first, $3 } !/^ -> / && NF { first = $NF }' /proc/lockdep
}

# The locks of our sockets have a class of their own, because other users of TCP in the kernel, as
# NFS and NVMe over TCP, do things under their locks that we must not do under ours. The spinlocks
# inside have the kernel's, because lockdep in a softirq would warn of a class that changes. This
# comes first, because lend_kernel takes the lock of a kernel socket under ep->lock, as it should, and
# lockdep forgets nothing.
scenario lock_classes 60 "lockdep tells the locks of our sockets from those of others" lockdep first
lock_classes() {
	local class
	rping_pair b a "$B4" 1000
	rping_pair a b "$A6" 1000
	lock_edges >"$WORK/edges"
	for class in sk_lock-AF_INET{,6}-RDMA-MPA; do
		grep -q " $class\$" "$WORK/edges" || fail "no $class was taken"
	done
	not grep 'slock-AF_INET6\?-RDMA-MPA' "$WORK/edges" || fail "a spinlock has a class of ours"
	# epoll has an &ep->lock, too: the class that comes second has a number.
	grep -q '^&ep->lock[#0-9]* .*RDMA-MPA$' "$WORK/edges" || fail "ep->lock is not what it was"
	not grep '^&ep->lock[#0-9]* k-sk_lock-' "$WORK/edges" ||
		fail "a lock of others' class was taken under one of ours"
}
