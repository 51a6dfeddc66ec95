#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# package.sh VERSION: prints a folder with Debian's kernel of that version (6.12, 7.3), as
# it comes in packages: bzImage, headers/ (external modules build there),
# lib/modules/RELEASE/ and a file named release, as in kernel.sh's. A file named suite names the
# release in whose system (suite.sh) modules for it must be built, if that is not ours.
#
# The packages are fetched by name with apt (120 MB), 6.12 from this machine's own sources,
# 7.x from the backports of Debian 13, kept in the cache ($XDG_CACHE_HOME/rdma_mpa,
# ~/.cache/rdma_mpa), and unpacked below build/. Nothing is installed, so that running the tests
# does not change which kernel this machine boots. Without a network the packages in the cache
# are used.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

[ $# = 1 ] || die "usage: package.sh VERSION"
version=$1
meta=linux-image-$1-amd64
case $1 in
7.*) suite=trixie ;;
*) suite='' ;;
esac
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma_mpa/$meta # in it a folder for a release

# Runs a command of apt where apt knows the kernel
with_apt() {
	if [ -n "$suite" ]; then
		"$TOP/scripts/vm/suite.sh" "$suite" "$@"
	else
		"$@"
	fi
}

# The release that the metapackage depends on, or the newest one where there is no metapackage;
# empty if apt knows none
release_of() {
	if [ -n "$suite" ]; then
		with_apt apt-cache pkgnames "linux-binary-$version." | sed 's/^linux-binary-//' |
			grep -x "$version\.[0-9]*+deb[0-9]*-amd64" | sort -V | tail -n 1 || true
		return
	fi
	# A release's own series has a metapackage without a number.
	apt-cache show --no-all-versions "$meta" linux-image-amd64 2> /dev/null |
		sed -n "s/^Depends: linux-image-\($version\.[^ ,]*\).*/\1/p" | head -n 1 || true
}

# Fetches the packages of $release to the cache
fetch() {
	local common=${release%-amd64} names=("linux-image-$release")
	[ -n "$release" ] || return
	[ ! -d "$cache/$release" ] || return 0
	step "fetching Debian's kernel $release (120 MB)"
	[ -z "$suite" ] || names=("linux-binary-$release" "linux-modules-$release" "linux-base-$release")
	rm -rf "$work/got"
	mkdir "$work/got"
	(
		cd "$work/got"
		with_apt apt-get -qq -o APT::Sandbox::User=root download "${names[@]}" \
			"linux-headers-$release" "linux-headers-$common-common" \
			"linux-kbuild-$common"
	) > "$BUILD/vm/package.log" 2>&1 || return
	rm -rf "$cache"
	mkdir -p "$cache"
	mv "$work/got" "$cache/$release"
}

# Fetches the newest release. If that fails it tries again with fresh lists, because the lists
# of a fresh machine are empty and those of an old one name packages that are gone.
fetch_newest() {
	release=$(release_of)
	! fetch || return 0
	if [ "$(id -u)" = 0 ]; then
		step "that failed; once more with fresh package lists"
		with_apt apt-get -qq update > "$BUILD/vm/package.log" 2>&1 || true
		release=$(release_of)
		! fetch || return 0
	fi
	release=$(find "$cache" -mindepth 1 -maxdepth 1 -printf '%f\n' 2> /dev/null || true)
	[ -n "$release" ] || die "apt cannot fetch the packages of $meta (apt-get update;" \
		"in Debian 12 it is in security); the log is build/vm/package.log"
	step "apt has nothing; taking $release from the cache"
}

# arrange DIR: makes a pack of the packages unpacked there. vmlinux is removed, so that no BTF is
# made for modules, because that would need pahole.
arrange() {
	local dir=$1 headers=usr/src/linux-headers-$release
	if [ -n "$suite" ]; then
		mkdir "$dir/lib"
		mv "$dir/usr/lib/modules" "$dir/lib"
		mv "$dir/lib/modules/$release/vmlinuz" "$dir/bzImage"
		echo "$suite" > "$dir/suite"
	else
		mv "$dir/boot/vmlinuz-$release" "$dir/bzImage"
	fi
	rm -f "$dir/lib/modules/$release"/{build,source} "$dir/$headers/vmlinux"
	# shellcheck disable=SC2016 # make knows it
	sed -i -e 's|^include /usr/src/|include ../|' \
		-e 's|^KBUILD_OUTPUT=.*|KBUILD_OUTPUT=$(CURDIR)|' "$dir/$headers/Makefile"
	ln -s "$headers" "$dir/headers"
	depmod -b "$dir" "$release"
	echo "$release" > "$dir/release"
}

mkdir -p "$BUILD/vm"
work=$(mktemp -d "$BUILD/vm/package.XXXXXX")
trap 'rm -rf "$work"' EXIT
fetch_newest
dir=$BUILD/vm/package-$release
if [ ! -e "$dir/release" ]; then
	mkdir "$work/pack"
	for deb in "$cache/$release"/*.deb; do
		dpkg-deb -x "$deb" "$work/pack"
	done
	arrange "$work/pack"
	rm -rf "$dir"
	mv -T "$work/pack" "$dir"
fi
echo "$dir"
