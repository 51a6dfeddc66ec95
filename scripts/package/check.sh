#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# check.sh: builds the packages and checks their contents; builds the module from them
# as DKMS does; then a Debian machine in a VM that has them installed runs guest.sh, reboots,
# and goes on. Needs root, for image.sh. The last line is "N passed, N failed".
#
# With SUITE=trixie that machine is a Debian 13, and the lintian that of Debian 13.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$TOP"

OUT=$BUILD/package
older=0.0.1
number=0
passed=0 failed=0

# attempt TEXT COMMAND...: a test; its output becomes a comment if it fails
attempt() {
	local text=$1 status
	shift
	number=$((number + 1))
	# Not with "||" behind it, because set -e would have no effect in there.
	set +e
	(set -e; "$@") > "$OUT/log" 2>&1
	status=$?
	set -e
	if [ $status = 0 ]; then
		echo "ok $number - $text"
	else
		echo "not ok $number - $text"
		tail -n 15 "$OUT/log" | sed 's/^/# /'
	fi
}

# Debian 12 does not know the version of the policy that we follow, which is that of Debian 13.
lint_packages() {
	local options=()
	[ "$SUITE" != bookworm ] || options=(--suppress-tags newer-standards-version)
	in_suite "$SUITE" sh -c 'command -v lintian > /dev/null || {
		apt-get -qq update
		apt-get -qq install -y --no-install-recommends lintian
	}'
	in_suite "$SUITE" lintian --allow-root -I --fail-on error,warning,info "${options[@]}" \
		"$BUILD"/deb/*.changes
}

# Builds the packages twice: nothing in them may depend on the time or on chance.
same_again() {
	local before after
	before=$(sha256sum "$BUILD"/deb/*.deb "$BUILD"/deb/*.tar.xz)
	scripts/package/deb.sh
	after=$(sha256sum "$BUILD"/deb/*.deb "$BUILD"/deb/*.tar.xz)
	diff <(echo "$before") <(echo "$after")
}

# files_below DIR: the files there, one a line
files_below() {
	(cd "$1" && find . ! -type d | sort)
}

# The package must have the files in /usr/src that a build reads, and no others.
dkms_contents() {
	local dir=$OUT/dkms/usr/src/rdma_mpa-$version size
	diff <(files_below "$dir") <({
		printf './%s\n' COPYING Kbuild Makefile dkms.conf
		find ./drivers ./include -type f \( -name '*.[ch]' -o -name Kbuild \)
	} | sort)
	size=$(du -s --apparent-size -B 1000 "$OUT/dkms" | cut -f 1)
	[ "$size" -lt 1000 ] || {
		echo "it takes $size kB: the source alone takes 600"
		return 1
	}
}

tools_contents() {
	diff <(files_below "$OUT/tools" | grep -v '/usr/share/doc/') - <<-EXPECTED
		./usr/include/rdma/rdma_mpa.h
		./usr/lib/rdma-mpa/cdi.sh
		./usr/lib/rdma-mpa/link.sh
		./usr/lib/systemd/system/rdma-mpa@.service
		./usr/lib/udev/rules.d/76-rdma-mpa.rules
	EXPECTED
	[ -d "$OUT/tools/etc/rdma-mpa" ]
	find "$OUT/tools/usr/share/doc" -name 'settings.rst*' | grep .
	find "$OUT/tools/usr/share/doc" -name 'packages.rst*' | grep .
	find "$OUT/tools/usr/share/doc" -name 'stream.c*' | grep .
}

# dkms_build RELEASE KDIR: builds from the package's files in /usr/src. Nothing is installed.
dkms_build() {
	rm -rf "$OUT/tree"
	mkdir "$OUT/tree"
	dkms build "rdma_mpa/$version" -k "$1" --arch x86_64 --kernelsourcedir "$2" \
		--dkmstree "$OUT/tree" --sourcetree "$OUT/dkms/usr/src"
}

dkms_builds() {
	local kdir
	kdir=$(guest_kdir)
	dkms_build "$(guest_release)" "$kdir" || {
		cat "$OUT/tree/rdma_mpa/$version/build/make.log"
		return 1
	}
	find "$OUT/tree" -name 'rdma_mpa.ko*' | grep .
}

# passes_over RELEASE KDIR: DKMS must end with 77, its status for a kernel that is excluded
passes_over() {
	local status=0
	dkms_build "$1" "$2" || status=$?
	[ $status = 77 ] || {
		echo "dkms ended with status $status for $1, not 77"
		return 1
	}
}

dkms_older() {
	passes_over 5.10.0-30-amd64 "$(guest_kdir)"
	passes_over 6.0.0-6-amd64 "$(guest_kdir)"
}

# The kernel lacks one option that the module needs
dkms_without() {
	local config
	mkdir -p "$OUT/kdir"
	for config in 64BIT INET INFINIBAND INFINIBAND_ADDR_TRANS INFINIBAND_VIRT_DMA; do
		sed "s/^CONFIG_$config=.*/# CONFIG_$config is not set/" \
			"$(guest_kdir)/.config" > "$OUT/kdir/.config"
		passes_over "$(guest_release)" "$OUT/kdir"
	done
}

# The other distributions' packages, built here, hold what Debian's hold.
same_as_debian() {
	diff <(files_below "$1" | sed /doc/d) <(
		{
			files_below "$OUT/dkms"
			files_below "$OUT/tools"
		} | sed /doc/d | sort
	)
}

rpm_spec() {
	local rpm
	rm -rf "$OUT/rpm"
	mkdir -p "$OUT/rpm/root"
	rpmbuild -bb --nodeps --define "_topdir $OUT/rpm" \
		--define "_sourcedir $BUILD/deb" packaging/rdma-mpa.spec
	for rpm in "$OUT"/rpm/RPMS/noarch/*.rpm; do
		rpm2cpio "$rpm" | (cd "$OUT/rpm/root" && cpio --quiet -id)
	done
	same_as_debian "$OUT/rpm/root"
}

# shellcheck disable=SC2030,SC2031 # makepkg's variables, for its functions
arch_pkgbuild() {
	local name srcdir=$BUILD/deb pkgdir=$OUT/arch
	bash -n packaging/PKGBUILD
	rm -rf "$pkgdir"
	mkdir "$pkgdir"
	# shellcheck source=packaging/PKGBUILD
	. packaging/PKGBUILD
	[ "$pkgver" = "$version" ]
	for name in "${pkgname[@]}"; do
		"package_$name"
	done
	same_as_debian "$pkgdir"
}

# make install and make uninstall, by hand, in a folder
by_hand() {
	local root=$OUT/hand/root
	rm -rf "$OUT/hand"
	mkdir -p "$root/lib/modules"
	cp -r "$OUT/dkms/usr/src/rdma_mpa-$version" "$OUT/hand/source"
	make -C "$OUT/hand/source" KDIR="$(guest_kdir)" -j"$(nproc)" modules
	make -C "$OUT/hand/source" KDIR="$(guest_kdir)" INSTALL_MOD_PATH="$root" install
	find "$root" -name 'rdma_mpa.ko*' | grep .
	make -C "$OUT/hand/source" KDIR="$(guest_kdir)" INSTALL_MOD_PATH="$root" uninstall
	[ -z "$(find "$root" -name 'rdma_mpa*')" ]
	! grep rdma_mpa "$root/lib/modules/$(guest_release)/modules.dep"
}

# Packages of an older version, from which the machine is upgraded. Their module has a file that
# the newer one lacks.
older_builds() {
	local dir=$OUT/older file
	rm -rf "$dir"
	mkdir "$dir"
	tar -C "$dir" --strip-components=1 -xf "$BUILD/deb/rdma-mpa_$version.orig.tar.xz"
	cp -r packaging/debian "$dir/packaging"
	cp -r scripts "$dir"
	for file in dkms.conf CHANGELOG.rst packaging/{debian/changelog,rdma-mpa.spec,PKGBUILD}; do
		sed -i "s/\\<${version//./\\.}\\>/$older/g" "$dir/$file"
	done
	: > "$dir/include/gone.h"
	"$dir/scripts/package/deb.sh"
	ls "$dir"/build/deb/rdma-mpa-{dkms,tools}_"$older"-*.deb
}

unpack() {
	rm -rf "$OUT/dkms" "$OUT/tools"
	dpkg-deb -x "$BUILD/deb/rdma-mpa-dkms_$version"-*.deb "$OUT/dkms"
	dpkg-deb -x "$BUILD/deb/rdma-mpa-tools_$version"-*.deb "$OUT/tools"
	rm -r "$OUT"/{dkms,tools}/usr/share/lintian # Debian's alone
}

test_packages() {
	echo "TAP version 13"
	attempt "the packages build" scripts/package/deb.sh
	attempt "a second build makes the same packages" same_again
	attempt "lintian has nothing to say" lint_packages
	attempt "they can be unpacked" unpack
	attempt "packages of an older version build" older_builds
	attempt "rdma-mpa-dkms: what a build needs, and no more" dkms_contents
	attempt "rdma-mpa-tools: the unit, the rule, two scripts, the header, the documents" tools_contents
	attempt "DKMS builds the module from it" dkms_builds
	attempt "DKMS passes over a kernel before 6.1" dkms_older
	attempt "DKMS passes over a kernel that is configured without what we need" dkms_without
	attempt "make uninstall takes away what make install put there" by_hand
	attempt "the rpm spec makes packages of the same files" rpm_spec
	attempt "the PKGBUILD makes packages of the same files" arch_pkgbuild
	echo "1..$number"
}

test_machine() {
	scripts/package/image.sh "$OUT/older/build/deb" "$BUILD/deb" || {
		echo "Bail out! no machine could be made"
		return
	}
	step "booting it, twice"
	scripts/package/boot.sh "$OUT/machine" || echo "Bail out! the machine died"
}

# count FILE: adds the results in it to the total
count() {
	local good bad
	read -r good bad < <(awk -f scripts/tap.awk "$1")
	passed=$((passed + good))
	failed=$((failed + bad))
}

[ "$(id -u)" = 0 ] || die "not root: the machine of the tests is installed by chroot"
scripts/deps.sh package-check
export SUITE=${SUITE:-$(own_suite)}
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
mkdir -p "$OUT"
test_packages | tee "$OUT/packages.tap"
test_machine | tee "$OUT/machine.tap"
count "$OUT/packages.tap"
count "$OUT/machine.tap"
echo
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
