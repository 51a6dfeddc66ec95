#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# fresh.sh SUITE: tests the promises of README on a new and minimal system of that release of
# Debian (bookworm, trixie): debootstrap makes it below build/, this tree's last commit is
# cloned into it, and the commands under "Try it" are typed there. "make check" is
# cut short, to the unit tests, lint and two scenarios. Systems that are not Debian come last.
#
# Prints TAP, and writes the output of the commands to build/fresh/SUITE.log. What "make check"
# counted there goes to build/fresh/SUITE.results, for matrix.sh. The system, of 3 GB, is removed if
# all went well. The packages (700 MB) come from the archives that this machine's apt knows. It takes
# a quarter of an hour under emulation.
#
# SCENARIOS="NAME ..." names other scenarios, SCENARIOS=all types "make check" as it is, which takes
# half an hour more. E2E_SLOW=4 gives those named more time on a busy machine. FRESH_ROOT=DIR takes a
# system made before.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

SCENARIOS=${SCENARIOS:-link_add_delete rping_ipv4}
suite=${1:-}
case $suite in
bookworm | trixie) ;;
*) die "usage: make fresh-check SUITE=bookworm|trixie" ;;
esac
log=$BUILD/fresh/$suite.log
root=${FRESH_ROOT:-$BUILD/fresh/$suite}
number=0 failed=0

# Joined by "&&", because attempt() is called where set -e has no effect.
make_root() {
	local uri
	uri=$(debian_mirror)
	[ -n "$uri" ] || die "apt knows no mirror of Debian (apt-get update)"
	rm -rf "$root"
	# No service may start in a folder of this machine.
	debootstrap --variant=minbase "$suite" "$root" "$uri" &&
		debian_sources "$suite" > "$root/etc/apt/sources.list" &&
		apt_settings_for "$root" &&
		printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d" &&
		chmod +x "$root/usr/sbin/policy-rc.d"
}

# inside COMMAND...: runs it as root of that system, in the tree. It has processes and mounts of
# its own, which end with it. $OTHER: the os-release of another distribution, without apt, and
# without rping.
# shellcheck disable=SC2016 # bash in the new namespaces puts them in
inside() {
	unshare --mount --pid --fork --kill-child -- bash -euc '
		cd "$1"
		mount -t proc proc proc
		mount -t sysfs -o ro sysfs sys
		mount --rbind /dev dev
		mount -t tmpfs tmpfs dev/shm
		mount -t tmpfs tmpfs run
		path=/usr/sbin:/usr/bin:/sbin:/bin
		[ -z "${OTHER:-}" ] || {
			mount --bind "$OTHER" usr/lib/os-release
			mkdir run/bin
			ln -s /usr/bin/* run/bin
			rm run/bin/{apt-get,dpkg-query,rping}
			path=/run/bin:/usr/sbin
		}
		exec chroot . env -i "PATH=$path" HOME=/root TERM=dumb \
			bash -euc '\''cd /root/rdma_mpa; "$@"'\'' bash "${@:2}"
		' bash "$root" "$@" < /dev/null
}

# attempt TEXT COMMAND...: a result; the command's output goes to the log
attempt() {
	local text=$1 begin=$SECONDS status=0
	shift
	number=$((number + 1))
	{ echo; echo "### $text"; } >> "$log"
	("$@") >> "$log" 2>&1 || status=$?
	if [ "$status" = 0 ]; then
		echo "ok $number - $text ($((SECONDS - begin)) s)"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $number - $text ($((SECONDS - begin)) s)"
	tail -n 25 "$log" | sed 's/^/# /'
	return 1
}

clone() {
	rm -rf "$root/root/rdma_mpa" &&
		git clone -q "$TOP" "$root/root/rdma_mpa"
}

# The lines of README that a newcomer types
commands() {
	awk '/^Try it$/ { on = 1; next }
		on && /^    [a-z]/ { print substr($0, 5); some = 1; next }
		some && /^[^ ]/ { exit }' "$TOP/README.rst"
}

# type_commands: each is a result. make check is cut short, unless SCENARIOS is all.
type_commands() {
	local line
	while read -r line; do
		if [[ $SCENARIOS != all && $line == 'make check'* ]]; then
			attempt "make unit" inside make unit &&
				attempt "make lint" inside make lint &&
				attempt "make e2e" scenarios || return
		else
			attempt "$line" inside bash -euc "$line" || return
		fi
	done < <(commands)
}

# Only a whole "make check" leaves this file.
keep_results() {
	local file=$root/root/rdma_mpa/build/check/results
	[ ! -e "$file" ] || cp "$file" "$BUILD/fresh/$suite.results"
}

scenarios() {
	inside env "E2E_SLOW=${E2E_SLOW:-1}" make e2e "E2E=$SCENARIOS"
	grep -q "^$(wc -w <<< "$SCENARIOS") passed, 0 failed" "$log"
}

# Where names are not Debian's, deps.sh says what is missing, and stops.
other_distribution() {
	local out status=0
	printf '%s\n' 'PRETTY_NAME="Other Linux 1"' ID=other VERSION_ID=1 > "$root.other"
	out=$(OTHER=$root.other inside scripts/deps.sh check 2>&1) || status=$?
	rm "$root.other"
	echo "status $status: $out"
	[ "$status" != 0 ] &&
		[[ $out == *"this is Other Linux 1, neither"*": rdmacm-utils (no rping). Install"* ]]
}

[ "$(id -u)" = 0 ] || die "not root: only root can make a system of $suite"
git -C "$TOP" rev-parse -q --verify HEAD > /dev/null || die "this tree is no git repository to clone"
mkdir -p "$BUILD/fresh"
: > "$log"
rm -f "$BUILD/fresh/$suite.results"
"$TOP/scripts/deps.sh" suite
echo "TAP version 13"
if { [ -n "${FRESH_ROOT:-}" ] || attempt "a minimal system of $suite" make_root; } &&
	attempt "this tree is cloned" clone && type_commands; then
	attempt "on another distribution deps.sh says what is missing" other_distribution || true
fi
keep_results
echo "1..$number"
[ $failed = 0 ] || die "the log is build/fresh/$suite.log; FRESH_ROOT=$root looks again"
[ -n "${FRESH_ROOT:-}" ] || rm -rf --one-file-system "$root"
