#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# deps.sh TARGET...: installs the Debian packages that a target (of those at the end)
# needs and this machine lacks, by name. Prints nothing if nothing is missing.
#
# The names are those of Debian 12 and 13. On another system that has apt it tries them. If apt
# cannot install a package, or there is no apt, it names the package and a file or command of it.
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
	demo)
		packages build
		echo linux-image-amd64 xz-utils cpio kmod qemu-system-x86 busybox-static iproute2 \
			iputils-ping procps rdma-core ibverbs-providers ibverbs-utils rdmacm-utils \
			perftest
		;;
	check)
		packages demo
		packages fuzz
		packages kernels
		echo "$kernel_source" bash-builtins qperf libibverbs-dev librdmacm-dev \
			python3-minimal python3-yaml tshark tcpdump ethtool nfs-common \
			nfs-kernel-server wireguard-tools fio
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
	native)
		packages bench
		packages suite
		echo flex bison bc libelf-dev
		;;
	profile)
		packages native
		echo linux-perf
		;;
	storage)
		packages bench
		echo fio
		;;
	suites)
		packages check
		echo python3-pyverbs gzip fio libfabric-bin openmpi-bin libopenmpi-dev ucx-utils \
			nvme-cli multipath-tools sg3-utils e2fsprogs xfsprogs psmisc udev g++
		;;
	iscsi)
		packages check
		echo open-iscsi fio e2fsprogs
		;;
	lint)
		packages build
		echo "$kernel_source" xz-utils perl sparse shellcheck python3-docutils
		;;
	package)
		echo make xz-utils build-essential dpkg-dev debhelper dh-dkms
		;;
	package-check)
		packages check
		packages package
		echo lintian rpm debootstrap e2fsprogs systemd
		;;
	pair)
		echo kmod iproute2 rdma-core ibverbs-providers ibverbs-utils rdmacm-utils
		# Ubuntu has parts of its kernel apart.
		modinfo iw_cm > /dev/null 2>&1 || [ -n "$series" ] ||
			echo "linux-modules-extra-$(uname -r)"
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
		die "usage: deps.sh [build|unit|demo|check|kernels|cross|arch|suite|fuzz|debug|vng|bench|native|profile|storage|suites|iscsi|lint|package|package-check|pair|running|containers]..."
		;;
	esac
}

# gives PACKAGE: a command or a file (pattern) for which it is needed; nothing if only the
# package manager could tell
gives() {
	case $1 in
	libc6-dev) echo /usr/include/stdio.h ;;
	linux-headers-[0-9]*) echo "/lib/modules/${1#linux-headers-}/build/Makefile" ;;
	linux-headers-*) echo '/lib/modules/*/build/Makefile' ;;
	linux-image-*) echo '/boot/vmlinuz-*' ;;
	linux-source*) echo '/usr/src/linux-source-*.tar.xz' ;;
	linux-modules-extra-*)
		echo "/lib/modules/${1#linux-modules-extra-}/kernel/drivers/infiniband/core/iw_cm.ko*"
		;;
	xz-utils) echo xz ;;
	kmod) echo modinfo ;;
	qemu-system-x86) echo qemu-system-x86_64 ;;
	busybox-static) echo busybox ;;
	iproute2) echo rdma ;;
	iputils-ping) echo ping ;;
	procps) echo pgrep ;;
	rdma-core | ibverbs-providers) echo /etc/libibverbs.d/siw.driver ;;
	ibverbs-utils) echo ibv_devinfo ;;
	rdmacm-utils) echo rping ;;
	perftest) echo ib_send_bw ;;
	libibverbs-dev) echo /usr/include/infiniband/verbs.h ;;
	librdmacm-dev) echo /usr/include/rdma/rdma_cma.h ;;
	libelf-dev) echo /usr/include/libelf.h ;;
	python3-minimal) echo python3 ;;
	nfs-common) echo mount.nfs ;;
	nfs-kernel-server) echo exportfs ;;
	wireguard-tools) echo wg ;;
	gnuplot-nox) echo gnuplot ;;
	linux-perf) echo perf ;;
	debhelper) echo dh ;;
	dpkg-dev) echo dpkg-buildpackage ;;
	build-essential) echo g++ ;;
	rpm) echo rpmbuild ;;
	e2fsprogs) echo mke2fs ;;
	systemd) echo systemctl ;;
	uidmap) echo newuidmap ;;
	libfabric-bin) echo fi_pingpong ;;
	openmpi-bin) echo mpirun ;;
	libopenmpi-dev) echo mpicc ;;
	ucx-utils) echo ucx_perftest ;;
	open-iscsi) echo iscsiadm ;;
	bash-builtins | libclang-rt-dev | python3-* | dh-dkms) ;;
	*) echo "$1" ;;
	esac
}

# has PACKAGE: found by its name, or, where names are not Debian's, by its file or command
has() {
	local what
	if command -v dpkg-query > /dev/null; then
		# shellcheck disable=SC2016 # a format of dpkg-query
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" != installed ] ||
			return 0
		[ -z "$series" ] || return 1
	fi
	what=$(gives "$1")
	case $what in
	/*) compgen -G "$what" > /dev/null ;;
	'') ! command -v dpkg-query > /dev/null ;;
	*) command -v "$what" > /dev/null ;;
	esac
}

missing_of() {
	local package
	for package in "$@"; do
		has "$package" || echo "$package"
	done
}

# Says what is missing and how to go on, because we do not know another distribution's names.
elsewhere() {
	local package what list='' PRETTY_NAME=''
	# shellcheck source=/dev/null
	. /etc/os-release
	for package in $missing; do
		what=$(gives "$package")
		list+=", $package${what:+ (no $what)}"
	done
	die "this is ${PRETTY_NAME:-no distribution that says its name}, neither Debian 12 nor" \
		"Debian 13. It lacks what these packages of Debian give: ${list#, }." \
		"Install what they are called here, then run the same command again."
}

# If the first try fails it fetches the lists and tries again, because the lists of a fresh machine
# are empty and those of an old one name packages that are gone.
install_packages() {
	local apt=(apt-get -qq -o DPkg::Lock::Timeout=120)
	export DEBIAN_FRONTEND=noninteractive
	"${apt[@]}" install -y --no-install-recommends "$@" && return
	step "that failed; once more with fresh package lists"
	"${apt[@]}" update
	"${apt[@]}" install -y --no-install-recommends "$@"
}

# fits_none PACKAGE...: is the kernel's image among these, and in /boot no kernel of this series with
# headers? The headers are those of the newest image, and the one that is installed may be older.
fits_none() {
	local release
	[ -n "$series" ] && [[ " $* " == *" linux-image-amd64 "* ]] || return 1
	release=$(newest_kernel "$series") || return 0
	[ ! -d "/lib/modules/$release/build/" ]
}

groups=("$@")
[ $# -gt 0 ] || groups=(build)
series=$(stock_series)
kernel_source=linux-source${series:+-$series}
wanted=$(for group in "${groups[@]}"; do packages "$group"; done | tr ' ' '\n' | sort -u)
# shellcheck disable=SC2086 # a list of names
missing=$(missing_of $wanted | paste -sd ' ')
# shellcheck disable=SC2086 # a list of names
! fits_none $wanted || missing=$(printf '%s\n' $missing linux-image-amd64 linux-headers-amd64 |
	sort -u | paste -sd ' ')
[ -n "$missing" ] || exit 0
command -v apt-get > /dev/null || elsewhere

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
	[ -n "$series" ] || elsewhere
	die "apt-get could not install them; the log is build/deps.log"
fi
