#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# siw.sh [peer|crc]: builds the kernel's own software iWARP driver for the guests'
# kernel, and prints the path of the module. Debian does not ship it; the source comes
# from the kernel's linux-source package (ksrc.sh).
#
# Without an argument it is siw as it is, for comparisons. With "peer" two faults of it
# are mended (see mend), so that our tests with it as the other end judge us. With
# "crc" it asks for CRC, too: siw has that as a constant.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case ${1:-} in
'') name=siw.ko ;;
peer | crc) name=siw-$1.ko ;;
*) die "usage: siw.sh [peer|crc]" ;;
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

# What keeps a test from judging us, and not the peer:
#
# - siw's socket callbacks take sk_callback_lock with bottom halves on. TCP calls them
#   from a system call too (release_sock), and then they may be interrupted by a
#   softirq that wants the lock for writing. lockdep says so, and turns itself off.
# - siw_accept() sends the Reply, then puts the handlers of FPDUs in place. An FPDU
#   that came in between is seen by nobody until another one comes, and the peer may
#   wait for the answer to it for ever. If it was the RTR and the peer hangs up, siw says
#   CLOSE of what was never ESTABLISHED, and the kernel dies of it (iwcm.c: BUG). It
#   takes 20 ms before siw_sk_assign_rtr_upcalls() to see both each time, and a busy
#   machine to see them once in a hundred connections. So siw looks for itself: for
#   the RTR, whose handler takes no more than that, and for what came behind it.
mend() {
	local file
	for file in siw_cm.c siw_qp.c; do
		change $file 's/read_\(lock\|unlock\)(&sk->sk_callback_lock)/read_\1_bh(\&sk->sk_callback_lock)/' \
			'read_unlock_bh(&sk->sk_callback_lock)'
	done
	change siw_cm.c '/^int siw_accept(/,/^}/s/^\tsiw_cep_set_free(cep);$/\tlock_sock(cep->sock->sk);\
	if (tcp_inq(cep->sock->sk))\
		cep->sock->sk->sk_data_ready(cep->sock->sk);\
	if (tcp_inq(cep->sock->sk))\
		cep->sock->sk->sk_data_ready(cep->sock->sk);\
	release_sock(cep->sock->sk);\
&/' tcp_inq
}

build_variant() {
	run_logged "$dir/$1.log" guest_make M="$dir/src" \
		CONFIG_RDMA_SIW=m -j"$(nproc)" modules
	cp "$dir/src/siw.ko" "$dir/$1.new"
}

# All variants share one build folder: the later ones compile few files.
build() {
	step "building siw for $release as a peer (20 s)"
	rm -rf "$dir"
	mkdir -p "$dir"
	cp -r "$source" "$dir/src"
	build_variant siw.ko
	mend
	build_variant siw-peer.ko
	change siw_main.c 's/^const bool mpa_crc_required;/const bool mpa_crc_required = true;/' \
		'mpa_crc_required = true'
	build_variant siw-crc.ko
	for file in siw siw-peer siw-crc; do
		mv "$dir/$file.ko.new" "$dir/$file.ko"
	done
}

if [ ! "$dir/siw-crc.ko" -nt "$kdir/Module.symvers" ] ||
	[ ! "$dir/siw-crc.ko" -nt "$source/../../../.." ] ||
	[ ! "$dir/siw-crc.ko" -nt "${BASH_SOURCE[0]}" ]; then
	build
fi
echo "$dir/$name"
