# shellcheck shell=bash disable=SC2153,SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Other people's programs, as scenarios that only run.sh beside it runs: suite_SUITE_CASE.

SUITES=$TOP/build/suites

# --- rdma-core's own tests, each module in a process of its own ---

PYVERBS_TESTS=/usr/share/doc/rdma-core/tests

# unpack_pyverbs: to $STATE/tests, without the modules of one vendor's hardware
unpack_pyverbs() {
	local file
	[ ! -d "$STATE/tests" ] || return 0
	mkdir "$STATE/tests"
	for file in "$PYVERBS_TESTS"/*.py{,.gz}; do
		case ${file##*/} in
		__init__.py | test_mlx5* | test_efa* | test_cuda*) ;;
		*.gz) file=${file##*/}; zcat "$PYVERBS_TESTS/$file" >"$STATE/tests/${file%.gz}" ;;
		*) cp "$file" "$STATE/tests" ;;
		esac
	done
}

# run_pyverbs MODULE: fails if a test does. What became of each is left for run.sh.
run_pyverbs() {
	unpack_pyverbs
	STATUS=0
	"${LIMITED[@]}" $((100 * SLOW)) a python3 -B "$TOP/scripts/suites/rdma_core_tests.py" \
		"$STATE/tests" "$1" mpa0 "$A4" >"$WORK/tests" 2>"$WORK/tests.log" || STATUS=$?
	sed "s/^/pyverbs $1 /" "$WORK/tests" >>"$OUTDIR/cases"
	[ "$STATUS" = 0 ] || fail "python3: exit status $STATUS"
	[ -s "$WORK/tests" ] || fail "no test"
	! grep '^fail ' "$WORK/tests" || fail "$(grep -c '^fail ' "$WORK/tests") failed"
}

for file in "$PYVERBS_TESTS"/test_*.py{,.gz}; do
	module=${file##*/} module=${module%%.*}
	case $module in
	test_mlx5* | test_efa* | test_cuda* | 'test_*') ;;
	*) scenario "suite_pyverbs_$module" 120 "$module of rdma-core" -- run_pyverbs "$module" ;;
	esac
done

# --- rdmacm-utils ---

scenario suite_rdmacm_rping 30 "rping" -- rping_pair b a "$B4" 4096
scenario suite_rdmacm_ucmatose 30 "ucmatose" -- both ucmatose -c 10 -C 10 -S 2000
scenario suite_rdmacm_cmtime 30 "cmtime" -- cmtime_few
scenario suite_rdmacm_rcopy 30 "rcopy" -- rcopy_file
scenario suite_rdmacm_rstream 30 "rstream" -- both rstream -S 5000 -C 20 -I 2 -T v -T b
scenario suite_rdmacm_rstream_poll 60 "rstream with poll" -- polled rstream -S 5000 -C 20 -I 2 -T v
scenario suite_rdmacm_riostream 30 "riostream" -- both riostream -S 4000 -C 10 -I 2 -T v
scenario suite_rdmacm_rdma_client 30 "rdma_client" -- rdma_pair rdma_server rdma_client
scenario suite_rdmacm_rdma_xclient 30 "rdma_xclient" -- rdma_pair rdma_xserver rdma_xclient

cmtime_few() {
	new_port
	serve server b cmtime -p "$PORT" -c 20
	run client a cmtime -p "$PORT" -s "$B4" -c 20
}

# rdma_pair SERVER CLIENT
rdma_pair() {
	new_port
	serve server b "$1" -p "$PORT"
	run client a "$2" -s "$B4" -p "$PORT"
	reap server
}

# --- perftest ---

for op in send write read; do
	scenario "suite_perftest_ib_${op}_bw" 60 "ib_${op}_bw, 2 bytes to 8 MiB" \
		-- perf "ib_${op}_bw" -a -n 5
	scenario "suite_perftest_ib_${op}_lat" 60 "ib_${op}_lat" -- perf "ib_${op}_lat" -n 20 -s 4096
	scenario "suite_perftest_ib_${op}_bw_both" 60 "ib_${op}_bw, 4 queue pairs, both directions" \
		-- perf "ib_${op}_bw" -b -q 4 -n 20 -s 5000
done
scenario suite_perftest_ib_send_lat_event 60 "ib_send_lat with events" \
	-- perf ib_send_lat -e -n 20 -s 4096
scenario suite_perftest_ib_send_bw_srq 60 "ib_send_bw with a shared receive queue" \
	-- perf ib_send_bw --use-srq -n 20 -s 4096

# --- qperf ---

for op in rc_bi_bw rc_bw rc_lat rc_rdma_read_bw rc_rdma_read_lat rc_rdma_write_bw \
	rc_rdma_write_lat rc_rdma_write_poll_lat; do
	scenario "suite_qperf_$op" 60 "qperf $op" -- qperf_once "$op"
done

qperf_once() {
	new_port
	serve server b qperf -lp "$PORT"
	run_qperf -m 4096 "$1"
}

# --- fio ---

for op in write read send; do
	scenario "suite_fio_$op" 60 "fio, verb $op" -- fio_pair "$op"
done

# A job that is a process (no --thread) has a session of its own: on siw, where it waits for ever
# for a Send that failed, it would be left behind with the device.
fio_pair() {
	local common=(--thread --ioengine=rdma --bs=4k --iodepth=4 --size=1m)
	new_port
	serve server b fio --name=server "${common[@]}" --port="$PORT" --rw=read
	run client a fio --name=client "${common[@]}" --hostname="$B4" --port="$PORT" \
		--verb="$1" --rw=write
	reap server
}

# --- libfabric ---

for op in msg rdm; do
	scenario "suite_libfabric_pingpong_$op" 60 "fi_pingpong, endpoints $op" -- fi_pair "$op"
done

fi_pair() {
	local provider=verbs
	[ "$1" = msg ] || provider='verbs;ofi_rxm'
	new_port
	serve server b fi_pingpong -p "$provider" -e "$1" -d mpa1 -B "$PORT" -I 20 -c
	run client a fi_pingpong -p "$provider" -e "$1" -d mpa0 -P "$PORT" -I 20 -c "$B4"
	reap server
}

# --- OpenMPI over libfabric: four ranks on one host's device ---

for op in ring pingpong gather; do
	scenario "suite_openmpi_$op" 90 "OpenMPI: $op" -- run_mpi "$op"
done

run_mpi() {
	run mpirun a env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 HOME="$WORK" \
		FI_VERBS_IFACE=va mpirun -np 4 --oversubscribe --mca pml cm --mca mtl ofi \
		--mca mtl_ofi_provider_include 'verbs;ofi_rxm' --mca oob_tcp_if_include lo \
		"$SUITES/mpi" "$1"
	grep -q "$1: 4 ranks, well" "$WORK/mpirun.log" || fail "no result"
}

# --- UCX ---

scenario suite_ucx_tag_lat 60 "ucx_perftest tag_lat"
suite_ucx_tag_lat() {
	new_port
	serve server b env UCX_TLS=rc UCX_NET_DEVICES=mpa1:1 ucx_perftest -p "$PORT"
	run client a env UCX_TLS=rc UCX_NET_DEVICES=mpa0:1 ucx_perftest -p "$PORT" "$B4" \
		-t tag_lat -n 50 -w 5 -s 4096
	reap server
}

# --- blktests: its groups nvme, over RDMA, and srp ---

BLK=$SUITES/blktests		# run.sh makes it of the user's copy

# blktests loads and unloads the driver by modprobe, and deletes all devices of the machine. It
# makes one on each interface of its own namespace, and calls from there to there. udevd makes the
# links to disks that it looks for.
prepare_blktests() {
	local needs
	topo_down
	needs=$(modinfo -F depends "$MODULE")
	cat >/etc/modprobe.d/suites.conf <<-CONF
		install $MODULE_NAME modprobe -a ${needs//,/ } && insmod $MODULE
		remove $MODULE_NAME rmmod $MODULE_NAME
	CONF
	ip link add blk0 type dummy
	trap 'ip link del blk0' EXIT
	ip addr add 10.77.8.1/24 dev blk0
	ip link set blk0 up
	modprobe -a configfs loop
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
	pgrep -x systemd-udevd >/dev/null || /lib/systemd/systemd-udevd --daemon
	mountpoint -q "$STATE/disk" || make_disk
}

# A target opens its files for direct I/O, which a tmpfs does not have, so the tests get a disk.
make_disk() {
	truncate -s 700M "$STATE/disk.img"
	mkfs.ext4 -q -O ^has_journal "$STATE/disk.img"
	mkdir -p "$STATE/disk"
	mount -o loop "$STATE/disk.img" "$STATE/disk"
}

# blk_verdict TEST: the line for run.sh, of what blktests printed. It runs some tests more than
# once, in other ways; a failure of any of these is one of the test.
blk_verdict() {
	awk -v test="$1" '
		/ \[(passed|failed|not run)\]$/ { n[$NF]++ }
		/^    [^ ]/ && !/^    runtime / { reason = reason $0 }
		END {
			verdict = n["[failed]"] ? "fail" : n["[passed]"] ? "pass" : \
				n["run]"] ? "skip" : "fail"
			gsub(/[ \t]+/, " ", reason)
			print "blktests", test, verdict, test reason
		}' "$WORK/check.log"
}

run_blktests() {	# GROUP NUMBER
	local line image=32M
	[ "$1/$2" != nvme/012 ] || image=350M		# the least that it takes
	prepare_blktests
	STATUS=0
	(cd "$BLK" && MODULE_NAME=$MODULE_NAME RDMA_TYPE=$TYPE NVME_IMG_SIZE=$image \
		timeout -k 20 "$((BLK_SECONDS * SLOW))" ./check -o "$STATE/disk/results" "$1/$2"
	) >"$WORK/check.log" 2>&1 || STATUS=$?
	cp -r "$STATE/disk/results" "$WORK"
	rm -r "$STATE/disk/results"
	line=$(blk_verdict "$1_$2")
	echo "$line" >>"$OUTDIR/cases"
	note "$line"
	[ "$STATUS" = 0 ] || fail "check: exit status $STATUS"
	[[ $line != *" fail "* ]] || fail "a test failed, or had no verdict"
}

# Left out: tests of a disk that the machine has, and those that are only for another transport
BLK_SECONDS=240
for file in "$BLK"/tests/{nvme,srp}/[0-9][0-9][0-9]; do
	[ -e "$file" ] || continue
	! grep -qE '^test_device\(\)|_require_(nvme_trtype_is_loop|nvme_trtype tcp$|remote_nvme)' \
		"$file" || continue
	number=${file##*/} group=${file%/*} group=${group##*/}
	scenario "suite_blktests_${group}_$number" $((BLK_SECONDS + 60)) "blktests $group/$number" \
		-- run_blktests "$group" "$number"
done
