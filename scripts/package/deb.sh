#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# deb.sh: builds the Debian packages, source and binary, in build/deb. It builds from scratch, in
# a copy of the files that the packages are made of. Prints the paths of the binary packages.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$TOP"

OUT=$BUILD/deb

"$TOP/scripts/deps.sh" package
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
scripts/package/versions.sh || die "change the version that is wrong"
step "building the packages in build/deb (log: build/deb/build.log)"
rm -rf "$OUT"
mkdir -p "$OUT"
scripts/package/archive.sh "$OUT" > /dev/null
tar -C "$OUT" -xf "$OUT/rdma-mpa_$version.orig.tar.xz"
cp -r packaging/debian "$OUT/rdma-mpa-$version/debian"
cd "$OUT/rdma-mpa-$version"
run_logged "$OUT/build.log" dpkg-buildpackage -us -uc
ls "$OUT"/*.deb
