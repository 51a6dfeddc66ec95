#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# elsewhere.sh [GOAL...]: runs make in a copy of the tree whose path has no blank in it, because
# Kbuild takes the folder of a module for a list of words.
#
# The copy is in $TMPDIR (/tmp), always the same one for the same tree, with a build/ of
# its own. The module is copied to where make would have left it.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# A blank in TMPDIR would not help.
base=${TMPDIR:-/tmp}
[[ $base != *[[:space:]]* ]] || base=/tmp
copy=$base/rdma_mpa-$(id -u)-$(cksum <<< "$top" | cut -d ' ' -f 1)

mkdir -p "$base"
[ -d "$copy" ] || mkdir -m 700 "$copy"
[ -O "$copy" ] || {
	echo "elsewhere.sh: $copy is somebody else's" >&2
	exit 1
}
# The folder itself is the lock, because a file beside it could be somebody else's link.
exec 8< "$copy"
flock -n 8 || {
	echo "elsewhere.sh: another make runs in $copy: wait for its end" >&2
	exit 1
}
echo "==> \"$top\" has a blank in its name, which kbuild cannot take: going on in $copy" >&2
find "$copy" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
tar -C "$top" --exclude=./build -cf - . | tar -C "$copy" -xf -
status=0
make -C "$copy" --no-print-directory "$@" 8<&- || status=$?
rm -f "$top/rdma_mpa.ko"
[ ! -e "$copy/rdma_mpa.ko" ] || cp -p "$copy/rdma_mpa.ko" "$top"
# The packages too, because README's next command looks for them there.
for dir in deb dist; do
	[ -d "$copy/build/$dir" ] || continue
	mkdir -p "$top/build"
	rm -rf "$top/build/$dir"
	cp -rp "$copy/build/$dir" "$top/build"
done
exit $status
