#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The parts that the scripts share: where things are, and which kernel a guest runs.
# To be sourced. Everything the scripts make goes to build/.
# shellcheck disable=SC2034 # the variables are for the scripts that source this

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# A line of progress. To stderr: the output of some scripts is a path.
step() {
	echo "==> $*" >&2
}

# The series of the kernels of this machine's Debian, as the names of its packages have it;
# empty on another release or distribution, where any kernel will do.
stock_series() {
	local ID='' VERSION_ID=''
	# shellcheck source=/dev/null
	. /etc/os-release
	case $ID-$VERSION_ID in
	debian-12) echo 6.1 ;;
	debian-13) echo 6.12 ;;
	esac
}

# The release of the newest kernel in /boot, of series $1 if that is not empty. A kernel whose
# headers are installed is preferred, because modules must be built for it.
newest_kernel() {
	local release first=''
	while read -r release; do
		if [ -d "/lib/modules/$release/build/" ]; then
			echo "$release"
			return
		fi
		first=${first:-$release}
	done < <(find /boot -maxdepth 1 -name "vmlinuz-${1:+$1.}*" 2>/dev/null |
		sed 's|^/boot/vmlinuz-||' | sort -rV)
	[ -n "$first" ] && echo "$first"
}

# The release the guests run: that of the kernel in GUEST_PACK (vm/kernel.sh),
# GUEST_RELEASE, or the newest that this machine's Debian has.
guest_release() {
	local series
	if [ -n "${GUEST_PACK:-}" ]; then
		cat "$GUEST_PACK/release"
		return
	fi
	if [ -n "${GUEST_RELEASE:-}" ]; then
		echo "$GUEST_RELEASE"
		return
	fi
	series=$(stock_series)
	newest_kernel "$series" ||
		die "no ${series:+$series }kernel in /boot (apt-get install linux-image-amd64;" \
			"GUEST_RELEASE names another one in /boot)"
}

# Where modules for that kernel are built.
guest_kdir() {
	local release
	if [ -n "${GUEST_PACK:-}" ]; then
		echo "$GUEST_PACK/headers"
		return
	fi
	release=$(guest_release)
	[ -d "/lib/modules/$release/build/" ] ||
		die "no /lib/modules/$release/build (apt-get install linux-headers-$release;" \
			"GUEST_RELEASE names another kernel in /boot)"
	echo "/lib/modules/$release/build"
}

# own_suite: the release of this machine's Debian, as bookworm
own_suite() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release; }

# in_suite SUITE COMMAND...: runs it in a system of that release, with its compilers, or here if
# this machine has that release
in_suite() {
	if [ "$1" = "$(own_suite)" ]; then
		"${@:2}"
	else
		"$TOP/scripts/vm/suite.sh" "$@"
	fi
}

# copy_source DIR: copies the module's source there, to be built
copy_source() {
	mkdir -p "$1"
	(cd "$TOP" && find Kbuild dkms.conf include drivers -type f \
		\( -name '*.[ch]' -o -name Kbuild -o -name dkms.conf \) -exec cp -pu --parents -t "$1" {} +)
}

# result STATUS TEXT LOG: prints a line of TAP, and after a failure the errors in LOG. Counts in
# number and failed.
result() {
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $number - $2"
	{ grep -E 'error|warning|Error|WARNING|ERROR|^E: ' "$3" || tail -n 5 "$3"; } |
		head -n 20 | sed 's/^/# /'
}

# debian_mirror: the mirror of Debian's own packages that apt uses here; empty if apt knows none
debian_mirror() {
	# shellcheck disable=SC2016 # apt fills it in
	apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' |
		awk '$1 !~ /-/ && $2 == "main" && !seen++ { print $3 }'
}

# debian_sources SUITE: the sources.list for a system of that release, with the archives of
# Debian that this machine's apt uses. sid has only one archive.
debian_sources() {
	apt-get indextargets --format "\$(REPO_URI) \$(CODENAME)" 'Created-By: Packages' \
		'Origin: Debian' 'Component: main' | awk -v suite="$1" '
		{ sub(/^[a-z]+/, suite, $2) }
		$2 !~ /backports|sid-/ && !seen[$0]++ { print "deb", $1, $2, "main" }'
}

# apt_settings_for DIR: copies the settings by which apt reaches its mirrors to the system in DIR
apt_settings_for() {
	local file
	for file in $(grep -lsE 'Proxy|Check-' /etc/apt/apt.conf.d/* || true); do
		cp "$file" "$1/etc/apt/apt.conf.d"
	done
}

# guest_make ARGUMENT...: make in the folder of guest_kdir, with the tools that made its kernel
guest_make() {
	local kdir suite=''
	kdir=$(guest_kdir) || return
	if [ -n "${GUEST_PACK:-}" ]; then
		suite=$(cat "$GUEST_PACK/suite" 2> /dev/null || true)
		[ ! -e "$GUEST_PACK/arch" ] || set -- ARCH="$(cat "$GUEST_PACK/arch")" "$@"
	fi
	if [ -n "$suite" ]; then
		"$TOP/scripts/vm/suite.sh" "$suite" make -C "$kdir" "$@"
	else
		make -C "$kdir" "$@"
	fi
}

# run_logged LOG COMMAND...: prints the log, and fails, only if the command fails
run_logged() {
	local log=$1
	shift
	mkdir -p "$(dirname "$log")"
	if ! "$@" > "$log" 2>&1; then
		cat "$log" >&2
		die "failed: $*"
	fi
}
