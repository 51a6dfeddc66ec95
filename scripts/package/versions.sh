#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# versions.sh [MODULE.ko]: prints each file whose version is not that of dkms.conf, and fails
# if there is any. The module takes its version from there when it is built.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$TOP"

# version_in FILE: the version that a file has
version_in() {
	case $1 in
	*/changelog) sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' "$1" ;;
	*.spec) sed -n 's/^Version: *//p' "$1" ;;
	*/PKGBUILD) sed -n 's/^pkgver=//p' "$1" ;;
	CHANGELOG.rst) grep -m 1 '^[0-9]' "$1" ;;
	*.ko) modinfo -F version "$1" ;;
	esac
}

wanted=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
wrong=0
for file in CHANGELOG.rst packaging/{debian/changelog,rdma-mpa.spec,PKGBUILD} "$@"; do
	version=$(version_in "$file" || true)
	[ "$version" = "$wanted" ] && continue
	echo "$file: the version is ${version:-missing}, and in dkms.conf it is $wanted"
	wrong=1
done
exit $wrong
