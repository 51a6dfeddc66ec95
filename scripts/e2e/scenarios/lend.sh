# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# MPA on TCP connections that programs use already.

lend() {
	new_port
	run "lend_$1" a "$BIN/lend_probe" -p "$PORT" "$@"
}

scenarios lend 40 "MPA on a program's own connection" lend \
	accepted closed_at_once rejected unread

scenario lend_kernel 60 "a kernel consumer makes an MPA stream of its connection" newer
lend_kernel() { memprobe lend; }

scenario lend_lingers 60 "SO_LINGER of the program does not hold the driver back" lend newer
lend_lingers() {
	dirty
	modprobe sch_netem
	lend lingers
	link_delete mpa0 || fail "the device cannot be deleted"
}
