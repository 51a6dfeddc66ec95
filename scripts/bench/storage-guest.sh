#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# storage-guest.sh DRIVER MODULE.KO: (in a guest) NVMe over a cable, host and target on this
# machine, with a RAM disk. DRIVER tcp is the kernel's NVMe over TCP, without RDMA.
# Prints "@ WHO CRC OP SIZE DEPTH VALUE" for each row of storage.sh: requests a second, or
# "failed", and then the reason.
# shellcheck disable=SC2034,SC2153 # shared with the scenarios' lib.sh
set -euo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export RDMA_TYPE=$1 MODULE=$2
STATE=$(mktemp -d)
WORK=$STATE
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"
# shellcheck source=scripts/bench/lib.sh
. "$TOP/scripts/bench/lib.sh"
# shellcheck source=scripts/bench/path.sh
. "$TOP/scripts/bench/path.sh"
make_cable() { one_host_cable; }

TRANSPORT=rdma
[ "$1" != tcp ] || TRANSPORT=tcp
NVMET=/sys/kernel/config/nvmet
DISK=/dev/nvme0n1

# put VALUE FILE: without a newline, because some of these files take it for a part of the value
put() { printf %s "$1" >"$2"; }

links_up() {
	if [ "$TRANSPORT" = rdma ]; then
		path_up
	else
		modprobe -a veth
		make_cable
	fi
}

target_up() {
	local subsystem=$NVMET/subsystems/bench port=$NVMET/ports/1
	modprobe brd rd_nr=1 rd_size=65536
	modprobe -a "nvmet-$TRANSPORT" "nvme-$TRANSPORT"
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	mkdir -p "$subsystem/namespaces/1" "$port"
	put 1 "$subsystem/attr_allow_any_host"
	put /dev/ram0 "$subsystem/namespaces/1/device_path"
	put 1 "$subsystem/namespaces/1/enable"
	put "$TRANSPORT" "$port/addr_trtype"
	put ipv4 "$port/addr_adrfam"
	put "$B4" "$port/addr_traddr"
	put 4420 "$port/addr_trsvcid"
	ln -s "$subsystem" "$port/subsystems/bench"
}

connect() {
	put "transport=$TRANSPORT,traddr=$B4,trsvcid=4420,nqn=bench,nr_io_queues=2" \
		/dev/nvme-fabrics
	wait_for 10 test -b "$DISK"
}

gone() { [ ! -e /sys/class/nvme/nvme0 ]; }

disconnect() {
	put 1 /sys/class/nvme/nvme0/delete_controller
	wait_for 10 gone
}

# Runs before anything is timed: it writes each block, and compares it.
warm_up() {
	dd if=/dev/urandom of="$WORK/blocks" bs=1M count=16 status=none
	dd if="$WORK/blocks" of="$DISK" bs=128K oflag=direct status=none
	dd if="$DISK" of="$WORK/back" bs=4K count=4096 iflag=direct status=none
	cmp "$WORK/blocks" "$WORK/back" || fail "what was read is not what was written"
}

# requests OP SIZE DEPTH: requests a second, from fio's terse output for reads or writes
requests() {
	local op=$1 field=8
	case $op in
	write | randwrite) field=49 ;;
	esac
	timeout -k 1 $((WINDOW + 20)) fio --name=bench --filename="$DISK" --direct=1 \
		--ioengine=libaio --time_based --runtime="$WINDOW" --minimal --size=16M \
		--rw="$op" --bs="$2" --iodepth="$3" > "$WORK/fio" 2> "$WORK/fio.log" ||
		fail "fio: exit status $?: $(tail -n 3 "$WORK/fio.log")"
	awk -F ';' -v field=$field '{ value = $field }
		END { if (value <= 0) exit 1; print value }' "$WORK/fio" || fail "fio gave no rate"
}

# run_rows CRC: all rows with that setting
run_rows() {
	local row op size depth value
	[ "$TRANSPORT" = tcp ] || set_crc "$1"
	connect
	warm_up
	for row in $STORAGE_ROWS; do
		IFS=: read -r op size depth <<< "$row"
		if value=$(requests "$op" "$size" "$depth" 2>&1); then
			echo "@ $RDMA_TYPE $1 $op $size $depth $value"
		else
			echo "@ $RDMA_TYPE $1 $op $size $depth failed"
			echo "$value"
		fi
	done
	disconnect
}

"$TOP/scripts/vm/klog.sh" mark bench
links_up
say_processor
target_up
case $RDMA_TYPE in
mpa)
	run_rows off
	run_rows on
	;;
rxe) run_rows on ;;
*) run_rows off ;;
esac
if ! warnings=$("$TOP/scripts/vm/klog.sh" check bench); then
	echo "in the kernel's log:"
	echo "$warnings"
fi
