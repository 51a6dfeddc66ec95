#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# suite.sh SUITE COMMAND...: runs COMMAND, as root, in a small system of that release of
# Debian (bookworm, trixie, sid), whose packages have other kernels and the compilers that build
# modules for them. This tree and the working folder are at the same places in it.
#
# debootstrap makes the system once (600 MB, two minutes) from this machine's own mirror,
# in the cache ($XDG_CACHE_HOME/rdma_mpa, ~/.cache/rdma_mpa).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

[ $# -gt 1 ] || die "usage: suite.sh SUITE COMMAND..."
suite=$1
shift
case $suite in
bookworm) tools=gcc-12,libelf1,libssl3 ;;
trixie) tools=gcc-14,libelf1t64,libssl3t64 ;;
sid) tools=gcc-16,libelf1t64,libssl3t64 ;;
*) die "unknown suite: $suite" ;;
esac
[ "$(id -u)" = 0 ] || die "only root can make a system of $suite"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma_mpa
root=$cache/$suite

make_root() {
	local uri new=$root.new log=$BUILD/vm/suite.log
	uri=$(debian_mirror)
	[ -n "$uri" ] || die "apt knows no mirror of Debian (apt-get update)"
	mkdir -p "$BUILD/vm" "$cache"
	"$TOP/scripts/deps.sh" suite
	step "a small system of Debian $suite (two minutes, once; log: build/vm/suite.log)"
	rm -rf "$new"
	run_logged "$log" debootstrap --variant=minbase \
		--include="$tools,make,libc6-dev,kmod,pahole" \
		"$suite" "$new" "$uri"
	{
		debian_sources "$suite"
		[ "$suite" != trixie ] || echo "deb $uri trixie-backports main"
	} > "$new/etc/apt/sources.list"
	apt_settings_for "$new"
	run_logged "$log" chroot "$new" apt-get -qq update
	mv -T "$new" "$root"
}

# The tree may be anywhere. The mounts end with this process, which has a mount namespace of its
# own.
enter() {
	mount -t proc proc "$root/proc"
	mkdir -p "$root$TOP"
	mount --bind "$TOP" "$root$TOP"
	exec chroot "$root" env -C "$PWD" "$@"
}

mkdir -p "$cache"
exec 9> "$root.lock"
flock 9
[ -d "$root" ] || make_root >&2
exec 9>&-
apt_settings_for "$root"
case $PWD/ in
"$TOP"/*) ;;
*) cd "$TOP" ;;
esac
export root TOP
export -f enter
exec unshare -m bash -c 'enter "$@"' enter "$@"
