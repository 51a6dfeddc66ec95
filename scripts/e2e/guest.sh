#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs the end-to-end scenarios, in the machine whose kernel is under test.
#
#   guest.sh [-l|--tags] [NAME...]   all, or those named (shell patterns); -l lists them,
#                                    --tags what each is or needs (scenario in lib.sh)
#
# Prints TAP. Exit status 1 if any scenario failed. There is no skip: a scenario that cannot
# run has failed. From the environment: RDMA_TYPE (mpa) and MODULE (rdma_mpa.ko)
# choose the driver under test, OUTDIR (/out if there is one) keeps the logs, E2E_MORE
# is a file with more scenarios (suites/cases.sh).
# shellcheck disable=SC2034,SC2153 # shared with lib.sh
set -u
HERE=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
TOP=${HERE%/scripts/e2e}
STATE=${E2E_STATE:-/tmp/e2e}
OUTDIR=${OUTDIR:-/out}
[ -d "$OUTDIR" ] || OUTDIR=$STATE/logs
WORK=${E2E_WORK:-$STATE}

# Messages that the kernel must not print during a scenario.
SPLAT='WARNING: |BUG: |kernel BUG|Oops|Call Trace|general protection fault[,:]|refcount_t'
SPLAT+='|possible (recursive|circular|irq lock)|suspicious RCU|blocked for more than'
SPLAT+='|KASAN|UBSAN|KFENCE|use-after-free|unregister_netdevice: waiting'
SPLAT+='|scheduling while atomic|sleeping function called|list_(add|del) corruption'
SPLAT+='|Objects remaining|soft lockup|hard LOCKUP|rcu.*stall|unbalanced|Bad page'
SPLAT+='|still has .* resources|not clean|leaked|kmemleak|page allocation failure'

# shellcheck source=scripts/e2e/lib.sh
. "$HERE/lib.sh"
for file in "$HERE"/scenarios/*.sh ${E2E_MORE:+"$E2E_MORE"}; do
	# shellcheck source=/dev/null
	. "$file"
done
NAMES=("${FIRST[@]}" "${NAMES[@]}" "${LAST[@]}")

list() {
	local name
	for name in "${NAMES[@]}"; do
		printf '%-24s %s\n' "$name" "${TEXT_OF[$name]}"
	done
}

list_tags() {
	local name
	for name in "${NAMES[@]}"; do
		echo "$name${TAGS_OF[$name]}"
	done
}

# Names of the scenarios that match the patterns; all if there is none
chosen() {
	local name pattern
	for name in "${NAMES[@]}"; do
		[ $# -gt 0 ] || echo "$name"
		for pattern in "$@"; do
			# shellcheck disable=SC2053
			[[ $name == $pattern ]] && echo "$name" && break
		done
	done
}

# run_alone NAME: a scenario, in a shell of its own, with errexit
run_alone() {
	set -e +m
	exec 3>&1 >"$WORK/topology.log"
	topo_ensure 2>&1
	exec >&3 3>&-
	# shellcheck disable=SC2086 # words
	${COMMAND_OF[$1]:-$1}
}

# end_late SECONDS GROUP: after that time takes a snapshot of the process group, and ends it
end_late() {
	sleep "$1"
	: >"$WORK/late"
	snapshot "$2"
	kill -TERM -- "-$2"
	sleep 3
	kill -KILL -- "-$2"
}

# run_bounded NAME: run_alone in a process group of its own. It leaves the group in GROUP, and the
# exit status in STATUS. The shell forks, because reading its files again takes half a second
# under emulation. No caller may be part of a condition, because errexit does not work there.
run_bounded() {
	local watch
	STATUS=0
	set -m
	(run_alone "$1") >"$WORK/scenario.log" 2>&1 </dev/null &
	GROUP=$!
	end_late "${SECONDS_OF[$1]}" "$GROUP" >/dev/null 2>&1 </dev/null &
	watch=$!
	set +m
	wait "$GROUP" || STATUS=$?
	kill -- "-$watch" 2>/dev/null
	wait "$watch" || :
}

kill_group() { until_true 5 not kill -9 -- "-$1"; }

# Each line is a complaint about what a scenario has left when its shell has ended.
complaints() {
	[ ! -e "$WORK/late" ] || echo "time-out"
	kill_group "$GROUP" || echo "a process cannot be killed:" \
		"$(pgrep -a -g "$GROUP" | head -3)"
	until_true 5 no_objects || echo "left behind: $(objects | tr '\n' ' ')"
	dmesg --read-clear >"$WORK/dmesg.log"
	[[ ! $(<"$WORK/dmesg.log") =~ $SPLAT ]] ||
		grep -E "$SPLAT" "$WORK/dmesg.log" | head -5 | sed 's/^/kernel: /'
}

show_log() {
	[ -s "$1" ] || return 0
	printf '# --- %s\n' "${1##*/}"
	tail -n 15 "$1" | cut -c1-180 | sed 's/^/# /'
}

# The scenario's own log comes first, because a summary shows only a few lines.
diagnose() {
	local log
	show_log "$WORK/scenario.log"
	for log in "$WORK"/*.log; do
		[ "${log##*/}" = scenario.log ] || show_log "$log"
	done
	[ ! -s "$WORK/snapshot" ] || head -n 60 "$WORK/snapshot" | cut -c1-500 | sed 's/^/# | /'
}

# run_scenario NUMBER NAME: prints one TAP line, and diagnostics of a failure, which it counts in
# failed
run_scenario() {
	local number=$1 name=$2 begin=${EPOCHREALTIME/./} bad ms
	export E2E_WORK=$STATE/$name E2E_STATE=$STATE
	export PORT=$((10000 + number * 100))
	WORK=$E2E_WORK
	[ ! -d "$WORK" ] || rm -r "$WORK"
	mkdir "$WORK"
	run_bounded "$name"
	bad=$(complaints)
	ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
	if [ "$STATUS" = 0 ] && [ -z "$bad" ]; then
		printf 'ok %d - %s (%d.%d s)\n' "$number" "$name" $((ms / 1000)) $((ms / 100 % 10))
		[ ! -s "$WORK/scenario.log" ] || grep -h '^# ' "$WORK/scenario.log"
		return
	fi
	printf 'not ok %d - %s (%d.%d s)\n' "$number" "$name" $((ms / 1000)) $((ms / 100 % 10))
	printf '# %s\n# exit status %s\n' "${TEXT_OF[$name]}" "$STATUS"
	# The scenario's own complaint is the last line there. Here it comes first.
	tail -n 1 "$WORK/scenario.log" | cut -c1-180 | sed 's/^\(# \)\?/# /'
	[ -z "$bad" ] || printf '# %s\n' "${bad//$'\n'/$'\n# '}"
	diagnose
	cp -r "$WORK" "$OUTDIR/" 2>/dev/null
	dirty
	failed=$((failed + 1))
}

# A program that starts with libibverbs loads all providers, sixteen with Debian's package, which
# is half of the time of its start. So only ours stays. (make demo leaves all of them in place.)
only_our_provider() {
	local all=/etc/libibverbs.d few=$STATE/providers
	[ "$TYPE" = mpa ] || return 0
	mkdir -p "$few"
	cp "$all/siw.driver" "$few"
	mount --bind "$few" "$all"
	# shellcheck disable=SC2064 # that folder
	trap "umount $all" EXIT
}

main() {
	local name number=0 failed=0 names
	mapfile -t names < <(chosen "$@")
	[ "${#names[@]}" -gt 0 ] || { echo "no such scenario: $*" >&2; exit 2; }
	mkdir -p "$STATE" "$OUTDIR"
	only_our_provider
	dmesg --clear
	dirty
	echo "TAP version 13"
	for name in "${names[@]}"; do
		number=$((number + 1))
		run_scenario "$number" "$name"
	done
	echo "1..$number"
	echo "# $((number - failed)) passed, $failed failed"
	[ "$failed" = 0 ]
}

case ${1:-} in
-l) list ;;
--tags) list_tags ;;
--snapshot) snapshot ;;
*) main "$@" ;;
esac
