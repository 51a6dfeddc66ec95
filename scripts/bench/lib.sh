#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# What is measured, for the host that asks and for the guest that does it.
# To be sourced.
#
# A row is "MTU WHO CRC TEST SIZE UNIT". WHO is tcp, siw or mpa; TCP is measured
# in the boots of both drivers, the limit beside what it limits.

MTUS=${MTUS:-1500}
SIZES=${SIZES:-65536 1048576}
SMALL=${SMALL:-64}
WINDOW=${WINDOW:-2}

# driver_rows MTU DRIVER CRC. Latencies go last: siw is at its weakest there.
# 64 octets cost no CRC that a latency would show.
driver_rows() {
	local op size
	for op in write send read; do
		for size in $SIZES; do
			echo "$1 $2 $3 $op $size MB/s"
		done
	done
	[ "$SMALL" != 0 ] || return 0
	for op in write send read; do
		echo "$1 $2 $3 $op-rate $SMALL msg/s"
	done
	[ "$3" = off ] || return 0
	for op in read send write; do
		echo "$1 $2 $3 $op-latency $SMALL us"
	done
}

# plan DRIVER: the rows of one of its boots, in order
plan() {
	local mtu
	for mtu in $MTUS; do
		echo "$mtu tcp - stream - MB/s"
		[ "$SMALL" = 0 ] || echo "$mtu tcp - latency $SMALL us"
		driver_rows "$mtu" "$1" off
		[ "$1" = siw ] || driver_rows "$mtu" "$1" on
	done
}
