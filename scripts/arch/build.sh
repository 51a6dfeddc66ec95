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

# The series: its name, its suite, the pattern of its releases, and the processors for which
# there is none.
SERIES=(
	'6.1 bookworm 6\.1\.0-[0-9]+ riscv64'
	'6.12 trixie 6\.12\.[0-9]+\+deb13'
	'7.3 trixie 7\.3\.[0-9]+\+deb13'
)
number=0 failed=0

# compilers SUITE: installs those that are missing
compilers() {
	local suite=$1 arch package names=()
	if [ "$suite" = "$(own_suite)" ]; then
		"$TOP/scripts/deps.sh" cross
		return
	fi
	for arch in "${archs[@]}"; do
		package=gcc-14-$(gnu_type "$arch")
		in_suite "$suite" dpkg -s "${package//_/-}" > /dev/null 2>&1 ||
			names+=("${package//_/-}")
	done
	[ "${#names[@]}" -gt 0 ] || return 0
	step "in the system of $suite: ${names[*]}"
	run_logged "$ARCH_BUILD/compilers.log" in_suite "$suite" \
		env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
		--no-install-recommends "${names[@]}"
}

# build ARCH SUITE PATTERN NAME
build() {
	local arch=$1 suite=$2 release='' dir status=0 log=$ARCH_BUILD/build-$1-$4.log
	: > "$ARCH_BUILD/fetch.log"
	release=$(newest_headers "$arch" "$suite" "$3") || true
	if [ -z "$release" ] || ! dir=$(headers "$arch" "$suite" "$release"); then
		{
			echo "E: apt has no headers of $4 for $arch"
			cat "$ARCH_BUILD/apt-$arch-$suite.log" 2> /dev/null || true
		} >> "$ARCH_BUILD/fetch.log"
		result 1 "headers of ${release:-$4} for $arch" "$ARCH_BUILD/fetch.log"
		return
	fi
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
	local release='' dir log=$ARCH_BUILD/build-i386.log status=1
	: > "$ARCH_BUILD/fetch.log"
	release=$(newest_headers i386 bookworm '6\.1\.0-[0-9]+') || true
	if [ -z "$release" ] || ! dir=$(headers i386 bookworm "$release"); then
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
	read -r name suite pattern without <<< "$series"
	compilers "$suite"
	for arch in "${archs[@]}"; do
		[[ " $without " == *" $arch "* ]] || build "$arch" "$suite" "$pattern" "$name"
	done
done
refused
echo "1..$number"
[ $failed = 0 ]
