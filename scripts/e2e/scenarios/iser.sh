# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# iSCSI over RDMA (iSER): the target and the initiator are of the initial namespace. LIO's
# portal listens with TCP first, and then with rdma_cm at the same address and port, which on
# iWARP is TCP's. It opens the TCP socket in the namespace of the program that makes the portal,
# and rdma_cm's always in the initial one: so the portal is made from another namespace, where
# nobody can reach its TCP socket.

ISER_TARGET=/sys/kernel/config/target
ISER_NAME=iqn.2026-01.test:disk
ISER_GROUP=$ISER_TARGET/iscsi/$ISER_NAME/tpgt_1
ISER_ADDRESS=10.77.9.1
ISER_PORTAL=$ISER_ADDRESS:3260

iser_target() {
	local name value
	truncate -s 64M "$WORK/disk"
	modprobe -a target_core_mod target_core_file iscsi_target_mod ib_isert ib_iser sd_mod ext4
	mkdir -p "$ISER_TARGET/core/fileio_0/disk"
	put "fd_dev_name=$WORK/disk,fd_dev_size=67108864" "$ISER_TARGET/core/fileio_0/disk/control"
	put 1 "$ISER_TARGET/core/fileio_0/disk/enable"
	mkdir "$ISER_TARGET/iscsi"
	mkdir "$ISER_TARGET/iscsi/$ISER_NAME"
	mkdir "$ISER_GROUP"
	mkdir "$ISER_GROUP/lun/lun_0"
	ln -s "$ISER_TARGET/core/fileio_0/disk" "$ISER_GROUP/lun/lun_0/disk"
	for value in authentication=0 generate_node_acls=1 demo_mode_write_protect=0; do
		name=${value%=*}
		put "${value#*=}" "$ISER_GROUP/attrib/$name"
	done
	put 1 "$ISER_GROUP/enable"
}

iser_portal() { mkdir "$ISER_GROUP/np/$ISER_PORTAL"; }
iser_set() { put "$1" "$ISER_GROUP/np/$ISER_PORTAL/iser"; }
iser_listens() { rdma resource show cm_id | grep -q "state LISTEN .*:3260 "; }

iser_node() {
	timeout -k 1 "$LIMIT" iscsiadm -m node -T "$ISER_NAME" -p "$ISER_PORTAL" -I iser "$@" \
		>"$WORK/iscsiadm.log" 2>&1 || fail "iscsiadm $*: $(tail -n 1 "$WORK/iscsiadm.log")"
}

# find_iser: the session's disk, ISER
find_iser() {
	local path
	for path in /sys/class/iscsi_session/session*/device/target*/*/block/sd*; do
		[ -b "/dev/${path##*/}" ] || return 1
		ISER=/dev/${path##*/}
	done
}

iser_login() {
	iser_node --login
	wait_for 20 find_iser
}

iser_down() {
	iscsiadm -m node -u >/dev/null 2>&1 || :
	[ -z "${PIDS[iscsid]:-}" ] || stop iscsid
	rmdir "$ISER_GROUP/np"/*:* || :
	put 0 "$ISER_GROUP/enable"
	rm -f "$ISER_GROUP/lun/lun_0/disk"
	rmdir "$ISER_GROUP/lun/lun_0" "$ISER_GROUP" "${ISER_GROUP%/*}" "$ISER_TARGET/iscsi" \
		"$ISER_TARGET/core/fileio_0/disk" "$ISER_TARGET/core/fileio_0"
	modprobe -r ib_iser ib_isert
	ip netns del portal
	ip link del iser0
}

# iser_fio NAME: writes random blocks all over the disk, then reads and compares them
iser_fio() {
	timeout -k 1 $((2 * LIMIT)) fio --name="$1" --filename="$ISER" --direct=1 --ioengine=psync \
		--rw=randwrite --bs=16k --size="${2:-4m}" --verify=crc32c --verify_fatal=1 \
		>"$WORK/$1.log" 2>&1
}

iser_files() {
	random_file "$WORK/file" 4
	mkfs.ext4 -q -F "$ISER" >"$WORK/mkfs.log" 2>&1
	mkdir -p "$WORK/mnt"
	mount -t ext4 "$ISER" "$WORK/mnt"
	cp "$WORK/file" "$WORK/mnt/one"
	umount "$WORK/mnt"
	mount -t ext4 "$ISER" "$WORK/mnt"
	cmp "$WORK/file" "$WORK/mnt/one"
	umount "$WORK/mnt"
}

scenario iser_disk 150 "iSER: LIO's portal, a disk, a file system; the portal off and on" iscsi
iser_disk() {
	local fio before
	dirty
	topo_down
	load_modules
	ip link add iser0 type dummy
	ip netns add portal
	trap iser_down EXIT
	ip addr add "$ISER_ADDRESS/24" dev iser0
	ip link set iser0 up
	rdma link add mpa0 type "$TYPE" netdev iser0
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	iser_target
	iser_portal
	must_fail "Address already in use" iser_set 1
	rmdir "$ISER_GROUP/np/$ISER_PORTAL"
	nsenter --net=/run/netns/portal mkdir "$ISER_GROUP/np/$ISER_PORTAL"
	iser_set 1
	iser_listens || fail "the portal does not listen"
	mkdir -p /run/lock/iscsi
	# In a session of its own, because at its end it kills its process group.
	setsid iscsid -f -d 2 >"$WORK/iscsid.log" 2>&1 </dev/null &
	PIDS[iscsid]=$!
	wait_for 10 iscsiadm -m node -o new -T "$ISER_NAME" -p "$ISER_PORTAL,1" -I iser
	iser_login
	iser_fio verify || fail "fio: $?"
	iser_files
	before=$(hw_counter mpa0 tx_read_request)
	iser_fio during 16m &
	fio=$!
	wait_for 20 reads_on "$before"
	iser_set 0
	not iser_listens || fail "the portal listens still"
	kill -0 "$fio" || fail "fio has ended already"
	iser_set 1
	wait "$fio" || fail "fio, with the portal off and on: $?"
	iser_node --logout
	iser_login
	iser_fio again || fail "fio, after another login: $?"
	all_moved mpa0 tx_write tx_read_request rx_send_inv
	nothing_refused mpa0
	trap - EXIT
	iser_down
}
