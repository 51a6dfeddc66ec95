#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# siw.sh [crc]: builds the kernel's own software iWARP driver, our peer in the
# interoperation tests, for the guests' kernel, and prints the path of siw.ko.
# Debian does not ship it; the source comes from the linux-source package.
#
# With "crc": siw-crc.ko, the same module with CRC asked for. siw has that as a
# constant, so it is changed in the copy we build.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

case ${1:-} in
'') file=siw.ko ;;
crc) file=siw-crc.ko ;;
*) die "usage: siw.sh [crc]" ;;
esac
release=$(guest_release)
kdir=$(guest_kdir)
source=$("$TOP/scripts/ksrc.sh" "$release")/drivers/infiniband/sw/siw
dir=$BUILD/siw/$release

build_variant() {
	run_logged "$dir/$1.log" make -C "$kdir" M="$dir/src" \
		CONFIG_RDMA_SIW=m -j"$(nproc)" modules
	cp "$dir/src/siw.ko" "$dir/$1.new"
}

# Both variants share one build folder: the second compiles one file.
build() {
	step "building siw for $release as a peer (15 s)"
	rm -rf "$dir"
	mkdir -p "$dir"
	cp -r "$source" "$dir/src"
	build_variant siw.ko
	sed -i 's/^const bool mpa_crc_required;/const bool mpa_crc_required = true;/' \
		"$dir/src/siw_main.c"
	grep -q 'mpa_crc_required = true' "$dir/src/siw_main.c" ||
		die "siw_main.c has no mpa_crc_required to change"
	build_variant siw-crc.ko
	mv "$dir/siw.ko.new" "$dir/siw.ko"
	mv "$dir/siw-crc.ko.new" "$dir/siw-crc.ko"
}

if [ ! "$dir/siw-crc.ko" -nt "$kdir/Module.symvers" ] ||
	[ ! "$dir/siw-crc.ko" -nt "$source/../../../.." ]; then
	build
fi
echo "$dir/$file"
