# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# A peer of our own that says anything, right or wrong: peer.py, in either role.
# Afterwards the device serves a good peer.

# peer ROLE TEST: mpa1 has the role, and the program endpoint.c
peer() {
	local role=$1 test=$2 status=0
	new_port
	PORT=$PORT BIN=$BIN E2E_SLOW=$SLOW PYTHONDONTWRITEBYTECODE=1 \
		timeout -k 1 $((80 * SLOW)) python3 "$HERE/peer_$role.py" "$test" \
		>"$WORK/peer.log" 2>&1 || status=$?
	[ "$status" = 0 ] || fail "$test: exit status $status"
	rping_pair b a "$B4" 64
}

# peer_tests ROLE SECONDS TEST...
peer_tests() {
	local role=$1 seconds=$2 test
	shift 2
	for test in "$@"; do
		scenario "peer_$test" "$seconds" "the device as $role, a scripted peer: ${test//_/ }"
		eval "peer_$test() { peer $role $test; }"
	done
}

peer_tests responder 60 requests bad_requests old_revision silent many_silent behind \
	parting private_data rejects crc gate rtr terminates receives memory segments \
	markers bad_markers ipv6
peer_tests initiator 60 replies client_server bad_replies refusals no_reply fallback \
	reply_and_fpdu rtr_types no_rtr depths calls_markers calls_crc calls_ipv6 \
	calls_terminated
