# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Which scenarios check.sh runs on which kernel, and how guests share them. check.sh reads this
# file; its variable scenarios is the output of e2e/guest.sh --tags.
# shellcheck disable=SC2154

# The kernel in /boot, by which results and folders are named, and the newer ones that are fetched
STOCK=$(stock_series)
STOCK=${STOCK:-stock}
NEWER_ONES="6.12 7.3"
[ "$STOCK" != 6.12 ] || NEWER_ONES=7.3
NEWER=${NEWER:-${NEWER_ONES%% *}}
# check.sh all runs some things by turns, because two slow processors have an hour for it. The number
# of the commit chooses. If it is even, that is the debug kernel, else the newer ones. Of the
# scenarios that take turns it runs one in this number. The numbers are odd, so that each scenario
# meets each kernel.
SLOW_PARTS=3	# on the stock kernel, of those that are slow and show no requirement
TAGGED_PARTS=3	# on a newer kernel, of those with the tag "newer": all that test include/compat,
		# and one for each part of the driver
NEWER_PARTS=23	# on a newer kernel, of the others
DEBUG_PARTS=5	# on the debug kernel
# A guest that check.sh all starts later than after this number of minutes runs one in LATE_PARTS of
# its scenarios, because CI ends a run after 90 minutes.
LATE_MINUTES=45
LATE_PARTS=3

# left_out: "WHERE TAG WHY": a scenario with that tag (e2e/lib.sh) is not run there, unless the
# user gives its whole name. WHERE is check.sh without an argument ("check"), the stock kernel, a
# newer one, the debug kernel, or the debug kernel with KCSAN. "beside" is the debug kernel in
# check.sh all, where leaving these out saves 35 minutes of processor time. A scenario that is also
# tagged "debug" is run there nevertheless.
left_out() {
	cat <<- 'END'
		check	slow	there is a quicker one; make e2e runs it, make check-all by turns
		check	polls	a program that polls memory needs the only processor; make e2e runs it
		check	smp	its guests have one processor; make e2e runs it
		stock	podman	podman is 90 MB; make container-check runs it
		newer	podman	podman is 90 MB
		debug	podman	that kernel has no seccomp, which podman wants
		stock	sshd	it needs sshd; make e2e E2E=hosts_bench runs it
		newer	sshd	it needs sshd; make e2e E2E=hosts_bench runs it
		debug	sshd	that kernel has no AF_ALG
		stock	iscsi	it needs open-iscsi and fio; make e2e E2E=iser_disk runs it
		newer	iscsi	it needs open-iscsi and fio; make newer-check E2E=iser_disk runs it
		debug	iscsi	that kernel has no iSCSI target
		stock	compiler	it compiles for minutes under emulation; make e2e E2E=pair_build runs it
		newer	compiler	the headers of that kernel are not installed
		debug	compiler	the headers of that kernel are not installed
		stock	failslab	that kernel cannot make allocations fail
		newer	failslab	that kernel cannot make allocations fail
		kcsan	failslab	the kernel with KCSAN makes no allocation fail
		stock	lockdep	that kernel has no lockdep
		newer	lockdep	that kernel has no lockdep
		debug	bonding	that kernel has no bonding
		debug	bridges	that kernel has no VLANs and no bridges
		debug	nvmet	that kernel has no NVMe over TCP
		debug	full	a million objects, or 4 GiB, take too long with its checks
		debug	bpf	that kernel has no BPF
		debug	tls	that kernel has no TLS
		debug	memcg	that kernel has no memory cgroups
		debug	leaks	ib_uverbs leaks the task of a refused context, and kmemleak finds that
		debug	hotplug	that kernel cannot take a processor away
		debug	turns	that kernel is so slow that many turns of a worker find a thing half done
		debug	last	unload comes last by itself
		beside	polls	a program that polls memory needs the only processor; make debug-check runs it
		beside	wire	the bytes on the cable do not depend on the kernel; make debug-check runs it
		beside	siw	siw_apps runs, this is siw with other settings; make debug-check runs it
		beside	script	the stock kernel tests the scripts for users; make debug-check runs it
	END
}

# names_of PATTERN...: the scenarios that match, in their order
names_of() {
	local name _ pattern
	while read -r name _; do
		for pattern in "$@"; do
			# shellcheck disable=SC2053
			[[ $name != $pattern ]] || { echo "$name" && break; }
		done
	done <<< "$scenarios"
}

# tagged TAG: the scenarios with that tag
tagged() { sed -n "/ $1\( \|\$\)/s/ .*//p" <<< "$scenarios"; }

# scenarios_for WHERE...: all scenarios but those that are left out in one of these places. It
# says on stderr which these are.
scenarios_for() {
	awk -v places=" $* " '
		FNR == NR {
			split($0, field, "\t")
			if (index(places, " " field[1] " ")) {
				place[field[2]] = field[1]
				why[field[2]] = field[3]
			}
			next
		}
		{
			out = ""
			for (i = 2; i <= NF; i++)
				if ($i in why && !(place[$i] == "beside" && / debug( |$)/))
					out = $i
			if (out == "")
				print $1
			else
				names[out] = names[out] " " $1
		}
		END {
			for (tag in names)
				print "==> left out (" tag "):" names[tag] ": " why[tag] > "/dev/stderr"
		}' <(left_out) - <<< "$scenarios"
}

# chosen_for WHERE PATTERN...: the scenarios that match, in their order. A pattern does not choose
# those that are left out there, a whole name does.
chosen_for() {
	local where=$1 named others
	shift
	named=$(names_of "$@" | grep -Fx "$(printf '%s\n' "$@")" || true)
	others=$(names_of "$@" | grep -vFx "$named" || true)
	others=$(
		scenarios=$(awk 'FNR == NR { some[$1]; next } $1 in some' - \
			<(echo "$scenarios") <<< "$others")
		scenarios_for "$where"
	)
	# shellcheck disable=SC2086 # they are words
	names_of $named $others
}

# deal FACTOR DIR...: shares the scenarios named on stdin out to guests, the longest first, each
# to the guest that has least to do. The first guest takes FACTOR times as long for each.
deal() {
	local factor=$1
	shift
	mkdir -p "$@"
	awk 'FNR == NR { time[$1] = $2; next } { print ($1 in time ? time[$1] : 6), $1 }' \
		"$TOP/scripts/e2e/times" - | sort -k 1,1nr -k 2 |
		awk -v factor="$factor" -v dirs="$(printf '%s\n' "$@")" '
			BEGIN { n = split(dirs, dir, "\n") }
			{
				least = 1
				for (i = 2; i <= n; i++)
					if (load[i] < load[least])
						least = i
				load[least] += $1 * (least == 1 ? factor : 1)
				print $2 > (dir[least] "/names")
			}'
}

# The number that chooses: that of the commit, or TURN
turn() { echo "${TURN:-$(git -C "$TOP" rev-list --count HEAD 2> /dev/null || echo 0)}"; }

is_turn_of_debug() { [ $(($(turn) % 2)) = 0 ]; }

# by_turns PARTS TURN [ALWAYS]: those of the scenarios named on stdin that are in the list ALWAYS, or
# whose turn it is
by_turns() {
	awk -v parts="$1" -v turn="$2" -v always="${3:-}" '
		BEGIN {
			n = split(always, list, "\n")
			while (n)
				keep[list[n--]]
		}
		$1 in keep || ++number % parts == turn % parts'
}

# most_of NAME...: those of these scenarios that check.sh all runs on the stock kernel
most_of() {
	local turn seldom
	turn=$(turn)
	seldom=$(tagged slow | grep -vxFf <("$TOP/scripts/requirements.sh" --tests))
	step "on the stock kernel: all but some slow ones (TURN=$turn; make e2e: all)"
	printf '%s\n' "$@" | by_turns $SLOW_PARTS "$turn" "$(printf '%s\n' "$@" | grep -vxF "$seldom")"
}

# some_of VERSION NAME...: those that check.sh all runs on a newer kernel. 6.12 takes other parts
# than the kernels after it.
some_of() {
	local turn tags
	turn=$(turn)
	step "on $1: parts of the scenarios (TURN=$turn; NEWER=$1 make newer-check: all)"
	[ "$1" != 6.12 ] || turn=$((turn + 1))
	shift
	tags=$(tagged newer)
	printf '%s\n' "$@" | grep -xF "$tags" | by_turns $TAGGED_PARTS "$turn"
	printf '%s\n' "$@" | grep -vxF "$tags" | by_turns $NEWER_PARTS "$turn"
}

# few_of NAME...: those that check.sh all runs on the debug kernel. Scenarios that run on no other
# kernel are always among them.
few_of() {
	local turn
	turn=$(turn)
	step "on the debug kernel: one in $DEBUG_PARTS (TURN=$turn; make debug-check: all)"
	printf '%s\n' "$@" | by_turns $DEBUG_PARTS "$turn" "$(always_on_debug)"
}

always_on_debug() { tagged debug; only_on_debug; }
only_on_debug() { tagged failslab; tagged lockdep; }

# leave_out_if_late DIR: leaves some of the scenarios in DIR/names out if the machine is slow
leave_out_if_late() {
	local names
	[ "$(cat "$1/extent")" = part ] && [ $SECONDS -gt $((LATE_MINUTES * 60)) ] || return 0
	step "${1##*/} runs one in $LATE_PARTS of its scenarios only, because this machine is slow"
	names=$(by_turns $LATE_PARTS "$(turn)" "$(always_on_debug)" < "$1/names")
	echo "$names" > "$1/names"
}

# Refuses a name or pattern that matches no scenario, and a tag that no scenario has.
must_mean_something() {
	local pattern tag
	for pattern in "$@"; do
		[ -n "$(names_of "$pattern")" ] || die "no such scenario: $pattern"
	done
	while read -r _ tag _; do
		[ -n "$(tagged "$tag")" ] || die "no scenario has the tag $tag"
	done < <(left_out)
}

# KERNELS as a list
kernels() {
	local version
	case ${KERNELS:-} in
	all) echo "$STOCK $NEWER_ONES" ;;
	'') echo "$STOCK" ;;
	*)
		for version in $KERNELS; do
			[[ $version =~ ^[67]\.[0-9]+$ ]] ||
				die "KERNELS=\"$KERNELS\": give versions as in KERNELS=\"6.1 6.12 7.3\", or all"
		done
		echo "$KERNELS"
		;;
	esac
}
