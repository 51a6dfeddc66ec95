#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# build.sh [ARCH...]: cross-builds the module for other processors (arm64, riscv64, ppc64el,
# s390x), each for the newest kernel of every series that Debian has for it, against that
# kernel's headers and list of exports. Checks that a kernel of 32 bits is refused.
#
# Prints TAP. A warning is a failure, modpost's too.
set -euo pipefail
# shellcheck source=scripts/arch/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ALL=(arm64 riscv64 ppc64el s390x)

# The series: its name, the processors for which there is none, and where it is: a suite and the
# pattern of its releases, and another such pair for a processor for which a mirror has not the
# first.
SERIES=(
	'6.1 riscv64 bookworm 6\.1\.0-[0-9]+'
	'6.12 - trixie 6\.12\.[0-9]+\+deb13'
	'7 - trixie 7\.[0-9]+\.[0-9]+\+deb13 sid 7\.[0-9]+\.[0-9]+\+deb14'
)
number=0 failed=0

# find_headers ARCH SUITE PATTERN [SUITE PATTERN]: sets suite, release and dir. A mirror may name
# the newest release when it has not its files, so an older one is the next to be tried.
find_headers() {
	local arch=$1
	shift
	while [ $# -gt 0 ]; do
		suite=$1
		for release in $(releases "$arch" "$1" "$2"); do
			! dir=$(headers "$arch" "$suite" "$release") || return 0
		done
		cat "$ARCH_BUILD/apt-$arch-$suite.log" >> "$ARCH_BUILD/fetch.log" 2> /dev/null || true
		shift 2
	done
	return 1
}

# compiler ARCH SUITE FOLDER: installs the one that built the kernel of these headers
compiler() {
	local package
	if [ "$2" = "$(own_suite)" ]; then
		"$TOP/scripts/deps.sh" cross
		return
	fi
	package=gcc-$(sed -n 's/^CONFIG_CC_VERSION_TEXT=.*-gcc-\([0-9]*\) .*/\1/p' "$3/.config")
	package+=-$(gnu_type "$1")
	package=${package//_/-}
	! in_suite "$2" dpkg -s "$package" > /dev/null 2>&1 || return 0
	step "in the system of $2: $package"
	run_logged "$ARCH_BUILD/compilers.log" in_suite "$2" env DEBIAN_FRONTEND=noninteractive \
		sh -c "apt-get -qq update; apt-get -qq install -y --no-install-recommends $package"
}

# build ARCH NAME SUITE PATTERN...: for a series
build() {
	local arch=$1 suite release dir status=0 log=$ARCH_BUILD/build-$1-$2.log
	: > "$ARCH_BUILD/fetch.log"
	if ! find_headers "$arch" "${@:3}"; then
		echo "E: apt has no headers of $2 for $arch" >> "$ARCH_BUILD/fetch.log"
		result 1 "headers of $2 for $arch" "$ARCH_BUILD/fetch.log"
		return
	fi
	compiler "$arch" "$suite" "$dir"
	rm -rf "$work"
	copy_source "$work"
	cross_make "$arch" "$suite" "$dir" M="$work" modules > "$log" 2>&1 || status=$?
	! grep -qiE 'warning:' "$log" || status=1
	[ -e "$work/rdma_mpa.ko" ] || status=1
	result $status "the module builds for $release" "$log"
	record built "$release" $((status == 0)) $((status != 0)) whole
	[ "$arch" != arm64 ] || ordered "$work/rdma_mpa.ko" "$release"
}

# ordered MODULE RELEASE: an emulator on amd64 cannot show whether the last byte of a message
# is stored last on a processor that reorders stores (wire/place.h). The code can: the functions of
# qp/rx_msg.c that place data have the barrier between stores. The compiler may inline one of them.
ordered() {
	local log=$ARCH_BUILD/barrier.log status=0
	aarch64-linux-gnu-objdump -d "$1" 2>&1 | awk '
		/^[0-9a-f]+ <copy_payload/ { name = $2; functions++ }
		/^$/ { name = "" }
		name && /dmb[[:space:]]*ishst/ { seen[name] = 1 }
		END {
			for (name in seen)
				ordered++
			if (!functions || ordered < functions) {
				print "error: dmb ishst in " ordered + 0 " of the " functions + 0 \
					" functions that place data"
				exit 1
			}
		}' > "$log" || status=1
	result $status "and has a barrier before the last byte of a message" "$log"
}

# The compiler must not run, because none for such a kernel is needed to refuse it.
refused() {
	local suite release dir log=$ARCH_BUILD/build-i386.log status=1
	: > "$ARCH_BUILD/fetch.log"
	if ! find_headers i386 bookworm '6\.1\.0-[0-9]+'; then
		echo "E: apt has no headers of 6.1 for i386" >> "$ARCH_BUILD/fetch.log"
		result 1 "headers of a kernel of 32 bits" "$ARCH_BUILD/fetch.log"
		return
	fi
	rm -rf "$work"
	copy_source "$work"
	if make -C "$dir" M="$work" modules > "$log" 2>&1; then
		echo "error: it built" >> "$log"
	elif grep -q 'rdma_mpa needs a kernel of 64 bits' "$log" &&
		! grep -q '^  CC' "$log"; then
		status=0
	fi
	result $status "a kernel of 32 bits is refused in a sentence: $release" "$log"
	status=0
	make -C "$dir" M="$work" clean > "$log" 2>&1 || status=$?
	result $status "and cleaning is not" "$log"
}

archs=("$@")
[ $# -gt 0 ] || archs=("${ALL[@]}")
for arch in "${archs[@]}"; do
	[[ " ${ALL[*]} " == *" $arch "* ]] || die "$arch is none of: ${ALL[*]}"
done
work=$ARCH_BUILD/source
trap 'rm -rf "$work"' EXIT
echo "TAP version 13"
for series in "${SERIES[@]}"; do
	read -ra words <<< "$series"
	for arch in "${archs[@]}"; do
		[ "${words[1]}" = "$arch" ] || build "$arch" "${words[0]}" "${words[@]:2}"
	done
done
refused
echo "1..$number"
[ $failed = 0 ]
