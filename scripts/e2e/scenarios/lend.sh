# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# MPA on TCP connections that programs use already.

lend() {
	new_port
	run "lend_$1" a "$BIN/lend_probe" -p "$PORT" "$@"
}

scenarios lend 40 "MPA on a program's own connection" lend \
	accepted closed_at_once rejected unread

# example WORD CLIENT SERVER ADDRESS: runs the program of Documentation/examples; what its ends say
example() {
	new_port
	serve server b "$BIN/stream" mpa1 "$PORT"
	run client a "$BIN/stream" mpa0 "$PORT" "$4" "$1"
	reap server
	grep -Fqx "$2" "$WORK/client.log" || fail "the client does not say '$2'"
	grep -Fqx "$3" "$WORK/server.log" || fail "the server does not say '$3'"
}

scenario lend_example 20 "the example of the documentation"
lend_example() {
	example secret "the server accepts" "RDMA: The word is secret." "$B4"
	example secret "the server accepts" "RDMA: The word is secret." "$B6"
	example guess "the server rejects" "text: The word is guess." "$B4"
}
