#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# image.sh OLDER NEWER: makes build/package/machine: the disk of a Debian machine (image) that has
# the packages of the folder OLDER, upgraded to those of NEWER, and runs guest.sh when it boots, its
# kernel (vmlinuz) and its initramfs (initrd). Needs root: the machine is installed in a folder, by
# chroot. SUITE is its release of Debian, as trixie; by default it is this machine's.
#
# The parts of Debian are fetched from the mirrors that apt uses here (350 MB, three minutes) and
# kept in build/package/base-NAME.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

OUT=$BUILD/package
SUITE=${SUITE:-$(own_suite)}
PACKAGES=(systemd-sysv udev dbus kmod iproute2
	linux-image-amd64 linux-headers-amd64 dkms gcc make libc6-dev
	rdma-core ibverbs-providers rdmacm-utils autopkgtest ifupdown network-manager)

# inside DIR COMMAND...: runs it as root of the machine in DIR. Its mounts end with it.
# shellcheck disable=SC2016 # bash in the new mount namespace puts them in
inside() {
	unshare --mount --fork -- bash -euc '
		mount -t proc proc "$1/proc"
		mount -t sysfs -o ro sysfs "$1/sys"
		export LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			DEBIAN_FRONTEND=noninteractive
		exec chroot "$@"' bash "$@"
}

# start_nothing DIR yes|no: forbids packages to start their services, or allows it
start_nothing() {
	rm -f "$1/usr/sbin/policy-rc.d"
	[ "$2" = no ] || {
		printf '%s\n' '#!/bin/sh' 'exit 101' > "$1/usr/sbin/policy-rc.d"
		chmod +x "$1/usr/sbin/policy-rc.d"
	}
}

# This and install_ours join their commands by "&&", because run_logged looks at the status of the
# last one only.
install_base() {
	debootstrap --variant=minbase "$SUITE" "$1" "$(debian_mirror)" &&
		debian_sources "$SUITE" > "$1/etc/apt/sources.list" &&
		apt_settings_for "$1" &&
		start_nothing "$1" yes &&
		inside "$1" apt-get -qq update &&
		inside "$1" apt-get -qq install -y --no-install-recommends "${PACKAGES[@]}" &&
		inside "$1" apt-get -qq clean &&
		start_nothing "$1" no
}

make_base() {
	local name
	[ -n "$(debian_mirror)" ] || die "apt knows no mirror of Debian (apt-get update)"
	name=$(sha256sum <<< "$SUITE ${PACKAGES[*]}" | cut -c 1-12)
	base=$OUT/base-$name
	[ ! -e "$base" ] || return 0
	step "installing a Debian machine in build/package (log: build/package/base.log)"
	rm -rf "$OUT"/base-* "$OUT/new"
	run_logged "$OUT/base.log" install_base "$OUT/new"
	mv "$OUT/new" "$base"
}

# install_debs DIR: the packages of that folder, as a user would, with the actions of the package
# manager. They stay in the machine's /var/tmp.
install_debs() {
	rm -f "$root"/var/tmp/*.deb &&
		cp "$1"/*.deb "$root/var/tmp" &&
		inside "$root" sh -c 'dpkg -i /var/tmp/*.deb'
}

install_ours() {
	start_nothing "$root" yes &&
		install_debs "$1" &&
		install_debs "$2" &&
		start_nothing "$root" no &&
		inside "$root" systemd-analyze verify rdma-mpa@eth0.service
}

add_tests() {
	install -m 755 "$TOP/scripts/package/guest.sh" "$root/usr/local/sbin"
	mkdir -p "$root/usr/local/src/rdma-mpa"
	cp -r "$TOP/packaging/debian" "$root/usr/local/src/rdma-mpa"
	cp "$TOP/scripts/package/package-test.service" "$root/etc/systemd/system"
	mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
	ln -s ../package-test.service "$root/etc/systemd/system/multi-user.target.wants"
	cp "$TOP/packaging/examples/eth0.network" "$root/etc/systemd/network"
	ln -s /lib/systemd/system/systemd-networkd.service \
		"$root/etc/systemd/system/multi-user.target.wants"
	# The test of NetworkManager starts it, and eth0 belongs to networkd.
	rm -f "$root"/etc/systemd/system/*.wants/NetworkManager{,-wait-online}.service
	printf '%s\n' '[keyfile]' unmanaged-devices=interface-name:eth0 \
		> "$root/etc/NetworkManager/conf.d/test.conf"
	echo guest > "$root/etc/hostname"
	echo '/dev/vda / ext4 defaults 0 0' > "$root/etc/fstab"
	: > "$root/etc/machine-id"
}

[ $# = 2 ] || die "usage: image.sh OLDER NEWER"
[ "$(id -u)" = 0 ] || die "not root: the machine is installed by chroot"
mkdir -p "$OUT"
make_base
machine=$OUT/machine root=$OUT/machine/root
rm -rf "$machine"
mkdir "$machine"
cp -a --reflink=auto "$base" "$root"
step "installing our packages there (log: build/package/install.log)"
run_logged "$OUT/install.log" install_ours "$@"
add_tests
cp "$root"/boot/vmlinuz-* "$machine/vmlinuz"
cp "$root"/boot/initrd.img-* "$machine/initrd"
truncate -s 4G "$machine/image"
run_logged "$OUT/mke2fs.log" mke2fs -q -t ext4 -d "$root" "$machine/image"
rm -rf "$root"
