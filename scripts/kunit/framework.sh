#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# framework.sh: builds the KUnit framework as a module for the guests' kernel and
# prints its folder (kunit.ko, Module.symvers for the test module's build).
#
# Distribution kernels have KUnit off. lib/kunit builds outside the tree after
# two cuts, both for members that structs of a kernel without KUnit lack: the
# notifier that finds a loaded module's suites in struct module (the test module
# calls __kunit_test_suites_init() itself instead), and the running test noted in
# task_struct.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

release=$(guest_release)
kdir=$(guest_kdir)
source=$("$TOP/scripts/ksrc.sh" "$release")/lib/kunit
dir=$BUILD/kunit/$release

write_kbuild() {
	cat > "$dir/Kbuild" <<-'END'
		obj-m := kunit.o
		kunit-y := test.o resource.o string-stream.o assert.o try-catch.o \
			   executor.o debugfs.o
		ccflags-y += -DCONFIG_KUNIT_DEFAULT_ENABLED=1 -DCONFIG_KUNIT_DEBUGFS=1
	END
}

build() {
	step "building the KUnit framework for $release (10 s)"
	rm -rf "$dir"
	mkdir -p "$dir"
	cp "$source"/{test,resource,string-stream,assert,try-catch,executor,debugfs}.c \
		"$source"/*.h "$dir"
	sed -i -e 's/^#ifdef CONFIG_MODULES/#if 0/' \
		-e '/current->kunit_test = /d' "$dir/test.c"
	write_kbuild
	run_logged "$dir/build.log" make -C "$kdir" M="$dir" -j"$(nproc)" modules
}

if [ ! "$dir/kunit.ko" -nt "$kdir/Module.symvers" ] ||
	[ ! "$dir/Module.symvers" -nt "$source" ]; then
	build
fi
echo "$dir"
