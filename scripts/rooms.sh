#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# rooms.sh         checks that the driver's rooms include and call each other one way only,
#                  and that no file is in a circle of calls; prints each breach, fails if
#                  there is any
# rooms.sh calls   lists the calls between files: FILE FILE: FUNCTION...
# rooms.sh dot     the same as a graph for graphviz, a cluster for each room
#
# A room is a folder of the driver, and root is the files beside them. Calls are taken from
# the objects of the last build, so that calls of inline functions, and functions in tables,
# count, too.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
driver=$TOP/drivers/infiniband/sw/mpa
cd "$driver"

# Each room, and the rooms that it may include and call.
declare -A MAY=(
	[wire]=''
	[core]=''
	[tcp]='core'
	[mem]='core'
	[ring]='core mem'
	[qp]='core wire tcp mem ring'
	[conn]='core wire tcp qp'
	[root]='core wire tcp mem ring qp conn'
)

# Headers of the kernel that only some files may include: the header, the files, and why.
ONLY=(
	'rdma/siw-abi.h:ring/* verbs.c device.c:the user ABI has one home'
	'rdma/iw_cm.h:conn/* device.c:connection management has one home'
	'rdma/rdma_cm.h:conn/rdmacm.c:code that relies on internals of rdma_cm has one home'
	'rdma/rdma_netlink.h:link.c:rdma link has one home'
	'net/tcp.h:tcp/*:code that relies on internals of TCP has one home'
	'net/inet_connection_sock.h:tcp/*:code that relies on internals of TCP has one home'
)

# Headers of the kernel that the engine may use. They have bytes and decisions, and no sockets,
# verbs, locks, allocations, clocks or messages.
PURE=(
	asm/barrier.h asm/byteorder.h compat/unaligned.h 'linux/byteorder/*' linux/bits.h
	linux/build_bug.h linux/compiler.h linux/crc32c.h linux/errno.h linux/limits.h
	linux/minmax.h linux/stddef.h linux/string.h linux/types.h
)

room_of() {
	case $1 in
	*/*) echo "${1%%/*}" ;;
	*) echo root ;;
	esac
}

# fits NAME PATTERN...: does the name match one of them?
fits() {
	local name=$1 pattern
	shift
	for pattern in "$@"; do
		# shellcheck disable=SC2053 # a pattern
		[[ $name != $pattern ]] || return 0
	done
	return 1
}

# list_includes: "FILE LINE HEADER" of each include, "x" as it is, <x> as <x
list_includes() {
	find . -name '*.[ch]' -not -name '*.mod.c' -printf '%P\n' | sort |
		xargs grep -HnE '^[[:space:]]*#[[:space:]]*include' |
		sed -E 's/^([^:]*):([0-9]*):.*include(_next)?[[:space:]]*(<?)"?([^">]*).*/\1 \2 \4\5/'
}

# check_private FILE LINE HEADER: a header of ours
check_private() {
	local from to
	from=$(room_of "$1") to=$(room_of "$3")
	[ "$from" = "$to" ] || [[ " ${MAY[$from]} " == *" $to "* ]] ||
		echo "$driver/$1:$2: $from must not include $3"
}

# check_public FILE LINE HEADER: a header of the kernel
check_public() {
	local rule header where
	if [ "$(room_of "$1")" = wire ] && ! fits "$3" "${PURE[@]}"; then
		echo "$driver/$1:$2: the engine must not know $3"
	fi
	for rule in "${ONLY[@]}"; do
		header=${rule%%:*} where=${rule#*:}
		# shellcheck disable=SC2086 # a list of patterns, which must not become files
		[ "$3" != "$header" ] || (set -f && fits "$1" ${where%%:*}) ||
			echo "$driver/$1:$2: must not include $3: ${where#*:}"
	done
}

check_includes() {
	local file line header
	while read -r file line header; do
		case $header in
		'<'*) check_public "$file" "$line" "${header#<}" ;;
		*) check_private "$file" "$line" "$header" ;;
		esac
	done < <(list_includes)
}

# list_symbols: "FILE D SYMBOL" for those it defines for others, "FILE U SYMBOL" for those it uses
list_symbols() {
	local file
	find . -name '*.c' -not -name '*.mod.c' -printf '%P\n' | sort | while read -r file; do
		[ -e "${file%.c}.o" ] || continue
		nm "${file%.c}.o" | awk -v file="$file" '
			$(NF - 1) == "U" { print file, "U", $NF }
			$(NF - 1) ~ /^[TDRB]$/ { print file, "D", $NF }'
	done
}

# list_calls: "FILE FILE FUNCTION"
list_calls() {
	list_symbols | awk '
		$2 == "D" { home[$3] = $1 }
		$2 == "U" { user[++n] = $1; used[n] = $3 }
		END {
			for (i = 1; i <= n; i++)
				if (used[i] in home && home[used[i]] != user[i])
					print user[i], home[used[i]], used[i]
		}' | sort
}

# print_circles: reads "FILE FILE" lines, and prints each file from which a way leads back to it
print_circles() {
	awk '
		{ way[$1, $2]; node[$1]; node[$2] }
		END {
			for (k in node)
				for (i in node)
					if ((i, k) in way)
						for (j in node)
							if ((k, j) in way)
								way[i, j]
			for (i in node)
				if ((i, i) in way)
					print i
		}' | sort
}

check_calls() {
	local calls from to name file
	calls=$(list_calls)
	[ -n "$calls" ] || {
		echo "$driver: no objects, whose calls could be looked at: make the module first"
		return
	}
	while read -r from to name; do
		[ "$(room_of "$from")" = "$(room_of "$to")" ] ||
			[[ " ${MAY[$(room_of "$from")]} " == *" $(room_of "$to") "* ]] ||
			echo "$driver/$from: must not call $name() of $to"
	done <<< "$calls"
	while read -r file; do
		echo "$driver/$file: is in a circle of calls"
	done < <(cut -d ' ' -f 1,2 <<< "$calls" | print_circles)
}

draw() {
	echo 'digraph rooms {'
	echo '	node [shape=box];'
	find . -name '*.c' -not -name '*.mod.c' -printf '%P\n' | sort | awk -F / '
		NF == 1 { print "\t\"" $0 "\";" }
		NF == 2 { files[$1] = files[$1] "\t\t\"" $0 "\";\n" }
		END {
			for (room in files)
				printf "\tsubgraph cluster_%s {\n\t\tlabel=\"%s\";\n%s\t}\n",
					room, room, files[room]
		}'
	list_calls | awk '{ print "\t\"" $1 "\" -> \"" $2 "\";" }' | sort -u
	echo '}'
}

case ${1:-check} in
calls)
	list_calls | awk '
		{ pair = $1 " " $2; if (!(pair in names)) order[++n] = pair }
		{ names[pair] = names[pair] " " $3 }
		END { for (i = 1; i <= n; i++) print order[i] ":" names[order[i]] }'
	;;
dot)
	draw
	;;
check)
	breaches=$(check_includes; check_calls)
	[ -z "$breaches" ] || {
		echo "${breaches//"$TOP/"/}"
		exit 1
	}
	;;
*)
	die "usage: rooms.sh [calls | dot]"
	;;
esac
