#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# link.sh add INTERFACE     makes the device on an interface, with its settings
# link.sh set INTERFACE     writes the settings once more
# link.sh delete INTERFACE  removes the device that "add" made
#
# What rdma-mpa@INTERFACE.service runs. The name of the device and its settings are in
# /etc/rdma-mpa/INTERFACE.conf; without that file it is mpa_INTERFACE, with the defaults.
set -euo pipefail

class=/sys/class/infiniband
number=0 # of the line that is read
name='' keys=() values=() lines=()

fail() {
	echo "$*" >&2
	exit 1
}

wrong() {
	fail "$conf, line $number: $*"
}

set_name() {
	[ -z "$name" ] || wrong "NAME= stands there twice: take one away"
	[[ $1 =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$ ]] ||
		wrong "\"$1\" cannot be the name of a device: use up to 63 letters," \
			"digits, and the signs _ . -"
	name=$1
}

add_setting() {
	local key
	for key in "${keys[@]}"; do
		[ "$key" != "$1" ] || wrong "$1= stands there twice: take one away"
	done
	keys+=("$1") values+=("$2") lines+=("$number")
}

# Name and settings, from the file. Blanks around a key and a value do not matter.
read_conf() {
	local line blank='[[:space:]]*'
	if [ -e "$conf" ]; then
		[ -f "$conf" ] || fail "$conf is not a file"
		while IFS= read -r line || [ -n "$line" ]; do
			number=$((number + 1))
			if [[ $line =~ ^$blank(#.*)?$ ]]; then
				continue
			elif [[ $line =~ ^${blank}NAME$blank=$blank(.*[^[:space:]])?$blank$ ]]; then
				set_name "${BASH_REMATCH[1]}"
			elif [[ $line =~ ^$blank([a-z_]+)$blank=$blank(.*[^[:space:]])?$blank$ ]]; then
				add_setting "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
			else
				wrong "\"$line\" is neither NAME=DEVICE nor SETTING=VALUE" \
					"(as in crc=off)"
			fi
		done < "$conf"
	fi
	name=${name:-mpa_$interface}
}

# The names of the devices of ours on the interface
ours_here() {
	local line
	while read -r line; do
		if [[ "$line " =~ ^link\ ([^/]+)/1\ .*\ netdev\ ([^ ]+)\  ]] &&
			[ "${BASH_REMATCH[2]}" = "$interface" ] &&
			[ -d "$class/${BASH_REMATCH[1]}/mpa" ]; then
			echo "${BASH_REMATCH[1]}"
		fi
	done < <(rdma link show)
}

write_settings() {
	local dir=$class/$name/mpa index known
	for index in "${!keys[@]}"; do
		number=${lines[index]}
		if [ ! -e "$dir/${keys[index]}" ]; then
			known=$(cd "$dir" && echo *)
			wrong "there is no setting ${keys[index]}; there are: $known"
		fi
		printf '%s\n' "${values[index]}" 2> /dev/null > "$dir/${keys[index]}" ||
			wrong "${keys[index]} cannot be \"${values[index]}\":" \
				"Documentation/settings.rst has the values it can be"
	done
}

# Why the kernel did not make a device: rdma itself says "Invalid argument" to most.
explain() {
	if [ ! -d /sys/module/rdma_mpa ]; then
		fail "the module rdma_mpa is not there or cannot be loaded:" \
			"\"modprobe rdma_mpa\" says why; after an upgrade of the kernel" \
			"\"dkms status rdma_mpa\" says whether it was built"
	fi
	fail "the kernel makes no device $name on $interface: $1" \
		"(\"dmesg\" may say more)"
}

add() {
	local there message
	[ -d "/sys/class/net/$interface" ] || fail "there is no interface $interface"
	read_conf
	there=$(ours_here)
	[ -z "$there" ] ||
		fail "$interface has a device already that was not made by this unit:" \
			"take it away with \"rdma link delete $there\", then start the unit"
	[ ! -e "$class/$name" ] ||
		fail "another interface has a device with the name $name: choose one" \
			"with NAME= in $conf"
	message=$(rdma link add "$name" type mpa netdev "$interface" 2>&1) ||
		explain "$message"
	trap 'rdma link delete "$name"' EXIT # whatever fails from here on
	write_settings
	rdma dev show "$name" | sed 's/:.*//' > "$state"
	trap - EXIT
}

# The device that "add" made, empty if there is none. The number of a device stays when somebody
# renames it, and another one with its name has another number.
made() {
	[ ! -e "$state" ] || rdma dev show | sed -n "s/^$(< "$state"): \([^:]*\): .*/\1/p"
}

set_again() {
	local device
	device=$(made)
	[ -n "$device" ] || fail "$interface has no device any more: restart the unit"
	read_conf
	[ "$name" = "$device" ] ||
		fail "$conf asks for the name $name and the device is $device: restart the unit"
	write_settings
}

# An interface that goes takes its device along. One that rdma does not know any more is on
# its way.
delete() {
	local device message
	device=$(made)
	rm -f "$state"
	[ -n "$device" ] || return 0
	message=$(rdma link delete "$device" 2>&1) || ! rdma dev show "$device" &> /dev/null ||
		fail "the device $device cannot be taken away: $message"
}

[ $# = 2 ] || fail "usage: link.sh add|set|delete INTERFACE"
interface=$2
[[ $interface != */* ]] ||
	fail "no interface is called $interface; for one with a \"-\" in its name" \
		"\"systemd-escape --template=rdma-mpa@.service NAME\" tells the unit's"
conf=${RDMA_MPA_CONF:-/etc/rdma-mpa}/$interface.conf
state=/run/rdma-mpa-$interface
case $1 in
add) add ;;
set) set_again ;;
delete) delete ;;
*) fail "usage: link.sh add|set|delete INTERFACE" ;;
esac
