#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# ksrc.sh [RELEASE]: unpacks what we use of the linux-source package that belongs
# to RELEASE (default: the guests' kernel) and prints the folder: siw, the KUnit
# framework, checkpatch and kernel-doc. Header packages have none of them.
# One pass over the archive (10 s) for all, kept until the package changes.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

release=${1:-$(guest_release)}
version=$(cut -d . -f 1-2 <<< "$release")
name=linux-source-$version
archive=/usr/src/$name.tar.xz
[ -r "$archive" ] || die "no $archive (apt-get install $name)"

dir=$BUILD/ksrc/$name-$(stat -c %Y "$archive")
if [ ! -d "$dir" ]; then
	step "unpacking siw, KUnit and the style checkers from $name (15 s)"
	mkdir -p "$BUILD/ksrc"
	temp=$(mktemp -d "$BUILD/ksrc/unpack.XXXXXX")
	trap 'rm -rf "$temp"' EXIT
	tar -xf "$archive" -C "$temp" --strip-components=1 \
		"$name"/drivers/infiniband/sw/siw "$name"/lib/kunit \
		"$name"/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch,kernel-doc}
	mv -T "$temp" "$dir"
fi
echo "$dir"
