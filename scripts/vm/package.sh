#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# package.sh VERSION: prints a folder with Debian's kernel of that version (6.12), as
# it comes in packages: bzImage, headers/ (external modules build there),
# lib/modules/RELEASE/ and a file named release, as in kernel.sh's.
#
# The packages are fetched by name with apt from this machine's own sources (120 MB)
# and unpacked below build/. Nothing is installed: a machine on which somebody runs
# the tests boots tomorrow what it booted today.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

[ $# = 1 ] || die "usage: package.sh VERSION"
meta=linux-image-$1-amd64

# The release that the metapackage stands for; empty if apt does not know it
release_of() {
	apt-cache show --no-all-versions "$meta" 2> /dev/null |
		sed -n 's/^Depends: linux-image-\([^ ,]*\).*/\1/p'
}

find_release() {
	local release
	release=$(release_of)
	if [ -z "$release" ] && [ "$(id -u)" = 0 ]; then
		run_logged "$BUILD/vm/package.log" apt-get -qq update
		release=$(release_of)
	fi
	[ -n "$release" ] ||
		die "apt does not know $meta (apt-get update; in Debian 12 it is in security)"
	echo "$release"
}

# shellcheck disable=SC2317 # called by run_logged
fetch() {
	cd "$1" && apt-get -qq -o APT::Sandbox::User=root download "${@:2}"
}

# arrange DIR RELEASE: what was unpacked there, as a pack. Without vmlinux no BTF is
# made for modules, which would want pahole.
arrange() {
	local dir=$1 release=$2
	local headers=usr/src/linux-headers-$release
	mv "$dir/boot/vmlinuz-$release" "$dir/bzImage"
	rm -f "$dir/lib/modules/$release"/{build,source} "$dir/$headers/vmlinux"
	sed -i 's|^include /usr/src/|include ../|' "$dir/$headers/Makefile"
	ln -s "$headers" "$dir/headers"
	depmod -b "$dir" "$release"
	echo "$release" > "$dir/release"
}

mkdir -p "$BUILD/vm"
release=$(find_release)
dir=$BUILD/vm/package-$release
if [ ! -e "$dir/release" ]; then
	common=${release%-amd64}
	work=$(mktemp -d "$BUILD/vm/package.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	mkdir "$work/got" "$work/pack"
	step "fetching Debian's kernel $release, to build/vm"
	run_logged "$BUILD/vm/package.log" fetch "$work/got" "linux-image-$release" \
		"linux-headers-$release" "linux-headers-$common-common" \
		"linux-kbuild-$common"
	for deb in "$work"/got/*.deb; do
		dpkg-deb -x "$deb" "$work/pack"
	done
	arrange "$work/pack" "$release"
	rm -rf "$dir"
	mv -T "$work/pack" "$dir"
fi
echo "$dir"
