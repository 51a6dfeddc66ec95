#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# kernels.sh               builds the module for every kernel of the supported series
#                          of which apt offers the headers
# kernels.sh ends          only for the oldest and the newest of each series, without sid, and
#                          by DKMS only for the newest of each suite
# kernels.sh NAME...       for these releases (6.1.0-47-amd64), or all of a suite (trixie)
#
# By hand and by DKMS. Prints TAP, and a table at its end; a warning is a failure. The headers
# are fetched by name with apt, 13 MB for the first flavour of a release and 2 MB for the
# others, kept in the cache ($XDG_CACHE_HOME/rdma_mpa/headers, ~/.cache/rdma_mpa/headers) and
# unpacked below build/. Nothing is installed. Without a network those in the cache are used.
#
# For kernels of another release of Debian than this machine's it builds in a small
# system of that release, with its compiler (vm/suite.sh). If a suite cannot be had it says so,
# and that is a failure if the suite was asked for by name.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The suite, and its packages with the headers of one release: not a metapackage, not the
# common part.
SERIES='bookworm 6\.1\.0-[0-9]+
bookworm 6\.12\.[0-9]+\+deb12
trixie 6\.12\.[0-9]+\+deb13
trixie 7\.[0-9]+\.[0-9]+\+deb13
sid [67]\.[0-9]+\.[0-9]+\+deb14'

cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma_mpa/headers
number=0 failed=0
own=$(own_suite)
rows=()

# ready SUITE: makes sure that its system is there, with DKMS
ready() {
	local log=$BUILD/headers/$1.log
	[ "$1" != "$own" ] || return 0
	in_suite "$1" sh -c '
		dpkg -s dkms > /dev/null 2>&1 && exit
		export DEBIAN_FRONTEND=noninteractive
		apt-get -qq update
		exec apt-get -qq install -y --no-install-recommends dkms' > "$log" 2>&1
}

# Fetches its newest lists, if they can be had. For the ends those of the last time are enough.
renew() {
	[ "$1" = "$own" ] || in_suite "$1" apt-get -qq update >> "$BUILD/headers/$1.log" 2>&1 || true
}

# offered SUITE PATTERN: releases of a series, oldest first
offered() {
	{
		in_suite "$1" apt-cache pkgnames linux-headers- 2> /dev/null |
			sed 's/^linux-headers-//'
		find "$cache" -name 'linux-headers-*' -printf '%f\n' 2> /dev/null |
			sed 's/^linux-headers-//; s/_.*//'
	} | grep -xE "($2)((-cloud|-rt)?-amd64)" | sort -uV
}

# The oldest and the newest of the flavour that most machines run
ends_of() {
	offered "$@" | grep -vE -- '-(cloud|rt)-amd64' | sed -n '1p;$p' | uniq
}

suite_of() {
	case $1 in
	*+deb14-*) echo sid ;;
	*+deb13-*) echo trixie ;;
	*) echo bookworm ;;
	esac
}

# each_series COMMAND SUITE: runs COMMAND for each series of the suite; prints "SUITE RELEASE" lines
each_series() {
	local suite series
	while read -r suite series; do
		[ "$suite" != "$2" ] || "$1" "$suite" "$series" | sed "s/^/$suite /"
	done <<< "$SERIES"
}

# suite_kernels COMMAND SUITE [named]: the same, or a line with "none" if the suite cannot be had
suite_kernels() {
	local found=''
	if ready "$2"; then
		[ "$1" = ends_of ] || renew "$2"
		found=$(each_series "$1" "$2") || true
	fi
	if [ -n "$found" ]; then
		echo "$found"
	else
		echo "$2 none ${3:-}"
	fi
}

chosen() {
	local name suite command=offered
	case ${1:-all} in
	all | ends)
		[ "${1:-all}" = all ] || command=ends_of
		for suite in bookworm trixie sid; do
			[ "$command$suite" = ends_ofsid ] || suite_kernels $command "$suite"
		done
		;;
	*)
		for name in "$@"; do
			case $name in
			bookworm | trixie | sid) suite_kernels offered "$name" named ;;
			*) echo "$(suite_of "$name") $name" ;;
			esac
		done
		;;
	esac
}

# The names of the packages with a release's headers. The tools of 6.1 are one package for the
# whole series; from 7.x on rt kernels share the common part.
packages() {
	local version=${1%-amd64}
	version=${version%-cloud}
	version=${version%-rt}
	echo "linux-headers-$1"
	case $1 in
	6.*-rt-*) echo "linux-headers-$version-common-rt" ;;
	*) echo "linux-headers-$version-common" ;;
	esac
	case $version in
	6.1.0-*) echo linux-kbuild-6.1 ;;
	*) echo "linux-kbuild-$version" ;;
	esac
}

# have PACKAGE: the newest file of it in the cache
have() { find "$cache" -name "${1}_*.deb" 2> /dev/null | sort -V | tail -n 1; }

# fetch SUITE PACKAGE: to the cache, unless it is there
fetch() {
	[ -z "$(have "$2")" ] || return 0
	(
		cd "$work"
		in_suite "$1" apt-get -qq -o APT::Sandbox::User=root download "$2" &&
			mv -- *.deb "$cache"
	) >> "$BUILD/headers/fetch.log" 2>&1
}

# unpack SUITE RELEASE: prints the folder to build in. vmlinux is removed, so that no BTF is made,
# because that would need pahole.
unpack() {
	local release=$2 dir=$BUILD/headers/$2 package
	if [ ! -e "$dir/done" ]; then
		rm -rf "$dir"
		mkdir -p "$dir"
		for package in $(packages "$release"); do
			fetch "$1" "$package" || return
			dpkg-deb -x "$(have "$package")" "$dir"
		done
		# shellcheck disable=SC2016 # make knows it
		sed -i -e 's|^include /usr/src/|include ../|' \
			-e 's|^KBUILD_OUTPUT=.*|KBUILD_OUTPUT=$(CURDIR)|' \
			"$dir/usr/src/linux-headers-$release/Makefile"
		rm -f "$dir/usr/src/linux-headers-$release/vmlinux"
		: > "$dir/done"
	fi
	echo "$dir/usr/src/linux-headers-$release"
}

# Copies the part of the tree that a build needs, as DKMS wants it: in a folder NAME-VERSION
copy_for_dkms() {
	mkdir -p "$work/src/rdma_mpa-$version"
	(cd "$TOP" && find Kbuild Makefile dkms.conf include drivers -type f \
		! -name '*.o' ! -name '.*.cmd' -exec cp -p --parents -t "$work/src/rdma_mpa-$version" {} +)
}

# by_hand SUITE RELEASE FOLDER
by_hand() {
	cp -r "$work/src/rdma_mpa-$version" "$work/hand"
	in_suite "$1" make -C "$work/hand" KDIR="$3" -j"$(nproc)" modules
}

by_dkms() {
	mkdir "$work/tree"
	in_suite "$1" dkms build "rdma_mpa/$version" -k "$2" --arch x86_64 \
		--kernelsourcedir "$3" --dkmstree "$work/tree" --sourcetree "$work/src" || {
		cat "$work/tree/rdma_mpa/$version"/build/make.log
		return 1
	}
}

# attempt TEXT COMMAND...: a build, which has to succeed without a warning; its result
# is also in $verdict
attempt() {
	local text=$1 status=0
	shift
	"$@" > "$work/log" 2>&1 || status=$?
	! grep -q 'warning:' "$work/log" || status=1
	verdict=ok
	[ "$status" = 0 ] || verdict=FAILED
	result "$status" "$text" "$work/log"
}

# The compiler that the module itself names
compiler() {
	readelf -p .comment "$work/hand/rdma_mpa.ko" 2> /dev/null |
		sed -n 's/.*GCC: (.*) \([0-9.]*\)$/gcc \1/p' | head -n 1
}

# row SUITE RELEASE PACKAGE COMPILER RESULT: for the table
row() {
	rows+=("$(printf '# %-9s %-28s %-22s %-11s %s' "$@")")
}

build_for() {
	local suite=$1 release=$2 dir package hand verdict
	if ! dir=$(unpack "$suite" "$release"); then
		result 1 "headers of $release" "$BUILD/headers/fetch.log"
		row "$suite" "$release" '-' '-' 'apt cannot fetch the headers'
		return
	fi
	package=$(have "linux-headers-$release")
	package=${package##*/}
	package=${package#*_}
	attempt "the module builds for $release" by_hand "$suite" "$release" "$dir"
	hand="by hand $verdict"
	if [ "$few" = '' ] || [ "${newest[$suite]}" = "$release" ]; then
		attempt "and by DKMS" by_dkms "$suite" "$release" "$dir"
		hand+=", by DKMS $verdict"
	fi
	row "$suite" "$release" "${package%_*.deb}" "$(compiler)" "$hand"
	rm -rf "$work/hand" "$work/tree"
}

# without SUITE [named]
without() {
	local log=$BUILD/headers/$1.log
	if [ -n "${2:-}" ]; then
		result 1 "the headers of Debian $1" "$log"
	else
		echo "# nothing is built for Debian $1: apt cannot read its lists, or has no headers there"
		grep '^E: ' "$log" 2> /dev/null | head -n 3 | sed 's/^/# /' || true
	fi
	row "$1" - - - 'could not be read'
}

"$TOP/scripts/deps.sh" kernels
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$TOP/dkms.conf")
mkdir -p "$BUILD/headers" "$cache"
: > "$BUILD/headers/fetch.log"
work=$(mktemp -d "$BUILD/headers/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
copy_for_dkms
mapfile -t kernels < <(chosen "$@")
declare -A newest=()
for kernel in "${kernels[@]}"; do
	read -r suite release _ <<< "$kernel"
	newest[$suite]=$release
done
few=''
[ "${1:-}" != ends ] || few=yes
row suite release package compiler result
echo "TAP version 13"
for kernel in "${kernels[@]}"; do
	read -r suite release named <<< "$kernel"
	if [ "$release" = none ]; then
		without "$suite" "$named"
	else
		build_for "$suite" "$release"
	fi
done
echo "1..$number"
printf '%s\n' "${rows[@]}"
[ $number -gt 0 ] || die "apt knows no headers of a kernel that we support (apt-get update)"
[ $failed = 0 ]
