# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The scripted peer, which sends anything, right or wrong, to mpa1: peer/peer.py, and the tests
# beside it. Each test is a scenario, with the first line of its own text. After each test the
# device has to serve good peers in both roles (peer/run.py).

export PYTHONDONTWRITEBYTECODE=1

# peer FILE TEST: runs a test of peer/FILE.py
peer() {
	local status=0
	new_port
	PORT=$PORT BIN=$BIN E2E_SLOW=$SLOW timeout -k 1 $((80 * SLOW)) \
		python3 "$HERE/peer/run.py" "$@" >"$WORK/peer.log" 2>&1 || status=$?
	[ "$status" = 0 ] || fail "$2: exit status $status"
}

# Python takes 1.5 s to list the tests under emulation, so it does that once for all scenarios.
if [ -z "${PEER_TESTS:-}" ]; then
	PEER_TESTS=$(
		python3 "$HERE/peer/run.py" --list responder initiator setup frames errors \
			terminates reads answers closing late shows fuzz
	) || { echo "peer.sh: python3 cannot list the tests of the peer" >&2 && exit 2; }
	export PEER_TESTS
fi
while IFS=$'\t' read -r file test text; do
	tags=()
	case $file/$test in
	setup/* | terminates/*) tags=(wire) ;;
	# These wait for deadlines, a quarter of a minute and more under emulation.
	*/no_answer | */late_answer | */no_reply | */late_reply) tags=(wire slow) ;;
	*/late_window | */late_much | */lost) tags=(slow) ;;
	*/close_asked | */close_dribbles | */close_half_open) tags=(slow) ;;
	esac
	scenario "peer_$test" 60 "$text" "${tags[@]}" -- peer "$file" "$test"
done <<<"$PEER_TESTS"
