#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# klog.sh mark NAME   (in a guest) notes in the kernel's log where NAME begins.
# klog.sh show NAME   prints the kernel's messages since then, without time stamps.
# klog.sh check NAME  prints those of them that no kernel should print; fails if there are any.
# klog.sh scan FILE   the same for a log in a file.
set -euo pipefail

# The beginnings of splats, one kind a line.
bad='WARNING:|BUG:|Oops|general protection fault[,:]|kernel NULL pointer
KASAN|UBSAN|KFENCE|kmemleak: [0-9]+ new|Object .* remaining
possible circular locking|possible recursive locking|inconsistent lock state
suspicious RCU usage|sleeping function called|scheduling while atomic
INFO: task .* blocked|rcu.* stall|soft lockup|hard LOCKUP
refcount_t:|unregister_netdevice: waiting|list_(add|del) corruption
restrack:|failed to destroy|leaked'

since_mark() {
	dmesg --notime | awk -v mark="klog: $1" '
		index($0, mark) { text = ""; found = 1; next }
		{ text = text $0 "\n" }
		END { if (!found) exit 1; printf "%s", text }'
}

case ${1:-} in
mark) echo "klog: $2" > /dev/kmsg ;;
show) since_mark "$2" ;;
check)
	log=$(since_mark "$2") || {
		echo "the mark of $2 is gone from the kernel's log"
		exit 1
	}
	! grep -E -A 40 "${bad//$'\n'/|}" <<< "$log"
	;;
scan) ! grep -E -A 40 "${bad//$'\n'/|}" "$2" ;;
*)
	echo "usage: klog.sh mark|show|check NAME, klog.sh scan FILE" >&2
	exit 2
	;;
esac
