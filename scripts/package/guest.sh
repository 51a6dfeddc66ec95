#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# guest.sh: the machine of image.sh runs this at each boot. After the first boot it tests the
# installed packages and reboots. After the second it tests what has to be there again, and the
# removal of packages. Prints TAP; the numbers of tests and of failures are kept on the disk.
set -uo pipefail

unit=rdma-mpa@eth0.service conf=/etc/rdma-mpa/eth0.conf
settings=/sys/class/infiniband/mpa0/mpa
kept=/var/lib/package-test # boots, number, failed
export LC_ALL=C.UTF-8 HOME=/root

fail() {
	echo "# $*"
	return 1
}

wait_for() {
	local end=$((SECONDS + 120))
	until "$@" &> /dev/null; do
		[ $SECONDS -lt $end ] || {
			fail "timed out after 120 s waiting for: $*"
			return
		}
		sleep 0.2
	done
}

# attempt FUNCTION TEXT: a test; its output becomes a comment if it fails
attempt() {
	local status out
	number=$((number + 1))
	# Not with "||" behind it, because set -e would have no effect in there.
	out=$(set -e; "$1" 2>&1)
	status=$?
	if [ $status = 0 ]; then
		echo "ok $number - $2"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $number - $2"
	{
		echo "$out"
		journalctl -b -o cat -n 10 -u 'rdma-mpa@*'
		rdma link show
	} 2>&1 | sed 's/^#* */# /'
}

# is FILE VALUE
is() {
	[ "$(< "$1")" = "$2" ] || fail "$1 is $(< "$1"), not $2"
}

configure() { printf '%s\n' "$@" > "$conf"; }

is_active() { systemctl -q is-active "$1"; }

# It neither runs nor is about to, and it has not failed
has_stopped() { [ "$(systemctl show -P ActiveState "$1")" = inactive ]; }

device_index() { rdma dev show mpa0 | cut -d : -f 1; }

# --- the first boot ---

module_there() {
	modinfo -F filename rdma_mpa | grep updates/dkms
	dkms status rdma_mpa | grep installed
	[ ! -d /sys/module/rdma_mpa ] || fail "the module is loaded before a unit wanted it"
}

older_gone() {
	local version built other
	version=$(dpkg-query -W -f '${Version}' rdma-mpa-dkms)
	version=${version%-*}
	built=$(modinfo -F version rdma_mpa)
	[ "$built" = "$version" ] || fail "the module is version $built, not $version"
	other=$(dkms status rdma_mpa | grep -v "^rdma_mpa/$version," || true)
	[ -z "$other" ] || fail "dkms has $other"
	other=$(find /usr/src /var/lib/dkms -name gone.h -o -name 'rdma_mpa-*' \
		! -name "rdma_mpa-$version")
	[ -z "$other" ] || fail "there is $other"
}

# As Debian's machines run it, but that this machine is the test's own: since Debian 13 autopkgtest
# asks for a virtual machine. Its other test would compile for minutes under emulation.
autopkgtest_unit() {
	autopkgtest --no-built-binaries --ignore-restrictions=isolation-machine \
		--test-name=unit.sh /usr/local/src/rdma-mpa/ -- null
}

device_made() {
	configure NAME=mpa0 '# a comment' '' ' crc = off ' keepalive_s=10
	systemctl enable -q --now "$unit"
	is $settings/crc off
	is $settings/keepalive_s 10
	is $settings/markers 0
	rdma link show | grep '^link mpa0/1 .* netdev eth0'
	[ -c /dev/infiniband/rdma_cm ] || fail "active, and no rdma_cm to connect by"
	[ -d /sys/module/ib_uverbs ] || fail "active, and ib_uverbs is not loaded"
}

# The port mapper would make calls slow (troubleshooting.rst).
loaded_by_rdma_core() {
	udevadm settle
	wait_for is_active rdma-hw.target
	is_active rdma-load-modules@rdma.service
	[ -d /sys/module/rdma_ucm ] || fail "rdma_ucm is not loaded"
	has_stopped iwpmd.service
}

reload_applies() {
	local before
	before=$(device_index)
	configure NAME=mpa0 crc=off keepalive_s=20
	systemctl reload "$unit"
	is $settings/keepalive_s 20
	[ "$before" = "$(device_index)" ] || fail "another device took its place"
}

restart_forgets() {
	configure NAME=mpa0 crc=off
	systemctl restart "$unit"
	is $settings/crc off
	is $settings/keepalive_s default
}

# refused SENTENCE LINE...: with these lines the unit fails, says so and leaves no device
refused() {
	local cursor
	cursor=$(journalctl -n 1 --show-cursor | sed -n 's/^-- cursor: //p')
	configure "${@:2}"
	! systemctl start "$unit" || fail "started with: ${*:2}"
	systemctl is-failed -q "$unit" || fail "not failed with: ${*:2}"
	journalctl --sync
	journalctl -o cat -u "$unit" --after-cursor="$cursor" | tee /dev/stderr |
		grep -F -- "$1" || fail "the journal does not say: $1"
	[ -z "$(rdma link show)" ] || fail "left a device with: ${*:2}"
	systemctl reset-failed "$unit"
}

faulty_files() {
	systemctl stop "$unit"
	refused "$conf, line 1: crc cannot be \"maybe\"" crc=maybe
	refused "$conf, line 2: there is no setting crcc; there are: " NAME=mpa0 crcc=off
	refused "$conf, line 1: \"crc off\" is neither NAME=DEVICE nor SETTING=VALUE" 'crc off'
	refused "$conf, line 1: \"a b\" cannot be the name of a device" 'NAME=a b'
	refused "$conf, line 3: crc= stands there twice" crc=off '' crc=off
	refused "$conf, line 2: NAME= stands there twice" NAME=x NAME=y
	refused "$conf, line 1: max_pending cannot be \"0\"" max_pending=0
	refused "$conf, line 1: rtr cannot be \"\"" rtr=
	refused "$conf, line 1: crc cannot be \"-n\"" crc=-n
}

no_module() {
	systemctl stop "$unit"
	modprobe -r rdma_mpa
	echo 'install rdma_mpa /bin/false' > /etc/modprobe.d/test.conf
	refused "the module rdma_mpa is not there or cannot be loaded" NAME=mpa0
	rm /etc/modprobe.d/test.conf
}

foreign_device() {
	configure NAME=mpa0
	rdma link add byhand type mpa netdev eth0
	! systemctl start "$unit" || fail "started beside a device made by hand"
	journalctl --sync
	journalctl -b -o cat -u "$unit" | grep -F '"rdma link delete byhand"'
	rdma link show | grep '^link byhand/1' || fail "the device made by hand is gone"
	rdma link delete byhand
	systemctl reset-failed "$unit"
}

names_taken() {
	systemctl start "$unit"
	echo NAME=mpa0 > /etc/rdma-mpa/other.conf
	ip link add other type dummy
	! systemctl start rdma-mpa@other.service || fail "two devices mpa0"
	journalctl --sync
	journalctl -b -o cat -u rdma-mpa@other.service |
		grep -F 'another interface has a device with the name mpa0'
	ip link delete other
	rm /etc/rdma-mpa/other.conf
	systemctl reset-failed
}

on_loopback() {
	systemctl start rdma-mpa@lo.service
	rdma link show | grep '^link mpa_lo/1 .* netdev lo'
	systemctl stop rdma-mpa@lo.service
	[ ! -e /sys/class/infiniband/mpa_lo ] || fail "stopped, and mpa_lo is there"
}

dash_in_name() {
	local name
	name=$(systemd-escape --template=rdma-mpa@.service mpa-x)
	ip link add mpa-x type dummy
	systemctl start "$name"
	rdma link show | grep '^link mpa_mpa-x/1 .* netdev mpa-x'
	ip link delete mpa-x
	wait_for has_stopped "$name"
	[ ! -e /run/rdma-mpa-mpa-x ] || fail "its name is kept"
}

stop_removes() {
	systemctl start "$unit"
	systemctl stop "$unit"
	[ -z "$(rdma link show)" ] || fail "stopped, and there is a device"
	systemctl start "$unit"
}

# The unit removes its own device, also under another name, and no other one with its name.
stop_removes_its_own() {
	rdma dev set mpa0 name renamed
	ip link add other type dummy
	rdma link add mpa0 type mpa netdev other
	systemctl stop "$unit"
	[ ! -e /sys/class/infiniband/renamed ] || fail "stopped, and its device is there"
	rdma link show | grep '^link mpa0/1 .* netdev other' || fail "another device is gone"
	ip link delete other
	systemctl start "$unit"
}

# example BEGIN INTERFACE: the lines of packages.rst below the one that begins so, for that interface
# and the device mpa1
example() {
	local lines
	lines=$(zcat -f /usr/share/doc/rdma-mpa-tools/Documentation/packages.rst* | awk -v begin="$1" '
		/^[^ ]/ { found = index($0, begin) == 1; next }
		found { sub(/^    /, ""); print }' | sed 1d)
	[ -n "$lines" ] || fail "packages.rst has no line that begins with: $1"
	sed "s/eth0/$2/g; s/mpa0/mpa1/g; s/192\.0\.2\.1/198.51.100.1/" <<< "$lines"
}

by_ifupdown() {
	example 'ifupdown, in ' ifup0 > /etc/network/interfaces
	ip link add ifup0 type dummy
	ifup ifup0
	rdma link show | grep '^link mpa1/1 state ACTIVE .* netdev ifup0'
	is /sys/class/infiniband/mpa1/mpa/crc off
	ifdown ifup0
	[ ! -e /sys/class/infiniband/mpa1 ] || fail "down, and the device is there"
	ip link delete ifup0
}

has_mpa1() { rdma link show | grep '^link mpa1/1 state ACTIVE .* netdev nm0'; }

by_network_manager() {
	local file=/etc/NetworkManager/dispatcher.d/50-rdma-mpa
	example 'NetworkManager, an executable file ' nm0 > $file
	chmod 755 $file
	ln -s ../50-rdma-mpa ${file%/*}/pre-down.d
	ip link add nm0 type dummy
	systemctl start NetworkManager
	nmcli connection add type dummy ifname nm0 con-name nm0 autoconnect no \
		ipv4.method manual ipv4.addresses 198.51.100.1/24
	nmcli connection up nm0
	wait_for has_mpa1
	nmcli connection down nm0
	[ ! -e /sys/class/infiniband/mpa1 ] || fail "down, and the device is there"
	[ -e /sys/class/net/nm0 ] || fail "the device went with its interface"
	nmcli connection delete nm0
	systemctl stop NetworkManager
	ip link delete nm0
	rm $file ${file%/*}/pre-down.d/50-rdma-mpa
}

# --- the second boot ---

there_again() {
	wait_for is_active "$unit"
	is $settings/crc off
	is $settings/keepalive_s 30
	rdma link show | grep '^link mpa0/1 state ACTIVE .* netdev eth0'
}

data_goes() {
	local server
	wait_for ip route get 192.0.2.1
	rping -s -a 192.0.2.1 -C 10 &> /dev/null &
	server=$!
	wait_for grep ':1C06 00000000:0000 0A' /proc/net/tcp
	timeout 120 rping -c -a 192.0.2.1 -v -V -C 10
	wait "$server"
}

installed_again() {
	local before
	before=$(device_index)
	dpkg -i /var/tmp/rdma-mpa-tools*.deb
	[ "$before" = "$(device_index)" ] || fail "an upgrade took the device"
	is_active "$unit"
}

tools_removed() {
	dpkg --remove rdma-mpa-tools
	[ ! -e /sys/class/infiniband/mpa0 ] || fail "the device is still there"
	[ -e "$conf" ] || fail "remove took the settings"
}

dkms_removed() {
	dpkg --remove rdma-mpa-dkms
	! modinfo rdma_mpa || fail "modinfo finds the module"
	[ -z "$(dkms status rdma_mpa)" ] || fail "dkms knows the module"
}

nothing_left() {
	local left
	dpkg --purge rdma-mpa-tools rdma-mpa-dkms
	rm -r /var/tmp/rdma-mpa-*.deb /usr/local/src/rdma-mpa	# the test's own
	left=$(find / -xdev \( -iname '*rdma[-_]mpa*' -o -name '*net-devices-eth0*' \) \
		-not -path '/var/log/*')
	[ -z "$left" ] || fail "left:" "$left"
	left=$(find /run -iname '*rdma[-_]mpa*')
	[ -z "$left" ] || fail "left:" "$left"
}

kernel_log_clean() {
	! dmesg | grep -E 'BUG:|WARNING:|Oops|Call Trace' || fail "see above"
}

first_boot() {
	attempt module_there "packages: DKMS built the module when its package was installed"
	attempt older_gone "packages: an upgrade leaves nothing of the version before"
	attempt autopkgtest_unit "unit: the package's own autopkgtest"
	attempt device_made "unit: makes the device, with the settings of its file"
	attempt loaded_by_rdma_core "udev: rdma-core loads its modules, and starts no port mapper"
	attempt reload_applies "unit: reload writes the settings, the device stays"
	attempt restart_forgets "unit: restart forgets what is not in the file any more"
	attempt faulty_files "unit: a faulty file fails with its sentence, and leaves no device"
	attempt no_module "unit: says that there is no module"
	attempt foreign_device "unit: leaves a device alone that was made by hand"
	attempt names_taken "unit: says that a name is taken"
	attempt on_loopback "unit: on the loopback interface"
	attempt dash_in_name "unit: an interface with a dash, which goes"
	attempt stop_removes "unit: stop removes the device"
	attempt stop_removes_its_own "unit: stop removes only what it made, under any name"
	attempt by_ifupdown "without the unit: the lines of packages.rst for ifupdown"
	attempt by_network_manager "without the unit: its file for NetworkManager"
	configure NAME=mpa0 crc=off keepalive_s=30
}

second_boot() {
	attempt there_again "reboot: the device is there again, with its settings"
	attempt data_goes "reboot: rping over the address that systemd-networkd gave"
	attempt installed_again "packages: the device outlives an upgrade of the tools"
	attempt tools_removed "packages: remove stops the units, and keeps their files"
	attempt dkms_removed "packages: remove takes the module away"
	attempt nothing_left "packages: purge leaves nothing"
	attempt kernel_log_clean "kernel: nothing in its log since the reboot"
}

boots=0 number=0 failed=0
# shellcheck source=/dev/null
[ ! -e $kept ] || . $kept
boots=$((boots + 1))
if [ $boots = 1 ]; then
	first_boot
	printf '%s\n' boots=$boots number=$number failed=$failed > $kept
	systemctl --no-block reboot
	exit
fi
second_boot
echo "1..$number"
systemctl --no-block poweroff
