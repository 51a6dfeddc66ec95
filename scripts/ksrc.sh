#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# ksrc.sh [RELEASE]: unpacks the parts that we use of the linux-source package that belongs
# to RELEASE (default: the guests' kernel) and prints the folder: siw, the KUnit framework, and of
# this machine's own series checkpatch and kernel-doc. Header packages have none of them.
#
# The package of this series is installed (deps.sh), and unpacked in one pass (10 s) for all uses,
# once until it changes. The package of a newer kernel is fetched by name with apt (160 MB), from
# where the kernel is (vm/package.sh). Only the parts that we use are kept, in the cache
# ($XDG_CACHE_HOME/rdma_mpa, ~/.cache/rdma_mpa), and nothing is installed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

release=${1:-$(guest_release)}
version=$(cut -d . -f 1-2 <<< "$release")
name=linux-source-$version
archive=/usr/src/$name.tar.xz
files=("$name"/drivers/infiniband/sw/siw "$name"/lib/kunit)

with_apt() {
	local suite=''
	[ -z "${GUEST_PACK:-}" ] || suite=$(cat "$GUEST_PACK/suite" 2> /dev/null || true)
	if [ -n "$suite" ]; then
		"$TOP/scripts/vm/suite.sh" "$suite" "$@"
	else
		"$@"
	fi
}

# fetch UPSTREAM FILE: of the package with that version of the kernel, to FILE
fetch() {
	local full log=$BUILD/ksrc/fetch.log
	full=$(with_apt apt-cache show "$name" 2> "$log" | sed -n 's/^Version: //p' |
		grep -m 1 "^${1//./\\.}-" || true)
	[ -n "$full" ] || die "apt has no $name of version $1 (apt-get update); siw and KUnit" \
		"for $release are built from it"
	step "fetching $name $full for siw and KUnit (160 MB)"
	(
		cd "$temp"
		with_apt apt-get -qq -o APT::Sandbox::User=root download "$name=$full"
	) > "$log" 2>&1 || die "apt cannot fetch $name $full; the log is build/ksrc/fetch.log"
	dpkg-deb --fsys-tarfile "$temp/$name"_*.deb | tar -xO "./usr/src/$name.tar.xz" |
		tar -xJ -C "$temp" "${files[@]}"
	mkdir -p "$(dirname "$2")"
	tar -C "$temp" -cJf "$2.$$" "$name"
	mv "$2.$$" "$2"
	rm -rf "${temp:?}"/*
}

mkdir -p "$BUILD/ksrc"
temp=$(mktemp -d "$BUILD/ksrc/unpack.XXXXXX")
trap 'rm -rf "$temp"' EXIT
own=$(stock_series)
if [ "$version" = "${own:-6.1}" ]; then
	[ -r "$archive" ] || die "no $archive (apt-get install $name)"
	files+=("$name"/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch,kernel-doc})
	dir=$BUILD/ksrc/$name-$(stat -c %Y "$archive")
else
	upstream=${release%%[+-]*}
	archive=${XDG_CACHE_HOME:-$HOME/.cache}/rdma_mpa/ksrc-$upstream.tar.xz
	[ -e "$archive" ] || fetch "$upstream" "$archive"
	dir=$BUILD/ksrc/linux-$upstream
fi
if [ ! -d "$dir" ]; then
	step "unpacking siw and KUnit of $(basename "$archive") (15 s)"
	tar -xf "$archive" -C "$temp" --strip-components=1 "${files[@]}"
	mv -T "$temp" "$dir"
fi
echo "$dir"
