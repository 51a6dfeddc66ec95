# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The program of Documentation/examples.

# example WORD CLIENT SERVER ADDRESS: runs both its ends, which say CLIENT and SERVER
example() {
	new_port
	serve server b "$BIN/stream" mpa1 "$PORT"
	run client a "$BIN/stream" mpa0 "$PORT" "$4" "$1"
	reap server
	grep -Fqx "$2" "$WORK/client.log" || fail "the client does not say '$2'"
	grep -Fqx "$3" "$WORK/server.log" || fail "the server does not say '$3'"
}

scenario lend_example 20 "the example of the documentation (DUAL-02, NEG-24, NEG-28)" newer
lend_example() {
	example secret "the server accepts" "RDMA: The word is secret." "$B4"
	example secret "the server accepts" "RDMA: The word is secret." "$B6"
	example guess "the server rejects" "text: The word is guess." "$B4"
}
