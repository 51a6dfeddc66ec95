#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# siw.sh [crc]: builds the kernel's own software iWARP driver, our peer in the
# interoperation tests, for the guests' kernel, and prints the path of siw.ko.
# Debian does not ship it; the source comes from the linux-source package.
#
# With "crc": siw-crc.ko, the same module with CRC asked for. siw has that as a
# constant, so it is changed in the copy we build. For the debug kernel so are two
# faults of it, see mend.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

case ${1:-} in
'') file=siw.ko ;;
crc) file=siw-crc.ko ;;
*) die "usage: siw.sh [crc]" ;;
esac
release=$(guest_release)
kdir=$(guest_kdir)
source=$("$TOP/scripts/ksrc.sh" "$release")/drivers/infiniband/sw/siw
dir=$BUILD/siw/$release

# change FILE SED-SCRIPT PATTERN: which must be in the file afterwards
change() {
	sed -i "$2" "$dir/src/$1"
	grep -q "$3" "$dir/src/$1" || die "$1 is not what it was: no $3"
}

# What keeps the debug kernel from judging us, and not the peer:
#
# - siw's socket callbacks take sk_callback_lock with bottom halves on. TCP calls them
#   from a system call too (release_sock), and then they may be interrupted by a
#   softirq that wants the lock for writing. lockdep says so, and turns itself off.
# - siw_accept() sends the Reply, then puts the handlers of FPDUs in place. An FPDU
#   that came in between is seen by nobody until another one comes, and the peer may
#   wait for the answer to it. On a slow kernel that is the rule. So it looks once.
mend() {
	local file
	for file in siw_cm.c siw_qp.c; do
		change $file 's/read_\(lock\|unlock\)(&sk->sk_callback_lock)/read_\1_bh(\&sk->sk_callback_lock)/' \
			'read_unlock_bh(&sk->sk_callback_lock)'
	done
	change siw_cm.c '/^int siw_accept(/,/^}/s/^\tsiw_cep_set_free(cep);$/\tlock_sock(cep->sock->sk);\
	if (tcp_inq(cep->sock->sk))\
		cep->sock->sk->sk_data_ready(cep->sock->sk);\
	release_sock(cep->sock->sk);\
&/' tcp_inq
}

build_variant() {
	run_logged "$dir/$1.log" make -C "$kdir" M="$dir/src" \
		CONFIG_RDMA_SIW=m -j"$(nproc)" modules
	cp "$dir/src/siw.ko" "$dir/$1.new"
}

# Both variants share one build folder: the second compiles one file.
build() {
	step "building siw for $release as a peer (15 s)"
	rm -rf "$dir"
	mkdir -p "$dir"
	cp -r "$source" "$dir/src"
	[ -z "${GUEST_PACK:-}" ] || mend
	build_variant siw.ko
	change siw_main.c 's/^const bool mpa_crc_required;/const bool mpa_crc_required = true;/' \
		'mpa_crc_required = true'
	build_variant siw-crc.ko
	mv "$dir/siw.ko.new" "$dir/siw.ko"
	mv "$dir/siw-crc.ko.new" "$dir/siw-crc.ko"
}

if [ ! "$dir/siw-crc.ko" -nt "$kdir/Module.symvers" ] ||
	[ ! "$dir/siw-crc.ko" -nt "$source/../../../.." ] ||
	[ ! "$dir/siw-crc.ko" -nt "${BASH_SOURCE[0]}" ]; then
	build
fi
echo "$dir/$file"
