#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# layers.sh: holds the borders between the layers by what files include.
# Prints each breach; fails if there is any.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

driver=drivers/infiniband/sw/mpa
breaches=0

# includes FILE...: "FILE:LINE:HEADER" of each include, "<x>" and "x" alike
includes() {
	grep -HnE '^[[:space:]]*#[[:space:]]*include' "$@" |
		sed -E 's/^([^:]*:[0-9]*:).*include(_next)?[[:space:]]*["<]([^">]*).*/\1\3/' ||
		true
}

breach() {
	echo "$1 must not be included here: $2"
	breaches=$((breaches + 1))
}

# The pure engine: bytes and decisions. What is not named here (sockets, verbs,
# locks, allocation, clocks, prints) it does not know.
check_engine() {
	local file line header files
	mapfile -t files < <(find "$driver/wire" include/wire -name '*.[ch]' 2> /dev/null)
	[ "${#files[@]}" -gt 0 ] || return 0
	while IFS=: read -r file line header; do
		case $header in
		wire/*) ;;
		asm/barrier.h | asm/byteorder.h | compat/unaligned.h) ;;
		linux/byteorder/*) ;;
		linux/bits.h | linux/build_bug.h | linux/compiler.h | linux/crc32c.h) ;;
		linux/errno.h) ;;
		linux/limits.h | linux/minmax.h | linux/stddef.h) ;;
		linux/string.h | linux/types.h) ;;
		*) breach "$header" "$file:$line (the engine is to stay pure)" ;;
		esac
	done < <(includes "${files[@]}")
}

# only HEADER WHY PATTERN...: in the driver, only files whose names match a
# pattern may include HEADER.
only() {
	local wanted=$1 why=$2 file line header pattern ok
	shift 2
	while IFS=: read -r file line header; do
		[ "$header" = "$wanted" ] || continue
		ok=
		for pattern in "$@"; do
			# shellcheck disable=SC2053 # a pattern
			[[ ${file##*/} == $pattern ]] && ok=1
		done
		[ -n "$ok" ] || breach "$header" "$file:$line ($why)"
	done <<< "$driver_includes"
}

check_engine
mapfile -t files < <(find "$driver" include -name '*.[ch]' -not -path '*/wire/*' 2> /dev/null)
if [ "${#files[@]}" -gt 0 ]; then
	driver_includes=$(includes "${files[@]}")
	only rdma/siw-abi.h "the user ABI has one home" 'ring*.[ch]' 'verbs*.c'
	only rdma/iw_cm.h "connection management has one home" 'cm*.c' listen.c device.c verbs.c
	only rdma/rdma_netlink.h "rdma link has one home" link.c
fi
[ $breaches = 0 ]
