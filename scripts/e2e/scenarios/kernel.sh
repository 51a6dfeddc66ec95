# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Consumers inside the kernel: NFS and NVMe over RDMA. They register memory by work
# requests, have it invalidated by the peer, and post and complete in softirq. No program in
# user space can do that.

# all_moved DEVICE COUNTER...: each is above 0
all_moved() {
	local counter dev=$1
	shift
	for counter in "$@"; do
		[ "$(<"/sys/class/infiniband/$dev/ports/1/hw_counters/$counter")" -gt 0 ] ||
			fail "$dev: $counter did not move"
	done
}

# reads_on BEFORE: has mpa0 sent more than ten Read Requests since?
reads_on() { [ "$(hw_counter mpa0 tx_read_request)" -gt $(($1 + 10)) ]; }

# random_file FILE MIB
random_file() { dd if=/dev/urandom of="$1" bs=1M count="$2" status=none; }

# --- NFS: the server in b, the client in a ---

# In the server's namespace, with files of its own in place of the host's. The time that clients
# from before a restart have to claim their locks is 10 s, the shortest that is allowed.
nfs_server() {
	mount -t tmpfs tmpfs /var/lib/nfs
	mkdir -p /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs /srv
	: >/var/lib/nfs/etab
	: >/var/lib/nfs/rmtab
	mount -t tmpfs tmpfs /srv
	mount -t nfsd nfsd /proc/fs/nfsd
	exportfs -i -o rw,no_root_squash,insecure,fsid=0 '*:/srv'
	rpc.nfsd -N 3 -L 10 -G 10 --rdma=20049 2
	cat /proc/fs/nfsd/portlist
	exec rpc.mountd -F -N 3
}

nfs_stop() {
	b unshare -m bash -c 'mount -t nfsd nfsd /proc/fs/nfsd && rpc.nfsd 0'
}

# nfs_client FILE: copies it there, and compares what comes back past the cache
nfs_client() {
	mkdir -p /mnt
	mount -t nfs4 -o "vers=4.1,proto=rdma,port=20049,hard" 10.77.0.2:/ /mnt
	cp "$1" /mnt/one
	dd if="$1" of=/mnt/two bs=7777 status=none
	mkdir /mnt/dir
	mv /mnt/two /mnt/dir
	for name in {1..40}; do
		echo "$name" >"/mnt/dir/$name"
	done
	sync
	umount /mnt
	mount -t nfs4 -o "vers=4.1,proto=rdma,port=20049,hard" 10.77.0.2:/ /mnt
	cmp "$1" /mnt/one
	cmp "$1" /mnt/dir/two
	[ "$(cat /mnt/dir/{1..40})" = "$(seq 40)" ]
	rm -r /mnt/dir /mnt/one
	[ -z "$(ls /mnt)" ]
	umount /mnt
}

nfs_listens() { grep -q 'rdma 20049' "$WORK/server.log"; }

scenario nfs_rdma 90 "NFS over RDMA: files go there and come back whole" newer
nfs_rdma() {
	dirty
	topo_up
	capture b vb
	modprobe -a rpcrdma nfsd nfsv4
	export -f nfs_server nfs_client
	trap nfs_stop EXIT
	start server b unshare -m bash -ec nfs_server
	wait_for 20 nfs_listens
	random_file "$WORK/file" 3
	run client a unshare -m bash -ec "nfs_client $WORK/file"
	trap - EXIT
	nfs_stop
	kill "${PIDS[server]}"
	all_moved mpa0 rx_write rx_read_request tx_read_response rx_send_inv
	all_moved mpa1 tx_write tx_send_inv
	nothing_refused mpa0 mpa1
	no_addresses
	rmmod rpcrdma
}

# --- NVMe: the kernel's target and host are always in the initial namespace ---

NVMET=/sys/kernel/config/nvmet
NVME_ADDRESS=10.77.9.1

# put VALUE FILE: without a newline, because some of these files take it for a part of the value
put() { printf %s "$1" >"$2"; }

nvme_target() {
	local subsystem=$NVMET/subsystems/test port=$NVMET/ports/1
	truncate -s 32M "$WORK/disk"
	mkdir -p "$subsystem/namespaces/1" "$port"
	put 1 "$subsystem/attr_allow_any_host"
	put "$WORK/disk" "$subsystem/namespaces/1/device_path"
	put 1 "$subsystem/namespaces/1/buffered_io"
	put 1 "$subsystem/namespaces/1/enable"
	put rdma "$port/addr_trtype"
	put ipv4 "$port/addr_adrfam"
	put "$NVME_ADDRESS" "$port/addr_traddr"
	put 4420 "$port/addr_trsvcid"
	ln -s "$subsystem" "$port/subsystems/test"
}

nvme_target_down() {
	local subsystem=$NVMET/subsystems/test port=$NVMET/ports/1
	rm -f "$port/subsystems/test"
	rmdir "$port" "$subsystem/namespaces/1" "$subsystem"
	modprobe -r nvme-rdma nvmet-rdma
	ip link del nvme0
}

# nvme_up: makes a target, and a host whose disk is NVME
nvme_up() {
	dirty
	topo_down
	load_modules
	ip link add nvme0 type dummy
	trap nvme_target_down EXIT
	ip addr add "$NVME_ADDRESS/24" dev nvme0
	ip link set nvme0 up
	rdma link add mpa0 type "$TYPE" netdev nvme0
	modprobe -a nvmet-rdma nvme-rdma
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	nvme_target
	put "transport=rdma,traddr=$NVME_ADDRESS,trsvcid=4420,nqn=test,nr_io_queues=2" \
		/dev/nvme-fabrics
	wait_for 10 test -b /dev/nvme0n1
	NVME=/dev/nvme0n1
}

# copy OPTIONS...: dd, which has to succeed in time
copy() {
	timeout -k 1 "$LIMIT" dd "$@" 2>"$WORK/dd.log" || fail "dd $*"
}

nvme_gone() { [ ! -e /sys/class/nvme/nvme0 ]; }

scenario nvme_rdma 60 "NVMe over RDMA: blocks go there and come back whole"
nvme_rdma() {
	capture_here lo
	nvme_up
	# 257 pages, because a program's memory may begin within a page
	[ "$(<"/sys/block/${NVME#/dev/}/queue/max_hw_sectors_kb")" -ge 1024 ] ||
		fail "the device takes less than 1 MiB in one command"
	random_file "$WORK/file" 4
	copy if="$WORK/file" of="$NVME" bs=1M oflag=direct
	copy if="$NVME" of="$WORK/back" bs=64K count=64 iflag=direct
	cmp "$WORK/file" "$WORK/back"
	copy if="$WORK/file" of="$NVME" bs=4K count=100 oflag=direct conv=fsync
	copy if="$NVME" of="$WORK/back" bs=4K count=100 iflag=direct
	cmp -n 409600 "$WORK/file" "$WORK/back"
	put 1 /sys/class/nvme/nvme0/delete_controller
	wait_for 10 nvme_gone
	all_moved mpa0 tx_write tx_read_request tx_send rx_send_inv doorbells
	nothing_refused mpa0
	no_addresses
	trap - EXIT
	nvme_target_down
}

scenario nvme_link_deleted 60 "a device is deleted under an NVMe disk that is being written"
nvme_link_deleted() {
	local before
	nvme_up
	before=$(hw_counter mpa0 tx_read_request)
	dd if=/dev/zero of="$NVME" bs=64K oflag=direct >"$WORK/writer.log" 2>&1 &
	PIDS[writer]=$!
	wait_for 20 reads_on "$before"
	is_running writer || fail "the writer ended"
	link_delete mpa0
	ended writer 20
	[ "$STATUS" != 0 ] || fail "the writer did not fail"
	wait_for 20 nvme_gone
	trap - EXIT
	nvme_target_down
}

# nvme_port_tcp PORT: the same subsystem over TCP
nvme_port_tcp() {
	local port=$NVMET/ports/2
	put "$1" "$port/addr_trsvcid" && ln -s "$NVMET/subsystems/test" "$port/subsystems/test"
}

nvme_beside_tcp_down() {
	rm -f "$NVMET/ports/2/subsystems/test"
	rmdir "$NVMET/ports/2"
	nvme_target_down
	modprobe -r nvmet-tcp
}

scenario nvme_beside_tcp 40 "an NVMe target over RDMA and TCP: each has a port of its own" nvmet
nvme_beside_tcp() {
	nvme_up
	modprobe nvmet-tcp
	mkdir "$NVMET/ports/2"
	trap nvme_beside_tcp_down EXIT
	put tcp "$NVMET/ports/2/addr_trtype"
	put ipv4 "$NVMET/ports/2/addr_adrfam"
	put "$NVME_ADDRESS" "$NVMET/ports/2/addr_traddr"
	must_fail "Address already in use" nvme_port_tcp 4420
	nvme_port_tcp 4421
	random_file "$WORK/file" 1
	copy if="$WORK/file" of="$NVME" bs=64K oflag=direct
	copy if="$NVME" of="$WORK/back" bs=64K count=16 iflag=direct
	cmp "$WORK/file" "$WORK/back"
	put 1 /sys/class/nvme/nvme0/delete_controller
	wait_for 10 nvme_gone
	trap - EXIT
	nvme_beside_tcp_down
}
