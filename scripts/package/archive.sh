#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# archive.sh [DIR]: makes the archive of the source from which the packages of all distributions are
# built, in build/dist or that folder. Prints its path. It needs tar and xz only. The archive depends
# on the files, not on times and not on the user.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$TOP"

# The part of the tree that the packages are made of
PARTS=(Kbuild Makefile dkms.conf COPYING README README.rst CONTRIBUTING.rst SECURITY.rst CHANGELOG.rst
	Documentation include drivers packaging scripts/ci/cdi.sh)

# Files that a build of the module leaves behind are no source.
LEFT_OVER=(--exclude='*.o' --exclude='*.ko' --exclude='*.mod' --exclude='*.mod.c' --exclude='.*')

out=${1:-$BUILD/dist}
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
time=$(sed -n '/^ -- /{s/.*>  //p;q}' packaging/debian/changelog)
mkdir -p "$out"
archive=$out/rdma-mpa_$version.orig.tar.xz
tar "${LEFT_OVER[@]}" --exclude=packaging/debian \
	--sort=name --mtime="$time" --owner=0 --group=0 --numeric-owner \
	--mode=u=rwX,go=rX --transform="s,^,rdma-mpa-$version/," -cf - "${PARTS[@]}" |
	xz -T1 > "$archive"
echo "$archive"
