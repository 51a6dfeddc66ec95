#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# kernel.sh: prints the folder of the debug kernel, built from the linux-source
# package with debug.config. In it are bzImage, headers/ (external modules build
# there), lib/modules/RELEASE/ and a file named release.
#
# A kernel takes ten minutes, so it is kept as a pack outside the tree, in
# $XDG_CACHE_HOME/rdma_mpa (~/.cache/rdma_mpa), and unpacked from there to build/. A new source
# package or another debug.config makes a new one.
# DEBUG_BUILD=DIR makes the pack from a kernel built in DIR (O=DIR) before.
#
# KCSAN=1: the kernel that looks for data races, with kcsan.config's checks in place of
# debug.config's.
# UM=1: the User-mode Linux of um.config, from the source of 7.3, which Debian 13's backports
# have. In place of bzImage is linux, and a file named arch says how modules are made.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

fragment=$TOP/scripts/vm/debug.config
instrument=()
series=$(stock_series)
name=linux-source-${series:-6.1}
archive=/usr/src/$name.tar.xz
arch=x86 image=arch/x86/boot/bzImage folders=arch/x86
what="the debug kernel"
steps=1950	# lines the build prints, for the progress

# failslab needs its stack filter to fail allocations of one module only. 6.1 does not allow the
# filter on x86-64, because its unwinder once stood in the way. Later kernels allow it, and ours
# has frame pointers.
filter='/^config FAULT_INJECTION_STACKTRACE_FILTER$/,/^config /{/depends on !X86_64$/d}'
filtered=lib/Kconfig.debug

# source_version: the version of the package, or a hash of the archive where there is no dpkg
source_version() {
	[ -z "${UM:-}" ] || {
		basename "$archive" .deb | sed 's/.*_\(.*\)_.*/\1/'
		return
	}
	dpkg-query -W -f '${Version}' "$name" 2> /dev/null ||
		sha256sum "$archive" | cut -c 1-12
}

# Prints every 20 s how far the build with this log is, as long as this script lives.
show_progress() {
	local begin=$SECONDS
	while sleep 20 && kill -0 $$ 2> /dev/null; do
		step "  $(grep -c '^  [A-Z]' "$1" || true) of about $steps steps," \
			"$((SECONDS - begin)) s"
	done
}

# lost_options CONFIG SOURCE: the options of the fragment that CONFIG lacks, because kconfig
# silently drops an option that it cannot set. Options that are off are not compared, because
# that may be written in several ways. Two options are gone by 6.12, where the features that
# they switched on are always on.
lost_options() {
	local option name
	while read -r option; do
		name=${option%%=*} name=${name#CONFIG_}
		case $name in
		UBSAN_SANITIZE_ALL | BASE_FULL)
			grep -qx "config $name" "$2/lib/Kconfig.ubsan" "$2/init/Kconfig" || continue
			;;
		esac
		echo "$option"
	done < <(not_in "$1")
}

not_in() {
	awk -F '[= ]' '
		FNR == NR { have[$0]; next }
		/^CONFIG_/ { want[$1] = $0 }
		/^# CONFIG_.* is not set/ { delete want[$2] }
		END { for (option in want) if (!(want[option] in have)) print want[option] }
	' "$1" "$fragment" | sort
}

configure() {
	local lost
	run_logged "$BUILD/vm/kernel-config.log" make -C "$1" O="$2" ARCH="$arch" \
		KCONFIG_ALLCONFIG="$fragment" allnoconfig
	lost=$(lost_options "$2/.config" "$1" | paste -sd ' ')
	[ -z "$lost" ] || die "the kernel does not take these options: $lost"
}

# build SOURCE OBJECTS: make is in the background, so that a signal to us ends it
build() {
	local log=$BUILD/vm/kernel.log progress maker status=0
	step "building $what (10 minutes, once; log: build/vm/kernel.log)"
	: > "$log"
	show_progress "$log" > /dev/null &
	progress=$!
	make -C "$1" O="$2" ARCH="$arch" -j"$(nproc)" "${instrument[@]}" > "$log" 2>&1 &
	maker=$!
	# shellcheck disable=SC2064 # these processes
	trap "kill $maker $progress; wait $maker; exit 143" INT TERM
	wait $maker || status=$?
	trap - INT TERM
	kill "$progress"
	wait "$progress" 2> /dev/null || true
	if [ "$status" != 0 ]; then
		tail -n 40 "$log" >&2
		die "the kernel does not build; the log is build/vm/kernel.log"
	fi
}

# headers SOURCE OBJECTS DIR: puts source and build folder into one, without the files that only
# the kernel itself is built from; as scripts/package/builddeb does it.
headers() {
	local source=$1 objects=$2 dir=$3
	mkdir -p "$dir"
	# shellcheck disable=SC2086 # a list of folders
	(
		cd "$source"
		find . $folders -maxdepth 1 -name 'Makefile*'
		find include scripts -type f -o -type l
		find $folders -name Kbuild.platforms -o -name Platform
		find $folders \( -name include -o -name scripts -o -path "*/um/asm" -o -path "*/um/shared" \) -type d \
			-exec find {} -type f \;
	) | sort -u | tar -C "$source" -cf - -T - | tar -C "$dir" -xf -
	(
		cd "$objects"
		find arch/*/include include scripts -type f
		[ "$arch" = um ] || echo tools/objtool/objtool
		echo Module.symvers
		echo .config
	) | tar -C "$objects" -cf - -T - | tar -C "$dir" -xf -
}

# pack SOURCE OBJECTS: makes the pack
pack() {
	local source=$1 objects=$2 dir=$work/pack release
	step "packing it"
	release=$(cat "$objects/include/config/kernel.release")
	mkdir -p "$dir"
	echo "$release" > "$dir/release"
	cp "$objects/$image" "$dir"
	if [ "$arch" = um ]; then
		strip --strip-debug "$dir/linux"
		echo um > "$dir/arch"
	fi
	run_logged "$BUILD/vm/kernel-install.log" make -C "$source" O="$objects" ARCH="$arch" \
		INSTALL_MOD_PATH="$dir" INSTALL_MOD_STRIP=1 modules_install
	rm -f "$dir/lib/modules/$release"/{build,source}
	headers "$source" "$objects" "$dir/headers"
	mkdir -p "$cache"
	tar -C "$dir" -cf - . | xz -T 0 -3 > "$work/pack.tar.xz"
	cp "$work/pack.tar.xz" "$cache/$key.new"
	mv "$cache/$key.new" "$cache/$key.tar.xz"
}

# unpack_archive DIR
unpack_archive() {
	if [ "${archive%.deb}" = "$archive" ]; then
		tar -xf "$archive" -C "$1" --strip-components=1
	else
		dpkg-deb --fsys-tarfile "$archive" | tar -xO "./usr/src/$name.tar.xz" |
			tar -xJC "$1" --strip-components=1
	fi
}

make_pack() {
	local source objects
	if [ -n "${DEBUG_BUILD:-}" ]; then
		objects=$(realpath "$DEBUG_BUILD")
		source=$(realpath "$objects/source")
		if [ -n "$(lost_options "$objects/.config" "$source")" ]; then
			die "$DEBUG_BUILD is not built with ${fragment#"$TOP"/}"
		fi
	else
		[ -r "$archive" ] || die "no $archive (apt-get install $name)"
		step "unpacking $name (15 s)"
		source=$work/source objects=$work/objects
		mkdir "$source" "$objects"
		unpack_archive "$source"
		sed -i "$filter" "$source/$filtered"
		configure "$source" "$objects"
		build "$source" "$objects"
	fi
	pack "$source" "$objects"
}

# Makes the fragment of the kernel with KCSAN: the same base, other checks.
choose_kcsan() {
	mkdir -p "$BUILD/vm"
	fragment=$BUILD/vm/kcsan.config
	{
		sed '/^# --- debug/,$d' "$TOP/scripts/vm/debug.config"
		cat "$TOP/scripts/vm/kcsan.config"
	} > "$fragment.$$"
	mv "$fragment.$$" "$fragment"
	instrument=(KCSAN_SANITIZE=n)
}

# newest_archive: the newest source package in the cache
newest_archive() {
	find "$cache" -name "${name}_*.deb" 2> /dev/null | sort -V | tail -n 1
}

# A package of the next release's backports, 150 MB, kept in the cache.
choose_um() {
	fragment=$TOP/scripts/vm/um.config
	name=linux-source-7.3
	arch=um image=linux folders="arch/um arch/x86"
	what="the User-mode Linux"
	steps=1400
	# In a module this address needs more than 32 bits, so the kernel cannot load the module.
	filter='s/"movq $\(__get_kernel_nofault_faulted_%=\),%1\\n"/"movabsq $\1,%q0\\nmovq %q0,%1\\n"/'
	filter+=';s/"=r" (_faulted)/"=\&r" (_faulted)/'
	filtered=arch/x86/um/shared/sysdep/faultinfo_64.h
	mkdir -p "$cache"
	archive=$(newest_archive)
	if [ -z "$archive" ]; then
		step "fetching $name (150 MB)"
		mkdir -p "$BUILD/vm/source"
		(cd "$BUILD/vm/source" && run_logged "$BUILD/vm/source.log" \
			"$TOP/scripts/vm/suite.sh" trixie \
			apt-get -qq -o APT::Sandbox::User=root download "$name")
		mv "$BUILD/vm/source/${name}"_*.deb "$cache"
		archive=$(newest_archive)
	fi
}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma_mpa
[ -z "${KCSAN:-}" ] || choose_kcsan
[ -z "${UM:-}" ] || choose_um
version=$(source_version)
key=kernel-${version//[^0-9a-z.-]/_}-$({ cat "$fragment"; echo "$filter"; } | sha256sum | cut -c 1-12)
dir=$BUILD/vm/$key
if [ ! -e "$dir/release" ]; then
	mkdir -p "$BUILD/vm"
	work=$(mktemp -d "$BUILD/vm/kernel.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	[ -e "$cache/$key.tar.xz" ] || make_pack
	step "unpacking $what from $cache/$key.tar.xz"
	mkdir "$work/unpacked"
	tar -xf "$cache/$key.tar.xz" -C "$work/unpacked"
	rm -rf "$dir"
	mv -T "$work/unpacked" "$dir"
fi
echo "$dir"
