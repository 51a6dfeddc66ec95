#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# image.sh ARCH: prints a folder with Debian 12 for that processor. In it are root/ (the
# system), vmlinuz, initramfs and a file named release.
#
# The packages are unpacked and their scripts not run, because these are programs of the
# other processor: what a scenario needs of them is done at the end. The packages, 120 MB,
# are kept in the cache ($XDG_CACHE_HOME/rdma_mpa, ~/.cache/rdma_mpa).
set -euo pipefail
# shellcheck source=scripts/arch/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

SUITE=bookworm
PACKAGES=(bash bash-builtins dash coreutils util-linux mount iproute2 iputils-ping kmod procps
	grep sed mawk findutils hostname ethtool tcpdump rdma-core ibverbs-providers
	ibverbs-utils rdmacm-utils perftest libibverbs-dev librdmacm-dev libc6-dev python3
	busybox-static libubsan1)

# What the kernel needs to see the system, which this machine shares with it
BOOT_MODULES=(virtio_pci 9pnet_virtio 9p overlay)

# debs: the packages, with all that they depend on, in the cache
debs() {
	[ ! -d "$cache" ] || return 0
	step "Debian 12 for $arch (120 MB, once)"
	mkdir -p "$work/debs/partial"
	run_logged "$ARCH_BUILD/image-$arch.log" with_apt "$arch" $SUITE apt-get -qq -y \
		--no-install-recommends -o Dir::Cache::Archives="$work/debs" \
		--download-only install "linux-image-$release" "${PACKAGES[@]}"
	rm -rf "$ARCH_CACHE/system-$arch-"* "$work/debs"/{partial,lock}
	mv -T "$work/debs" "$cache"
}

# finish ROOT: what the scripts of the packages would have done
finish() {
	local root=$1
	[ -e "$root/bin/sh" ] || ln -s dash "$root/bin/sh"
	[ -e "$root/usr/bin/awk" ] || ln -s mawk "$root/usr/bin/awk"
	mkdir -p "$root"/{dev,proc,sys,run,tmp,out,root,etc}
	echo root:x:0:0:root:/root:/bin/bash > "$root/etc/passwd"
	echo root:x:0: > "$root/etc/group"
	echo 127.0.0.1 localhost > "$root/etc/hosts"
	echo 'hosts: files' > "$root/etc/nsswitch.conf"
	depmod -b "$root" "$release"
}

# initramfs ROOT: busybox, those modules, and init.sh
initramfs() {
	local root=$1 ram=$work/initramfs file
	mkdir -p "$ram"/{bin,lib,proc,lower,upper,new}
	cp "$root/bin/busybox" "$ram/bin"
	install -m 755 "$TOP/scripts/arch/init.sh" "$ram/init"
	modprobe -d "$root" -S "$release" --show-depends -a "${BOOT_MODULES[@]}" |
		awk '$1 == "insmod" && !seen[$2]++ { print $2 }' > "$work/modules"
	while read -r file; do
		cp "$file" "$ram/lib"
		echo "/lib/${file##*/}"
	done < "$work/modules" > "$ram/modules"
	(cd "$ram" && find . | cpio --quiet -o -H newc -R 0:0) > "$work/image/initramfs"
}

[ $# = 1 ] || die "usage: image.sh ARCH"
arch=$1
release=$(releases "$arch" $SUITE '6\.1\.0-[0-9]+' | head -n 1) ||
	die "apt has no kernel 6.1 for $arch"
cache=$ARCH_CACHE/system-$arch-$release
key=$(sha256sum "${BASH_SOURCE[0]}" "$TOP/scripts/arch/init.sh" | sha256sum | cut -c 1-12)
dir=$ARCH_BUILD/system-$release-$key
if [ ! -e "$dir/release" ]; then
	work=$(mktemp -d "$ARCH_BUILD/image.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	debs
	mkdir -p "$work/image/root"
	for deb in "$cache"/*.deb; do
		dpkg-deb -x "$deb" "$work/image/root"
	done
	finish "$work/image/root"
	mv "$work/image/root/boot/vmlinuz-$release" "$work/image/vmlinuz"
	initramfs "$work/image/root"
	echo "$release" > "$work/image/release"
	rm -rf "$dir"
	mv -T "$work/image" "$dir"
fi
echo "$dir"
