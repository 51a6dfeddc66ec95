# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# A peer of our own that says anything, right or wrong, to mpa1: peer.py, and the
# tests in peer_*.py. Each is a scenario, with its own first words as the text.
# Afterwards the device serves good peers in both roles (main() in peer_device.py).

# peer FILE TEST: of peer_FILE.py
peer() {
	local status=0
	new_port
	PORT=$PORT BIN=$BIN E2E_SLOW=$SLOW PYTHONDONTWRITEBYTECODE=1 \
		timeout -k 1 $((80 * SLOW)) python3 "$HERE/peer_$1.py" "$2" \
		>"$WORK/peer.log" 2>&1 || status=$?
	[ "$status" = 0 ] || fail "$2: exit status $status"
}

# Names and texts of all tests: FILE, test, text
peer_tests() {
	(cd "$HERE" && awk '
		FNR == 1 { file = FILENAME; gsub(/^peer_|\.py$/, "", file) }
		/^@test/ { found = 1 }
		found && /^def / { name = $2; sub(/\(.*/, "", name) }
		found && /"""/ {
			gsub(/^ *"""|"""$/, "")
			print file "\t" name "\t" $0
			found = 0
		}' peer_{responder,initiator,setup,frames,errors,fuzz}.py)
}

# Looked up once; the shell of a scenario gets it from who started it.
export PEER_TESTS=${PEER_TESTS:-$(peer_tests)}
while IFS=$'\t' read -r file test text; do
	scenario "peer_$test" 60 "$text"
	eval "peer_$test() { peer $file $test; }"
done <<<"$PEER_TESTS"
