#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Debian's packages for other processors, and headers to cross-build a module with. To be
# sourced. Nothing is installed: packages are fetched by name with an apt that has a root
# of its own, kept in the cache ($XDG_CACHE_HOME/rdma_mpa, ~/.cache/rdma_mpa) and unpacked
# below build/. Without a network those in the cache are used.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

ARCH_BUILD=$BUILD/arch
ARCH_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/rdma_mpa
HEADERS_CACHE=$ARCH_CACHE/headers
mkdir -p "$ARCH_BUILD" "$HEADERS_CACHE"

# record WHAT RELEASE PASSED FAILED EXTENT: a line of results for matrix.sh, in place of an older one
record() {
	local results=$ARCH_BUILD/results older=''
	[ ! -e "$results" ] || older=$(grep -vF " $2 $1 " "$results" || true)
	printf '%s\n' ${older:+"$older"} "$(date +%F) $2 $1 $3 $4 $5" > "$results"
}

# gnu_type ARCH: the beginning of the names of its compilers
gnu_type() {
	case $1 in
	arm64) echo aarch64-linux-gnu ;;
	ppc64el) echo powerpc64le-linux-gnu ;;
	*) echo "$1-linux-gnu" ;;
	esac
}

# flavour_of ARCH: the flavour of the kernel that most of its machines run
flavour_of() {
	case $1 in
	ppc64el) echo powerpc64le ;;
	i386) echo 686-pae ;;
	*) echo "$1" ;;
	esac
}

# apt_lines SUITE: the machine's own sources of Debian, with the suite's name in place of its own
# release's, and the backports of a suite that is not its own. sid has only itself.
apt_lines() {
	local uri codename own
	own=$(own_suite)
	# shellcheck disable=SC2016 # apt fills it in
	apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' \
		'Created-By: Packages' 'Origin: Debian' |
		while read -r uri codename component; do
			[ "$component" = main ] || continue
			[[ $codename == "$own"* ]] || continue
			[ "$1" != sid ] || [ "$codename" = "$own" ] || continue
			echo "deb $uri $1${codename#"$own"} main"
			[ "$codename" != "$own" ] || [ "$1" = "$own" ] || [ "$1" = sid ] ||
				echo "deb $uri $1-backports main"
		done
}

# apt_root ARCH SUITE: makes that root, and fetches its lists once a day. After a failure, which
# leaves the lists in the cache in place, it tries again after ten minutes.
apt_root() {
	local root=$ARCH_CACHE/apt/$1-$2 log=$ARCH_BUILD/apt-$1-$2.log
	if [ -n "$(find "$root/updated" -mtime -1 2> /dev/null)" ] ||
		[ -n "$(find "$log" -mmin -10 2> /dev/null)" ]; then
		return
	fi
	mkdir -p "$root"/{lists,archives}/partial
	: > "$root/status"
	apt_lines "$2" > "$root/sources.list"
	[ -s "$root/sources.list" ] ||
		die "apt knows no mirror of Debian (apt-get update)"
	{
		printf 'APT::Architecture "%s";\nAPT::Architectures { "%s"; };\n' "$1" "$1"
		printf '%s "%s";\n' Dir::Etc::SourceList "$root/sources.list" \
			Dir::Etc::SourceParts /dev/null Dir::Etc::Preferences /dev/null \
			Dir::Etc::PreferencesParts /dev/null Dir::State "$root" \
			Dir::State::status "$root/status" Dir::Cache "$root" \
			Acquire::Languages none Acquire::GzipIndexes true APT::Sandbox::User root
	} > "$root/conf"
	step "the lists of Debian's packages for $1 ($2)"
	if APT_CONFIG=$root/conf apt-get -qq update > "$log" 2>&1; then
		: > "$root/updated"
	else
		step "that failed, so the lists in the cache are used (build/arch/apt-$1-$2.log)"
	fi
}

# with_apt ARCH SUITE COMMAND...
with_apt() {
	local root=$ARCH_CACHE/apt/$1-$2
	apt_root "$1" "$2"
	APT_CONFIG=$root/conf "${@:3}"
}

# have PACKAGE ARCH: the newest file of it in the cache
have() {
	find "$HEADERS_CACHE" -name "${1}_*_$2.deb" -o -name "${1}_*_all.deb" |
		sort -V | tail -n 1
}

# fetch PACKAGE ARCH SUITE: to the cache, unless it is there
fetch() {
	[ -z "$(have "$1" "$2")" ] || return 0
	(cd "$HEADERS_CACHE" && with_apt "$2" "$3" apt-get -qq download "$1") \
		>> "$ARCH_BUILD/fetch.log" 2>&1
}

# releases ARCH SUITE PATTERN: those of a series for which there are headers, the newest first
releases() {
	{
		with_apt "$1" "$2" apt-cache pkgnames linux-headers- 2> /dev/null
		find "$HEADERS_CACHE" -name "linux-headers-*_$1.deb" -printf '%f\n' |
			sed 's/_.*//'
	} | sed 's/^linux-headers-//' | grep -xE "$3-$(flavour_of "$1")" | sort -rVu
}

# headers ARCH SUITE RELEASE: prints the folder in which modules for it are built. Its tools
# are those of this machine's processor. vmlinux is removed, so that no BTF is made, because that
# would need pahole.
headers() {
	local arch=$1 suite=$2 release=$3 base=${3%"-$(flavour_of "$1")"} kbuild package
	local dir=$ARCH_BUILD/headers/$release
	local folder=$dir/usr/src/linux-headers-$release
	case $base in
	6.1.0-*) kbuild=linux-kbuild-6.1 ;;
	*) kbuild=linux-kbuild-$base ;;
	esac
	if [ ! -e "$dir/done" ]; then
		rm -rf "$dir"
		mkdir -p "$dir"
		for package in "linux-headers-$release $arch" \
			"linux-headers-$base-common $arch" "$kbuild $(dpkg --print-architecture)"; do
			# shellcheck disable=SC2086 # name and architecture
			fetch $package "$suite" || return
			# shellcheck disable=SC2086
			dpkg-deb -x "$(have $package)" "$dir"
		done
		# shellcheck disable=SC2016 # make knows it
		sed -i -e 's|^include /usr/src/|include ../|' \
			-e 's|^KBUILD_OUTPUT=.*|KBUILD_OUTPUT=$(CURDIR)|' "$folder/Makefile"
		rm -f "$folder/vmlinux"
		: > "$dir/done"
	fi
	echo "$folder"
}

# cross_make ARCH SUITE KDIR ARGUMENT...: runs make in that folder, with the variables of a cross
# build that Debian's headers heed
cross_make() {
	in_suite "$2" make -C "$3" DEB_HOST_ARCH="$1" \
		DEB_HOST_GNU_TYPE="$(gnu_type "$1")" -j"$(nproc)" "${@:4}"
}
