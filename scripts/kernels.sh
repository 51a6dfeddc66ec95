#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# kernels.sh               builds the module for every kernel of the series that we
#                          support of which apt offers the headers
# kernels.sh ends          only for the oldest and the newest of each series
# kernels.sh RELEASE...    for these (6.1.0-47-amd64)
#
# By hand and by DKMS. Prints TAP; a warning is a failure. The headers are fetched by name
# with apt, 13 MB for the first flavour of a release and 2 MB for the others, kept in the
# cache ($XDG_CACHE_HOME/rdma_mpa/headers, ~/.cache/rdma_mpa/headers) and unpacked below
# build/. Nothing is installed. Without a network those of the cache will do.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# A package with the headers of one release: not a metapackage, not its common part.
SERIES='6\.1\.0-[0-9]+ 6\.12\.[0-9]+\+deb[0-9]+'

cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma_mpa/headers
number=0 failed=0

# offered [PATTERN]: releases of a series, oldest first
offered() {
	{
		apt-cache pkgnames linux-headers- 2> /dev/null | sed 's/^linux-headers-//'
		find "$cache" -name 'linux-headers-*' -printf '%f\n' 2> /dev/null |
			sed 's/^linux-headers-//; s/_.*//'
	} | grep -xE "($1)((-cloud|-rt)?-amd64)" | sort -uV
}

# The oldest and the newest of the flavour that most machines run
ends_of() {
	offered "$1" | grep -vE -- '-(cloud|rt)-amd64' | sed -n '1p;$p' | uniq
}

chosen() {
	local series
	case ${1:-all} in
	all) for series in $SERIES; do offered "$series"; done ;;
	ends) for series in $SERIES; do ends_of "$series"; done ;;
	*) printf '%s\n' "$@" ;;
	esac
}

# The four packages that a release's headers are, by name. 6.1's tools are one package for
# all of the series.
packages() {
	local version=${1%-amd64}
	version=${version%-cloud}
	version=${version%-rt}
	echo "linux-headers-$1"
	case $1 in
	*-rt-*) echo "linux-headers-$version-common-rt" ;;
	*) echo "linux-headers-$version-common" ;;
	esac
	case $version in
	6.1.0-*) echo linux-kbuild-6.1 ;;
	*) echo "linux-kbuild-$version" ;;
	esac
}

# have PACKAGE: the newest file of it in the cache
have() { find "$cache" -name "${1}_*.deb" 2> /dev/null | sort -V | tail -n 1; }

# fetch PACKAGE: to the cache, unless it is there
fetch() {
	[ -z "$(have "$1")" ] || return 0
	(cd "$cache" && apt-get -qq -o APT::Sandbox::User=root download "$1") \
		>> "$BUILD/headers/fetch.log" 2>&1
}

# unpack RELEASE: prints the folder to build in. Without vmlinux no BTF is made, which
# would want pahole.
unpack() {
	local release=$1 dir=$BUILD/headers/$1 package
	if [ ! -e "$dir/done" ]; then
		rm -rf "$dir"
		mkdir -p "$dir"
		for package in $(packages "$release"); do
			fetch "$package" || return
			dpkg-deb -x "$(have "$package")" "$dir"
		done
		sed -i 's|^include /usr/src/|include ../|' \
			"$dir/usr/src/linux-headers-$release/Makefile"
		rm -f "$dir/usr/src/linux-headers-$release/vmlinux"
		: > "$dir/done"
	fi
	echo "$dir/usr/src/linux-headers-$release"
}

# What of the tree a build needs, as DKMS wants it: in a folder NAME-VERSION
copy_source() {
	mkdir -p "$work/src/rdma_mpa-$version"
	(cd "$TOP" && find Kbuild Makefile dkms.conf include drivers -type f \
		! -name '*.o' ! -name '.*.cmd' -exec cp -p --parents -t "$work/src/rdma_mpa-$version" {} +)
}

by_hand() {
	cp -r "$work/src/rdma_mpa-$version" "$work/hand"
	make -C "$work/hand" KDIR="$2" -j"$(nproc)" modules
}

by_dkms() {
	mkdir "$work/tree"
	dkms build "rdma_mpa/$version" -k "$1" --arch x86_64 --kernelsourcedir "$2" \
		--dkmstree "$work/tree" --sourcetree "$work/src" || {
		cat "$work/tree/rdma_mpa/$version"/build/make.log
		return 1
	}
}

# result OK TEXT LOG
result() {
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $number - $2"
	grep -E 'error|warning|Error' "$3" | head -n 20 | sed 's/^/# /' || true
}

# attempt TEXT COMMAND...: a build, which has to end well and without a warning
attempt() {
	local text=$1 status=0
	shift
	"$@" > "$work/log" 2>&1 || status=$?
	! grep -q 'warning:' "$work/log" || status=1
	result "$status" "$text" "$work/log"
}

build_for() {
	local release=$1 dir
	if ! dir=$(unpack "$release"); then
		result 1 "headers of $release" "$BUILD/headers/fetch.log"
		return
	fi
	attempt "the module builds for $release" by_hand "$release" "$dir"
	attempt "and by DKMS" by_dkms "$release" "$dir"
	rm -rf "$work/hand" "$work/tree"
}

"$TOP/scripts/deps.sh" kernels
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$TOP/dkms.conf")
mkdir -p "$BUILD/headers" "$cache"
: > "$BUILD/headers/fetch.log"
work=$(mktemp -d "$BUILD/headers/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
copy_source
mapfile -t releases < <(chosen "$@")
[ "${#releases[@]}" -gt 0 ] ||
	die "apt knows no headers of a kernel that we support (apt-get update)"
echo "TAP version 13"
for release in "${releases[@]}"; do
	build_for "$release"
done
echo "1..$number"
[ $failed = 0 ]
