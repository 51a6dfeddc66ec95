#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# initramfs.sh MODDIR: makes the small initramfs that brings the guest from
# kernel start to "this machine's root over 9p", and prints its path.
#
# It holds busybox, the modules for 9p over virtio-pci and overlayfs (none when
# the kernel has them built in), and stage1.sh as /init. Kept in build/vm under
# a name that hashes all it was made of, so a new kernel or a changed stage1.sh
# makes a new one and several VMs can share one.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

moddir=${1:?usage: initramfs.sh MODDIR}
release=${moddir##*/}
stage1=$TOP/scripts/vm/stage1.sh

# Module files in the order they must be loaded.
module_files() {
	local base=${moddir%/lib/modules/*}

	modprobe -d "${base:-/}" -S "$release" --show-depends -a \
		virtio_pci 9pnet_virtio 9p overlay |
		awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# busybox cannot load compressed modules, and qemu need not unpack plain ones.
add_module() {
	local file=$1 name
	name=$(basename "$file")
	case $name in
	*.xz) xz -dc "$file" > "$root/lib/${name%.xz}" ;;
	*.zst) zstd -qdc "$file" > "$root/lib/${name%.zst}" ;;
	*.gz) gzip -dc "$file" > "$root/lib/${name%.gz}" ;;
	*) cp "$file" "$root/lib/$name" ;;
	esac
	name=${name%%.ko*}.ko
	echo "/lib/$name" >> "$root/modules"
}

modules=$(module_files) || die "modprobe cannot find the 9p modules in $moddir"
key=$({ echo "$modules"; cat "$stage1"; } | sha256sum | cut -c 1-12)
if [ -n "$modules" ]; then
	# shellcheck disable=SC2086 # a list of paths without blanks
	key+=-$(stat -c '%n %Y %s' $modules | sha256sum | cut -c 1-12)
fi
image=$BUILD/vm/initramfs-$release-$key.cpio
if [ ! -e "$image" ]; then
	mkdir -p "$BUILD/vm"
	root=$(mktemp -d "$BUILD/vm/initramfs.XXXXXX")
	trap 'rm -rf "$root" "$root.cpio"' EXIT
	mkdir "$root"/{bin,lib,proc,lower,upper,new}
	: > "$root/modules"
	cp "$(command -v busybox)" "$root/bin/busybox"
	install -m 755 "$stage1" "$root/init"
	for file in $modules; do
		add_module "$file"
	done
	(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) > "$root.cpio"
	mv "$root.cpio" "$image"
fi
echo "$image"
