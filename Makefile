# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Targets for people. Kbuild names the parts of the module, because the
# kernel's build system prefers it to this file.

ifneq ($(words $(CURDIR)),1)
# Kbuild cannot take a folder with a blank in its name.
all $(MAKECMDGOALS): elsewhere
	@:
elsewhere:
	@+scripts/elsewhere.sh $(MAKECMDGOALS)
.PHONY: all elsewhere $(MAKECMDGOALS)
else

# The running kernel's headers, else the newest installed.
KDIR ?= $(patsubst %/Makefile,%,$(firstword $(wildcard /lib/modules/$(shell uname -r)/build/Makefile) \
	$(shell ls /lib/modules/*/build/Makefile 2>/dev/null | sort -rV)))

all: modules

modules clean: headers
	$(MAKE) -C $(KDIR) M=$(CURDIR) $@
	$(if $(filter clean,$@),rm -rf build)

headers:
	@test -n "$(KDIR)" || { echo 'no kernel headers: install linux-headers-amd64' \
		'(elsewhere linux-headers-generic or kernel-devel),' \
		'or name a folder: make KDIR=DIR' >&2; exit 1; }

# Do not sign: only the distribution has its key.
install: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=extra \
		CONFIG_MODULE_SIG_ALL= modules_install
	release=$$(modinfo -F vermagic rdma_mpa.ko | cut -d ' ' -f 1) && \
	depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $$release && \
	{ [ $$release = "$$(uname -r)" ] || echo "This is for $$release, and $$(uname -r) runs." \
		"Boot that kernel, or install the headers of this one."; }

# Removes what install put there, for the kernel of KDIR.
uninstall: headers
	release=$$(sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' \
		$(KDIR)/include/generated/utsrelease.h) && [ -n "$$release" ] && \
	rm -f $(INSTALL_MOD_PATH)/lib/modules/$$release/extra/rdma_mpa.ko* && \
	depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $$release

deb:
	scripts/package/deb.sh

dist:
	scripts/package/archive.sh

package-check:
	scripts/package/check.sh

demo:
	scripts/demo/run.sh

check:
	KERNELS="$(KERNELS)" scripts/check.sh

check-all:
	KERNELS="$(KERNELS)" scripts/check.sh all

unit:
	scripts/deps.sh unit
	$(MAKE) -C kunit/user check

fuzz:
	scripts/fuzz.sh $(FUZZ_SECONDS)

kunit:
	scripts/kunit/run.sh

e2e:
	scripts/check.sh e2e $(E2E)

container-check:
	scripts/deps.sh containers
	scripts/check.sh e2e 'container_*'

debug-check:
	KCSAN=$(KCSAN) scripts/check.sh debug $(E2E)

newer-check:
	NEWER=$(NEWER) scripts/check.sh newer $(E2E)

fresh-check:
	scripts/fresh.sh $(SUITE)

bench:
	scripts/deps.sh bench
	scripts/bench/run.sh

bench-native:
	scripts/deps.sh bench native
	NATIVE=1 OUT=$(or $(OUT),bench-native) scripts/bench/run.sh

bench-count:
	scripts/deps.sh bench
	scripts/bench/count.sh

bench-growth:
	scripts/deps.sh bench
	scripts/bench/growth.sh

bench-profile:
	scripts/deps.sh $(if $(NATIVE),profile,bench)
	scripts/bench/profile.sh

bench-storage:
	scripts/deps.sh storage
	scripts/bench/storage.sh

suites:
	scripts/deps.sh suites
	scripts/suites/run.sh $(SUITES)

kernels:
	scripts/check.sh kernels $(RELEASES)
	$(if $(RELEASES),,scripts/arch/build.sh)

arch-check:
	scripts/arch/check.sh $(ARCH) $(if $(ARCH),$(E2E))

lint:
	scripts/lint.sh

help:
	@echo 'make           build rdma_mpa.ko (KDIR=DIR: for that kernel, W=1: more warnings)'
	@echo 'make install   install it where modprobe finds it'
	@echo 'make uninstall  take it away from there'
	@echo 'make deb       Debian packages of the module (DKMS) and its unit, in build/deb'
	@echo 'make dist      the archive of the source for packages of other distributions, in build/dist'
	@echo 'make package-check  the packages: contents, builds, a machine that reboots (SUITE=trixie: Debian 13)'
	@echo 'make demo      RDMA programs between two hosts in a small VM, as a table'
	@echo 'make check     unit tests, fuzzers, lint, KUnit, scenarios (KERNELS=all: all of them, on 6.1, 6.12, 7.3)'
	@echo 'make check-all  the same, other kernels by turns, other builds (an hour)'
	@echo 'make unit      only the engine tests in user space (no root, no VM)'
	@echo 'make fuzz      the engine against made-up bytes (FUZZ_SECONDS=60 each)'
	@echo 'make kunit     only the engine tests in a kernel'
	@echo 'make e2e       only the end-to-end scenarios (E2E="NAME ...": these)'
	@echo 'make container-check  only the scenarios with podman, which it installs (90 MB)'
	@echo 'make debug-check  KUnit and scenarios on a kernel with KASAN, lockdep, ... (KCSAN=1: one that looks for data races)'
	@echo 'make newer-check  scenarios on a newer kernel (6.12; NEWER=7.3: that one)'
	@echo 'make kernels   build for each kernel that apt has headers of, and for other processors'
	@echo '               (RELEASES="... ...": only for these releases)'
	@echo 'make fresh-check  README, on a new minimal Debian (SUITE=bookworm or trixie)'
	@echo 'make arch-check  tests on an emulated s390x (big-endian) and arm64 (ARCH=s390x: there)'
	@echo 'make bench     our device, siw, rxe and plain TCP on the same path'
	@echo 'make bench-native  the same by the processor itself, in a User-mode Linux (built once, 10 minutes)'
	@echo 'make bench-count  instructions a message: our device, siw, TCP'
	@echo 'make bench-growth  the same with up to 1000 connections, 100 000 regions'
	@echo 'make bench-profile  in which functions they are'
	@echo 'make bench-storage  NVMe over our device, siw, rxe and plain TCP'
	@echo 'make suites    other people'"'"'s programs over our device and siw (SUITES="fio ...": these)'
	@echo 'make lint      style and static checks'
	@echo 'make clean     remove what was built'

.PHONY: all modules clean headers install uninstall deb dist package-check demo check check-all unit fuzz kunit e2e container-check debug-check newer-check kernels fresh-check arch-check bench bench-native bench-count bench-growth bench-profile bench-storage suites lint help

endif
