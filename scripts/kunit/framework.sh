#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# framework.sh: builds the KUnit framework as a module for the guests' kernel and
# prints its folder (kunit.ko, Module.symvers for the test module's build).
#
# Distribution kernels have KUnit off. lib/kunit builds outside the tree after some cuts, because
# a kernel without KUnit lacks some things:
#
# - struct module has no suites, so the notifier that looks for them goes. The test module
#   calls kunit_run_suites(), which is added, because what is behind it has one more argument
#   in newer kernels.
# - task_struct has no running test, which becomes a variable: one test runs at a time.
# - From 6.3 on the kernel itself has a key and a table of functions (hooks.c), by which code
#   under test may ask for the test. Our kernel has neither: the table goes, the key is the
#   framework's. Made-up devices go, too, because our tests have none.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

release=$(guest_release)
kdir=$(guest_kdir)
parts=(test resource string-stream assert try-catch executor debugfs)
source=$("$TOP/scripts/ksrc.sh" "$release")/lib/kunit
dir=$BUILD/kunit/$release

write_kbuild() {
	cat > "$dir/Kbuild" <<-END
		obj-m := kunit.o
		kunit-y := ${parts[*]/%/.o}
		ccflags-y += -include \$(src)/settings.h
	END
	cat > "$dir/settings.h" <<-END
		#define CONFIG_KUNIT_DEBUGFS 1
		#define CONFIG_KUNIT_DEFAULT_ENABLED 1
		#define CONFIG_KUNIT_DEFAULT_FILTER ""
		#define CONFIG_KUNIT_DEFAULT_FILTER_ACTION ""
		#define CONFIG_KUNIT_DEFAULT_FILTER_GLOB ""
		#define CONFIG_KUNIT_DEFAULT_TIMEOUT 300
	END
}

cut_test() {
	local last run='' variables='static struct kunit *running_test;'
	last=$(grep -n '^#include' "$dir/test.c" | tail -n 1 | cut -d : -f 1)
	! grep -q kunit_running "$dir/test.c" ||
		variables+=' DEFINE_STATIC_KEY_FALSE(kunit_running);'
	! grep -q 'bool run_tests' "$dir/test.c" || run=', true'
	cat >> "$dir/test.c" <<-END

		int kunit_run_suites(struct kunit_suite **suites, int number);
		int kunit_run_suites(struct kunit_suite **suites, int number)
		{
			return __kunit_test_suites_init(suites, number$run);
		}
		EXPORT_SYMBOL_GPL(kunit_run_suites);
	END
	sed -i -e "${last}a $variables" \
		-e '/^static void kunit_module_init/,/^};/d' \
		-e 's/return register_module_notifier(&kunit_mod_nb);/return 0;/' \
		-e '/unregister_module_notifier(&kunit_mod_nb);/d' \
		-e '/"hooks-impl.h"/d' -e '/kunit_install_hooks();/d' -e '/memset(&kunit_hooks,/d' \
		-e '/kunit_bus_init();/d' -e '/kunit_bus_shutdown();/d' \
		-e 's/^#if !IS_MODULE(CONFIG_KUNIT)/#if 0/' \
		-e 's/^void .*__kunit_fail_current_test_impl(/static __maybe_unused &/' \
		-e 's/current->kunit_test/running_test/' "$dir/test.c"
}

build() {
	step "building the KUnit framework for $release (10 s)"
	rm -rf "$dir"
	mkdir -p "$dir"
	[ ! -e "$source/attributes.c" ] || parts+=(attributes) # from 6.6 on
	(cd "$source" && cp "${parts[@]/%/.c}" ./*.h "$dir")
	cut_test
	write_kbuild
	run_logged "$dir/build.log" guest_make M="$dir" -j"$(nproc)" modules
}

if [ ! "$dir/kunit.ko" -nt "$kdir/Module.symvers" ] ||
	[ ! "$dir/Module.symvers" -nt "$source" ] ||
	[ ! "$dir/Module.symvers" -nt "${BASH_SOURCE[0]}" ]; then
	build
fi
echo "$dir"
