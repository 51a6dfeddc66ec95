#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# lint.sh: runs style and static checks. Prints the findings of each, then a summary; fails
# if there is any finding or a check could not run. The kernel's own checkers
# come from the linux-source package.
set -uo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$TOP" || exit 1

OUT=$BUILD/lint
total=0
summary=()

# finish NAME FILE: prints the findings, one a line in FILE, and counts them
finish() {
	local name=$1 file=$2 number
	number=$(grep -c . "$file")
	cat "$file"
	total=$((total + number))
	summary+=("$(printf '%-28s %s' "$name" "$number")")
}

# sources: every file of ours. Git lists them; a tree from an archive has few others.
sources() {
	if git rev-parse --git-dir > /dev/null 2>&1; then
		git ls-files --cached --others --exclude-standard | sort -u
	else
		find . -path ./build -prune -o -type f ! -name '*.mod.c' -printf '%P\n' | sort
	fi
}

# files PATTERN...: those of these files that match
files() {
	local file pattern
	sources | while read -r file; do
		for pattern in "$@"; do
			# shellcheck disable=SC2053
			[[ $file == $pattern && -f $file ]] || continue
			echo "$file"
			break
		done
	done
}

# Rules of checkpatch for kernel code that a program in C cannot follow.
user_space=PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,BIT_MACRO,CAMELCASE
user_space+=,EMBEDDED_FUNCTION_NAME	# a test's name is its function's
user_space+=,MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE,COMPLEX_MACRO # the shim defines
user_space+=,IS_ENABLED_CONFIG,SPACING	# macros of the kernel's
user_space+=,MACRO_ARG_UNUSED,STRCPY	# of the checkpatch of Linux 6.12
user_space+=,NEW_TYPEDEFS,MEMORY_BARRIER,MACRO_WITH_FLOW_CONTROL # the shim models these

# checkpatch IGNORE FILE...: one line a finding
checkpatch() {
	local ignore=$1
	shift
	[ $# -gt 0 ] || return 0
	[ -r "$ksrc/scripts/checkpatch.pl" ] || echo "no $ksrc/scripts/checkpatch.pl"
	# It looks for names in include/ with Git, which a minimal system does not have, or in --root.
	GIT_DIR=none perl "$ksrc/scripts/checkpatch.pl" --no-tree --root=. --strict \
		--terse --show-types --no-summary --quiet ${ignore:+--ignore "$ignore"} -f "$@" 2>&1
}

# include/compat makes a function of an operation's type.
functions=MACRO_WITH_FLOW_CONTROL,MACRO_ARG_PRECEDENCE
# A header of tracepoints is written in macros of its own.
traces=COMPLEX_MACRO,MACRO_ARG_UNUSED,TRAILING_SEMICOLON,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT
# A protocol replaces some of a socket's functions, in a copy that it fills in.
copies=CONST_STRUCT

run_checkpatch() {
	local kernel compat trace user ulp
	step "checkpatch"
	mapfile -t kernel < <(files 'drivers/*.[ch]' 'include/*.[ch]' 'kunit/*.[ch]' |
		grep -v -e '^kunit/user/' -e '^include/compat/' -e '/trace\.h$' -e '/ulp\.c$')
	mapfile -t trace < <(files 'drivers/*/trace.h')
	mapfile -t ulp < <(files 'drivers/*/ulp.c')
	mapfile -t compat < <(files 'include/compat/*.h')
	mapfile -t user < <(files 'kunit/user/*.[ch]' 'scripts/*.[ch]' 'Documentation/examples/*.c')
	{
		checkpatch '' "${kernel[@]}"
		checkpatch "$functions" "${compat[@]}"
		checkpatch "$traces" "${trace[@]}"
		checkpatch "$copies" "${ulp[@]}"
		checkpatch "$user_space" "${user[@]}"
	} > "$OUT/checkpatch"
	rm -f .checkpatch-camelcase.* # checkpatch leaves that in the current folder
	finish checkpatch "$OUT/checkpatch"
}

# Reports every warning in a file of ours, and any error, because sparse then saw nothing at all.
run_sparse() {
	step "sparse, and the compiler with W=1"
	if make -C "$(guest_kdir)" M="$TOP" C=2 W=1 CF=-D__CHECK_ENDIAN__ \
		-j"$(nproc)" modules > "$OUT/sparse.log" 2>&1 &&
		[ -e rdma_mpa.ko ]; then
		grep -E "^$TOP/.*: (warning|error):|^WARNING: modpost" "$OUT/sparse.log" |
			sort -u > "$OUT/sparse"
	else
		{
			grep -E 'error|Error' "$OUT/sparse.log"
			echo "the module does not build"
		} > "$OUT/sparse"
	fi
	finish "sparse and W=1" "$OUT/sparse"
}

run_kernel_doc() {
	local sources
	step "kernel-doc"
	mapfile -t sources < <(files 'drivers/*.[ch]' 'include/*.[ch]')
	: > "$OUT/kernel-doc"
	if [ "${#sources[@]}" -gt 0 ]; then
		perl "$ksrc/scripts/kernel-doc" -v -none "${sources[@]}" 2>&1 |
			grep -E ": (warning|error):|^Can't open" > "$OUT/kernel-doc"
	fi
	finish kernel-doc "$OUT/kernel-doc"
}

# Also finds functions of one name, because all scenarios are one program, in which one would
# replace the other.
run_shellcheck() {
	local scripts
	step "shellcheck"
	mapfile -t scripts < <(files '*.sh' .ci/run)
	{
		shellcheck -x -f gcc "${scripts[@]}"
		cat scripts/e2e/guest.sh scripts/e2e/lib.sh scripts/e2e/scenarios/*.sh \
			scripts/suites/cases.sh |
			sed -n 's/^\([a-z_0-9]*\)() .*/\1/p' | sort | uniq -d |
			sed 's/$/: two functions of the scenarios have this name/'
	} > "$OUT/shellcheck" 2>&1
	finish shellcheck "$OUT/shellcheck"
}

run_rooms() {
	step "rooms that include or call each other the wrong way"
	scripts/rooms.sh > "$OUT/rooms" 2>&1
	finish rooms "$OUT/rooms"
}

run_marked() {
	step "plain stores to fields that are read without the lock"
	scripts/marked.sh > "$OUT/marked" 2>&1
	finish "marked accesses" "$OUT/marked"
}

run_requirements() {
	step "the table of requirements"
	local status=0
	scripts/requirements.sh --source > "$OUT/requirements.log" 2>&1 || status=$?
	sed -n 's/^# //p' "$OUT/requirements.log" > "$OUT/requirements"
	[ $status = 0 ] || [ -s "$OUT/requirements" ] || cp "$OUT/requirements.log" "$OUT/requirements"
	finish "requirements" "$OUT/requirements"
}

# The module is the one that run_sparse has built.
run_versions() {
	step "one version everywhere"
	scripts/package/versions.sh rdma_mpa.ko > "$OUT/versions" 2>&1
	finish versions "$OUT/versions"
}

# include/compat tries what a kernel has, because distributions take changes into older versions.
run_kernel_versions() {
	step "no code for a version of the kernel"
	files 'drivers/*' 'include/*' 'kunit/*' |
		xargs grep -nE 'LINUX_VERSION_CODE|KERNEL_VERSION\(|RHEL_RELEASE' > "$OUT/kernel-versions"
	finish "versions of the kernel" "$OUT/kernel-versions"
}

run_matrix() {
	step "the table of kernels"
	scripts/matrix.sh --check > "$OUT/matrix" 2>&1
	finish "table of kernels" "$OUT/matrix"
}

# links FILE: the document's links to files that are not in the tree
links() {
	local target
	rst2pseudoxml "$1" 2> /dev/null | sed -n 's/.* refuri="\([^"]*\)".*/\1/p' | sort -u |
		while read -r target; do
			[[ $target == *:* || -e $(dirname "$1")/${target%%#*} ]] ||
				echo "$1: the link $target leads nowhere"
		done
}

# Docutils shows a broken table, and what follows it, as an error message.
run_documents() {
	local file
	step "the documents are reStructuredText, and their links lead somewhere"
	files '*.rst' | while read -r file; do
		rst2pseudoxml --report=2 --exit-status=2 "$file" 2> "$OUT/document" > /dev/null ||
			grep "^$file:" "$OUT/document" || echo "$file: could not be read"
		links "$file"
	done > "$OUT/documents"
	finish documents "$OUT/documents"
}

# in_code PATTERN: the names that a sed expression finds in the driver
in_code() {
	find drivers -name '*.[ch]' -exec sed -nE "s/$1/\\1/p" {} + | sort
}

# Each setting and counter of the driver is in its document and in the sysfs ABI, and the ABI
# has no other.
run_sysfs() {
	local abi=Documentation/ABI/testing/sysfs-class-infiniband-mpa
	local settings counters others name
	step "the documents of settings and counters"
	settings=$(in_code '^static DEVICE_ATTR_RW\(([a-z_]+)\);.*')
	settings+=$'\n'$(in_code '^NUMBER\(([a-z_]+),.*')
	settings+=$'\n'$(in_code '^FLAG\(([a-z_]+)\);.*')
	counters=$(in_code '^.*RNIC_STAT_.*\.name = "([a-z_]+)".*')
	counters+=$'\n'$(in_code '^PORT_COUNTER\(([a-z_]+),.*')
	others=$(in_code '^static DEVICE_ATTR_RO\(([a-z_]+)\);.*')
	{
		[[ -n $settings && -n $counters ]] || echo "no settings or no counters were found"
		for name in $settings; do
			grep -q "^\`\`$name\`\`  " Documentation/settings.rst ||
				echo "Documentation/settings.rst lacks $name"
		done
		for name in $counters; do
			grep -q "\`\`$name\`\`" Documentation/counters.rst ||
				echo "Documentation/counters.rst lacks $name"
		done
		diff <(sed -n 's,^What:.*/,,p' "$abi" | sort) \
			<(printf '%s\n' "$settings" "$counters" "$others" | sort) |
			sed -n "s,^<,$abi: not in the code:,p; s,^>,$abi lacks,p"
	} > "$OUT/sysfs"
	finish "sysfs" "$OUT/sysfs"
}

scripts/deps.sh lint || exit 1
mkdir -p "$OUT"
ksrc=$(scripts/ksrc.sh) || exit 1
run_checkpatch
run_sparse
run_kernel_doc
run_shellcheck
run_rooms
run_marked
run_requirements
run_versions
run_kernel_versions
run_matrix
run_documents
run_sysfs
echo
printf '%s\n' "findings:" "${summary[@]}"
[ $total = 0 ]
