#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# reports.sh start  (in a guest with the debug kernel) before the tests: kmemleak
#                   scans when we ask, not now and then
# reports.sh check  after them, with our module unloaded: prints what the kernel's own
#                   checks have found since boot, as TAP
set -uo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
kmemleak=/sys/kernel/debug/kmemleak
kcsan=/sys/kernel/debug/kcsan
number=0

# result STATUS NAME FILE: one TAP line; FILE says why it failed
result() {
	local word=ok
	number=$((number + 1))
	[ "$1" = 0 ] || word='not ok'
	echo "$word $number - $2"
	[ "$1" = 0 ] || head -n 200 "$3" | sed 's/^/# /'
}

# Prints all records in the buffer, also those that "dmesg --clear" hides. Each read returns one
# record, and dd ends when a read would have to wait.
whole_log() {
	dd if=/dev/kmsg iflag=nonblock bs=8192 2> /dev/null
}

# lockdep turns itself off at its first report, and when its tables are full.
lockdep_on() {
	grep -E '^ *debug_locks: +1$' /proc/lockdep_stats > /dev/null
}

# Must kmemleak be on? The kernel's command line may turn it off, and the kernel with KCSAN has
# none. If it turned itself off that is a fault, so its state is not asked for.
kmemleak_on() {
	[ -e "$kmemleak" ] && ! grep -qw kmemleak=off /proc/cmdline
}

# Scans twice, because an object younger than five seconds is not reported.
leaks() {
	echo scan > "$kmemleak"
	sleep 6
	echo scan > "$kmemleak"
	cat "$kmemleak"
}

# Only instrumented code sets up watchpoints, and only the module is instrumented.
watched() {
	grep -E '^setup_watchpoints: *[1-9][0-9]{3}' "$kcsan" > /dev/null
}

case ${1:-} in
start) ! kmemleak_on || echo scan=off > "$kmemleak" ;;
check)
	found=$(mktemp)
	whole_log > /out/kernel.log
	"$here/klog.sh" scan /out/kernel.log > "$found"
	result $? "nothing in the kernel's log" "$found"
	if [ -e /proc/lockdep_stats ]; then
		cat /proc/lockdep_stats > "$found"
		lockdep_on
		result $? "lockdep is still on" "$found"
		# lockdep also turns itself off when one of these is used up.
		awk '/\[max:/ { print "# " $0 }' /proc/lockdep_stats
	fi
	if [ -e "$kcsan" ]; then
		cat "$kcsan" > "$found"
		sed 's/^/# /' "$found"
		watched
		result $? "KCSAN has watched the module" "$found"
	fi
	if kmemleak_on; then
		leaks > "$found" && [ ! -s "$found" ]
		result $? "no leak for kmemleak" "$found"
		cp "$found" /out/kmemleak
	fi
	echo "1..$number"
	;;
*)
	echo "usage: reports.sh start|check" >&2
	exit 2
	;;
esac
