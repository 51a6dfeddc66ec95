#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# cdi.sh DEVICE: prints the description of an RDMA device that hands it to a container
# (Container Device Interface). Once the device is made:
#
#   cdi.sh mpa0 > /etc/cdi/mpa0.json
#   podman run --device rdma-mpa/device=mpa0 --ulimit memlock=-1:-1 ...
#
# Make the description anew whenever the device is made anew, because the number of its file
# /dev/infiniband/uverbsN may then be another.
set -euo pipefail

die() {
	echo "cdi.sh: $*" >&2
	exit 1
}

# uverbs_of DEVICE: the name of its file
uverbs_of() {
	local file
	for file in /sys/class/infiniband_verbs/uverbs*/ibdev; do
		[ ! -e "$file" ] || [ "$(<"$file")" != "$1" ] || {
			basename "${file%/ibdev}"
			return
		}
	done
	die "$1 has no file in /dev/infiniband: modprobe ib_uverbs"
}

# node FILE: describes a file for the container that every user in it may open. Some engines copy
# no mode into a container with a user namespace, where then only root could open the file.
node() {
	[ -c "$1" ] || die "no $1: $2"
	printf '{ "path": "%s", "type": "c", "permissions": "rw", "fileMode": %d }' "$1" 0666
}

[ $# = 1 ] || die "usage: cdi.sh DEVICE, a name that rdma link show lists"
name=$1
[ -e "/sys/class/infiniband/$name" ] ||
	die "there is no RDMA device \"$name\"; rdma link show lists those there are"
[[ $name =~ ^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$ ]] ||
	die "a container can have no device called \"$name\": rdma dev set $name name mpa0"
uverbs=$(uverbs_of "$name")
verbs=$(node "/dev/infiniband/$uverbs" "modprobe ib_uverbs")
cm=$(node /dev/infiniband/rdma_cm "modprobe rdma_ucm")
cat <<JSON
{
	"cdiVersion": "0.3.0",
	"kind": "rdma-mpa/device",
	"devices": [
		{
			"name": "$name",
			"containerEdits": {
				"deviceNodes": [
					$verbs,
					$cm
				]
			}
		}
	]
}
JSON
