#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# vng.sh [-t SECONDS] -- PROGRAM [ARGS...]: runs one program under virtme-ng with the guests'
# kernel, and exits with its status, as run.sh does with qemu. 124 is a time-out, 125 a guest
# that died.
#
# Debian has virtme-ng from trixie on. Without a vng in PATH this script fetches trixie's
# package, which is for all architectures, with apt from this machine's own sources under that
# name, and unpacks it below build/. The package stays in the cache
# ($XDG_CACHE_HOME/rdma_mpa, ~/.cache/rdma_mpa); nothing is installed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

suite=trixie
package=virtme-ng
prefix=$BUILD/vm/$package
seconds=300

# shellcheck disable=SC2317 # called by way of fetch
# sources DIR: this machine's apt sources with the suite's name replaced
sources() {
	local file own
	own=$(own_suite)
	[ -n "$own" ] || die "this system has no code name: install $package"
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
		grep -qsw "$own" "$file" || continue
		sed "s/\b$own\b/$suite/g" "$file" > "$1/${file##*/}"
	done
}

# shellcheck disable=SC2317 # called by run_logged
# fetch DIR: the package, through an apt root of its own in DIR
fetch() {
	local dir=$1 apt
	mkdir -p "$dir"/{sources,lists/partial,archives/partial,got}
	sources "$dir/sources"
	apt=(apt-get -qq -o Dir::Etc::SourceList=/dev/null
		-o Dir::Etc::SourceParts="$dir/sources"
		-o Dir::Etc::Preferences=/dev/null
		-o Dir::Etc::PreferencesParts=/dev/null
		-o Dir::State::Lists="$dir/lists"
		-o Dir::Cache::Archives="$dir/archives"
		-o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache=
		-o APT::Sandbox::User=root)
	"${apt[@]}" update
	(cd "$dir/got" && "${apt[@]}" download "$package")
}

# Prints the package's path in the cache, after fetching it if it is not there.
cached_package() {
	local cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma_mpa deb
	deb=$(find "$cache" -name "${package}_*.deb" 2> /dev/null | sort -V | tail -n 1)
	if [ -z "$deb" ]; then
		step "fetching $package of $suite (20 s)"
		run_logged "$BUILD/vm/$package.log" fetch "$work/apt"
		deb=$(find "$work/apt/got" -name '*.deb')
		mkdir -p "$cache"
		cp "$deb" "$cache"
		deb=$cache/${deb##*/}
	fi
	echo "$deb"
}

# Where there is no vng, puts ours in PATH.
find_vng() {
	local deb
	! command -v vng > /dev/null || return 0
	"$TOP/scripts/deps.sh" vng
	if [ ! -x "$prefix/usr/bin/vng" ]; then
		deb=$(cached_package)
		rm -rf "$prefix"
		dpkg-deb -x "$deb" "$work/unpacked"
		mv -T "$work/unpacked" "$prefix"
	fi
	export PATH=$prefix/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin
	export PYTHONPATH=$prefix/usr/lib/python3/dist-packages
}

# A script for the guest: runs exactly "$@" and leaves its status beside itself.
write_command() {
	echo '#!/bin/bash'
	printf 'cd %q || exit\n' "$TOP"
	printf '%q ' "$@"
	printf '\necho $? > %q\n' "$work/share/status"
}

while getopts t: option; do
	case $option in
	t) seconds=$OPTARG ;;
	*) die "usage: vng.sh [-t SECONDS] -- PROGRAM [ARGS...]" ;;
	esac
done
shift $((OPTIND - 1))
mkdir -p "$BUILD/vm"
work=$(mktemp -d "$BUILD/vm/vng.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/share"
find_vng
write_command "$@" > "$work/share/command"
chmod +x "$work/share/command"

# A pipe, because vng opens its output several times, and in a file one would overwrite the
# other. "-cpu max", because vng's default processor has not even SSE 4.2. KVM is not used,
# because it may be there and not boot, which only run.sh tries.
timeout -k 5 "$seconds" vng --disable-kvm -r "/boot/vmlinuz-$(guest_release)" \
	--cpus 2 --memory 2G --rwdir "$work/share=$work/share" --qemu-opts='-cpu max' -- \
	"$work/share/command" 2> "$work/log" < /dev/null | cat ||
	[ "${PIPESTATUS[0]}" != 124 ] || exit 124
if [ ! -s "$work/share/status" ]; then
	tail -n 40 "$work/log" >&2
	exit 125
fi
exit "$(cat "$work/share/status")"
