#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Counts the results in TAP or in the kernel's nested KTAP and prints two
# numbers, "PASSED FAILED". Failed tests go to stderr with the first of the comments
# below them, because some people see only the end of a long log.
#
# Only leaves count: a line whose subtests were seen is their sum, and counts as
# a failure of its own only when it failed and none of them did. A plan that is
# missing or wrong, a subtest without an end, a skipped test and no test at all
# are failures too. A KUnit module has no plan line at its top level: -v ktap=1.

BEGIN { deepest = 0; most = 40 }

{ sub(/\r$/, "") }

match($0, /^ */) { depth = RLENGTH; line = substr($0, depth + 1) }

line ~ /^1\.\.[0-9]+( |$)/ { plan[depth] = substr(line, 4) + 0; see(depth) }

line ~ /^(not )?ok( |$)/ { result() }

line ~ /^Bail out!/ { fail(line) }

line ~ /^#/ && telling-- > 0 { print line > "/dev/stderr" }

END {
	if (close_below(0))
		fail("the last group of tests did not end")
	check_plan(0)
	if (!ktap && !(0 in plan))
		fail("no plan: the tests did not reach their end")
	if (!passed && !failed)
		fail("no test ran")
	print passed + 0, failed + 0
}

function see(d)
{
	if (d > deepest)
		deepest = d
}

function fail(why)
{
	failed++
	failed_at[depth]++
	print "# FAILED: " why > "/dev/stderr"
}

function check_plan(d)
{
	if (d in plan && plan[d] != count[d] + 0)
		fail("planned " plan[d] " tests, saw " count[d] + 0)
}

# The tests deeper than d are over: check and forget them. Returns whether there
# were any; below_failed is how many of them failed.
function close_below(d,		e, any)
{
	any = below_failed = 0
	for (e = deepest; e > d; e--) {
		if (!(e in count || e in plan))
			continue
		any = 1
		check_plan(e)
		below_failed += failed_at[e]
		delete count[e]
		delete plan[e]
		delete failed_at[e]
	}
	deepest = d
	return any
}

function result(	parent, bad)
{
	bad = (line ~ /^not ok/)
	telling = 0
	parent = close_below(depth)
	see(depth)
	count[depth]++
	if (toupper(line) ~ /# *SKIP/)
		fail("skipped: " line)
	else if (bad && !(parent && below_failed)) {
		fail(line)
		telling = most
	} else if (!bad && !parent) {
		passed++
	}
}
