#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The list of measurements, for the host that starts them and for the guest that does them.
# To be sourced.
#
# A row is "MTU WHO CRC TEST SIZE UNIT". WHO is tcp, siw, rxe or mpa.
#
# TCP is measured in the boots of siw and mpa, again before each group of rows that it limits,
# because the speed of a shared machine changes within seconds.

WHO=${WHO:-siw rxe mpa}
MTUS=${MTUS:-1500}
SIZES=${SIZES:-65536 1048576}
SMALL=${SMALL:-64 4096}
SWEEP=${SWEEP:-64 256 1024 4096 16384 65536 262144 1048576}
WINDOW=${WINDOW:-2}
CONNECTIONS=60		# made by cmtime; siw does not make 100 at once
LOAD=$(cut -d ' ' -f 1 /proc/loadavg)	# before the command builds anything

# crc_of DRIVER: the state of the CRC for comparisons. rxe cannot do without its ICRC.
crc_of() {
	case $1 in
	rxe) echo on ;;
	*) echo off ;;
	esac
}

tcp_rows() {		# MTU DRIVER TEST SIZE UNIT
	[ "$2" = rxe ] || echo "$1 tcp - $3 $4 $5"
}

bulk_rows() {		# MTU DRIVER CRC
	local op size
	for op in write send read; do
		tcp_rows "$1" "$2" stream - MB/s
		for size in $SIZES; do
			echo "$1 $2 $3 $op $size MB/s"
		done
	done
}

# With one queue pair, and with 16
rate_rows() {		# MTU DRIVER CRC
	local op size pairs
	for size in $SMALL; do
		for pairs in '' 16; do
			for op in write send read; do
				echo "$1 $2 $3 $op-rate$pairs $size msg/s"
			done
		done
	done
}

# Latencies go last, because siw is at its weakest there. They use the smallest size.
latency_rows() {	# MTU DRIVER CRC
	local op
	for op in read send write; do
		tcp_rows "$1" "$2" latency "${SMALL%% *}" us
		echo "$1 $2 $3 $op-latency ${SMALL%% *} us"
	done
}

# Measurements that do not depend on the size of a message
connection_rows() {	# MTU DRIVER CRC
	echo "$1 $2 $3 connect $CONNECTIONS conn/s"
	[ -n "${HOST:-}" ] || echo "$1 $2 $3 idle - KiB"
}

# Latencies are measured without the CRC, because that of a small message does not show in them.
driver_rows() {		# MTU DRIVER
	local crc
	crc=$(crc_of "$2")
	bulk_rows "$1" "$2" "$crc"
	[ "$SMALL" = 0 ] || rate_rows "$1" "$2" "$crc"
	if [ "$2" = mpa ]; then
		bulk_rows "$1" mpa on
		[ "$SMALL" = 0 ] || rate_rows "$1" mpa on
	fi
	[ "$SMALL" = 0 ] || {
		connection_rows "$1" "$2" "$crc"
		latency_rows "$1" "$2" "$crc"
	}
}

# TCP's rate with a CRC is computed, so its row comes behind those that it is computed from.
tcp_crc_rows() {	# MTU
	echo "$1 tcp - crc32c - MB/s"
	echo "$1 tcp on stream - MB/s"
}

# plan DRIVER: the rows of one of its boots, in order
plan() {
	local mtu
	for mtu in $MTUS; do
		driver_rows "$mtu" "$1"
		[ "$1" != mpa ] || tcp_crc_rows "$mtu"
	done
}

# sweep DRIVER: the points of the pictures that plan does not have, each measured once
sweep() {
	local mtu op size
	[ "$SWEEP" != 0 ] || return 0
	for mtu in $MTUS; do
		for size in $SWEEP; do
			[ "$1" != mpa ] || echo "$mtu tcp - stream $size MB/s"
			[[ " $SIZES " != *" $size "* ]] || continue
			for op in write send read; do
				echo "$mtu $1 $(crc_of "$1") $op $size MB/s"
			done
		done
	done
}

# module_of DRIVER: (on the host) builds it and prints what the guest has to load
module_of() {
	[ -z "${HOST:-}" ] || return 0 # it is installed
	case $1:${NATIVE:-} in
	siw:) "$TOP/scripts/siw.sh" ;;
	siw:*) find "$GUEST_PACK/lib" -name siw.ko ;; # Debian's other kernels have none
	mpa:*) "$TOP/scripts/module.sh" 2> >(grep '^==>' >&2) ;;
	rxe:*) echo rdma_rxe ;;
	*) die "not a driver: $1 (siw, rxe, mpa)" ;;
	esac
}

# say_where DETAILS: (on the host) what the lines above a table say of the place of the measurement
say_where() {
	local kernel commit
	if [ -n "${HOST:-}" ]; then
		kernel=$(uname -r)
	else
		kernel=$(guest_release)
	fi
	if commit=$(git -C "$TOP" describe --always 2> /dev/null); then
		git -C "$TOP" diff --quiet HEAD -- . ':!Documentation' || commit+=-dirty
	fi
	echo "commit ${commit:-unknown}, kernel $kernel, load of this machine before: $LOAD"
	echo "$1"
	[ -z "${NATIVE:-}" ] || say_system_call
}

# dd reads and writes each byte by a system call. The fastest of several short runs has the least
# of other programs in it.
say_system_call() {
	local n=30000 ns
	ns=$(for _ in {1..15}; do
		LC_ALL=C dd if=/dev/zero of=/dev/null bs=1 count=$n 2>&1
	done | LC_ALL=C awk -v n=$n '
		NF > 3 && $(NF - 2) == "s," && (!best || $(NF - 3) < best) { best = $(NF - 3) + 0 }
		END { if (!best) exit 1; printf "%.0f", best * 1e9 / (2 * n) }') ||
		die "dd does not say how long it took"
	echo "a system call of this machine takes $ns ns"
}

# say_processor: (in the guest) the same, of the guest. note_where has each line once.
say_processor() {
	echo "= $(string_moves)"
	say_crc_driver
}

# Is the processor one on which the kernel copies by "rep movsb"?
string_moves() {
	local flag have=''
	for flag in erms fsrm; do
		! grep -qw "$flag" /proc/cpuinfo || have+=" $flag"
	done
	if grep -q 'User Mode Linux' /proc/cpuinfo; then
		echo "the processor runs the kernel's instructions itself; it says:${have:- neither erms nor fsrm}"
	else
		echo "the kernel sees a processor with${have:- neither erms nor fsrm}"
	fi
}

# Says which implementation of CRC32C the kernel has chosen
say_crc_driver() {
	awk '$1 == "name" { ours = $3 == "crc32c" }
		ours && $1 == "driver" { driver = $3 }
		ours && $1 == "priority" && $3 >= best { best = $3; chosen = driver }
		END { if (chosen) print "= CRC32C by " chosen }' /proc/crypto
}

# note_where LINE: (on the host) of the guest's, without its "="
note_where() {
	local line
	read -r line <<< "$1"	# without the blanks around it
	grep -qxF -- "$line" "$OUT/where" || echo "$line" >> "$OUT/where"
}

# publish FILE DOCUMENT NAME: puts it between the two comments of Documentation/DOCUMENT.rst that
# have this name, in place of the last one
publish() {
	local doc=$TOP/Documentation/$2.rst
	awk -v name="$3" -v file="$1" '
		$0 == ".. end of " name { skip = 0 }
		!skip
		$0 == ".. " name {
			print "\n::\n"
			while ((getline line < file) > 0)
				print line == "" ? "" : "    " line
			print ""
			skip = 1
		}' "$doc" > "$OUT/$2.rst"
	mv "$OUT/$2.rst" "$doc"
}
