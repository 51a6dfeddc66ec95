#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds the test programs and runs the end-to-end scenarios in a virtual machine.
#
#   run.sh [-t SECONDS] [-o OUTDIR] [NAME...]       names as guest.sh takes them
#
# RDMA_TYPE, MODULE, SIW_DIR, E2E_SLOW (a factor for time-outs) and E2E_MORE go on to the guest.
# The logs of the scenarios are left in OUTDIR (build/e2e/logs).
set -eu
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
BIN=$TOP/build/e2e
OUT=$BIN/logs
SECONDS_MAX=1500

while getopts t:o: option; do
	case $option in
	t) SECONDS_MAX=$OPTARG ;;
	o) OUT=$OPTARG ;;
	*) sed -n '5s/^# *//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))

make -s -C "$HERE/programs" OUT="$BIN"
mkdir -p "$OUT"
settings=()
for name in RDMA_TYPE MODULE SIW_DIR E2E_SLOW E2E_MORE; do
	[ -z "${!name:-}" ] || settings+=("$name=${!name}")
done
exec "$TOP/scripts/vm/run.sh" -n -s -t "$SECONDS_MAX" -o "$OUT" -- \
	env "${settings[@]}" OUTDIR=/out "$HERE/guest.sh" "$@"
