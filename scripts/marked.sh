#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# marked.sh: what the driver reads with READ_ONCE() it also writes with a marked access, for
# the reader does not hold the lock. Prints each plain store, and each xchg() of a bool,
# which not every architecture has; fails if there is any.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../drivers/infiniband/sw/mpa"

# Stores that nobody can see yet: FILE:TEXT, and why.
UNSEEN=(
	'ep.c:ep->state = initiator:rnic_ep_new(), not on the list'
	'mr_reg.c:mr->valid:before publish()'
	'mr_reg.c:mr->stag:publish(), the index is reserved only'
	'ring_cq.c:slot->:user space sees the entry with its flags'
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
	local field bools
	while read -r field; do
		grep -nE "(^|[^a-z_>.])${field//./\\.}(\\+\\+|--| [-+|&]?= )" -- *.[ch] || :
	done < <(grep -ohE 'READ_ONCE\([a-z]+((->|\.)[a-z_]+)+\)' -- *.[ch] |
		sed -E 's/READ_ONCE\((.*)\)/\1/' | sort -u)
	bools=$(grep -ohE '^\sbool [a-z_]+;' -- *.h | sed -E 's/.*bool ([a-z_]+);/\1/' | sort -u |
		paste -sd '|')
	grep -nE "xchg\(&[a-z]+->($bools)," -- *.[ch] || :
}

bad=0
while read -r line; do
	allowed "$line" || {
		echo "$line"
		bad=1
	}
done < <(findings)
exit $bad
