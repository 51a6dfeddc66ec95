#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# What the scripts share: where things are, and which kernel a guest runs.
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

# The series of the kernels of this machine's Debian, which the names of its packages have;
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

# The release of the newest kernel of series $1 in /boot, of all if it is empty; one whose
# headers are installed goes first, for modules must be built for it.
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
	local kdir
	if [ -n "${GUEST_PACK:-}" ]; then
		echo "$GUEST_PACK/headers"
		return
	fi
	kdir=/lib/modules/$(guest_release)/build
	[ -d "$kdir/" ] || die "no $kdir (apt-get install linux-headers-amd64)"
	echo "$kdir"
}

# own_suite: the release of this machine's Debian, as bookworm
own_suite() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release; }

# in_suite SUITE COMMAND...: in a system of that release, with its compilers; here if this
# machine is one
in_suite() {
	if [ "$1" = "$(own_suite)" ]; then
		"${@:2}"
	else
		"$TOP/scripts/vm/suite.sh" "$@"
	fi
}

# copy_source DIR: what the module is made of, to be built there
copy_source() {
	mkdir -p "$1"
	(cd "$TOP" && find Kbuild dkms.conf include drivers -type f \
		\( -name '*.[ch]' -o -name Kbuild -o -name dkms.conf \) -exec cp -pu --parents -t "$1" {} +)
}

# result STATUS TEXT LOG: a line of TAP, and what the log says of a failure. Counts in number
# and failed.
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

# debian_mirror: where this machine has Debian's own packages from; empty if apt knows none
debian_mirror() {
	# shellcheck disable=SC2016 # apt fills it in
	apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' |
		awk '$1 !~ /-/ && $2 == "main" && !seen++ { print $3 }'
}

# debian_sources SUITE: lines for the sources.list of a system of that release, of Debian's
# archives that this machine's apt uses. Packages for sid are in one.
debian_sources() {
	apt-get indextargets --format "\$(REPO_URI) \$(CODENAME)" 'Created-By: Packages' \
		'Origin: Debian' 'Component: main' | awk -v suite="$1" '
		{ sub(/^[a-z]+/, suite, $2) }
		$2 !~ /backports|sid-/ && !seen[$0]++ { print "deb", $1, $2, "main" }'
}

# apt_settings_for DIR: how this machine's apt gets through to its mirrors, for a system in DIR
apt_settings_for() {
	local file
	for file in $(grep -lsE 'Proxy|Check-' /etc/apt/apt.conf.d/* || true); do
		cp "$file" "$1/etc/apt/apt.conf.d"
	done
}

# guest_make ARGUMENT...: make, in that folder, by the tools that its kernel was made with
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

# run_logged LOG COMMAND...: quiet when all is well; else the log, and failure.
run_logged() {
	local log=$1
	shift
	mkdir -p "$(dirname "$log")"
	if ! "$@" > "$log" 2>&1; then
		cat "$log" >&2
		die "failed: $*"
	fi
}
