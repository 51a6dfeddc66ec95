#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# deb.sh: builds the Debian packages, source and binary, in build/deb. It builds from scratch, in
# a copy of the files that the packages are made of. Prints the paths of the binary packages.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$TOP"

OUT=$BUILD/deb

# The part of the tree that the packages are made of
PARTS=(Kbuild Makefile dkms.conf COPYING README README.rst SECURITY.rst CHANGELOG.rst
	Documentation include drivers packaging)

# Files that a build of the module leaves behind are no source.
LEFT_OVER=(--exclude='*.o' --exclude='*.ko' --exclude='*.mod' --exclude='*.mod.c' --exclude='.*')

# The archive of the source depends on the files only, not on times and not on the user.
make_archive() {
	local epoch
	epoch=$(dpkg-parsechangelog -l packaging/debian/changelog -S Timestamp)
	tar "${LEFT_OVER[@]}" --exclude=packaging/debian \
		--sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner \
		--mode=u=rwX,go=rX --transform="s,^,rdma-mpa-$version/," -cf - "${PARTS[@]}" |
		xz -T1 > "$OUT/rdma-mpa_$version.orig.tar.xz"
}

"$TOP/scripts/deps.sh" package
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
scripts/package/versions.sh || die "change the version that is wrong"
step "building the packages in build/deb (log: build/deb/build.log)"
rm -rf "$OUT"
mkdir -p "$OUT"
make_archive
tar -C "$OUT" -xf "$OUT/rdma-mpa_$version.orig.tar.xz"
cp -r packaging/debian "$OUT/rdma-mpa-$version/debian"
cd "$OUT/rdma-mpa-$version"
run_logged "$OUT/build.log" dpkg-buildpackage -us -uc
ls "$OUT"/*.deb
