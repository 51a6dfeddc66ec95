# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# values.awk, table.awk -v rounds=N PLAN results.csv: medians, spread and ratios.
#
# PLAN: the rows, each with the number of its measurements in a round. If a row has no value at
# all the exit status is 1. If it has some it shows how many of how many. A boot may measure a
# row several times. Where boots are compared, the median of these is the value of the boot.
#
# A ratio to TCP is the median of the boots' ratios, because the speed of a shared machine changes
# more from boot to boot than the ratio does. rxe's boots do not have TCP, so its medians are
# compared.

# The key of a row: everything that makes values comparable.
function key_of(mtu, who, crc, test, size) {
	return mtu " " who " " crc " " test " " size
}

# Adds the boots' values of KEY as values of TO, over those of BASE in the same boot
function add_boots(to, key, base,    i, n, boot, under) {
	n = split(boots[key], boot, " ")
	for (i = 1; i <= n; i++) {
		under = base == "" ? 1 : median(base " " boot[i])
		if (under && median(key " " boot[i]))
			add(to, median(key " " boot[i]) / under)
	}
}

# The ratio of a row to TCP
function over_tcp(key, base,    pairs) {
	if (base == "")
		return "-"
	pairs = key " over " base
	if (!good[pairs])
		add_boots(pairs, key, base)
	if (!good[pairs]) {
		pairs = base " over boots"
		if (!good[pairs])
			add_boots(pairs, base, "")
	}
	if (is_restless(pairs)) {
		if (!listed[pairs]++)
			unsure[++doubts] = pairs
		return "?"
	}
	return pairs ~ / over boots$/ ? ratio(median(key), median(base)) : ratio(median(pairs), 1)
}

# TCP's own value for the same thing, if there is one: a stream, a stream with a pass
# of CRC32C on each side (crc is "on"), or a round trip
function tcp_key(mtu, crc, test, size) {
	if (test ~ /latency$/)
		return crc == "-" ? key_of(mtu, "tcp", crc, "latency", size) : ""
	if (test ~ /^(write|send|read|stream)$/)
		return key_of(mtu, "tcp", crc, "stream", "-")
	return ""
}

# The ratio of the median to another driver's; none for TCP, which is no driver
function over(mine, who, other, mtu, crc, test, size) {
	return who == "tcp" ? "-" : ratio(mine, median(key_of(mtu, other, crc, test, size)))
}

function print_row(mtu, who, crc, test, size, unit, times,    key, mine, expected, again) {
	key = key_of(mtu, who, crc, test, size)
	mine = median(key)
	expected = times * rounds
	again = test == shown_test && size == shown_size
	if (!again)
		print ""
	printf "%-13s %7s  %-6s  %-3s  %-3s ", again ? "" : test, again ? "" : size_name(size), \
		unit, who, crc
	shown_test = test
	shown_size = size
	if (!mine) {
		printf "%9s\n", "failed"
		missing++
		return
	}
	printf "%9s  %17s  %6s  %6s  %6s  %6s%s\n", figure(mine), \
		"(" figure(values[key, 0]) " .. " figure(values[key, good[key] - 1]) ")", \
		over(mine, who, "siw", mtu, "off", test, size), \
		over(mine, who, "rxe", mtu, "on", test, size), \
		over_tcp(key, tcp_key(mtu, "-", test, size)), \
		crc == "on" ? over_tcp(key, tcp_key(mtu, "on", test, size)) : "-", \
		good[key] == expected ? "" : "  " expected - good[key] " of " expected " failed"
}

function print_mtu(mtu,    i, j, n, part, other) {
	printf "\n%s\n", mtu == "lo" ? "Over lo" : mtu == "direct" ? "Between two machines" : "MTU " mtu
	printf "%-13s %7s  %-6s  %-3s  %-3s %9s  %17s  %6s  %6s  %6s  %6s\n", "what", "size", \
		"unit", "who", "CRC", "median", "(lowest..highest)", "/ siw", "/ rxe", "/ TCP", \
		"/ T+C"
	shown_test = shown_size = "none"
	for (i = 1; i <= planned; i++) {
		split(plan[i], part, " ")
		if (part[1] != mtu || done[plan[i]])
			continue
		# rows of the same measurement stand together
		for (j = i; j <= planned; j++) {
			split(plan[j], other, " ")
			if (other[1] != mtu || other[4] != part[4] || other[5] != part[5])
				continue
			done[plan[j]] = 1
			print_row(other[1], other[2], other[3], other[4], other[5], other[6], \
				other[7])
		}
	}
}

FILENAME == ARGV[ARGC - 2] {
	plan[++planned] = $0
	if (!(known[$1]++))
		mtus[++paths] = $1
	next
}

FNR > 1 {
	split($0, field, ",")
	key = key_of(field[3], field[4], field[5], field[6], field[7])
	boot = field[1] "-" field[2]
	add(key, field[9])
	add(key " " boot, field[9])
	if (!counted[key, boot]++)
		boots[key] = boots[key] " " boot
}

END {
	for (path = 1; path <= paths; path++)
		print_mtu(mtus[path])
	if (doubts)
		print "\n?: no ratio, because the boots differ by more than a third. Measure again when " \
			"nothing else runs\non this machine."
	for (i = 1; i <= doubts; i++)
		printf "   %-60s %s\n", unsure[i], "(" figure(values[unsure[i], 0]) " .. " \
			figure(values[unsure[i], good[unsure[i]] - 1]) ")"
	if (missing)
		printf "\n%d rows could not be measured; the reason is above.\n", missing
	exit missing > 0
}
