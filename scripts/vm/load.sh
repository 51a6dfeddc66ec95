#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# load.sh FILE.ko...: (in a guest) loads modules from files, with the modules of
# the running kernel each of them needs, as modprobe would for installed ones.
set -euo pipefail

for file in "$@"; do
	IFS=, read -ra needs < <(modinfo -F depends "$file")
	for module in "${needs[@]}"; do
		[ -d "/sys/module/$module" ] || modprobe "$module"
	done
	insmod "$file"
done
