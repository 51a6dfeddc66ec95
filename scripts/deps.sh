#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# deps.sh TARGET...: installs the Debian packages a target (of those at the end)
# needs and this machine lacks, by name. Says nothing when nothing is missing.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# ibverbs-providers and procps are named because we install no recommendations,
# and the device's user driver comes with the former.
packages() {
	case $1 in
	build)
		echo make gcc libc6-dev linux-headers-amd64
		;;
	unit)
		echo make gcc libc6-dev
		;;
	check)
		packages build
		packages fuzz
		packages kernels
		echo linux-image-amd64 linux-source-6.1 xz-utils cpio kmod \
			qemu-system-x86 busybox-static bash-builtins iproute2 iputils-ping procps \
			rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest qperf \
			libibverbs-dev librdmacm-dev python3-minimal python3-yaml \
			tshark tcpdump ethtool gcc nfs-common nfs-kernel-server
		;;
	kernels)
		echo make gcc libc6-dev dkms
		;;
	cross)
		echo make gcc gcc-aarch64-linux-gnu gcc-powerpc64le-linux-gnu \
			gcc-riscv64-linux-gnu gcc-s390x-linux-gnu
		;;
	arch)
		packages cross
		echo qemu-system-arm qemu-system-misc qemu-user kmod cpio
		;;
	suite)
		echo debootstrap
		;;
	fuzz)
		echo make gcc libc6-dev clang libclang-rt-dev
		;;
	debug)
		packages check
		echo flex bison bc libelf-dev
		;;
	vng)
		packages check
		echo python3-requests python3-argcomplete
		;;
	bench)
		packages check
		echo iperf3 sockperf ethtool gnuplot-nox
		;;
	storage)
		packages bench
		echo fio
		;;
	lint)
		packages build
		echo linux-source-6.1 xz-utils perl sparse shellcheck python3-docutils
		;;
	package)
		echo make xz-utils dpkg-dev debhelper dh-dkms
		;;
	package-check)
		packages check
		packages package
		echo lintian rpm debootstrap e2fsprogs systemd
		;;
	pair)
		echo kmod iproute2 rdma-core ibverbs-providers ibverbs-utils rdmacm-utils
		# Ubuntu has parts of its kernel apart.
		modinfo iw_cm > /dev/null 2>&1 || echo "linux-modules-extra-$(uname -r)"
		;;
	running)
		echo make gcc libc6-dev
		[ -d "/lib/modules/$(uname -r)/build/" ] || echo "linux-headers-$(uname -r)"
		;;
	containers)
		packages check
		echo podman crun uidmap
		;;
	*)
		die "usage: deps.sh [build|unit|check|kernels|cross|arch|suite|fuzz|debug|vng|bench|storage|lint|package|package-check|pair|running|containers]..."
		;;
	esac
}

missing_of() {
	local package status
	for package in "$@"; do
		# shellcheck disable=SC2016 # a format of dpkg-query
		status=$(dpkg-query -W -f '${db:Status-Status}' "$package" \
			2> /dev/null || true)
		[ "$status" = installed ] || echo "$package"
	done
}

# The lists of a fresh machine are empty, those of an old one name packages that
# are gone: fetch them when a first try fails.
install_packages() {
	local apt=(apt-get -qq -o DPkg::Lock::Timeout=120)
	export DEBIAN_FRONTEND=noninteractive
	"${apt[@]}" install -y --no-install-recommends "$@" && return
	step "that failed; once more with fresh package lists"
	"${apt[@]}" update
	"${apt[@]}" install -y --no-install-recommends "$@"
}

groups=("$@")
[ $# -gt 0 ] || groups=(build)
wanted=$(for group in "${groups[@]}"; do packages "$group"; done | tr ' ' '\n' | sort -u)
if ! command -v dpkg-query > /dev/null; then
	echo "deps.sh: not a Debian system; make sure you have what these give:" \
		"${wanted//$'\n'/ }" >&2
	exit 0
fi
# shellcheck disable=SC2086 # a list of names
missing=$(missing_of $wanted | paste -sd ' ')
[ -n "$missing" ] || exit 0

step "packages this needs and the machine lacks: $missing"
if [ "$(id -u)" != 0 ]; then
	die "not root; please run: apt-get install --no-install-recommends $missing"
fi
log=$BUILD/deps.log
mkdir -p "$BUILD"
step "installing them (log: build/deps.log)"
# shellcheck disable=SC2086 # a list of names
if ! install_packages $missing > "$log" 2>&1; then
	tail -n 20 "$log" >&2
	die "apt-get could not install them; the log is build/deps.log"
fi
