#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# siw.sh [peer|crc]: builds the kernel's own software iWARP driver for the guests'
# kernel, and prints the path of the module. Debian does not ship it; the source comes
# from the kernel's linux-source package (ksrc.sh).
#
# Without an argument it is siw as it is, for comparisons. With "peer" two bugs of siw
# are fixed (see mend), so that our tests against siw judge our driver. With
# "crc" it asks for CRC, too, which is a constant in siw.
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

# change FILE SED-SCRIPT PATTERN: changes the file, in which PATTERN must be afterwards
change() {
	sed -i "$2" "$dir/src/$1"
	grep -q "$3" "$dir/src/$1" || die "$1 is not what it was: no $3"
}

# Bugs because of which a test would judge the peer and not us:
#
# - siw's socket callbacks take sk_callback_lock with bottom halves on. TCP calls them
#   from a system call too (release_sock), and then they may be interrupted by a
#   softirq that wants the lock for writing. lockdep reports that, and turns itself off.
# - siw_accept() sends the Reply, then installs the handlers of FPDUs. Nobody sees an FPDU
#   that comes in between until another one comes, and the peer may
#   wait for the answer to it for ever. If it was the RTR and the peer closes, siw reports
#   CLOSE for a connection that was never ESTABLISHED, and the kernel dies of it (iwcm.c: BUG).
#   With a delay of 20 ms before siw_sk_assign_rtr_upcalls() both happen each time, and on a
#   busy machine once in a hundred connections. So the fix makes siw look for
#   the RTR, whose handler takes no more than that, and for the data behind it.
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
