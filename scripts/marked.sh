#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# marked.sh: a field that the driver reads with READ_ONCE() it must also write with a marked access,
# because the reader does not hold the lock. Prints each plain store, and each xchg() of a bool,
# which not every architecture has; fails if there is any.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../drivers/infiniband/sw/mpa"

# Stores that nobody can see yet: FILE:TEXT, and why.
UNSEEN=(
	'conn/ep.c:ep->state = initiator:rnic_ep_new(), not on the list'
	'tcp/borrow.c:sock->ops = u->ops:rnic_sock_borrow(), the struct socket is new'
	'mem/mr_reg.c:mr->valid:before publish_region()'
	'mem/mr_reg.c:mr->stag:publish_region(), the index is reserved only'
	'ring/cq_ring.c:slot->:user space sees the entry with its flags'
)

allowed() {
	local rule text
	for rule in "${UNSEEN[@]}"; do
		text=${rule#*:}
		[[ $1 != "${rule%%:*}":*"${text%:*}"* ]] || return 0
	done
	return 1
}

findings() {
	local field bools files headers
	mapfile -t files < <(find . -name '*.[ch]' -printf '%P\n' | sort)
	mapfile -t headers < <(find . -name '*.h' -printf '%P\n' | sort)
	while read -r field; do
		grep -nE "(^|[^a-z_>.])${field//./\\.}(\\+\\+|--| [-+|&]?= )" -- "${files[@]}" || :
	done < <(grep -ohE 'READ_ONCE\([a-z]+((->|\.)[a-z_]+)+\)' -- "${files[@]}" |
		sed -E 's/READ_ONCE\((.*)\)/\1/' | sort -u)
	bools=$(grep -ohE '^\sbool [a-z_]+;' -- "${headers[@]}" | sed -E 's/.*bool ([a-z_]+);/\1/' | sort -u |
		paste -sd '|')
	grep -nE "xchg\(&[a-z]+->($bools)," -- "${files[@]}" || :
}

bad=0
while read -r line; do
	allowed "$line" || {
		echo "$line"
		bad=1
	}
done < <(findings)
exit $bad
